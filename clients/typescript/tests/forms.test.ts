// What goes in and comes out in other forms than plain JSON: bytes, streams of bytes, texts, members nobody knows.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayClient } from "mcp-tool-gateway";
import { fixture, startGateway, startServer } from "./harness.js";

const json = { "content-type": "application/json" };
const chatChunks = [
  { object: "chat.completion.chunk", choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id: "c1", type: "function", function: { name: "add", arguments: '{"a": 1,' } }] } }] },
  { object: "chat.completion.chunk", choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: ' "b": 2}' } }] }, finish_reason: "tool_calls" }] },
];
const eventText = chatChunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("") + "data: [DONE]\n\n";
const reply = {
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", tool_calls: [{ id: "c1", type: "function", function: { name: "add", arguments: '{"a": 1, "b": 2}' } }] }, finish_reason: "tool_calls" }],
};

async function* pieces<T>(...values: T[]): AsyncGenerator<T> {
  yield* values;
}

describe("a reply", async () => {
  const { client } = await startGateway({ mcpServers: { demo: { type: "builtin" }, fixture: fixture() } });
  const bytes = new TextEncoder().encode(eventText);
  const FORMS: Record<string, () => unknown> = {
    "an object": () => reply,
    "a promise of one": () => Promise.resolve(reply),
    "a text": () => JSON.stringify(reply),
    "bytes": () => new TextEncoder().encode(JSON.stringify(reply)),
    "a Response": () => new Response(JSON.stringify(reply)),
    "a Response with events": () => new Response(eventText, { headers: { "content-type": "text/event-stream" } }),
    "the text of events": () => eventText,
    "a list of chunks": () => chatChunks,
    "an iterator of chunks": () => pieces(...chatChunks),
    "an iterator of texts": () => pieces(eventText.slice(0, 50), eventText.slice(50)),
    "an iterator of bytes": () => pieces(bytes.slice(0, 31), bytes.slice(31)),
    "a stream of chunks": () => new ReadableStream({ start: (controller) => (chatChunks.forEach((chunk) => controller.enqueue(chunk)), controller.close()) }),
    "a stream of bytes": () => new Blob([bytes]).stream(),
    "a stream that cannot be iterated": () => ({ getReader: () => new Blob([bytes]).stream().getReader() }),
  };

  for (const [name, make] of Object.entries(FORMS)) {
    it(`can be ${name}`, async () => {
      const { messages, provider } = await client.executeReply(make());
      assert.equal(provider, "openai-chat");
      const [message] = messages as Array<{ tool_call_id: string; content: string }>;
      assert.deepEqual([message?.tool_call_id, JSON.parse(message?.content ?? "").result], ["c1", 3]);
    });
  }

  it("that is none is refused before anything is sent", async () => {
    for (const nothing of [undefined, null, 7]) await assert.rejects(client.executeReply(nothing), TypeError);
    await assert.rejects(client.executeReply(new Response("no key", { status: 401 })), /an error of the provider, status 401: no key/);
    await assert.rejects(client.executeReply(pieces<unknown>("text", {})), /a stream of texts and objects/);
    await assert.rejects(client.executeReply(pieces(chatChunks[0])), { code: "VALIDATION_ERROR" });
  });

  it("of Bedrock has bytes where its SDK has them, and base64 where its API has it", async () => {
    const call = { toolUse: { toolUseId: "t1", name: "image", input: {} } };
    const output = { message: { role: "assistant", content: [call, { reasoningContent: { redactedContent: Uint8Array.of(1, 2, 255) } }] } };
    const asked = { output, stopReason: "tool_use" };
    const blocks = (messages: Array<{ content: Array<Record<string, any>> }>) => messages.flatMap((one) => one.content.flatMap((block) => block["toolResult"]?.content ?? []));
    const sdk = await client.executeReply(asked, { provider: "bedrock", server: "fixture" });
    const image = blocks(sdk.messages).find((block) => block.image)?.image;
    assert.ok(image.source.bytes instanceof Uint8Array);
    assert.deepEqual([...image.source.bytes.slice(1, 4)], [..."PNG"].map((letter) => letter.charCodeAt(0)));
    const wire = await client.executeReply(asked, { provider: "bedrock", server: "fixture", form: "wire" });
    const text = blocks(wire.messages).find((block) => block.image)?.image.source.bytes;
    assert.equal(text, Buffer.from(image.source.bytes).toString("base64"));
  });

  it("of Mistral is answered as it was written", async () => {
    const call = { id: "abcDEF123", function: { name: "add", arguments: { a: 1, b: 2 } } };
    const sdk = { object: "chat.completion", choices: [{ message: { role: "assistant", toolCalls: [call] }, finishReason: "tool_calls" }] };
    const wire = { object: "chat.completion", choices: [{ message: { role: "assistant", tool_calls: [call] }, finish_reason: "tool_calls" }] };
    const one = (await client.executeReply(sdk, { provider: "mistral" })).messages[0] as object;
    const other = (await client.executeReply(wire, { provider: "mistral" })).messages[0] as unknown as object;
    assert.deepEqual(Object.keys(one), ["role", "toolCallId", "name", "content"]);
    assert.deepEqual(Object.keys(other), ["role", "tool_call_id", "name", "content"]);
  });

  it("is answered with the progress of its calls", async () => {
    const call = { type: "tool_use", id: "t1", name: "slow", input: { ms: 20, progress: 3 } };
    const events = [];
    for await (const event of client.executeStream(call, { provider: "anthropic", server: "fixture" })) events.push(event);
    assert.deepEqual(new Set(events.slice(0, -1).map((event) => event.type)), new Set(["progress"]));
    const last = events.at(-1);
    assert.equal(last?.type === "result" && last.result.messages[0]?.role, "user");
  });
});

