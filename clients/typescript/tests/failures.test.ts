// A gateway that is down, restarts, is slow, or answers garbage: each has its documented error.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  ERROR_CLASSES,
  type ErrorCode,
  GatewayClient,
  GatewayError,
  GatewayHttpError,
  InvalidAnswerError,
  NetworkError,
  RequestTimeoutError,
  type ResponseInfo,
} from "mcp-tool-gateway";
import { Gateway } from "mcp-tool-gateway/gateway";
import { atEnd, fixture, freePort, given, startGateway, startServer, waitsOf } from "./harness.js";

const json = { "content-type": "application/json" };
const impatient = { retryDelayMs: 1, timeoutMs: 5000 };

describe("a gateway that is down", () => {
  it("is a network error after all attempts, for every kind of request", async () => {
    const client = new GatewayClient({ ...impatient, baseUrl: `http://127.0.0.1:${await freePort()}` });
    const text = /^Request failed after 4 attempts: Network error: connect ECONNREFUSED/;
    const is = (error: Error) => error instanceof NetworkError && text.test(error.message);
    await assert.rejects(client.tools(), is);
    await assert.rejects(client.execute("openai", { name: "add", arguments: "{}" }), is);
    await assert.rejects(client.convert([]), is);
    await assert.rejects(client.followLogs().next(), is);
    // What is never sent twice says what happened, once.
    await assert.rejects(client.chat({ messages: [] }), { name: "NetworkError", message: /^Network error: connect ECONNREFUSED/, attempts: 1 });
    await assert.rejects(client.restartServer("demo"), { attempts: 1 });
  });

  it("is found again when it is back", async () => {
    const folder = await mkdtemp(join(tmpdir(), "restarting-"));
    atEnd(() => rm(folder, { recursive: true, force: true }));
    const port = await freePort();
    const first = await startOn(port, folder);
    const client = new GatewayClient({ baseUrl: `http://127.0.0.1:${port}`, retryDelayMs: 50, retryBackoff: 1, maxRetries: 400 });
    await client.callTool("demo", "add", { a: 1, b: 2 });
    await first.close();
    const answer = client.callTool("demo", "add", { a: 3, b: 4 }, { correlationId: "while-it-was-away" });
    const second = await startOn(port, folder);
    atEnd(() => second.close());
    assert.match(JSON.stringify(await answer), /"result":7\b/);
    const entries = await client.logs({ correlation_id: "while-it-was-away" });
    assert.equal(entries.length, 1);
  });
});

function startOn(port: number, folder: string): Promise<Gateway> {
  const config = { mcpServers: { demo: { type: "builtin" } } };
  return Gateway.start(config, { binary: given("GATEWAY_BIN"), data: join(folder, "data"), port });
}

