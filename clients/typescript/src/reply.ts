import { isObject } from "./errors.js";
import { toWire } from "./sdk.js";

/** A model's reply as a request of the gateway carries it. */
export interface ReadReply {
  call: Record<string, unknown> | unknown[] | string;
  isCamelCase: boolean;
}

type Source = AsyncIterator<unknown> & { stop: () => Promise<unknown> };

/**
 * Reads whatever a provider's SDK or `fetch` hands out: a reply, a call, a list of either, the text of one, a `Response`,
 * or a stream of chunks, of bytes or of texts.
 */
export async function readReply(given: unknown, signal: AbortSignal | undefined): Promise<ReadReply> {
  const reply = await given;
  const source = sourceOf(reply);
  if (source) return read(source, signal);
  if (typeof Response === "function" && reply instanceof Response) {
    const text = await reply.text();
    if (!reply.ok) throw new TypeError(`the reply is an error of the provider, status ${reply.status}: ${text.slice(0, 200)}`);
    return fromText(text);
  }
  if (typeof reply === "string") return fromText(reply);
  if (reply instanceof Uint8Array) return fromText(new TextDecoder().decode(reply));
  const { value, isCamelCase } = toWire(reply);
  if (!isObject(value) && !Array.isArray(value)) {
    throw new TypeError(`a reply of type ${typeof reply} has no calls: give the reply of the model, or a stream of it`);
  }
  return { call: value, isCamelCase };
}

// Where a call has the object with its name, if the name is not its own.
const WRAPPERS = ["function", "function_call", "functionCall", "toolUse", "custom", "params"];

/** Whether what is sent is a list with calls in it. Messages, replies and chunks have their calls deeper, so a list of these is none. */
export function hasCalls(given: unknown): boolean {
  return Array.isArray(given) && given.some(isCall);
}

function isCall(item: unknown): boolean {
  if (!isObject(item) || item["role"] !== undefined || item["content"] !== undefined) return false;
  // Some events of Responses have a name as well.
  if (typeof item["type"] === "string" && item["type"].startsWith("response.")) return false;
  return typeof item["name"] === "string" || WRAPPERS.some((wrapper) => isObject(item[wrapper]));
}

function fromText(text: string): ReadReply {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value) || Array.isArray(value)) return { call: value, isCamelCase: false };
  } catch {
    // Events, lines, or tool use in prose: the gateway reads them.
  }
  return { call: text, isCamelCase: false };
}

function sourceOf(reply: unknown): Source | undefined {
  if (!isObject(reply)) return undefined;
  // What AWS answers with has the stream inside. Streams of other SDKs have the bytes inside, which nobody asked for.
  const inner = reply["stream"];
  const stream = !isStream(reply) && isObject(inner) && isStream(inner) ? inner : reply;
  if (Symbol.asyncIterator in stream) {
    const iterator = (stream as unknown as AsyncIterable<unknown>)[Symbol.asyncIterator]();
    return { next: () => iterator.next(), stop: async () => iterator.return?.() };
  }
  // Not every browser's streams can be iterated.
  if (isStream(stream)) {
    const reader = (stream as unknown as ReadableStream<unknown>).getReader();
    const next = () => reader.read() as Promise<IteratorResult<unknown>>;
    return { next, stop: () => reader.cancel() };
  }
  return undefined;
}

function isStream(value: object): boolean {
  return Symbol.asyncIterator in value || typeof (value as { getReader?: unknown }).getReader === "function";
}

async function read(source: Source, signal: AbortSignal | undefined): Promise<ReadReply> {
  const chunks: unknown[] = [];
  const texts: string[] = [];
  const decoder = new TextDecoder();
  let isCamelCase = false;
  for (;;) {
    const { done, value } = await nextUnlessAborted(source, signal);
    if (done) break;
    if (typeof value === "string") texts.push(value);
    else if (value instanceof Uint8Array) texts.push(decoder.decode(value, { stream: true }));
    else {
      const chunk = toWire(value);
      isCamelCase ||= chunk.isCamelCase;
      chunks.push(chunk.value);
    }
  }
  if (texts.length && chunks.length) throw new TypeError("a stream of texts and objects is none that providers send");
  return texts.length ? fromText(texts.join("")) : { call: chunks, isCamelCase };
}

async function nextUnlessAborted(source: Source, signal: AbortSignal | undefined): Promise<IteratorResult<unknown>> {
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => {
      // A provider that sends nothing any more would keep this waiting; what it says to the end no longer matters.
      source.stop().catch(() => {});
      reject(signal?.reason);
    };
  });
  if (signal?.aborted) onAbort();
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([aborted, source.next()]);
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}
