import { type Shape, checkShape } from "./answers.js";
import { InvalidAnswerError, NetworkError, errorOfAnswer, isObject } from "./errors.js";
import type { JsonRpcMessage } from "./generated/schemas.js";
import type { ServerEvent } from "./events.js";
import type { Call, Transport } from "./transport.js";

/** What a call that is answered as a stream gives: what the servers report, then the answer. */
export type ToolEvent<T> =
  | { type: "progress"; server: string; tool: string; progress?: number; total?: number; message?: string }
  | { type: "log"; server: string; tool: string; level?: string; data?: unknown }
  | { type: "result"; result: T };

/** Events of a call with its progress; an `error` event is thrown. */
export async function* toolEvents<T>(
  transport: Transport,
  call: Call,
  finish: (answer: unknown) => T,
): AsyncGenerator<ToolEvent<T>, void, undefined> {
  for await (const event of transport.events({ accept: "text/event-stream, application/json;q=0.5", ...call })) {
    const data = parsed(transport, event);
    if (event.event === "result" || event.event === "answer") {
      yield { type: "result", result: finish(checkShape(data, "object", {})) };
      return;
    }
    if (event.event === "error") throw errorOfAnswer(undefined, "no reason given", data, undefined);
    yield { ...(isObject(data) ? data : { data }), type: event.event } as ToolEvent<T>;
  }
  throw brokeOff();
}

/** Chunks of a conversation's or of a model's stream, until `[DONE]`; an error among them is thrown. */
export async function* chunks<T>(transport: Transport, call: Call): AsyncGenerator<T, void, undefined> {
  for await (const event of transport.events({ accept: "text/event-stream, application/json;q=0.5", ...call })) {
    if (event.data === "[DONE]") return;
    const data = parsed(transport, event, "object") as Record<string, unknown>;
    if (data["error"] !== undefined && data["error"] !== null) {
      throw errorOfAnswer(undefined, "no reason given", data, undefined);
    }
    yield data as T;
    if (event.event === "answer") return;
  }
  throw brokeOff();
}

/** Messages of MCP: one answer, or all of a stream. */
export async function* rpcMessages(transport: Transport, call: Call): AsyncGenerator<JsonRpcMessage, void, undefined> {
  for await (const event of transport.events({ accept: "application/json, text/event-stream", ...call })) {
    yield parsed(transport, event, "either") as JsonRpcMessage;
  }
}

function parsed(transport: Transport, event: ServerEvent, shape?: Shape): unknown {
  let value: unknown;
  try {
    value = transport.parse(event.data);
  } catch (cause) {
    const message = `Gateway answered with an event that is not JSON: ${event.data.slice(0, 200)}`;
    throw new InvalidAnswerError(message, { body: event.data, cause });
  }
  return shape ? checkShape(value, shape, {}) : value;
}

/** The error for a stream that ends before its last event. */
export function brokeOff(): NetworkError {
  return new NetworkError("Network error: the stream broke off before its end");
}