describe("a slow gateway", () => {
  it("is a timeout with the client's own words, whatever it is slow with", async () => {
    const { url: baseUrl } = await startServer((request, response) => {
      if (request.url === "/health") return;
      response.writeHead(request.url === "/ready" ? 200 : 503, { ...json, "retry-after": "60" });
      // The head and a beginning, and then no more.
      if (request.url === "/ready") response.write('{"ok":');
      else response.end('{"error": "later", "code": "OVERLOADED"}');
    });
    const client = new GatewayClient({ baseUrl, timeoutMs: 60, retryDelayMs: 1 });
    for (const slow of [client.health(), client.ready()]) {
      await assert.rejects(slow, (error: RequestTimeoutError) => {
        assert.ok(error instanceof RequestTimeoutError);
        assert.equal(error.message, "Request timeout after 60ms");
        return true;
      });
    }
    await assert.rejects(client.health({ timeoutMs: 40 }), { message: "Request timeout after 40ms" });
    // Where there is no time left to wait as long as the gateway wants, its error is the answer.
    await assert.rejects(client.tools({ timeoutMs: 5000 }), { name: "OverloadedError", message: "Gateway HTTP 503: later", attempts: 1 });
  });

  it("is waited for as long as its stream shows signs of life", async () => {
    const { url: baseUrl } = await startServer((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      let beats = 0;
      const timer = setInterval(() => {
        beats += 1;
        if (beats < 9) return void response.write(": heartbeat\n\n");
        clearInterval(timer);
        response.write('event: result\ndata: {"result": {"beats": 9}}\n\n');
      }, 250);
    });
    const client = new GatewayClient({ baseUrl, timeoutMs: 2000 });
    const events = [];
    for await (const event of client.callToolStream("s", "t")) events.push(event);
    assert.deepEqual(events, [{ type: "result", result: { result: { beats: 9 } } }]);
    await assert.rejects(client.callToolStream("s", "t", {}, { timeoutMs: 20 }).next(), { message: "Request timeout after 20ms" });
  });

  it("is a tool's timeout where the gateway says so", async () => {
    const gateway = await startGateway({ mcpServers: { slow: { ...fixture(), callTimeout: "100ms" } } }, { retryDelayMs: 1 });
    const answers: ResponseInfo[] = [];
    const call = gateway.client.callTool("slow", "slow", { ms: 60_000 }, { onResponse: (info) => answers.push(info) });
    await assert.rejects(call, { code: "TIMEOUT", status: 500, name: "CallTimeoutError" });
    // The tool may have run, so the answer would be the same one.
    assert.equal(answers.length, 1);
    assert.equal((await gateway.client.logs()).length, 1);
  });
});

describe("garbage", () => {
  it("is no answer", async () => {
    const { url: baseUrl, requests } = await startServer((_, response) => response.writeHead(200, json).end("<html>hello</html>"));
    const client = new GatewayClient({ ...impatient, baseUrl });
    await assert.rejects(client.health(), (error: InvalidAnswerError) => {
      assert.ok(error instanceof InvalidAnswerError);
      assert.equal(error.message, "Gateway answered with something that is not JSON: <html>hello</html>");
      assert.equal(error.body, "<html>hello</html>");
      return true;
    });
    assert.equal(requests.length, 1);
    await assert.rejects(client.callToolStream("s", "t").next(), { name: "InvalidAnswerError" });
    const stream = await startServer((request, response) => {
      if (!request.url?.includes("follow")) return void response.writeHead(200, { ...json, "x-log-last-id": "7" }).end("[]");
      response.writeHead(200, { "content-type": "text/event-stream" }).end("data: {not json\n\n");
    });
    await assert.rejects(new GatewayClient({ ...impatient, baseUrl: stream.url }).followLogs().next(), { name: "InvalidAnswerError" });
    assert.equal(stream.requests.at(-1)?.headers["last-event-id"], "7");
  });

  it("that is no HTTP, or ends too soon, is a network error", async () => {
    for (const bytes of ["SSH-2.0-OpenSSH\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"ok\":", ""]) {
      const { url: baseUrl, requests } = await startServer((request) => request.socket.end(bytes));
      await assert.rejects(new GatewayClient({ ...impatient, baseUrl, maxRetries: 1 }).health(), (error: NetworkError) => {
        assert.ok(error instanceof NetworkError, error.message);
        assert.match(error.message, /^Request failed after 2 attempts: Network error: ./);
        return true;
      });
      assert.equal(requests.length, 2);
    }
  });

  it("in a stream is not taken for its end", async () => {
    for (const body of ["", "event: progress\ndata: {}\n\n", ": nothing\n\n"]) {
      const { url: baseUrl } = await startServer((_, response) => response.writeHead(200, { "content-type": "text/event-stream" }).end(body));
      const client = new GatewayClient({ ...impatient, baseUrl });
      const all = async (events: AsyncIterable<unknown>) => {
        for await (const event of events) void event;
      };
      const error = { name: "NetworkError", message: "Network error: the stream broke off before its end" };
      await assert.rejects(all(client.callToolStream("s", "t")), error);
      await assert.rejects(all(client.chat({ messages: [], stream: true })), error);
    }
  });
});

