/** What every method takes beside its own parameters. */
export interface RequestOptions {
  /** Ends the request; the promise or the iterator then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Another deadline than the client's. */
  timeoutMs?: number | undefined;
  /** Another number of retries than the client's. */
  maxRetries?: number | undefined;
  /** The id that the gateway logs the request under; the client makes one where it is absent. */
  correlationId?: string | undefined;
  /** More headers. */
  headers?: Record<string, string> | undefined;
  /** Parameters of the query that this version of the client does not know. */
  extraQuery?: Record<string, string | number | boolean> | undefined;
  /** Called with what the headers of an answer say. */
  onResponse?: ((info: ResponseInfo) => void) | undefined;
}

/** What is known of an answer beside its body. */
export interface ResponseInfo {
  correlationId: string;
  status: number;
  headers: Headers;
  /** How often the request was sent. */
  attempts: number;
}

/** How a client reaches its gateway. */
export interface GatewayClientOptions {
  /** Default `http://127.0.0.1:8787`. */
  baseUrl?: string | undefined;
  /** The deadline of a call with all its attempts, in milliseconds; of a stream, the longest silence. Default 60000; `Infinity` for none. */
  timeoutMs?: number | undefined;
  /** How often a request is sent again after it failed. Default 3. */
  maxRetries?: number | undefined;
  /** The wait before the first retry, in milliseconds. Default 1000. */
  retryDelayMs?: number | undefined;
  /** What each wait is multiplied with for the next one. Default 2. */
  retryBackoff?: number | undefined;
  /** The largest answer, and the largest event of a stream, in bytes. Default 256 MiB; `Infinity` for no bound. */
  maxAnswerBytes?: number | undefined;
  /** A key, where the gateway is configured with keys. */
  apiKey?: string | undefined;
  /** Headers of every request. */
  headers?: Record<string, string> | undefined;
  /** Another implementation of `fetch`. */
  fetch?: typeof globalThis.fetch | undefined;
  /** Reads the JSON of answers. Default `JSON.parse`, which rounds integers beyond 2^53. */
  parse?: ((text: string) => unknown) | undefined;
  /** Called with what the headers of every answer say. */
  onResponse?: ((info: ResponseInfo) => void) | undefined;
}

/** The same with all defaults, checked. */
export interface Settings {
  readonly baseUrl: string;
  readonly timeoutMs: number;
  readonly maxRetries: number;
  readonly retryDelayMs: number;
  readonly retryBackoff: number;
  readonly maxAnswerBytes: number;
  readonly headers: Record<string, string>;
  readonly fetch: typeof globalThis.fetch;
  readonly parse: (text: string) => unknown;
  readonly onResponse: ((info: ResponseInfo) => void) | undefined;
}

/** Checks options and fills in defaults. */
export function settingsOf(options: GatewayClientOptions): Settings {
  const baseUrl = (options.baseUrl ?? "http://127.0.0.1:8787").replace(/\/+$/, "");
  checkAddress(baseUrl);
  const key: Record<string, string> = options.apiKey ? { authorization: `Bearer ${options.apiKey}` } : {};
  checkHeaders({ ...key, ...options.headers });
  return {
    baseUrl,
    timeoutMs: numberFrom("timeoutMs", options.timeoutMs, 60_000, 1),
    maxRetries: numberFrom("maxRetries", options.maxRetries, 3, 0),
    retryDelayMs: numberFrom("retryDelayMs", options.retryDelayMs, 1000, 0),
    retryBackoff: numberFrom("retryBackoff", options.retryBackoff, 2, 1),
    maxAnswerBytes: numberFrom("maxAnswerBytes", options.maxAnswerBytes, 256 * 1024 * 1024, 1),
    headers: { ...key, ...options.headers },
    // Called as a method of anything but the global object, the browsers' own `fetch` throws.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    parse: options.parse ?? ((text) => JSON.parse(text)),
    onResponse: options.onResponse,
  };
}

/** Refuses what is not the address of a gateway, without showing passwords and keys in it. */
function checkAddress(baseUrl: string): void {
  let parts: URL | undefined;
  try {
    parts = new URL(baseUrl);
  } catch {
    // Reported below.
  }
  if (parts?.username || parts?.password) {
    throw new TypeError("a password in baseUrl is not sent: use apiKey or headers");
  }
  if (!parts || parts.search || parts.hash || !/^https?:\/\/[^/]/.test(baseUrl)) {
    const shown = baseUrl.replace(/^.*@/s, "…@").replace(/[?#].*$/s, "…");
    throw new TypeError(`baseUrl \`${shown}\` is no address: give one such as http://127.0.0.1:8787`);
  }
}

/** Refuses headers that cannot be sent. `fetch` would too, but its error shows the value, which may be a key. */
export function checkHeaders(headers: Record<string, string>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw new TypeError(`\`${name}\` cannot be the name of a header`);
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) {
      throw new TypeError(`the header ${name} cannot be sent: its value has a line break or another character that headers cannot have`);
    }
  }
}

/** A number of an option, or its default. */
export function numberFrom(name: string, given: number | undefined, fallback: number, least: number): number {
  const value = given ?? fallback;
  if (typeof value !== "number" || !(value >= least)) {
    throw new TypeError(`${name} is ${String(value)}: give a number of at least ${least}`);
  }
  return value;
}
