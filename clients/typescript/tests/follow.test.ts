import assert from "node:assert/strict";
import { type Socket, connect, createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { GatewayClient, type LogEntry } from "mcp-tool-gateway";
import { Gateway } from "mcp-tool-gateway/gateway";
import { atEnd, freePort, given, startGateway, until } from "./harness.js";

/** A way to a port that can be cut. */
async function cuttable(port: () => number): Promise<{ port: number; cut: () => number }> {
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(port(), "127.0.0.1");
    for (const [one, other] of [[near, far], [far, near]] as const) {
      one.on("error", () => other.destroy());
      one.on("close", () => (open.delete(one), other.destroy()));
      one.pipe(other);
    }
    open.add(near);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  atEnd(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const cut = () => {
    const count = open.size;
    for (const socket of open) socket.destroy();
    return count;
  };
  return { port: (server.address() as AddressInfo).port, cut };
}

/** Collects entries until its signal aborts. */
function collect(client: GatewayClient, signal: AbortSignal): { entries: LogEntry[]; ended: Promise<unknown> } {
  const entries: LogEntry[] = [];
  const ended = (async () => {
    for await (const entry of client.followLogs({ signal })) entries.push(entry);
  })();
  return { entries, ended };
}

const numbers = (entries: LogEntry[]) => entries.map((entry) => (entry.input as { a: number }).a);

describe("followLogs", () => {
  it("gives every entry once over connections that break", async () => {
    const gateway = await startGateway();
    const way = await cuttable(() => Number(new URL(gateway.url).port));
    const controller = new AbortController();
    for (let a = 1; a <= 3; a += 1) await gateway.client.callTool("demo", "add", { a, b: 0 });
    const client = new GatewayClient({ baseUrl: `http://127.0.0.1:${way.port}`, retryDelayMs: 1, retryBackoff: 1 });
    const { entries, ended } = collect(client, controller.signal);
    await until(() => (entries.length === 3 ? true : undefined));
    for (let a = 4; a <= 40; a += 1) {
      if (a % 4 === 0) await until(() => way.cut() || undefined);
      await gateway.client.callTool("demo", "add", { a, b: 0 });
    }
    await until(() => (entries.length >= 40 ? true : undefined));
    controller.abort(new Error("enough"));
    await assert.rejects(ended, { message: "enough" });
    assert.deepEqual(numbers(entries), Array.from({ length: 40 }, (_, index) => index + 1));
  });

  it("misses nothing where the log was empty and the connection broke before the first entry", async () => {
    const gateway = await startGateway();
    const way = await cuttable(() => Number(new URL(gateway.url).port));
    const controller = new AbortController();
    const client = new GatewayClient({ baseUrl: `http://127.0.0.1:${way.port}`, retryDelayMs: 1 });
    const entries: LogEntry[] = [];
    const ended = (async () => {
      for await (const entry of client.followLogs({ signal: controller.signal, limit: 1 })) entries.push(entry);
    })();
    await until(async () => (/^gateway_log_streams 1$/m.test(await gateway.client.metricsText()) ? true : undefined));
    way.cut();
    for (let a = 1; a <= 5; a += 1) await gateway.client.callTool("demo", "add", { a, b: 0 });
    await until(() => (entries.length >= 5 ? true : undefined));
    controller.abort();
    await assert.rejects(ended, { name: "AbortError" });
    assert.deepEqual(numbers(entries), [1, 2, 3, 4, 5]);
  });

  it("goes on when its gateway was started again", async () => {
    const folder = await mkdtemp(join(tmpdir(), "followed-"));
    atEnd(() => rm(folder, { recursive: true, force: true }));
    const port = await freePort();
    const options = { binary: given("GATEWAY_BIN"), data: join(folder, "data"), port };
    const controller = new AbortController();
    const first = await Gateway.start(undefined, options);
    const client = new GatewayClient({ baseUrl: first.url, retryDelayMs: 20, retryBackoff: 1 });
    await client.callTool("demo", "add", { a: 1, b: 0 });
    const { entries, ended } = collect(client, controller.signal);
    await until(() => (entries.length === 1 ? true : undefined));
    await first.close();
    const second = await Gateway.start(undefined, options);
    atEnd(() => second.close());
    await client.callTool("demo", "add", { a: 2, b: 0 });
    await until(() => (entries.length >= 2 ? true : undefined));
    controller.abort();
    await assert.rejects(ended, { name: "AbortError" });
    assert.deepEqual(numbers(entries), [1, 2]);
  });

  it("takes filters, and where to begin", async () => {
    const { client } = await startGateway();
    for (const tool of ["add", "multiply", "add"]) await client.callTool("demo", tool, { a: 2, b: 3 });
    const stop = AbortSignal.timeout(30_000);
    const first = async (options: Parameters<typeof client.followLogs>[0]) => {
      for await (const entry of client.followLogs({ ...(options as object), signal: stop })) return entry;
      return undefined;
    };
    assert.equal((await first({ tool: "multiply" }))?.tool, "multiply");
    const [oldest, second] = await client.logs();
    assert.equal((await first({ after: oldest?.id ?? 0 }))?.id, second?.id);
    await assert.rejects(first({ server: "nobody" }), { code: "SERVER_NOT_FOUND" });
  });
});
