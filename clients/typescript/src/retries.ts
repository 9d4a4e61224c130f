// When a request is sent again, and when that would do harm.

/** The longest wait that a `Retry-After` can cause. */
export const LONGEST_RETRY_AFTER = 60_000;

// The gateway forgets a key after ten minutes: sent again after that, the call would run twice. The minute is for what a
// request needs to arrive.
const KEY_LIFETIME = 9 * 60_000;

// With these codes the tool ran, or the same request fails again.
const SETTLED: ReadonlySet<string | undefined> = new Set([
  "SERVER_ERROR",
  "RESULT_DROPPED",
  "TIMEOUT",
  "TOOL_ERROR",
  "CONVERSION_ERROR",
  "PERSONAL_DATA",
  "LIMIT_EXCEEDED",
]);

/** Whether sending the request again cannot change the answer. */
export function isSettled(status: number, code: string | undefined, headers: Headers): boolean {
  // What the gateway keeps under the key it would only say again.
  return status < 500 || SETTLED.has(code) || headers.get("idempotent-replayed") === "true";
}

/** What an answer asks to wait, within reason. */
export function retryAfterMs(headers: Headers): number {
  const seconds = Number(headers.get("retry-after") ?? 0) || 0;
  return Math.min(seconds * 1000, LONGEST_RETRY_AFTER);
}

/** The age of a key, from its first use on. */
export class KeyAge {
  readonly #ticks = performance.now();
  readonly #clock = Date.now();

  /** Whether the gateway may have forgotten the key by the time that `waitMs` have passed. */
  isTooOldAfter(waitMs: number): boolean {
    // The first of these stands still while the machine sleeps.
    const age = Math.max(performance.now() - this.#ticks, Date.now() - this.#clock);
    return age + waitMs >= KEY_LIFETIME;
  }
}
