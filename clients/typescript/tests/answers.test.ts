// What is no answer of a gateway is never taken for one: garbage with status 200, redirects, and what has no end.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AnswerTooLargeError, GatewayClient, GatewayHttpError, InvalidAnswerError } from "mcp-tool-gateway";
import { startServer } from "./harness.js";

const json = { "content-type": "application/json" };
const events = { "content-type": "text/event-stream" };

async function all(items: AsyncIterable<unknown>): Promise<void> {
  for await (const item of items) void item;
}

const CALL = { name: "t", arguments: "{}" };
const METHODS: Record<string, (client: GatewayClient) => Promise<unknown>> = {
  execute: (client) => client.execute("openai", CALL),
  executeReply: (client) => client.executeReply(CALL),
  executeStream: (client) => all(client.executeStream(CALL)),
  callTool: (client) => client.callTool("s", "t"),
  callToolStream: (client) => all(client.callToolStream("s", "t")),
  route: (client) => client.route({ name: "t", input: {} }),
  logs: (client) => client.logs(),
  followLogs: (client) => all(client.followLogs()),
  getTools: (client) => client.getTools("openai"),
  conversations: (client) => client.conversations(),
  history: (client) => client.history({ from: "openai", to: "mistral", messages: [] }),
  chat: (client) => client.chat({ messages: [] }),
  "chat with stream": (client) => all(client.chat({ messages: [], stream: true })),
  health: (client) => client.health(),
};
// Lists are what these give.
const LISTS = new Set(["route", "getTools"]);

describe("garbage with status 200", () => {
  for (const [name, method] of Object.entries(METHODS)) {
    for (const body of ["null", "[1]", '"x"', "5", "", "<p>hello</p>"]) {
      if (body === "[1]" && LISTS.has(name)) continue;
      // A stream that ends before its first event broke off.
      if (body === "" && /stream/i.test(name)) continue;
      it(`is an InvalidAnswerError of ${name}: ${body || "nothing"}`, async () => {
        const { url: baseUrl, requests } = await startServer((_, response) => response.writeHead(200, json).end(body));
        await assert.rejects(method(new GatewayClient({ baseUrl, retryDelayMs: 1 })), (error: InvalidAnswerError) => {
          assert.ok(error instanceof InvalidAnswerError, `${error.name}: ${error.message}`);
          assert.match(error.message, /^Gateway answered with /);
          return true;
        });
        assert.equal(requests.length, 1);
      });
    }
  }

  it("is one too where the answer is 204, a page, or an object without a result", async () => {
    const { url: baseUrl } = await startServer((request, response) => {
      if (request.url === "/execute") return void response.writeHead(204).end();
      if (request.url === "/route") return void response.writeHead(200, { "content-type": "text/html" }).end("<p>hello</p>");
      response.writeHead(200, json).end("{}");
    });
    const client = new GatewayClient({ baseUrl });
    await assert.rejects(client.execute("openai", CALL), { name: "InvalidAnswerError", status: 204 });
    await assert.rejects(client.route("<t/>"), { name: "InvalidAnswerError" });
    await assert.rejects(client.callTool("s", "t"), { name: "InvalidAnswerError" });
  });

  it("is one too among the events of a stream", async () => {
    for (const data of ["null", "[1]", '"x"', "5"]) {
      const text = `event: result\ndata: ${data}\n\n`;
      const { url: baseUrl } = await startServer((_, response) => response.writeHead(200, events).end(text));
      const client = new GatewayClient({ baseUrl });
      for (const name of ["executeStream", "callToolStream", "chat with stream"]) {
        await assert.rejects(METHODS[name]?.(client) ?? Promise.resolve(), { name: "InvalidAnswerError" }, `${name}: ${data}`);
      }
    }
  });
});