describe("what is sent", () => {
  it("is JSON of whatever values SDKs have", async () => {
    const bodies: string[] = [];
    const { url: baseUrl } = await startServer((request, response) => {
      let body = "";
      request.on("data", (text) => (body += text)).on("end", () => (bodies.push(body), response.writeHead(200, json).end('{"result": {}}')));
    });
    const values = { bytes: Uint8Array.of(0, 255), buffer: Buffer.from("ab"), map: new Map([["a", 1]]), big: 12n, bigger: 2n ** 70n, date: new Date(0) };
    await new GatewayClient({ baseUrl }).callTool("s", "t", values);
    assert.deepEqual(JSON.parse(bodies[0] ?? "").arguments, {
      bytes: "AP8=",
      buffer: "YWI=",
      map: { a: 1 },
      big: 12,
      bigger: "1180591620717411303424",
      date: "1970-01-01T00:00:00.000Z",
    });
  });
});

describe("what comes back", () => {
  it("keeps members that nobody knows", async () => {
    const body = { ok: true, status: "healthy", version: "9", fromTheFuture: { deep: [1, { x: null }] } };
    const { url: baseUrl } = await startServer((_, response) => response.writeHead(200, json).end(JSON.stringify(body)));
    assert.deepEqual(await new GatewayClient({ baseUrl }).health(), body);
  });

  it("is cut into events wherever the pieces end", async () => {
    const text = ': hello\r\nevent: progress\r\ndata: {"progress":\r\ndata:  1}\r\n\r\nevent: log\ndata: {"data": "ü"}\n\nid: 7\r\revent: result\ndata: {"result": {}}\n\n';
    const bytes = Buffer.from(text);
    const expected = [{ type: "progress", progress: 1 }, { type: "log", data: "ü" }, { type: "result", result: { result: {} } }];
    for (let size = 1; size < 24; size += 1) {
      const cut = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.subarray(index * size, (index + 1) * size));
      const body = new ReadableStream({ start: (controller) => (cut.forEach((piece) => controller.enqueue(piece)), controller.close()) });
      const client = new GatewayClient({ fetch: async () => new Response(body, { headers: { "content-type": "text/event-stream" } }) });
      const events = [];
      for await (const event of client.callToolStream("s", "t")) events.push(event);
      assert.deepEqual(events, expected, `pieces of ${size} bytes`);
    }
  });
});

describe("a model's stream", () => {
  it("is its chunks until the end, and an error among them is thrown", async () => {
    const good = 'data: {"choices": [{"index": 0, "delta": {"content": "It"}, "finish_reason": null}]}\n\ndata: [DONE]\n\n';
    const bad = 'data: {"choices": []}\n\ndata: {"error": {"message": "it broke", "type": "server_error", "param": null, "code": "model_error"}}\n\ndata: [DONE]\n\n';
    let text = good;
    const { url: baseUrl } = await startServer((_, response) => response.writeHead(200, { "content-type": "text/event-stream" }).end(text));
    const client = new GatewayClient({ baseUrl });
    const words = async (chunks: AsyncIterable<{ choices?: Array<{ delta: { content?: string | null } }> }>) => {
      const all = [];
      for await (const chunk of chunks) all.push(chunk.choices?.[0]?.delta.content);
      return all;
    };
    assert.deepEqual(await words(client.chat({ messages: [], stream: true })), ["It"]);
    assert.deepEqual(await words(client.conversationChat("1", "hello", { stream: true })), ["It"]);
    text = bad;
    await assert.rejects(words(client.chat({ messages: [], stream: true })), { name: "ModelError", message: "Gateway HTTP 500: it broke" });
  });
});

describe("an integer beyond 2^53", async () => {
  const gateway = await startGateway({ mcpServers: { fixture: fixture() } });
  const call = { type: "tool_use", id: "t1", name: "lossless", input: {} };
  // Each such member becomes a text, except in JSON within a text.
  const parse = (text: string): unknown => JSON.parse(text.replace(/(?<!\\)":(-?\d{16,})(?=[,}])/g, '":"$1"'));
  const clients = [gateway.client, new GatewayClient({ baseUrl: gateway.url, parse })] as const;
  const both = (read: (client: GatewayClient) => Promise<any>) => Promise.all(clients.map(read));
  // The server's is -9007199254740993.
  const expected = [-9007199254740992, "-9007199254740993"];

  it("is rounded, unless `parse` reads it", async () => {
    const results = await both((client) => client.callTool("fixture", "lossless"));
    assert.deepEqual(results.map((one) => one.structuredContent.minus), expected);
  });

  it("is so in streams", async () => {
    const last = async (client: GatewayClient) => {
      for await (const event of client.executeStream(call)) if (event.type === "result") return event;
      return undefined;
    };
    const events = await both(last);
    assert.deepEqual(events.map((one) => one.result.result.structuredContent.minus), expected);
  });

  it("is so in the log that is followed", async () => {
    const first = async (client: GatewayClient) => {
      for await (const entry of client.followLogs({ after: 0 })) return entry;
      return undefined;
    };
    const entries = await both(first);
    assert.deepEqual(entries.map((one) => one.result.structuredContent.minus), expected);
  });

  it("is so in what is routed", async () => {
    const answers = await both((client) => client.route(call));
    assert.deepEqual(answers.map((one) => one.structuredContent.minus), expected);
  });
});
