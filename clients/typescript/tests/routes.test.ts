// What the other methods give, from a real gateway with a real MCP server and a scripted model.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { GatewayClient, type ConversationChunk, InputNeededError, type JsonRpcMessage, MCPToolGatewayClient, McpToolGatewayClient, type ResponseInfo } from "mcp-tool-gateway";
import { atEnd, fixture, given, startGateway, startProgram, startServer, until } from "./harness.js";

const folder = await mkdtemp(join(tmpdir(), "models-"));
atEnd(() => rm(folder, { recursive: true, force: true }));
const script = join(folder, "script.json");
await writeFile(script, JSON.stringify({ last: { call_tool_once: "add" } }));
const model = await startProgram(given("GATEWAY_MODEL"), ["--wire", "chat", "--script", script], /"url":"([^"]+)"/);
const ADMIN = "an-admin";
const gateway = await startGateway(
  {
    mcpServers: { demo: { type: "builtin" }, fixture: { ...fixture(), tools: { approval: { echo: "ask" } } } },
    models: { scripted: { kind: "openai", baseUrl: model.found, model: "gpt-4o", apiKey: "none" } },
    loop: { model: "scripted", tools: "demo/*" },
    conversations: { store: "memory" },
    adminKeys: { admin: ADMIN },
    registry: { allowPrivate: true },
  },
  { apiKey: ADMIN },
);
const { client } = gateway;
const QUESTION = { role: "user", content: "What is 15 plus 27?" };
const add = { name: "add", inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } } };

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

describe("models", () => {
  it("answer whole and as a stream", async () => {
    assert.deepEqual((await client.models()).data?.map((one) => one.id), ["scripted"]);
    assert.equal((await client.model("scripted")).id, "scripted");
    const absent = { name: "ModelNotFoundError", code: "model_not_found", status: 404, message: /^Gateway HTTP 404: no model is called `nobody`/ };
    await assert.rejects(client.model("nobody"), absent);
    await assert.rejects(client.chat({ model: "nobody", messages: [QUESTION] }), absent);
    await assert.rejects(all(client.chat({ model: "nobody", messages: [QUESTION], stream: true })), absent);
    const whole = await client.chat({ messages: [QUESTION] }, { gatewayTools: "demo/add" });
    const [choice] = whole.choices as Array<{ message: { content: string } }>;
    assert.ok(choice?.message.content);
    assert.equal(whole.gateway?.calls?.length, 1);
    const chunks = await all(client.chat({ messages: [QUESTION], stream: true }, { gatewayTools: "demo/add" }));
    const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("");
    assert.equal(text, choice?.message.content);
  });

  it("that give no answer have the class of what happened", async () => {
    const eventStream = { "content-type": "text/event-stream" };
    const jsonType = { "content-type": "application/json" };
    const bodies: Record<string, [number, Record<string, string>, string]> = {
      tooLong: [400, jsonType, '{"error":{"message":"This model\'s maximum context length is 9 tokens."}}'],
      garbage: [200, { "content-type": "text/html" }, "<html>hello</html>"],
      broken: [200, eventStream, 'data: {"error": {"message": "no memory"}}\n\n'],
      empty: [200, jsonType, '{"choices":[{"index":0,"message":{"role":"assistant","content":""},"finish_reason":"stop"}]}'],
      // Ends without its last event.
      short: [200, eventStream, 'data: {"choices":[{"index":0,"delta":{"content":"It"},"finish_reason":null}]}\n\n'],
    };
    const { url } = await startServer((request, response) => {
      const [status, headers, body] = bodies[request.url?.split("/")[1] ?? ""] ?? [500, {}, ""];
      response.writeHead(status, headers).end(body);
    });
    const spec = (name: string) => ({ kind: "openai", baseUrl: `${url}/${name}`, model: name, apiKey: "none", retries: 0 });
    const { client } = await startGateway({ models: Object.fromEntries(Object.keys(bodies).map((name) => [name, spec(name)])) });
    const whole = (model: string) => client.chat({ model, messages: [QUESTION] });
    const streamed = (model: string) => all(client.chat({ model, messages: [QUESTION], stream: true }));
    for (const work of [whole, streamed]) {
      await assert.rejects(work("tooLong"), { name: "ContextLengthError", code: "context_length_exceeded", status: 400 });
      await assert.rejects(work("garbage"), { name: "ModelError", code: "model_error", status: 502 });
    }
    await assert.rejects(whole("empty"), { name: "ModelError", code: "empty_answer", status: 500 });
    await assert.rejects(streamed("broken"), { name: "ModelError", code: "model_error", status: 502 });
    await assert.rejects(streamed("short"), { name: "ModelError", code: "model_unreachable" });
  });

  it("keep conversations", async () => {
    const { id, title } = await client.createConversation({ title: "Sums" });
    assert.equal(title, "Sums");
    const answer = await client.conversationChat(id, "What is 15 plus 27?", { gatewayTools: "demo/add" });
    assert.equal(answer.conversation_id, id);
    const chunks: ConversationChunk[] = await all(client.conversationChat(id, "And again?", { stream: true, gatewayTools: "demo/add" }));
    assert.equal(chunks[0]?.conversation_id, id);
    assert.ok(chunks.some((chunk) => chunk.choices?.[0]?.delta.content));
    assert.ok((await client.conversationCalls(id)).calls.length >= 1);
    assert.equal((await client.renameConversation(id, "More sums")).title, "More sums");
    assert.deepEqual((await client.conversations({ q: "sums" })).map((one) => one.title), ["More sums"]);
    const { messages, version } = await client.conversation(id);
    assert.ok(messages.length >= 4);
    await assert.rejects(client.renameConversation(id, { title: "x", version: version - 1 }), { name: "ConflictError", status: 409 });
    assert.equal((await client.deleteConversation(id)).success, true);
    await assert.rejects(client.conversation(id), { name: "ConversationNotFoundError", status: 404 });
  });
});

