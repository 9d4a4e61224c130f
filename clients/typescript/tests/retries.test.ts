// When a request is sent again: never where that cannot help, and never where a call would run twice.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayClient, type GatewayClientOptions } from "mcp-tool-gateway";
import { startServer } from "./harness.js";

const MINUTE = 60_000;

/** The waits between attempts that always get `answer`. No wait is real, but the clock goes on by each. */
async function waitsBetween(answer: () => Response, options: GatewayClientOptions, work: (client: GatewayClient) => Promise<unknown>) {
  const { setTimeout: realTimer } = globalThis;
  const realNow = performance.now.bind(performance);
  const waits: number[] = [];
  let sent = 0;
  const fetch = async () => ((sent += 1), answer());
  const client = new GatewayClient({ ...options, timeoutMs: Infinity, fetch });
  globalThis.setTimeout = ((run: () => void, ms = 0) => (waits.push(ms), realTimer(run, 0))) as typeof setTimeout;
  performance.now = () => realNow() + waits.reduce((sum, wait) => sum + wait, 0);
  try {
    const error = (await work(client).catch((thrown) => thrown)) as Error;
    return { waits, sent, error };
  } finally {
    globalThis.setTimeout = realTimer;
    performance.now = realNow;
  }
}

const busy = (retryAfter?: string) => () =>
  new Response('{"error": "later", "code": "OVERLOADED"}', { status: 503, headers: retryAfter === undefined ? {} : { "retry-after": retryAfter } });
const get = (client: GatewayClient) => client.health();
const call = (client: GatewayClient) => client.callTool("s", "t");

describe("Retry-After", () => {
  it("is waited for, but never longer than a minute", async () => {
    const rows = { "3": 3000, "60": MINUTE, "864000": MINUTE, "1e20": MINUTE, "Infinity": MINUTE, "-5": 1, "Wed, 21 Oct 2099 07:28:00 GMT": 1, "": 1 };
    for (const [header, wait] of Object.entries(rows)) {
      const { waits } = await waitsBetween(busy(header), { retryDelayMs: 1, maxRetries: 1 }, get);
      assert.deepEqual(waits, [wait], header);
    }
  });

  it("that is longer than the time that is left is an error at once", async () => {
    const client = new GatewayClient({ fetch: async () => busy("864000")() });
    await assert.rejects(client.health(), { name: "OverloadedError", attempts: 1 });
  });
});

describe("a call under a key", () => {
  it("is not sent again later than nine minutes after it was sent first", async () => {
    const slow = await waitsBetween(busy(), { retryDelayMs: 9 * MINUTE }, call);
    assert.deepEqual([slow.sent, slow.waits, slow.error.message], [1, [], "Gateway HTTP 503: later"]);
    const growing = await waitsBetween(busy(), { retryDelayMs: 2 * MINUTE, maxRetries: 9 }, call);
    assert.deepEqual([growing.sent, growing.waits], [3, [2 * MINUTE, 4 * MINUTE]]);
    assert.equal(growing.error.message, "Request failed after 3 attempts: Gateway HTTP 503: later");
    const asked = await waitsBetween(busy("60"), { retryDelayMs: 1, maxRetries: 99 }, call);
    assert.deepEqual([asked.sent, asked.waits.length], [9, 8]);
  });

  it("is the only request with such a bound", async () => {
    const { sent } = await waitsBetween(busy(), { retryDelayMs: 9 * MINUTE, maxRetries: 2 }, get);
    assert.equal(sent, 3);
  });

  it("is not sent again after the machine has slept", async () => {
    const { now } = Date;
    const work = async (client: GatewayClient) => {
      const answer = call(client);
      Date.now = () => now() + 9 * MINUTE;
      return answer;
    };
    try {
      assert.equal((await waitsBetween(busy(), { retryDelayMs: 1 }, work)).sent, 1);
    } finally {
      Date.now = now;
    }
  });
});

describe("an answer that is settled", () => {
  const settled = ["SERVER_ERROR", "RESULT_DROPPED", "TIMEOUT", "TOOL_ERROR", "CONVERSION_ERROR", "PERSONAL_DATA", "LIMIT_EXCEEDED"];
  it("is not asked for again", async () => {
    for (const code of settled) {
      const answer = () => new Response(JSON.stringify({ error: "why", code }), { status: 502 });
      for (const work of [get, call]) {
        const { sent, error } = await waitsBetween(answer, { retryDelayMs: 1 }, work);
        assert.deepEqual([sent, error.message], [1, "Gateway HTTP 502: why"], code);
      }
    }
  });

  it("is none of the others from 500 on", async () => {
    for (const code of ["OVERLOADED", "CONNECTION_ERROR", "UNKNOWN", "FROM_THE_FUTURE"]) {
      const answer = () => new Response(JSON.stringify({ error: "why", code }), { status: 500 });
      assert.equal((await waitsBetween(answer, { retryDelayMs: 1 }, get)).sent, 4, code);
    }
  });
});

describe("onResponse", () => {
  it("that throws ends the request with what it threw, which is sent once", async () => {
    const thrown = new Error("a mistake of the caller's");
    for (const status of [200, 503]) {
      const { url: baseUrl, requests } = await startServer((_, response) => response.writeHead(status).end('{"result": {}}'));
      const onResponse = () => {
        throw thrown;
      };
      await assert.rejects(new GatewayClient({ baseUrl, retryDelayMs: 1, onResponse }).callTool("s", "t"), thrown);
      await assert.rejects(new GatewayClient({ baseUrl, retryDelayMs: 1 }).health({ onResponse }), thrown);
      assert.equal(requests.length, 2);
    }
  });
});
