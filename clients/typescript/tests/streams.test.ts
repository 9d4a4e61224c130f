// Streams whose reader is slow, or reads a lot, and errors in them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { GatewayClient, GatewayHttpError } from "mcp-tool-gateway";
import { startServer, until } from "./harness.js";

const events = { "content-type": "text/event-stream" };
const PROGRESS = 'event: progress\ndata: {"progress": 1}\n\n';
const RESULT = 'event: result\ndata: {"result": {}}\n\n';

const later = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("a slow reader", () => {
  it("gets the result, however long it takes for an event", async () => {
    let goOn = () => {};
    const { url: baseUrl } = await startServer((_, response) => {
      response.writeHead(200, events).write(PROGRESS);
      goOn = () => response.end(RESULT);
    });
    const types = [];
    for await (const event of new GatewayClient({ baseUrl, timeoutMs: 300 }).callToolStream("s", "t")) {
      types.push(event.type);
      if (event.type === "progress") {
        await later(600);
        goOn();
      }
    }
    assert.deepEqual(types, ["progress", "result"]);
  });

  it("is not the only one that ends a stream: silence still does", async () => {
    const { url: baseUrl } = await startServer((_, response) => response.writeHead(200, events).write(PROGRESS));
    const stream = new GatewayClient({ baseUrl, timeoutMs: 100 }).callToolStream("s", "t");
    await stream.next();
    await later(200);
    await assert.rejects(stream.next(), { name: "RequestTimeoutError", message: "Request timeout after 100ms" });
  });
});

describe("a long stream", () => {
  it("keeps no event that was read", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const pieces: Array<WeakRef<Uint8Array>> = [];
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>(
      {
        pull: (controller) => {
          const piece = encoder.encode(pieces.length < 500 ? PROGRESS : RESULT);
          pieces.push(new WeakRef(piece));
          controller.enqueue(piece);
        },
      },
      { highWaterMark: 0 },
    );
    const client = new GatewayClient({ fetch: async () => new Response(body, { headers: events }) });
    for await (const event of client.callToolStream("s", "t")) {
      if (event.type === "progress" && pieces.length < 500) continue;
      await until(() => {
        collect();
        return pieces.filter((piece) => piece.deref()).length < 20 ? true : undefined;
      });
      break;
    }
  });

  it("leaves no listeners at its signal", async () => {
    let listening = 0;
    const { url: baseUrl } = await startServer((_, response) => response.writeHead(200, events).end(PROGRESS.repeat(50) + RESULT));
    const counting: typeof fetch = (input, init) => {
      const signal = init?.signal as AbortSignal;
      const answer = fetch(input, init);
      const { addEventListener: add, removeEventListener: remove } = signal;
      signal.addEventListener = (...args: unknown[]) => ((listening += 1), add.apply(signal, args as never));
      signal.removeEventListener = (...args: unknown[]) => ((listening -= 1), remove.apply(signal, args as never));
      return answer;
    };
    for await (const event of new GatewayClient({ baseUrl, fetch: counting }).callToolStream("s", "t")) void event;
    await later(0);
    // That of the wait for the head was there before the counting.
    assert.ok(listening <= 0, String(listening));
  });
});

describe("an error in a stream", () => {
  it("reads as that of any answer, with 500 where it does not say a status", async () => {
    const rows: Array<[string, string]> = [
      ['{"error": "gone", "code": "SERVER_ERROR", "status": 502}', "Gateway HTTP 502: gone"],
      ['{"error": "gone", "code": "SERVER_ERROR"}', "Gateway HTTP 500: gone"],
      ['{"error": "gone", "status": "INTERNAL"}', "Gateway HTTP 500: gone"],
      ['"gone"', "Gateway HTTP 500: gone"],
      ["null", "Gateway HTTP 500: no reason given"],
    ];
    for (const [data, message] of rows) {
      const { url: baseUrl } = await startServer((_, response) => response.writeHead(200, events).end(`event: error\ndata: ${data}\n\n`));
      await assert.rejects(new GatewayClient({ baseUrl }).callToolStream("s", "t").next(), (error: GatewayHttpError) => {
        assert.ok(error instanceof GatewayHttpError);
        assert.equal(error.message, message);
        return true;
      });
    }
  });
});
