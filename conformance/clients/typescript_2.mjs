// The official TypeScript SDK, second line, in either era.

import {
  Client,
  LOG_LEVEL_META_KEY,
  SSEClientTransport,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Inbox, abilities, run } from "./harness.mjs";

function open(target) {
  if (target.kind === "stdio") return new StdioClientTransport({ command: target.command, args: target.args });
  const url = new URL(target.url);
  return target.kind === "sse" ? new SSEClientTransport(url) : new StreamableHTTPClientTransport(url);
}

await run(async (target, report) => {
  const isModern = target.era === "modern";
  const client = new Client(
    { name: "typescript-2", version: "1" },
    {
      capabilities: { elicitation: {}, sampling: {}, roots: {} },
      versionNegotiation: { mode: isModern ? "auto" : "legacy" },
    },
  );
  const answers = [];
  const [logged, updated, changed] = [new Inbox(), new Inbox(), new Inbox()];
  client.setRequestHandler("elicitation/create", () => {
    const content = answers.shift();
    return content ? { action: "accept", content } : { action: "decline" };
  });
  client.setRequestHandler("sampling/createMessage", ({ params }) => ({
    role: "assistant",
    model: "none",
    content: { type: "text", text: `heard ${params.messages[0].content.text}` },
  }));
  client.setRequestHandler("roots/list", () => ({ roots: [{ uri: "file:///work", name: "work" }] }));
  client.setNotificationHandler("notifications/message", ({ params }) => logged.put(params.data));
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => updated.put(params.uri));
  client.setNotificationHandler("notifications/tools/list_changed", () => changed.put(true));
  await client.connect(open(target));
  await abilities(client, report, {
    answers,
    logged,
    updated,
    changed,
    era: () => client.getProtocolEra(),
    call: (params, options) => client.callTool(params, options),
    wantLog: async (call) => {
      const params = { name: "test_tool_with_logging", arguments: {} };
      if (isModern) return client.callTool({ ...params, _meta: { [LOG_LEVEL_META_KEY]: "info" } });
      await client.setLoggingLevel("info");
      return client.callTool(params);
    },
    watch: async (filter) => {
      if (isModern) {
        const subscription = await client.listen(filter);
        return () => subscription.close();
      }
      for (const uri of filter.resourceSubscriptions ?? []) await client.subscribeResource({ uri });
      return () => {};
    },
  });
  await client.close();
});
