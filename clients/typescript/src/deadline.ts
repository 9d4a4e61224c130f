import { GatewayError, NetworkError, RequestTimeoutError } from "./errors.js";

// Longer timers fire at once.
const LONGEST_TIMER = 2 ** 31 - 1;

/** One deadline and one signal over everything that a request awaits. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #onAbort: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #timedOut = false;
  #since = 0;

  constructor(
    private readonly timeoutMs: number,
    outer: AbortSignal | undefined,
  ) {
    this.#outer = outer;
    this.#onAbort = () => this.#controller.abort(outer?.reason);
    if (outer?.aborted) this.#onAbort();
    else outer?.addEventListener("abort", this.#onAbort, { once: true });
    this.restart();
  }

  /** For `fetch`. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Counts from now on. */
  restart(): void {
    clearTimeout(this.#timer);
    this.#since = performance.now();
    if (this.signal.aborted || this.timeoutMs > LONGEST_TIMER) return;
    this.#timer = setTimeout(() => {
      this.#timedOut = true;
      this.#controller.abort(new DOMException("the deadline has passed", "TimeoutError"));
    }, this.timeoutMs);
  }

  /** Stops counting until `restart`. */
  pause(): void {
    clearTimeout(this.#timer);
  }

  /** What `work` gives, unless the deadline passes or the caller aborts before. */
  race<T>(work: Promise<T>): Promise<T> {
    const { signal } = this;
    return new Promise((resolve, reject) => {
      const onAbort = () => reject(signal.reason);
      if (signal.aborted) onAbort();
      // Removed after each piece of work: a promise of the whole request's end would hold on to every event of a stream.
      else signal.addEventListener("abort", onAbort, { once: true });
      void Promise.resolve(work).then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
    });
  }

  /** Waits. */
  async sleep(ms: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      await this.race(new Promise((resolve) => (timer = setTimeout(resolve, Math.min(ms, LONGEST_TIMER)))));
    } finally {
      clearTimeout(timer);
    }
  }

  /** Whether there is time to wait so long and then to do something. */
  hasTimeFor(ms: number): boolean {
    return performance.now() - this.#since + ms < this.timeoutMs;
  }

  /** Whether nothing more can come of this request. */
  get isOver(): boolean {
    return this.signal.aborted;
  }

  /** What to throw in place of whatever was thrown: the caller's own reason, the deadline, or a broken connection. */
  translate(thrown: unknown, correlationId: string | undefined): unknown {
    if (this.#outer?.aborted) return this.#outer.reason;
    if (thrown instanceof GatewayError) return thrown;
    if (this.#timedOut) {
      return new RequestTimeoutError(`Request timeout after ${this.timeoutMs}ms`, { correlationId, cause: thrown });
    }
    return new NetworkError(`Network error: ${reasonOf(thrown)}`, { correlationId, cause: thrown });
  }

  /** Frees the timer; with `cancel`, the connection too. */
  end(how: "done" | "cancel"): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#onAbort);
    if (how === "cancel") this.#controller.abort(new DOMException("the caller stopped reading", "AbortError"));
  }
}

/** The innermost reason: Node's `fetch` only says "fetch failed" and keeps what happened as the cause. */
function reasonOf(thrown: unknown): string {
  let reason = thrown;
  while (reason instanceof Error && reason.cause instanceof Error) reason = reason.cause;
  if (!(reason instanceof Error)) return String(reason);
  const code = (reason as { code?: unknown }).code;
  return reason.message || (typeof code === "string" ? code : reason.name);
}
