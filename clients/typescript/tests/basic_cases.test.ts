// The 22 cases of the first client, against a real gateway and, for what gateways do not do on demand, a server that does.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  ConnectionFailedError,
  GatewayClient,
  GatewayError,
  type Health,
  type LogEntry,
  type Provider,
  ServerNotFoundError,
  ToolNotFoundError,
} from "mcp-tool-gateway";
import { freePort, startGateway, startServer, waitsOf } from "./harness.js";

const config = {
  mcpServers: { default: { type: "builtin" }, "my server": { type: "builtin" }, broken: { command: "/nonexistent/program" } },
};
const { url } = await startGateway(config);
const seen: string[] = [];
const client = new GatewayClient({
  baseUrl: url,
  timeoutMs: 20_000,
  maxRetries: 2,
  retryDelayMs: 5,
  fetch: (input, init) => {
    seen.push(`${init?.method} ${String(input).slice(url.length)}`);
    return fetch(input, init);
  },
});

describe("constructor", () => {
  it("has defaults for everything", () => {
    assert.equal(new GatewayClient().baseUrl, "http://127.0.0.1:8787");
    assert.equal(new GatewayClient({ baseUrl: "http://test/" }).baseUrl, "http://test");
  });

  it("takes its own retry configuration", async () => {
    const down = () => Promise.reject(new Error("down"));
    const custom = new GatewayClient({ maxRetries: 5, retryDelayMs: 4, retryBackoff: 3, fetch: down });
    const waits = await waitsOf(() =>
      assert.rejects(custom.health(), { message: "Request failed after 6 attempts: Network error: down" }),
    );
    assert.deepEqual(waits, [4, 12, 36, 108, 324]);
    const usual = new GatewayClient({ fetch: down });
    assert.deepEqual(await waitsOf(() => assert.rejects(usual.health())), [1000, 2000, 4000]);
    assert.throws(() => new GatewayClient({ baseUrl: "ftp://x" }), /baseUrl `ftp:\/\/x` is no address/);
    assert.throws(() => new GatewayClient({ maxRetries: -1 }), /maxRetries is -1/);
  });
});

describe("getTools", () => {
  it("gets Gemini's tools", async () => {
    const tools = await client.getTools("gemini", "default");
    const add = tools.function_declarations.find((tool) => tool.name === "add");
    assert.deepEqual(add, {
      name: "add",
      description: "Add two numbers.",
      parameters: {
        type: "object",
        properties: { a: { type: "number", description: "First number" }, b: { type: "number", description: "Second number" } },
        required: ["a", "b"],
      },
    });
    assert.equal(seen.at(-1), "GET /tools/gemini?server=default");
  });

  it("gets OpenAI's tools", async () => {
    const tools = await client.getTools("openai");
    assert.ok(tools.tools.every((tool) => tool.type === "function"));
    assert.equal(seen.at(-1), "GET /tools/openai");
  });

  it("encodes what stands in the URL", async () => {
    const tools = await client.getTools("gemini", { server: "my server" });
    assert.ok(tools.function_declarations.length > 0);
    assert.equal(seen.at(-1), "GET /tools/gemini?server=my%20server");
    await assert.rejects(client.getTools("a/b?c"), { code: "UNKNOWN_PROVIDER" });
    assert.equal(seen.at(-1), "GET /tools/a%2Fb%3Fc");
    await assert.rejects(client.getTools(".."), TypeError);
  });

  it("reports errors of HTTP", async () => {
    const text = await startServer((_, response) => response.writeHead(404, { "content-type": "text/plain" }).end("Server not found"));
    await assert.rejects(new GatewayClient({ baseUrl: text.url }).getTools("gemini"), { message: "Gateway HTTP 404: Server not found" });
    assert.equal(text.requests.length, 1);
    await assert.rejects(client.getTools("gemini", "nonexistent"), (error: ServerNotFoundError) => {
      assert.ok(error instanceof ServerNotFoundError && error instanceof GatewayError);
      assert.match(error.message, /^Gateway HTTP 400: /);
      assert.deepEqual([error.status, error.code, error.attempts], [400, "SERVER_NOT_FOUND", 1]);
      assert.match(error.correlationId ?? "", /^[0-9a-f]{32}$/);
      return true;
    });
  });

  it("reports errors in JSON", async () => {
    await assert.rejects(client.getTools("gemini", "broken"), (error: ConnectionFailedError) => {
      assert.ok(error instanceof ConnectionFailedError);
      assert.match(error.message, /^Request failed after 3 attempts: Gateway HTTP 500: .*broken/);
      return true;
    });
  });
});

describe("execute", () => {
  it("runs a call of Gemini", async () => {
    const result = await client.execute("gemini", { name: "add", args: { a: 15, b: 27 } }, "default");
    assert.deepEqual(result.structuredContent, { result: 42, operation: "add", a: 15, b: 27 });
    assert.equal(seen.at(-1), "POST /execute");
    assert.deepEqual(
      await client.execute("gemini", { name: "add", args: { a: 15, b: 27 } }, { server: "default", result: "parsed" }),
      { result: 42, operation: "add", a: 15, b: 27 },
    );
  });

  it("runs a call of OpenAI, whose arguments are a text", async () => {
    const result = await client.execute("openai", { name: "add", arguments: '{"a": 15, "b": 27}' }, "default");
    assert.equal(result.structuredContent.result, 42);
    const both = [
      { id: "c1", type: "function", function: { name: "add", arguments: '{"a": 1, "b": 2}' } },
      { id: "c2", type: "function", function: { name: "multiply", arguments: '{"a": 3, "b": 4}' } },
    ];
    const results = await client.execute<unknown[]>("openai", both, { server: "default", result: "parsed" });
    assert.equal(results.length, 2);
    assert.match(JSON.stringify(results), /"result":3\b.*"result":12\b/);
  });

  it("reports calls that cannot run", async () => {
    const call = { name: "invalid", args: {} };
    await assert.rejects(client.execute("gemini", call, { server: "default", errors: "precise" }), (error: ToolNotFoundError) => {
      assert.ok(error instanceof ToolNotFoundError);
      assert.equal(error.message, "Gateway HTTP 404: Tool not found: invalid");
      return true;
    });
    // Unless asked to be precise, the gateway says it to the model.
    const result = await client.execute("gemini", call, "default");
    assert.deepEqual([result.isError, result.content[0]?.text], [true, "Tool not found: invalid"]);
    await assert.rejects(client.execute("gemini", { args: {} }), { code: "VALIDATION_ERROR", status: 400 });
  });
});