describe("an answer", () => {
  it("to several calls is the list of their results", async () => {
    const results = [{ id: "a", name: "t", result: { content: [] } }, { id: "b", name: "t", result: "text" }];
    const { url: baseUrl } = await startServer((_, response) => response.writeHead(200, json).end(JSON.stringify({ results })));
    assert.deepEqual(await new GatewayClient({ baseUrl }).execute("openai", [CALL, CALL]), [{ content: [] }, "text"]);
  });

  it("has a bound, also where it is an error, and also for each event of a stream", async () => {
    let closed = 0;
    const piece = " ".repeat(1024);
    const { url: baseUrl, requests } = await startServer((request, response) => {
      const isStream = request.url === "/call_tool";
      response.writeHead(request.url === "/ready" ? 503 : 200, isStream ? events : json);
      const timer = setInterval(() => response.write(isStream ? `data: ${piece}\n` : piece), 1);
      response.on("close", () => (clearInterval(timer), (closed += 1)));
    });
    const client = new GatewayClient({ baseUrl, maxAnswerBytes: 10_000, retryDelayMs: 1 });
    const text = /larger than maxAnswerBytes=10000/;
    for (const work of [() => client.health(), () => client.ready(), () => client.metricsText(), () => all(client.callToolStream("s", "t"))]) {
      await assert.rejects(work, (error: AnswerTooLargeError) => error instanceof AnswerTooLargeError && text.test(error.message));
    }
    assert.equal(requests.length, 4);
    while (closed < 4) await new Promise(setImmediate);
    assert.throws(() => new GatewayClient({ maxAnswerBytes: 0 }), /maxAnswerBytes is 0/);
  });

  it("that is not too large is read whole, wherever its pieces end", async () => {
    const text = JSON.stringify({ ok: true, text: "ü€𝄞".repeat(500) });
    const { url: baseUrl } = await startServer((_, response) => {
      response.writeHead(200, json);
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; at += 7) response.write(bytes.subarray(at, at + 7));
      response.end();
    });
    assert.deepEqual(await new GatewayClient({ baseUrl }).health(), JSON.parse(text));
  });
});

describe("a redirect", () => {
  for (const status of [301, 302, 303, 307, 308]) {
    it(`with ${status} is an error, and nothing is sent to where it leads`, async () => {
      const other = await startServer((_, response) => response.writeHead(200, json).end('{"result": {}}'));
      const { url: baseUrl, requests } = await startServer((_, response) => response.writeHead(status, { location: `${other.url}/call_tool` }).end());
      const client = new GatewayClient({ baseUrl, retryDelayMs: 1, headers: { "x-api-key": "secret" } });
      const works = [() => client.callTool("s", "t", { secret: 1 }), () => client.health(), () => client.callToolStream("s", "t").next()];
      for (const work of works) {
        await assert.rejects(work, (error: GatewayHttpError) => {
          assert.deepEqual([error.constructor, error.message, error.status], [GatewayHttpError, `Gateway HTTP ${status}: no body`, status]);
          return true;
        });
      }
      assert.deepEqual([requests.length, other.requests.length], [3, 0]);
    });
  }

  it("that a browser hides is an error too", async () => {
    const opaque = Object.defineProperties(new Response(null), { type: { value: "opaqueredirect" }, status: { value: 0 }, ok: { value: false } });
    const client = new GatewayClient({ fetch: async () => opaque });
    await assert.rejects(client.health(), { name: "GatewayHttpError", message: /redirect, which is not followed/, attempts: 1 });
  });

  it("of the root is where it leads", async () => {
    const { url: baseUrl, requests } = await startServer((_, response, count) => (count === 1 ? response.writeHead(302, { location: "docs" }) : response.writeHead(200)).end());
    const client = new GatewayClient({ baseUrl });
    assert.equal(await client.root(), "docs");
    await assert.rejects(client.root(), { name: "InvalidAnswerError" });
    assert.deepEqual(requests.map((request) => request.url), ["/", "/"]);
  });
});
