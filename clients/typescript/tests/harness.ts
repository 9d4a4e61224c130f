import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { after } from "node:test";
import type { GatewayClientOptions } from "mcp-tool-gateway";
import { Gateway } from "mcp-tool-gateway/gateway";

const ends: Array<() => unknown> = [];
// Once for the whole file: an `after` within a test would end what later tests still need.
after(async () => {
  for (const end of ends.reverse()) await end();
});

/** Ends something when all tests of the file are over. */
export function atEnd(end: () => unknown): void {
  ends.push(end);
}

/** What the runner says, such as where the gateway is. */
export function given(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run these tests by run_tests.py`);
  return value;
}

/** A gateway for all tests of a file. */
export async function startGateway(config?: object, client?: GatewayClientOptions): Promise<Gateway> {
  const options = { binary: given("GATEWAY_BIN"), env: { LOG_LEVEL: "error" }, ...(client ? { client } : {}) };
  const gateway = await Gateway.start(config, options);
  atEnd(() => gateway.close());
  return gateway;
}

/** The fixture as a server of a configuration. */
export function fixture(...args: string[]): object {
  return { command: given("GATEWAY_FIXTURE"), args: ["stdio", ...args] };
}

export type Answer = (request: IncomingMessage, response: ServerResponse, count: number) => void;

/** A server that is no gateway, for what gateways never do. */
export async function startServer(answer: Answer): Promise<{ url: string; requests: IncomingMessage[]; server: Server }> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    answer(request, response, requests.length);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, server };
}

/** A port on which nobody listens. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** A program that says something when it is ready: the first group of the pattern, and the process. */
export async function startProgram(command: string, args: string[], pattern: RegExp): Promise<{ found: string; child: ChildProcess }> {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  atEnd(() => child.kill());
  for await (const line of createInterface({ input: child.stdout })) {
    const match = pattern.exec(line);
    if (match) return { found: match[1] ?? "", child };
  }
  throw new Error(`${command} does not start`);
}

/** Waits until `condition` gives something else than `undefined`. */
export async function until<T>(condition: () => Promise<T | undefined> | T | undefined): Promise<T> {
  const deadline = Date.now() + 30_000;
  for (;;) {
    const found = await condition();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error("it did not come to that within 30 s");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The times that the client waited for while `work` ran; nothing that is shorter than five seconds is waited for really. */
export async function waitsOf(work: () => Promise<unknown>): Promise<number[]> {
  const waits: number[] = [];
  const real = globalThis.setTimeout;
  const quick = (run: () => void, ms = 0, ...more: []) => {
    // `fetch` has timers of its own.
    if (ms >= 5000 || !new Error().stack?.includes("/dist/deadline.js")) return real(run, ms, ...more);
    waits.push(ms);
    return real(run, 0);
  };
  globalThis.setTimeout = quick as typeof setTimeout;
  try {
    await work();
  } finally {
    globalThis.setTimeout = real;
  }
  return waits;
}