describe("tools in the request", () => {
  it("are converted, transformed and checked", async () => {
    const converted = await client.convert([add], { to: "anthropic" });
    assert.equal(converted.dialect, "anthropic");
    assert.match(JSON.stringify(converted["tools"]), /"input_schema"/);
    const transformed = await client.transform({ schema: { type: "object", properties: { a: { const: 1 } } } }, { to: "gemini" });
    assert.equal(transformed.dialect, "gemini");
    const report = await client.check([{ name: "a b", inputSchema: { type: "object" } }], { to: ["openai", "gemini"] });
    assert.match(JSON.stringify(report), /name-illegal/);
  });

  it("and conversations are written in another dialect", async () => {
    const call = { id: "abcDEF123", type: "function", function: { name: "add", arguments: '{"a":1}' } };
    const messages = [QUESTION, { role: "assistant", content: null, tool_calls: [call] }, { role: "tool", tool_call_id: "abcDEF123", content: "3" }];
    const request = { from: "openai", to: "mistral", messages };
    assert.match(JSON.stringify(await client.history(request)), /"toolCalls":.*"toolCallId":"abcDEF123"/);
    assert.match(JSON.stringify(await client.history(request, { form: "wire" })), /"tool_calls":.*"tool_call_id":"abcDEF123"/);
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };
    const { messages: converse } = await client.history({ from: "openai", to: "bedrock", messages: [{ role: "user", content: [image] }] });
    const [first] = converse as Array<{ content: Array<{ image: { source: { bytes: Uint8Array } } }> }>;
    assert.deepEqual([...(first?.content[0]?.image.source.bytes.slice(0, 4) ?? [])], [0x89, 0x50, 0x4e, 0x47]);
  });
});

