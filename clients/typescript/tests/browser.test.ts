// The package as it is published, as modules of a page in Chromium, which talks to a gateway on another origin.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { type Page, chromium } from "playwright-core";
import { atEnd, given, startGateway, startServer } from "./harness.js";

const root = fileURLToPath(new URL("../../dist/", import.meta.url));
const { url: origin } = await startServer((request, response) => {
  if (request.url === "/") return void response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>page</title>");
  try {
    const text = readFileSync(new URL(`.${request.url}`, `file://${root}`));
    response.writeHead(200, { "content-type": "text/javascript" }).end(text);
  } catch {
    response.writeHead(404).end();
  }
});

/** Runs code in a new page, where `client` is one of the gateway and `mcp` is the package. */
async function inPage<T>(gateway: string, options: object, code: string): Promise<T> {
  const page = await newPage();
  try {
    const program = `(async () => {
      const mcp = await import("/index.js");
      const client = new mcp.GatewayClient({ ...${JSON.stringify(options)}, baseUrl: ${JSON.stringify(gateway)} });
      ${code}
    })()`;
    return (await page.evaluate(program)) as T;
  } finally {
    await page.close();
  }
}

async function newPage(): Promise<Page> {
  const page = await browser.newPage();
  page.on("pageerror", (error) => console.error(error));
  await page.goto(origin);
  return page;
}

const KEY = "a-key-of-a-page";
const allowed = await startGateway({ mcpServers: { demo: { type: "builtin" } }, allowedOrigins: [origin], apiKeys: { page: KEY } });
const executablePath = process.env["BROWSER"];
// The runner says that it was left out, and does not call that good.
const skip = executablePath ? false : "no Chromium is installed";
const browser = skip ? (undefined as never) : await chromium.launch({ executablePath: given("BROWSER"), args: ["--no-sandbox"] });
atEnd(() => (skip ? undefined : browser.close()));

describe("a page of an allowed origin", { skip }, () => {
  it("gets tools, calls them, and reads what headers say", async () => {
    const seen = await inPage<Record<string, unknown>>(allowed.url, { apiKey: KEY }, `
      const infos = [];
      const onResponse = (info) => infos.push([info.status, info.correlationId, info.headers.get("x-correlation-id")]);
      const tools = await client.getTools("openai", { onResponse, correlationId: "from-a-page" });
      const result = await client.callTool("demo", "add", { a: 15, b: 27 });
      const chunks = new ReadableStream({ start(controller) {
        const call = { index: 0, id: "c1", type: "function", function: { name: "add", arguments: '{"a": 1, ' } };
        controller.enqueue({ object: "chat.completion.chunk", choices: [{ index: 0, delta: { tool_calls: [call] } }] });
        const rest = { index: 0, function: { arguments: '"b": 2}' } };
        controller.enqueue({ object: "chat.completion.chunk", choices: [{ index: 0, delta: { tool_calls: [rest] }, finish_reason: "tool_calls" }] });
        controller.close();
      } });
      const reply = await client.executeReply(chunks, { provider: "openai" });
      return { names: tools.tools.map((tool) => tool.function.name), result: result.structuredContent.result, infos, reply: reply.messages };
    `);
    assert.deepEqual((seen["names"] as string[]).slice(0, 2), ["add", "multiply"]);
    assert.equal(seen["result"], 42);
    assert.deepEqual(seen["infos"], [[200, "from-a-page", "from-a-page"]]);
    assert.match(JSON.stringify(seen["reply"]), /"tool_call_id":"c1".*\\"result\\":3\b/);
  });

  it("follows the log, and stops", async () => {
    const entries = await inPage<unknown[]>(allowed.url, { apiKey: KEY }, `
      const entries = [];
      const controller = new AbortController();
      const follow = (async () => {
        for await (const entry of client.followLogs({ limit: 1, signal: controller.signal })) {
          entries.push(entry.input.a);
          if (entries.length === 3) controller.abort(new Error("enough"));
          else await client.callTool("demo", "add", { a: entries.length + 100, b: 0 });
        }
      })();
      return await follow.then(() => "ended", (error) => [...entries.slice(1), error.message]);
    `);
    assert.deepEqual(entries, [101, 102, "enough"]);
  });

  it("ends requests by signals, and gets errors by class", async () => {
    const seen = await inPage<unknown[]>(allowed.url, { apiKey: KEY }, `
      const controller = new AbortController();
      const aborted = client.health({ signal: controller.signal }).catch((error) => error.name);
      controller.abort();
      const wrong = await client.getTools("nobody").catch((error) => [error instanceof mcp.UnknownProviderError, error.code, error.status]);
      const keyless = await new mcp.GatewayClient({ baseUrl: client.baseUrl }).tools().catch((error) => error.code);
      return [await aborted, wrong, keyless];
    `);
    assert.deepEqual(seen, ["AbortError", [true, "UNKNOWN_PROVIDER", 400], "UNAUTHORIZED"]);
  });
});

describe("a page of any other origin", { skip }, () => {
  it("is refused by the gateway, which the client reports as a network error", async () => {
    const closed = await startGateway();
    const seen = await inPage<unknown[]>(closed.url, { maxRetries: 1, retryDelayMs: 1 }, `
      return await Promise.all([client.tools(), client.callTool("demo", "add", { a: 1, b: 2 })].map((work) =>
        work.then(() => "read", (error) => [error instanceof mcp.NetworkError, error.message])));
    `);
    const refused = [true, "Request failed after 2 attempts: Network error: Failed to fetch"];
    assert.deepEqual(seen, [refused, refused]);
    assert.deepEqual(await closed.client.logs(), []);
  });
});
