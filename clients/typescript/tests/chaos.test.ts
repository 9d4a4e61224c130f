// 2,000 calls through a proxy that cuts a fifth of all exchanges run 2,000 times.
import assert from "node:assert/strict";
import { join } from "node:path";
import { it } from "node:test";
import { GatewayClient, NetworkError } from "mcp-tool-gateway";
import { given, startGateway, startProgram } from "./harness.js";

const CALLS = 2000;
const AT_ONCE = 16;
const counting = { command: given("PYTHON"), args: [join(given("CLIENT_TESTING"), "counting_server.py")] };
const gateway = await startGateway({ mcpServers: { counting } });
const proxy = [join(given("CLIENT_TESTING"), "chaos_proxy.py"), "--to", new URL(gateway.url).port, "--cut", "0.2", "--seed", "14"];
const { found: port, child } = await startProgram(given("PYTHON"), proxy, /listening on (\d+)/);
const client = new GatewayClient({ baseUrl: `http://127.0.0.1:${port}`, retryDelayMs: 2, retryBackoff: 1.5, maxRetries: 12 });

/** What the server of all calls has seen. */
async function count(): Promise<{ count: number; repeated: Record<string, number> }> {
  const result = await gateway.client.callTool("counting", "count");
  return JSON.parse(result.content[0]?.text ?? "");
}

/** Makes the calls in turn, some at once, in every way that runs a tool; what came of each. */
async function makeCalls(name: string, calls: number, by: GatewayClient): Promise<{ good: number; errors: unknown[] }> {
  let next = 0;
  let good = 0;
  const errors: unknown[] = [];
  const worker = async () => {
    while (next < calls) {
      const note = `${name} ${(next += 1)}`;
      try {
        const result =
          next % 2
            ? await by.callTool("counting", "increment", { note })
            : await by.execute("anthropic", { type: "tool_use", id: note, name: "increment", input: { note } }, "counting");
        assert.match(JSON.stringify(result), /count/);
        good += 1;
      } catch (error) {
        errors.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return { good, errors };
}

it("every call runs once, and every caller gets its result", async () => {
  const { good, errors } = await makeCalls("call", CALLS, client);
  assert.deepEqual(errors, []);
  assert.equal(good, CALLS);
  assert.deepEqual(await count(), { count: CALLS, repeated: {} });
});

it("a caller who may not try again gets a documented error, and no call runs twice", async () => {
  const before = (await count()).count;
  const { good, errors } = await makeCalls("single", 200, new GatewayClient({ baseUrl: client.baseUrl, maxRetries: 0 }));
  assert.equal(good + errors.length, 200);
  assert.ok(errors.length > 0);
  for (const error of errors) {
    assert.ok(error instanceof NetworkError);
    assert.match(error.message, /^Network error: ./);
  }
  const after = await count();
  assert.deepEqual(after.repeated, {});
  assert.ok(after.count >= before + good && after.count <= before + 200);
});

it("the proxy has cut at every point", async () => {
  let said = "";
  child.stdout?.on("data", (text) => (said += text));
  child.stdin?.end();
  await new Promise((resolve) => child.once("close", resolve));
  const counts = JSON.parse(said.trim().split("\n").at(-1) ?? "") as Record<string, number>;
  console.log(counts);
  for (const point of ["before", "forwarded", "answered", "during"]) assert.ok((counts[point] ?? 0) > 50, point);
});
