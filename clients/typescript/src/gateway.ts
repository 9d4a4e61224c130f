/// <reference lib="esnext.disposable" />
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findBinary } from "./binary.js";
import { endWithUs, forget } from "./children.js";
import { GatewayClient } from "./client.js";
import type { GatewayClientOptions } from "./options.js";

export { findBinary } from "./binary.js";
export { platformPackage } from "./platform.js";

/** How a gateway is started. */
export interface StartOptions {
  /** The program; that of the platform package unless given. */
  binary?: string;
  /**
   * Where the gateway keeps its log and what it remembers. Default: what the configuration names, else a folder that goes away
   * with the gateway.
   */
  data?: string;
  /** Another port than a free one. */
  port?: number;
  /** More arguments of `serve`. */
  args?: string[];
  /** More variables. */
  env?: Record<string, string>;
  /** How the client of this gateway is made. */
  client?: Omit<GatewayClientOptions, "baseUrl">;
  /** How long the start may take, in milliseconds. Default 30000. */
  startTimeoutMs?: number;
  /** Ends the start. */
  signal?: AbortSignal;
}

// The gateway lets calls in flight finish for ten seconds.
const LONGEST_END = 15_000;
const KEPT_OUTPUT = 16 << 10;

/** A gateway that runs as long as this does. */
export class Gateway {
  readonly #process: ChildProcess;
  readonly #folder: string;
  readonly #ended: Promise<void>;
  #closing: Promise<void> | undefined;

  private constructor(
    process: ChildProcess,
    folder: string,
    ended: Promise<void>,
    /** Calls of this gateway. */
    readonly client: GatewayClient,
  ) {
    this.#process = process;
    this.#folder = folder;
    this.#ended = ended;
  }

  /**
   * Starts a gateway on a free port of loopback. `config` is a configuration, or the path of a file with one; without it the
   * gateway has its demo server only.
   */
  static async start(config?: object | string, options: StartOptions = {}): Promise<Gateway> {
    const binary = options.binary ?? findBinary();
    options.signal?.throwIfAborted();
    const folder = await mkdtemp(join(tmpdir(), "mcp-tool-gateway-"));
    const file = typeof config === "string" ? config : join(folder, "config.json");
    if (typeof config !== "string") {
      const content = config ?? { mcpServers: { demo: { type: "builtin" } } };
      await writeFile(file, JSON.stringify(content), { mode: 0o600 });
    }
    const keepsData = options.data === undefined && (typeof config === "string" ? await namesData(config) : "dataDirectory" in (config ?? {}));
    const data = keepsData ? [] : ["--data", options.data ?? join(folder, "data")];
    const args = ["serve", "--config", file, ...data, "--port", String(options.port ?? 0), ...(options.args ?? [])];
    const child = spawn(binary, args, {
      env: { ...process.env, ...options.env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    endWithUs(child, folder);
    const ended = new Promise<void>((resolve) => {
      child.once("error", () => resolve());
      child.once("exit", () => resolve());
    }).finally(() => forget(child));
    try {
      const baseUrl = await listening(child, binary, options);
      const gateway = new Gateway(child, folder, ended, new GatewayClient({ ...options.client, baseUrl }));
      // An idle program may end while its gateway runs; `close` and the end of the process stop it.
      for (const handle of [child, child.stdout, child.stderr]) (handle as { unref?: () => void } | null)?.unref?.();
      return gateway;
    } catch (error) {
      child.kill("SIGKILL");
      await ended;
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /** Where it listens. */
  get url(): string {
    return this.client.baseUrl;
  }

  /** The id of its process. */
  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Ends the gateway and its servers, and waits for that. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #end(): Promise<void> {
    this.#process.ref();
    this.#process.kill("SIGTERM");
    const timer = setTimeout(() => this.#process.kill("SIGKILL"), LONGEST_END);
    await this.#ended;
    clearTimeout(timer);
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Whether a file of configuration, which may be JSON with comments, TOML or YAML, says where data are kept. */
async function namesData(path: string): Promise<boolean> {
  // What is wrong with the file, the gateway says better.
  const text = await readFile(path, "utf8").catch(() => "");
  return /^(?!\s*(?:\/\/|#)).*\bdataDirectory["']?\s*[:=]/m.test(text);
}

/** The address that the gateway says it listens on. */
function listening(child: ChildProcess, binary: string, options: StartOptions): Promise<string> {
  const timeoutMs = options.startTimeoutMs ?? 30_000;
  let output = "";
  let errors = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  let onAbort = () => {};
  const begun = new Promise<string>((resolve, reject) => {
    const fail = (what: string, cause?: unknown) => {
      const said = (errors.trim() || output.trim()).slice(-2000);
      reject(new Error(`starting ${binary}: it ${what}${said ? `; it said: ${said}` : ""}`, { cause }));
    };
    onAbort = () => reject(options.signal?.reason);
    timer = setTimeout(() => fail(`does not listen after ${timeoutMs}ms`), timeoutMs);
    // Read to the end: a full pipe would stop the gateway.
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(-KEPT_OUTPUT);
      const url = /listening on (http:\/\/\S+)/.exec(output)?.[1];
      if (url) resolve(url);
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      errors = (errors + text).slice(-KEPT_OUTPUT);
    });
    child.once("error", (cause) => fail(`cannot be run: ${cause.message}`, cause));
    child.once("close", (code, signal) => fail(`ended with ${signal ?? `status ${code}`}`));
    options.signal?.addEventListener("abort", onAbort, { once: true });
  });
  return begun.finally(() => {
    clearTimeout(timer);
    options.signal?.removeEventListener("abort", onAbort);
  });
}
