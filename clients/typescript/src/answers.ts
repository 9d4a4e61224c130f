// Answers as texts and values, and what is none.
import type { Deadline } from "./deadline.js";
import { AnswerTooLargeError, InvalidAnswerError, type FailureDetails, isObject } from "./errors.js";

/** What the JSON of an answer is: an object, a list of objects, or either of them. */
export type Shape = "object" | "list" | "either";

const NAMES: Record<Shape, string> = { object: "a JSON object", list: "a list of JSON objects", either: "a JSON object or list" };
const SHOWN = 200;

/** The whole text of an answer, as long as that is not larger than `limit` bytes. */
export async function readText(response: Response, deadline: Deadline, limit: number, sentId: string): Promise<string> {
  const reader = response.body?.getReader();
  // Not every `fetch` gives bodies as streams.
  if (!reader) return deadline.race(response.text());
  const decoder = new TextDecoder();
  const pieces: string[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await deadline.race(reader.read());
    if (done) break;
    size += value.byteLength;
    if (size > limit) {
      reader.cancel().catch(() => {});
      const correlationId = response.headers.get("x-correlation-id") ?? sentId;
      throw new AnswerTooLargeError(`the answer is larger than maxAnswerBytes=${limit}`, { status: response.status, correlationId });
    }
    pieces.push(decoder.decode(value, { stream: true }));
  }
  pieces.push(decoder.decode());
  return pieces.join("");
}

/** The value of a JSON text as `parse` reads it. Something else than a gateway may have written it. */
export function parseAnswer(text: string, parse: (text: string) => unknown, shape: Shape, details: FailureDetails): unknown {
  let value: unknown;
  try {
    value = parse(text);
  } catch (cause) {
    const message = `Gateway answered with something that is not JSON: ${text.slice(0, SHOWN) || "an empty body"}`;
    throw new InvalidAnswerError(message, { ...details, body: text, cause });
  }
  return checkShape(value, shape, details);
}

/** The value, where it has this shape. */
export function checkShape(value: unknown, shape: Shape, details: FailureDetails): unknown {
  const fits = {
    object: isObject(value),
    list: Array.isArray(value) && value.every(isObject),
    either: isObject(value) || Array.isArray(value),
  };
  if (!fits[shape]) throw unexpected(NAMES[shape], value, details);
  return value;
}

/** The error for an answer that lacks what the gateway always writes. */
export function unexpected(expected: string, value: unknown, details: FailureDetails = {}): InvalidAnswerError {
  const shown = JSON.stringify(value)?.slice(0, SHOWN);
  return new InvalidAnswerError(`Gateway answered with something that is not ${expected}: ${shown}`, { ...details, body: value });
}
