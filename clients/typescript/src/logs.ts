import { GatewayError, GatewayHttpError, InvalidAnswerError, NetworkError, errorOfAnswer, isObject } from "./errors.js";
import type { ServerEvent } from "./events.js";
import type { GetLogsParameters } from "./generated/operations.js";
import type { LogEntry } from "./generated/schemas.js";
import type { RequestOptions } from "./options.js";
import { brokeOff } from "./streams.js";
import type { Transport } from "./transport.js";

/** Which entries to follow. */
export type FollowOptions = Omit<GetLogsParameters, "follow" | "stream" | "lastEventId" | "before" | "until"> &
  RequestOptions;

// The gateway gives a sign of life every 30 seconds; three are missing.
const LONGEST_SILENCE = 90_000;
const LONGEST_WAIT = 10_000;

/**
 * The newest entries, then every new one as it comes, each once: a connection that breaks is made again, and goes on after
 * the last entry that arrived. Ends when the reader stops, its signal aborts, the gateway refuses, or the stream reports an
 * error. A gateway that went away is waited for, unless `maxRetries` bounds the attempts in a row. A log whose entries have no
 * ids cannot be gone on with, so that a break of the connection is an error.
 */
export async function* follow(
  transport: Transport,
  options: FollowOptions,
  wait: { delayMs: number; backoff: number },
): AsyncGenerator<LogEntry, void, undefined> {
  const { after, ...filters } = options;
  let last = after === undefined ? undefined : String(after);
  const canResume = filters.source !== "server";
  if (canResume && last === undefined) {
    // A stream says where it is only with its first entry; a page says it at once, so that no entry is missed after a break.
    const page = await transport.answer<LogEntry[]>({ operation: "getLogs", options: filters, retry: "safe" }, "list");
    const newest = page.value.at(-1)?.id;
    last = page.headers.get("x-log-last-id") ?? (newest === undefined ? undefined : String(newest));
    yield* page.value;
  }
  // In a row: an entry shows that there is a gateway again.
  let failures = 0;
  for (;;) {
    const parameters = { timeoutMs: LONGEST_SILENCE, ...filters, follow: true, maxRetries: 0, lastEventId: last };
    let reported: GatewayError | undefined;
    let broken: GatewayError = brokeOff();
    try {
      for await (const event of transport.events({ operation: "getLogs", options: parameters, retry: "safe" })) {
        if (event.event === "error") {
          reported = errorOfEvent(event);
          break;
        }
        const entry = entryOf(transport, event);
        failures = 0;
        last = event.id || last;
        yield entry;
      }
    } catch (error) {
      if (!isPassing(error)) throw error;
      broken = error;
    }
    if (reported) throw reported;
    // From the beginning, entries would come twice.
    if (!canResume || last === undefined) throw broken;
    failures += 1;
    if (failures > (options.maxRetries ?? Infinity)) {
      if (failures > 1) broken.message = `Request failed after ${failures} attempts: ${broken.message}`;
      throw broken;
    }
    // Never at once: a gateway that ends every stream would be asked without a pause.
    const delayMs = Math.max(wait.delayMs, 1) * wait.backoff ** (failures - 1);
    await pause(Math.min(delayMs, LONGEST_WAIT), options.signal);
  }
}

function entryOf(transport: Transport, { event, data }: ServerEvent): LogEntry {
  let entry: unknown;
  try {
    entry = event === "message" ? transport.parse(data) : undefined;
  } catch {
    // Reported below.
  }
  if (!isObject(entry)) {
    throw new InvalidAnswerError(`Gateway answered with something that is no stream of entries: ${data.slice(0, 200)}`);
  }
  return entry as unknown as LogEntry;
}

function errorOfEvent({ data }: ServerEvent): GatewayError {
  let body: unknown = data;
  try {
    body = JSON.parse(data);
  } catch {
    // The text says it, then.
  }
  return errorOfAnswer(undefined, "no reason given", body, undefined);
}

/** Whether it may work again later. */
function isPassing(error: unknown): error is GatewayError {
  if (error instanceof GatewayHttpError) return (error.status ?? 0) >= 500;
  return error instanceof NetworkError;
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    if (signal?.aborted) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
  });
}
