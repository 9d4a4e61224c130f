// The native part, from the platform's package.

import { createRequire } from "node:module";
import process from "node:process";
import { platformPackage } from "../platform.js";

/** What the addon exports. Texts are JSON. */
export interface Native {
  version(): string;
  convert(tools: string, options: string): { json: string; leftOut?: string };
  run(operation: string, input: string, options: string): string;
  Stream: new (options: string) => NativeStream;
}

export interface NativeStream {
  push(bytes: Uint8Array): string;
  pushChunk(chunk: string): string;
  finish(): string;
}

/** The engine refused its input, or is not there. `code` is for programs; codes are those of the HTTP API. */
export class EngineError extends Error {
  override readonly name = "EngineError";
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

let loaded: Native | undefined;

/** Loads the addon once. `MCP_TOOL_GATEWAY_NATIVE` names another file, for development. */
export function native(): Native {
  if (loaded) return loaded;
  const require = createRequire(import.meta.url);
  const own = process.env["MCP_TOOL_GATEWAY_NATIVE"];
  const from = own ? own : `${platformPackage()}/engine.node`;
  try {
    loaded = require(from) as Native;
  } catch (cause) {
    const message =
      `the engine's native part cannot be loaded from ${from}; install ${platformPackage()}, ` +
      `which npm does on Linux on x86-64 with glibc unless optional dependencies are left out`;
    throw new EngineError("UNKNOWN", message, { cause });
  }
  return loaded;
}

/** Calls the addon. Its errors are JSON with code and message. */
export function guarded<T>(work: (native: Native) => T): T {
  const addon = native();
  try {
    return work(addon);
  } catch (cause) {
    throw readError(cause);
  }
}

function readError(cause: unknown): unknown {
  if (!(cause instanceof Error)) return cause;
  try {
    const { code, message } = JSON.parse(cause.message) as { code: string; message: string };
    return new EngineError(code, message);
  } catch {
    return cause;
  }
}
