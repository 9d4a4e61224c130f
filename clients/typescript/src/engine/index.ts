/**
 * The engine in process: tools, calls, results and conversations, to and from every provider's format. For Node; it is native code.
 *
 * Each operation takes values and gives new ones; its twin with `Text` takes and gives JSON text. Options have the names of the HTTP
 * API. What the engine refuses is an {@link EngineError}.
 */

import process from "node:process";

import { find } from "./conversion_cache.js";
import { EngineError, guarded, type NativeStream } from "./native.js";

export { EngineError } from "./native.js";
export {
  createMcpToolCompatibility,
  detectModelProvider,
  McpToolCompatibility,
  type ModelInfo,
  type RuntimeLike,
} from "../compatibility.js";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** What chooses a dialect and tunes a translation. */
export interface TranslationOptions {
  /** The dialect; `profile` and `provider` mean the same. */
  to?: string;
  profile?: string;
  provider?: string;
  /** A model id that chooses the dialect, or beside `to` only the layer of its family. */
  model?: string;
  compat?: string;
  defaults?: "keep" | "strip" | "describe";
  open?: "declared" | "all";
  strict?: "as-named" | "auto";
  verbatim?: boolean;
  hide?: readonly string[];
  inject?: Readonly<Record<string, unknown>>;
  descriptionFallback?: string;
  emptyRequired?: "keep" | "omit" | "add";
  budget?: number | "auto" | "off";
  maxDepth?: number;
  maxNodes?: number;
  maxBytes?: number;
}

export interface ConvertOptions extends TranslationOptions {
  /** Answer as `POST /convert` does: the tools, and what happened to every keyword. */
  report?: boolean;
  /** Hears of tools that are left out; without it they are warnings of the process. */
  onWarning?: (message: string) => void;
}

export interface CallOptions {
  provider?: string;
  model?: string;
  strict?: "as-named" | "auto";
  /** MCP's definitions, as they were given to `convert`: arguments are decoded and validated, and names are those of the tools. */
  tools?: unknown;
  coerce?: boolean;
  fillDefaults?: boolean;
  badArguments?: "error" | "raw" | "repair";
}

/** A call in the neutral format. It has `error` instead of `input` if it must not be run. */
export interface Call {
  type: "tool_use";
  id: string;
  name: string;
  input?: Record<string, unknown>;
  error?: { code: string; message: string; issues?: { path: string; message: string }[] };
  wireName?: string;
  signature?: string;
  item_id?: string;
}

export interface Reply {
  calls: Call[];
  text?: string;
  reasoning?: string;
  usage?: Usage;
  stop?: string;
}

export interface Usage {
  inputTokens: number;
  outputTokens: number;
  cachedTokens?: number;
}

export interface ToolResult {
  id?: string | null;
  name: string;
  /** A `CallToolResult` of MCP, or a text. */
  result: unknown;
}

export interface HistoryOptions {
  from: string;
  to: string;
  tools?: unknown;
  system?: unknown;
  mode?: "native" | "text" | "text-only";
  model?: string;
}

export type StreamEvent =
  | { type: "text" | "reasoning"; text: string }
  | { type: "reasoning_item"; item: unknown }
  | { type: "signature"; signature: string }
  | { type: "call"; call: Call }
  | { type: "stop"; reason: string }
  | { type: "usage"; usage: Usage }
  | { type: "error"; error: unknown };

/** JSON text of a value. What JSON has no word for is refused instead of being left out. */
function written(value: unknown, what: string): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.split("\n")[0] : String(cause);
    throw new EngineError("VALIDATION_ERROR", `${what} cannot be written as JSON: ${reason}`, { cause });
  }
  if (text === undefined) throw new EngineError("VALIDATION_ERROR", `${what} are no JSON, but ${typeof value}`);
  return text;
}

function warn(leftOut: string, onWarning: ((message: string) => void) | undefined): void {
  for (const { tool, reason } of JSON.parse(leftOut) as { tool: string; reason: string }[]) {
    const message = tool ? `left out ${tool}: ${reason}` : reason;
    if (onWarning) onWarning(message);
    else process.emitWarning(message, "McpToolGatewayWarning");
  }
}

/** Tools of MCP (or of a provider) → the value of a provider's request field for tools. A tool that cannot be made valid is left out. */
export function convert(tools: unknown, options: ConvertOptions): unknown {
  const { onWarning, ...settings } = options;
  const settled = written(settings, "the options");
  const known = find(tools, settled);
  if (known !== undefined && "answer" in known) {
    if (known.leftOut !== undefined) warn(known.leftOut, onWarning);
    return known.answer;
  }
  const text = written(known === undefined ? tools : known.tools, "the tools");
  const { json, leftOut } = guarded((native) => native.convert(text, settled));
  const answer = JSON.parse(json) as Json;
  known?.keep(answer, leftOut);
  if (leftOut !== undefined) warn(leftOut, onWarning);
  return answer;
}

