// The programs of both READMEs are run as they are; only where the services listen is not theirs to say.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { atEnd, given, startGateway, startProgram } from "./harness.js";

const gateway = await startGateway();
const folder = await mkdtemp(join(tmpdir(), "snippets-"));
atEnd(() => rm(folder, { recursive: true, force: true }));

async function run(snippet: string, environment: Record<string, string> = {}): Promise<string> {
  const preload = join(folder, "preload.mjs");
  const map = 'const real = fetch; globalThis.fetch = (url, init) => real(String(url).replace("http://127.0.0.1:8787", process.env.GATEWAY_URL), init);';
  await writeFile(preload, map);
  const program = fileURLToPath(new URL(snippet, import.meta.url));
  const env = { ...process.env, GATEWAY_URL: gateway.url, MCP_TOOL_GATEWAY_BIN: given("GATEWAY_BIN"), ...environment };
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", preload, program], { env, timeout: 60_000 });
  return stdout;
}

it("each program has a test", async () => {
  const found = await readdir(new URL("snippets", import.meta.url));
  const tested = ["client_1.js", "client_2.js", "client_3.js", "client_4.js", "project_1.js"];
  assert.deepEqual(found.sort(), tested, "write a test for a program that came, and drop that of one that went");
});

it("the first three lines of the project", async () => {
  assert.match(await run("snippets/project_1.js"), /result: 42/);
  assert.match(await run("../../tests/snippets/project_first.mjs"), /result: 42/);
});

it("the first three lines", async () => {
  assert.match(await run("snippets/client_1.js"), /result: 42/);
  assert.match(await run("../../tests/snippets/client_first.mjs"), /result: 42/);
});

it("the loop with OpenAI's SDK", async () => {
  const script = join(folder, "script.json");
  const call = { id: "abcDEF123", name: "add", arguments: { a: 15, b: 27 } };
  await writeFile(script, JSON.stringify({ strict: true, steps: [{ reply: { calls: [call] } }, { reply: { text: "It is 42." } }] }));
  const model = await startProgram(given("GATEWAY_MODEL"), ["--wire", "chat", "--script", script, "--strict"], /"url":"([^"]+)"/);
  const environment = { OPENAI_BASE_URL: model.found, OPENAI_API_KEY: "none" };
  assert.equal(await run("snippets/client_2.js", environment), "It is 42.\n");
});

it("the log and an error", async () => {
  await gateway.client.callTool("demo", "add", { a: 1, b: 2 });
  const [first, second] = (await run("snippets/client_3.js")).split("\n");
  assert.match(first ?? "", /^add \d/);
  assert.match(second ?? "", /^Gateway HTTP 400: server `demo` has no tool `no-such-tool` [0-9a-f]{32}$/);
});

it("the engine", { skip: process.env["MCP_TOOL_GATEWAY_NATIVE"] ? false : "the engine's library is not named" }, async () => {
  const lines = (await run("snippets/client_4.js")).split("\n");
  assert.match(lines[0] ?? "", /^\[\{"name":"weather",.*"input_schema":\{/);
  assert.equal(lines[1], "[ 'weather' ]");
  // This family of models takes no bounds, so that they are said in words.
  assert.match(lines.slice(2).join(" "), /description: .IMPORTANT: minimum 2 characters/);
});
