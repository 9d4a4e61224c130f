// The official TypeScript SDK, first line: one package.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as types from "@modelcontextprotocol/sdk/types.js";
import { Inbox, abilities, run } from "./harness.mjs";

function open(target) {
  if (target.kind === "stdio") return new StdioClientTransport({ command: target.command, args: target.args });
  const url = new URL(target.url);
  return target.kind === "sse" ? new SSEClientTransport(url) : new StreamableHTTPClientTransport(url);
}

await run(async (target, report) => {
  const capabilities = { elicitation: {}, sampling: {}, roots: {} };
  const client = new Client({ name: "typescript-1", version: "1" }, { capabilities });
  const answers = [];
  const [logged, updated, changed] = [new Inbox(), new Inbox(), new Inbox()];
  client.setRequestHandler(types.ElicitRequestSchema, () => {
    const content = answers.shift();
    return content ? { action: "accept", content } : { action: "decline" };
  });
  client.setRequestHandler(types.CreateMessageRequestSchema, ({ params }) => ({
    role: "assistant",
    model: "none",
    content: { type: "text", text: `heard ${params.messages[0].content.text}` },
  }));
  client.setRequestHandler(types.ListRootsRequestSchema, () => ({ roots: [{ uri: "file:///work", name: "work" }] }));
  client.setNotificationHandler(types.LoggingMessageNotificationSchema, ({ params }) => logged.put(params.data));
  client.setNotificationHandler(types.ResourceUpdatedNotificationSchema, ({ params }) => updated.put(params.uri));
  client.setNotificationHandler(types.ToolListChangedNotificationSchema, () => changed.put(true));
  await client.connect(open(target));
  await abilities(client, report, {
    answers,
    logged,
    updated,
    changed,
    era: () => "legacy",
    call: (params, options) => client.callTool(params, undefined, options),
    wantLog: async (call) => {
      await client.setLoggingLevel("info");
      await call("test_tool_with_logging");
    },
    watch: async ({ resourceSubscriptions = [] }) => {
      for (const uri of resourceSubscriptions) await client.subscribeResource({ uri });
      return () => {};
    },
  });
  await client.close();
});