/** `convert` over JSON text: what `mcp-tool-gateway convert` writes. */
export function convertText(text: string, options: ConvertOptions): string {
  const { onWarning, ...settings } = options;
  const { json, leftOut } = guarded((native) => native.convert(text, written(settings, "the options")));
  if (leftOut !== undefined) warn(leftOut, onWarning);
  return json;
}

function run(operation: string, text: string, options: object): string {
  return guarded((native) => native.run(operation, text, written(options, "the options")));
}

export interface CheckOptions {
  to?: string | readonly string[];
  strict?: "as-named" | "auto";
}

/** What is wrong with tools, and what the dialects in `to` (all providers' without it) make of them: the report of `POST /check`. */
export function check(tools: unknown, options: CheckOptions = {}): Record<string, unknown> {
  return JSON.parse(checkText(written(tools, "the tools"), options)) as Record<string, unknown>;
}

/** `check` over JSON text. */
export function checkText(text: string, options: CheckOptions = {}): string {
  return run("check", text, options);
}

/** One JSON Schema → the schema that a provider or a model takes. What cannot be transformed comes back as it was. */
export function transform(schema: unknown, options: TranslationOptions & { report?: boolean }): unknown {
  return JSON.parse(transformText(written(schema, "the schema"), options));
}

/** `transform` over JSON text. */
export function transformText(text: string, options: TranslationOptions & { report?: boolean }): string {
  return run("transform", text, options);
}

/** What a model said: its calls and everything beside them. A reply may be text: JSON, server-sent events, lines. */
export function parseReply(reply: unknown, options: CallOptions = {}): Reply {
  const text = typeof reply === "string" ? reply : written(reply, "the reply");
  return JSON.parse(parseReplyText(text, options)) as Reply;
}

/** `parseReply` from text to JSON text. */
export function parseReplyText(text: string, options: CallOptions = {}): string {
  return run("parse_calls", text, options);
}

/** The calls of `parseReply`. */
export function parseCalls(reply: unknown, options: CallOptions = {}): Call[] {
  return parseReply(reply, options).calls;
}

/** Results → the messages to append to the conversation. */
export function renderResults(
  results: readonly ToolResult[],
  options: { provider?: string; model?: string; maxCharacters?: number },
): Record<string, unknown>[] {
  return JSON.parse(renderResultsText(written(results, "the results"), options)) as Record<string, unknown>[];
}

/** `renderResults` over JSON text. */
export function renderResultsText(
  text: string,
  options: { provider?: string; model?: string; maxCharacters?: number },
): string {
  return run("render_results", text, options);
}

/** A conversation of one dialect as one of another; `neutral` is the gateway's own format. */
export function convertHistory(
  messages: unknown,
  options: HistoryOptions,
): { messages: unknown[]; system?: unknown; warnings: { message: number; text: string }[] } {
  return JSON.parse(convertHistoryText(written(messages, "the messages"), options)) as ReturnType<typeof convertHistory>;
}

/** `convertHistory` over JSON text. */
export function convertHistoryText(text: string, options: HistoryOptions): string {
  return run("convert_history", text, options);
}

/** What a model id says. */
export function detectModel(model: string, options: { provider?: string } = {}): Record<string, unknown> {
  return JSON.parse(run("detect_model", written(model, "the model"), options)) as Record<string, unknown>;
}

/**
 * Calls out of a streamed reply, given as they complete. Feed it bytes, texts or parsed chunks, then `finish`. A part of the stream that
 * cannot be read is an event `error`, which takes nothing else along.
 */
export class StreamAssembler {
  /** All calls so far. */
  readonly calls: Call[] = [];
  readonly #stream: NativeStream;
  readonly #encoder = new TextEncoder();

  constructor(options: CallOptions = {}) {
    this.#stream = guarded((native) => new native.Stream(written(options, "the options")));
  }

  /** Takes the next bytes, cut anywhere, and returns what they complete. */
  push(data: Uint8Array | string): StreamEvent[] {
    const bytes = typeof data === "string" ? this.#encoder.encode(data) : data;
    return this.#noted(guarded(() => this.#stream.push(bytes)));
  }

  /** Takes one parsed chunk. */
  pushChunk(chunk: unknown): StreamEvent[] {
    const text = written(chunk, "the chunk");
    return this.#noted(guarded(() => this.#stream.pushChunk(text)));
  }

  /** Ends the reply. A call that the provider never ended has an `error`. */
  finish(): StreamEvent[] {
    return this.#noted(guarded(() => this.#stream.finish()));
  }

  #noted(text: string): StreamEvent[] {
    const events = JSON.parse(text) as StreamEvent[];
    for (const event of events) if (event.type === "call") this.calls.push(event.call);
    return events;
  }
}

/** The events of a whole response, as they come. */
export async function* streamEvents(
  body: AsyncIterable<Uint8Array | string>,
  options: CallOptions = {},
): AsyncGenerator<StreamEvent, void, void> {
  const assembler = new StreamAssembler(options);
  for await (const piece of body) yield* assembler.push(piece);
  yield* assembler.finish();
}