describe("errors", () => {
  it("have the class of their code, in every shape that the gateway gives them", async () => {
    let body = "";
    const { url: baseUrl } = await startServer((_, response) => response.writeHead(400, { ...json, "x-correlation-id": "seen" }).end(body));
    const client = new GatewayClient({ ...impatient, baseUrl });
    for (const code of Object.keys(ERROR_CLASSES) as ErrorCode[]) {
      const shapes = [
        { error: "why", code, correlationId: "seen", extra: 1 },
        { error: { message: "why", type: "t", param: null, code } },
        { error: "why", detail: "why", code },
      ];
      for (const shape of shapes) {
        body = JSON.stringify(shape);
        await assert.rejects(client.health(), (error: GatewayHttpError) => {
          assert.ok(error instanceof ERROR_CLASSES[code]);
          assert.deepEqual([error.code, error.message, error.correlationId], [code, "Gateway HTTP 400: why", "seen"]);
          assert.deepEqual(error.body, shape);
          return true;
        });
      }
    }
  });

  it("of codes that are not known are kept as they came", async () => {
    const body = { error: "why", code: "FROM_THE_FUTURE", hint: [1] };
    const { url: baseUrl } = await startServer((_, response) => response.writeHead(418, json).end(JSON.stringify(body)));
    await assert.rejects(new GatewayClient({ baseUrl }).health(), (error: GatewayError) => {
      assert.equal(error.constructor, GatewayHttpError);
      assert.deepEqual([error.code, error.status, error.body], ["FROM_THE_FUTURE", 418, body]);
      return true;
    });
  });

  it("in a stream are thrown", async () => {
    const { url: baseUrl } = await startServer((_, response) =>
      response
        .writeHead(200, { "content-type": "text/event-stream" })
        .end('event: error\ndata: {"error": "gone", "code": "SERVER_ERROR", "status": 502}\n\n'),
    );
    const events = new GatewayClient({ baseUrl }).callToolStream("s", "t");
    await assert.rejects(events.next(), { name: "ServerError", message: "Gateway HTTP 502: gone", status: 502 });
  });
});

describe("what is sent", () => {
  it("has one id and one key over all attempts, and a new key for each call", async () => {
    const { url: baseUrl, requests } = await startServer((_, response, count) => {
      if (count % 2) response.writeHead(503).end();
      else response.writeHead(200, json).end('{"result": {}}');
    });
    const infos: ResponseInfo[] = [];
    const client = new GatewayClient({ ...impatient, baseUrl, apiKey: "secret", onResponse: (info) => infos.push(info) });
    await client.callTool("s", "t");
    await client.execute("openai", { name: "t", arguments: "{}" }, { idempotencyKey: "mine", correlationId: "given", headers: { "X-Extra": "1", ACCEPT: "application/json" } });
    const headers = requests.map((request) => request.headers);
    assert.equal(headers[0]?.["idempotency-key"], headers[1]?.["idempotency-key"]);
    assert.equal(headers[0]?.["x-correlation-id"], headers[1]?.["x-correlation-id"]);
    assert.match(String(headers[0]?.["idempotency-key"]), /^[0-9a-f]{32}$/);
    assert.deepEqual([headers[2]?.["idempotency-key"], headers[3]?.["idempotency-key"]], ["mine", "mine"]);
    assert.deepEqual([headers[3]?.["x-correlation-id"], headers[3]?.["x-extra"], headers[3]?.authorization, headers[3]?.accept], ["given", "1", "Bearer secret", "application/json"]);
    assert.deepEqual(infos.map((info) => [info.status, info.attempts]), [[503, 1], [200, 2], [503, 1], [200, 2]]);
    assert.equal(infos[3]?.correlationId, "given");
  });

  it("waits as long as Retry-After says", async () => {
    let sent = 0;
    const answer = async () => new Response("{}", (sent += 1) === 1 ? { status: 503, headers: { "retry-after": "3" } } : { status: 200 });
    const client = new GatewayClient({ fetch: answer, retryDelayMs: 1 });
    assert.deepEqual(await waitsOf(() => client.health()), [3000]);
  });
});
