// A signal ends whatever is awaited at that moment, with the signal's own reason, and frees the connection.
import assert from "node:assert/strict";
import { type IncomingMessage } from "node:http";
import { describe, it } from "node:test";
import { GatewayClient, type RequestOptions } from "mcp-tool-gateway";
import { fixture, startGateway, startServer, until } from "./harness.js";

const json = { "content-type": "application/json" };
const events = { "content-type": "text/event-stream" };
const reason = new Error("enough");

/** Where a request can be when the signal comes: what the server has done by then. */
const MOMENTS: Record<string, { answer: Parameters<typeof startServer>[0]; retries?: number }> = {
  "before the head": { answer: () => {} },
  "within the body": { answer: (_, response) => void response.writeHead(200, json).write('{"ok"') },
  "within the body of an error": { answer: (_, response) => void response.writeHead(500, json).write('{"error"') },
  "before a retry": { answer: (_, response) => void response.writeHead(503).end(), retries: 3 },
};

const METHODS: Record<string, (client: GatewayClient, options: RequestOptions) => Promise<unknown>> = {
  getTools: (client, options) => client.getTools("openai", options),
  execute: (client, options) => client.execute("openai", { name: "t", arguments: "{}" }, options),
  executeReply: (client, options) => client.executeReply({ choices: [] }, options),
  callTool: (client, options) => client.callTool("s", "t", {}, options),
  context: (client, options) => client.context("openai", options),
  followLogs: (client, options) => client.followLogs(options).next(),
  convert: (client, options) => client.convert([], options),
};

for (const [moment, { answer, retries }] of Object.entries(MOMENTS)) {
  describe(`a signal ${moment}`, () => {
    for (const [name, method] of Object.entries(METHODS)) {
      it(`ends ${name}`, async () => {
        const { url: baseUrl, requests } = await startServer(answer);
        const client = new GatewayClient({ baseUrl, retryDelayMs: 300_000, maxRetries: retries ?? 0, timeoutMs: Infinity });
        const controller = new AbortController();
        const outcome = assert.rejects(method(client, { signal: controller.signal }), reason);
        const request = await until(() => requests[0]);
        // By then the head has come, where it comes at all.
        if (moment !== "before the head") await until(() => (request.socket.bytesWritten > 0 ? true : undefined));
        await new Promise(setImmediate);
        controller.abort(reason);
        await outcome;
        if (moment !== "before a retry") await closed(request);
        assert.equal(requests.length, 1);
      });
    }
  });
}

/** Waits until the other side has closed the connection. */
function closed(request: IncomingMessage): Promise<unknown> {
  return until(() => (request.socket.destroyed ? true : undefined));
}

describe("a signal", () => {
  it("that came before sends nothing", async () => {
    const { url: baseUrl, requests } = await startServer(() => {});
    const client = new GatewayClient({ baseUrl });
    for (const method of Object.values(METHODS)) await assert.rejects(method(client, { signal: AbortSignal.abort(reason) }), reason);
    let sent = 0;
    const ignoring = new GatewayClient({ fetch: async () => ((sent += 1), new Response("{}")) });
    await assert.rejects(ignoring.health({ signal: AbortSignal.abort(reason) }), reason);
    assert.deepEqual([requests.length, sent], [0, 0]);
  });

  it("ends a stream between two events", async () => {
    const { url: baseUrl, requests } = await startServer((_, response) => {
      response.writeHead(200, events).write('event: progress\ndata: {"progress": 1}\n\n');
    });
    const controller = new AbortController();
    const stream = new GatewayClient({ baseUrl }).callToolStream("s", "t", {}, { signal: controller.signal });
    assert.deepEqual((await stream.next()).value, { type: "progress", progress: 1 });
    const next = assert.rejects(stream.next(), reason);
    controller.abort(reason);
    await next;
    await closed((await until(() => requests[0])) as IncomingMessage);
    assert.deepEqual(await stream.next(), { done: true, value: undefined });
  });

  it("ends the reading of a provider's stream that says nothing any more", async () => {
    const { url: baseUrl, requests } = await startServer(() => {});
    let stopped = false;
    const reply = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise<never>(() => {}),
        return: async () => {
          stopped = true;
          return { done: true as const, value: undefined };
        },
      }),
    };
    const controller = new AbortController();
    const outcome = assert.rejects(new GatewayClient({ baseUrl }).executeReply(reply, { signal: controller.signal }), reason);
    controller.abort(reason);
    await outcome;
    assert.deepEqual([stopped, requests.length], [true, 0]);
  });

  it("ends a request whose fetch knows no signals", async () => {
    const controller = new AbortController();
    const client = new GatewayClient({ fetch: () => new Promise<Response>(() => {}) });
    const outcome = assert.rejects(client.health({ signal: controller.signal }), reason);
    controller.abort(reason);
    await outcome;
  });

  it("of the platform has its own reasons", async () => {
    const { url: baseUrl } = await startServer(() => {});
    const client = new GatewayClient({ baseUrl });
    await assert.rejects(client.health({ signal: AbortSignal.timeout(10) }), { name: "TimeoutError" });
    await assert.rejects(client.health({ signal: AbortSignal.abort() }), { name: "AbortError" });
  });

  it("cancels the tool where the call is sent only once, and lets it go on where it may be sent again", async () => {
    const { client } = await startGateway({ mcpServers: { slow: fixture() } });
    for (const [maxRetries, code] of [[0, "CANCELLED"], [3, undefined]] as const) {
      const controller = new AbortController();
      const correlationId = `retries-${maxRetries}`;
      const args = { ms: maxRetries ? 3000 : 20_000 };
      const outcome = assert.rejects(client.callTool("slow", "slow", args, { signal: controller.signal, maxRetries, correlationId }), reason);
      await until(async () => ((await client.servers()).servers[0]?.inFlight ? true : undefined));
      controller.abort(reason);
      await outcome;
      const [entry] = await until(async () => ((entries) => (entries.length ? entries : undefined))(await client.logs({ correlation_id: correlationId })));
      assert.equal(entry?.code, code);
    }
  });

  it("leaves nothing behind where it does not come", async () => {
    const gateway = await startGateway();
    const controller = new AbortController();
    let listeners = 0;
    const { signal } = controller;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = ((...args: Parameters<typeof add>) => (listeners++, add(...args))) as typeof add;
    signal.removeEventListener = ((...args: Parameters<typeof remove>) => (listeners--, remove(...args))) as typeof remove;
    for (let count = 0; count < 20; count += 1) await gateway.client.health({ signal });
    assert.equal(listeners, 0);
  });
});

describe("a reader that stops", () => {
  it("ends the connection", async () => {
    const { url: baseUrl, requests } = await startServer((request, response) => {
      if (!request.url?.includes("follow")) return void response.writeHead(200, { ...json, "x-log-last-id": "0" }).end("[]");
      response.writeHead(200, events).write('id: 1\ndata: {"id": 1}\n\n');
    });
    for await (const entry of new GatewayClient({ baseUrl }).followLogs()) {
      assert.deepEqual(entry, { id: 1 });
      break;
    }
    await closed(requests.at(-1) as IncomingMessage);
  });
});