describe("what the gateway says of itself", () => {
  it("can be read", async () => {
    assert.match(await client.context("openai", { server: "demo", mode: "concise" }), /add/);
    assert.ok((await client.providers()).providers.length > 20);
    assert.equal((await client.provider("gemini"))["name"], "gemini");
    assert.equal((await client.detect("gpt-4o")).dialect, "openai-chat");
    assert.deepEqual((await client.servers()).servers.map((server) => server.name).sort(), ["demo", "fixture"]);
    assert.deepEqual([(await client.livez()).ok, (await client.ready()).status, (await client.readyz()).ok], [true, "ready", true]);
    assert.ok((await client.metrics()).requests.total > 0);
    assert.match(await client.metricsText(), /^# TYPE/m);
    assert.equal((await client.openapi())["openapi"], "3.1.0");
    assert.match(await client.docs(), /<html/i);
    assert.equal(await client.root(), "docs");
  });

  it("can be changed by admins", async () => {
    assert.equal((await client.restartServer("fixture")).server.name, "fixture");
    assert.equal((await client.connectServer("fixture")).server.connected, true);
    await assert.rejects(client.acceptServer("fixture", "none"), { name: "DefinitionChangedError", status: 409 });
    const handler = { url: "http://127.0.0.1:1/" };
    assert.deepEqual(await client.registerTool("mine", { description: "Mine", inputSchema: { type: "object" }, handler }), { name: "mine", replaced: false });
    assert.deepEqual((await client.registry()).tools.map((tool) => tool.name), ["mine"]);
    await client.unregisterTool("mine");
    await assert.rejects(client.unregisterTool("mine"), { status: 404 });
    const keyless = new GatewayClient({ baseUrl: gateway.url });
    await assert.rejects(keyless.registerTool("mine", { handler }), { status: 401, name: "UnauthorizedError" });
  });

  it("waits for approvals", async () => {
    const denied = client.callTool("fixture", "echo", { message: "x" }).catch((error: Error) => error);
    const [waiting] = await until(async () => ((list) => (list.length ? list : undefined))((await client.approvals()).approvals));
    assert.equal(waiting?.tool, "echo");
    assert.deepEqual(await client.decide(waiting?.id ?? "", "deny"), { id: waiting?.id, decision: "deny" });
    const error = (await denied) as unknown as { code: string };
    assert.ok(["TOOL_DENIED", "APPROVAL_REQUIRED"].includes(error.code), error.code);
  });
});

describe("other ways to call", () => {
  it("are the client's and the method's other names", async () => {
    await client.callTool("demo", "add", { a: 1, b: 2 });
    const other: McpToolGatewayClient = new MCPToolGatewayClient({ baseUrl: gateway.url, apiKey: ADMIN });
    assert.ok(other instanceof GatewayClient);
    assert.equal(McpToolGatewayClient, GatewayClient);
    const entries = await client.logs({ server: "demo", limit: 1 });
    assert.equal(entries[0]?.tool, "add");
    assert.deepEqual(await other.getLogs("demo", "2025-01-01T00:00:00Z", 1), entries);
  });

  it("route in the format of the request", async () => {
    const neutral = (await client.route({ type: "tool_use", id: "t1", name: "add", input: { a: 15, b: 27 } }, { server: "demo" })) as object;
    assert.match(JSON.stringify(neutral), /"tool_use_id":"t1".*42/);
    assert.match(String(await client.route("<add><a>15</a><b>27</b></add>", { server: "demo", timeoutMs: 10_000 })), /42/);
  });

  it("speak MCP, in a session and without", async () => {
    const meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} };
    const discover: JsonRpcMessage = { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: meta } };
    const modern = await all(client.mcp(discover, { mcpProtocolVersion: "2026-07-28", headers: { "mcp-method": "tools/list" } }));
    assert.match(JSON.stringify(modern.at(-1)?.result), /"demo__add"/);
    let seen: ResponseInfo | undefined;
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };
    const [begun] = await all(client.mcp({ jsonrpc: "2.0", id: 1, method: "initialize", params }, { group: "demo", onResponse: (info) => (seen = info) }));
    assert.ok(begun?.result);
    const session = { group: "demo", mcpSessionId: seen?.headers.get("mcp-session-id") ?? "", mcpProtocolVersion: "2025-06-18" };
    assert.deepEqual(await all(client.mcp({ jsonrpc: "2.0", method: "notifications/initialized" }, session)), []);
    const [pong] = await all(client.mcp({ jsonrpc: "2.0", id: 2, method: "ping" }, session));
    assert.deepEqual(pong, { jsonrpc: "2.0", id: 2, result: {} });
    await client.mcpEnd(session);
    await assert.rejects(all(client.mcp({ jsonrpc: "2.0", id: 3, method: "ping" }, session)), { status: 404 });
  });

  it("speak MCP as it began", async () => {
    const events = client.mcpEvents();
    const first = (await events.next()).value;
    const sessionId = new URLSearchParams(String(first?.data).split("?")[1]).get("sessionId") ?? "";
    const params = { protocolVersion: "2024-11-05", capabilities: {}, clientInfo: { name: "test", version: "1" } };
    await client.mcpSend(sessionId, { jsonrpc: "2.0", id: 1, method: "initialize", params });
    const second = (await events.next()).value;
    assert.match(String(second?.data), /"protocolVersion":"2024-11-05"/);
    await events.return();
  });

  it("read resources", async () => {
    assert.ok(await client.resources());
    await assert.rejects(client.readResource("none://such"), { name: "ResourceNotFoundError", status: 404 });
    await assert.rejects(client.result("no-such-result"), { status: 404 });
  });
});

describe("a server that asks back", () => {
  it("is answered by going on", async () => {
    const asking = await startGateway({ mcpServers: { all: { command: given("GATEWAY_FIXTURE"), args: ["stdio", "--serve", "everything"] } } });
    const { tools } = await asking.client.tools("all");
    const tool = tools.find(({ name }) => /elicit/i.test(name))?.name ?? "no tool elicits";
    const needed = (await asking.client.callTool("all", tool, { message: "Who are you?" }, { input: ["elicitation"] }).catch((error) => error)) as InputNeededError;
    assert.ok(needed instanceof InputNeededError, String(needed));
    const { requests, state } = needed.inputRequired;
    const content = { username: "ann", email: "ann@example.com", name: "Ann" };
    const responses = Object.fromEntries(Object.keys(requests).map((name) => [name, { action: "accept", content }]));
    const result = await asking.client.callTool("all", tool, {}, { continue: state, responses });
    assert.match(JSON.stringify(result), /accept|ann/i);
  });
});
