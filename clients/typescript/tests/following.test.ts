// How the call log is followed over breaks, by servers that do what gateways seldom do.
import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { describe, it } from "node:test";
import { GatewayClient, type GatewayClientOptions } from "mcp-tool-gateway";
import { startServer } from "./harness.js";

const json = { "content-type": "application/json" };
const events = { "content-type": "text/event-stream" };
const entry = (id: number) => `id: ${id}\ndata: {"id": ${id}}\n\n`;

type Stream = (response: ServerResponse, count: number, request: IncomingMessage) => void;

/** A log whose page is empty, and whose streams are these. */
async function startLog(stream: Stream, page: { headers?: object; body?: string } = {}) {
  let streams = 0;
  return startServer((request, response) => {
    if (!request.url?.includes("follow")) return void response.writeHead(200, { ...json, "x-log-last-id": "0", ...page.headers }).end(page.body ?? "[]");
    streams += 1;
    stream(response, streams, request);
  });
}

const send = (response: ServerResponse, text: string) => response.writeHead(200, events).end(text);

/** The ids of what was followed, the error at the end, and the waits between connections, of which none is real. */
async function followed(baseUrl: string, options: GatewayClientOptions = {}, more: object = {}, enough = 100) {
  const real = globalThis.setTimeout;
  const waits: number[] = [];
  const ids: number[] = [];
  globalThis.setTimeout = ((run: () => void, ms = 0, ...args: []) => {
    // Deadlines of requests are timers too, and are set on behalf of it.
    if (!new Error().stack?.split("\n")[2]?.includes("/dist/logs.js")) return real(run, ms, ...args);
    waits.push(ms);
    return real(run, 0);
  }) as typeof setTimeout;
  try {
    for await (const { id } of new GatewayClient({ baseUrl, retryDelayMs: 1000, ...options }).followLogs(more)) {
      ids.push(id ?? NaN);
      if (ids.length === enough) break;
    }
    return { ids, waits, error: undefined };
  } catch (error) {
    return { ids, waits, error: error as Error & { code?: string; status?: number } };
  } finally {
    globalThis.setTimeout = real;
  }
}

describe("followLogs", () => {
  it("waits without end for a gateway that went away, at most ten seconds at a time", async () => {
    const { url } = await startLog((response, count) => {
      if (count <= 40) response.writeHead(count % 2 ? 503 : 502).end();
      else send(response, entry(1));
    });
    const { ids, waits } = await followed(url, {}, {}, 1);
    assert.deepEqual(ids, [1]);
    assert.deepEqual(waits.slice(0, 6), [1000, 2000, 4000, 8000, 10_000, 10_000]);
    assert.deepEqual([waits.length, Math.max(...waits)], [40, 10_000]);
  });

  it("waits longer and longer too where every stream ends at once", async () => {
    const { url } = await startLog((response, count) => send(response, count <= 5 ? ": hello\n\n" : entry(1)));
    assert.deepEqual((await followed(url, {}, {}, 1)).waits, [1000, 2000, 4000, 8000, 10_000]);
    const hasty = await startLog((response, count) => send(response, count <= 5 ? "" : entry(1)));
    assert.deepEqual((await followed(hasty.url, { retryDelayMs: 0 }, {}, 1)).waits, [1, 2, 4, 8, 16]);
  });

  it("begins anew with its waits after an entry, and goes on behind it", async () => {
    const { url, requests } = await startLog((response, count) => send(response, count === 2 ? "" : entry(count)));
    const { ids, waits } = await followed(url, {}, {}, 3);
    assert.deepEqual([ids, waits], [[1, 3, 4], [1000, 2000, 1000]]);
    assert.deepEqual(requests.slice(1).map((request) => request.headers["last-event-id"]), ["0", "1", "1", "3"]);
  });

  it("tries as often as `maxRetries` says", async () => {
    const { url } = await startLog((response) => void response.writeHead(503).end('{"error": "later"}'));
    const { waits, error } = await followed(url, {}, { maxRetries: 2 });
    assert.deepEqual([waits.length, error?.message], [2, "Request failed after 3 attempts: Gateway HTTP 503: later"]);
  });

  it("throws the error that the stream reports, and does not come back", async () => {
    const rows: Array<[string, object]> = [
      ['{"error": "the disk is full"}', { name: "GatewayHttpError", message: "Gateway HTTP 500: the disk is full", status: 500 }],
      ['{"error": "why", "code": "STORE_ERROR", "status": 503}', { name: "StoreError", message: "Gateway HTTP 503: why", status: 503 }],
      ["no JSON", { name: "GatewayHttpError", message: "Gateway HTTP 500: no JSON" }],
    ];
    for (const [data, expected] of rows) {
      const { url, requests } = await startLog((response) => send(response, `${entry(1)}event: error\ndata: ${data}\n\n`));
      const { ids, waits, error } = await followed(url);
      assert.deepEqual([ids, waits, requests.length], [[1], [], 2]);
      assert.throws(() => { throw error; }, expected);
    }
  });

  it("does not come back to entries without ids, as they would come twice", async () => {
    const nameless = 'data: {"id": 1}\n\n';
    const broke = "Network error: the stream broke off before its end";
    const server = await startLog((response) => send(response, nameless));
    const ofServer = await followed(server.url, {}, { source: "server" });
    assert.deepEqual([ofServer.ids, ofServer.error?.message, server.requests.length], [[1], broke, 1]);
    const { url, requests } = await startServer((request, response) => {
      if (request.url?.includes("follow")) send(response, nameless);
      else response.writeHead(200, json).end("[]");
    });
    const ofOthers = await followed(url);
    assert.deepEqual([ofOthers.ids, ofOthers.error?.message, requests.length], [[1], broke, 2]);
  });

  it("goes on behind the page where only its entries say where it ends", async () => {
    const seen: unknown[] = [];
    const { url } = await startServer((request, response) => {
      if (!request.url?.includes("follow")) return void response.writeHead(200, json).end('[{"id": 6}, {"id": 7}]');
      seen.push(request.headers["last-event-id"]);
      send(response, entry(8));
    });
    assert.deepEqual([(await followed(url, {}, {}, 3)).ids, seen], [[6, 7, 8], ["7"]]);
  });

  it("takes nothing for an entry that is none", async () => {
    for (const data of ["null", "[1]", '"x"', "5", "{no json"]) {
      const { url } = await startLog((response) => send(response, `id: 1\ndata: ${data}\n\n`));
      const { ids, error } = await followed(url);
      assert.deepEqual([ids, error?.name], [[], "InvalidAnswerError"], data);
    }
  });
});
