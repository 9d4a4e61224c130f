import { GatewayError, GatewayHttpError, InvalidAnswerError, NetworkError } from "./errors.js";
import type { GetLogsParameters } from "./generated/operations.js";
import type { LogEntry } from "./generated/schemas.js";
import type { RequestOptions } from "./options.js";
import type { Call, Transport } from "./transport.js";

/** Which entries to follow. */
export type FollowOptions = Omit<GetLogsParameters, "follow" | "stream" | "lastEventId" | "before" | "until"> &
  RequestOptions;

// The gateway gives a sign of life every 30 seconds; three are missing.
const LONGEST_SILENCE = 90_000;
const LONGEST_WAIT = 30_000;

/**
 * The newest entries, then every new one as it comes, each once: a connection that breaks is made again, and goes on after
 * the last entry that arrived. Ends when the reader stops, its signal aborts, or the gateway refuses. A gateway that went
 * away is waited for, unless `maxRetries` bounds the attempts in a row.
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
    last = page.headers.get("x-log-last-id") ?? undefined;
    yield* page.value;
  }
  let failures = 0;
  for (;;) {
    const parameters = { timeoutMs: LONGEST_SILENCE, ...filters, follow: true, maxRetries: 0, lastEventId: last };
    try {
      for await (const [entry, id] of entries(transport, { operation: "getLogs", options: parameters, retry: "safe" })) {
        failures = 0;
        last = id ?? last;
        yield entry;
      }
    } catch (error) {
      if (!canResume || !isPassing(error)) throw error;
      failures += 1;
      if (failures > (options.maxRetries ?? Infinity)) {
        if (failures > 1) error.message = `Request failed after ${failures} attempts: ${error.message}`;
        throw error;
      }
    }
    if (!canResume) return;
    await pause(Math.min(wait.delayMs * wait.backoff ** Math.max(failures - 1, 0), LONGEST_WAIT), options.signal);
  }
}

async function* entries(transport: Transport, call: Call): AsyncGenerator<[LogEntry, string | undefined]> {
  for await (const { event, data, id } of transport.events(call)) {
    if (event === "error") throw new NetworkError(`Network error: the gateway ended the stream: ${data}`);
    let entry: unknown;
    try {
      entry = event === "message" ? JSON.parse(data) : undefined;
    } catch {
      // Reported below.
    }
    if (entry === undefined) {
      throw new InvalidAnswerError(`Gateway answered with something that is no stream of entries: ${data.slice(0, 200)}`);
    }
    yield [entry as LogEntry, id || undefined];
  }
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