describe("callTool", () => {
  it("runs a tool by its name", async () => {
    const result = await client.callTool("default", "add", { a: 10, b: 20 });
    assert.equal(result.structuredContent.result, 30);
    assert.equal(seen.at(-1), "POST /call_tool");
  });
});

describe("tools", () => {
  it("gets the tools of a server as MCP has them", async () => {
    const { tools } = await client.tools("default");
    assert.deepEqual(tools.map((tool) => tool.name).slice(0, 2), ["add", "multiply"]);
    assert.ok(tools.every((tool) => tool.inputSchema));
    assert.equal(seen.at(-1), "GET /tools?server=default");
  });

  it("gets them without a server", async () => {
    await client.tools();
    assert.equal(seen.at(-1), "GET /tools");
  });
});

describe("logs", () => {
  it("takes all parameters, in both forms", async () => {
    await client.callTool("default", "add", { a: 1, b: 2 });
    const since = "2025-01-01T00:00:00Z";
    const entries: LogEntry[] = await client.logs("default", since, 50);
    const { tool, input, error } = entries.at(-1) ?? {};
    assert.deepEqual({ tool, input, error }, { tool: "add", input: { a: 1, b: 2 }, error: undefined });
    assert.deepEqual(await client.logs({ server: "default", since, limit: 50 }), entries);
    assert.match(seen.at(-1) ?? "", /since=2025-01-01T00%3A00%3A00Z/);
    assert.match(seen.at(-1) ?? "", /limit=50/);
  });

  it("asks for a hundred where nothing is said", async () => {
    await client.logs("default");
    assert.equal(seen.at(-1), "GET /logs?server=default&limit=100");
  });
});

describe("health", () => {
  it("has what the gateway says", async () => {
    const health: Health = await client.health();
    const servers = health.servers ?? [];
    assert.equal(health.configSource, "file");
    assert.equal(health.serverCount, 3);
    assert.deepEqual(servers.map((server) => [server.name, server.transport]).sort(), [
      ["broken", "stdio"],
      ["default", "builtin"],
      ["my server", "builtin"],
    ]);
    assert.equal(servers.find((server) => server.name === "default")?.connected, true);
  });
});

describe("retries", () => {
  it("come after a broken connection", async () => {
    const { url: baseUrl, requests } = await startServer((request, response, count) => {
      if (count < 3) request.socket.destroy();
      else response.writeHead(200, { "content-type": "application/json" }).end('{"ok": true}');
    });
    const health = await new GatewayClient({ baseUrl, retryDelayMs: 1 }).health();
    assert.equal(health.ok, true);
    assert.equal(requests.length, 3);
  });

  it("do not come after 4xx", async () => {
    for (const status of [400, 404, 408, 409, 422, 429]) {
      const { url: baseUrl, requests } = await startServer((_, response) =>
        response.writeHead(status, { "content-type": "application/json" }).end('{"error": "Invalid request"}'),
      );
      const lone = new GatewayClient({ baseUrl, retryDelayMs: 1 });
      await assert.rejects(lone.health(), { message: `Gateway HTTP ${status}: Invalid request`, status });
      assert.equal(requests.length, 1);
    }
  });

  it("come after 5xx", async () => {
    const { url: baseUrl, requests } = await startServer((_, response, count) => {
      if (count === 1) response.writeHead(500, { "content-type": "text/plain" }).end("Server error");
      else response.writeHead(200, { "content-type": "application/json" }).end('{"ok": true}');
    });
    const health = await new GatewayClient({ baseUrl, retryDelayMs: 1 }).health();
    assert.equal(health.ok, true);
    assert.equal(requests.length, 2);
  });

  it("come to an end", async () => {
    const baseUrl = `http://127.0.0.1:${await freePort()}`;
    let sent = 0;
    const lone = new GatewayClient({
      baseUrl,
      maxRetries: 2,
      retryDelayMs: 1,
      fetch: (input, init) => {
        sent += 1;
        return fetch(input, init);
      },
    });
    await assert.rejects(lone.health(), (error: GatewayError) => {
      assert.match(error.message, /^Request failed after 3 attempts: Network error: connect ECONNREFUSED 127\.0\.0\.1/);
      assert.equal(error.attempts, 3);
      return true;
    });
    assert.equal(sent, 3);
  });
});

describe("timeout", () => {
  it("ends a request that takes too long", async () => {
    const { url: baseUrl } = await startServer(() => {});
    const impatient = new GatewayClient({ baseUrl, timeoutMs: 30, maxRetries: 0 });
    await assert.rejects(impatient.health(), { name: "RequestTimeoutError", message: "Request timeout after 30ms" });
  });
});

describe("types", () => {
  it("know the providers", async () => {
    const known: Provider[] = ["gemini", "openai", "xai"];
    const names = (await client.providers()).providers.map((provider) => provider.name);
    for (const name of known) assert.ok(names.includes(name) || name === "openai", name);
  });
});
