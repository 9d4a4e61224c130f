import { type Shape, parseAnswer, readText } from "./answers.js";
import { Deadline } from "./deadline.js";
import { type FailureDetails, GatewayError, GatewayHttpError, InvalidAnswerError, RequestTimeoutError, errorOfAnswer } from "./errors.js";
import { EventParser, type ServerEvent } from "./events.js";
import { OPERATIONS } from "./generated/operations.js";
import { toJson } from "./json.js";
import { type RequestOptions, type Settings, checkHeaders, numberFrom } from "./options.js";
import { KeyAge, isSettled, retryAfterMs } from "./retries.js";

/** A route, by the name that the OpenAPI document gives it. */
export type OperationId = keyof typeof OPERATIONS;

/** One request. */
export interface Call {
  operation: OperationId;
  /** Values of the path, by name. */
  path?: Record<string, string>;
  /** Parameters of query and headers, and what every method takes. */
  options?: RequestOptions & object;
  /** Goes as JSON. */
  body?: unknown;
  /** Goes as it is, as this media type. */
  text?: { body: string; type: string };
  accept?: string;
  /** The deadline, where the parameter `timeoutMs` means something else. */
  timeoutMs?: number;
  /** Parameters that stand in the body and not in the query. */
  inBody?: readonly string[];
  /** Whether the answer leads elsewhere, which is what the caller wants to know. */
  isRedirect?: boolean;
  /**
   * `safe`: may run twice. `keyed`: runs once under an `Idempotency-Key`, so that it may be sent twice. `once`: is never
   * sent again.
   */
  retry: "safe" | "keyed" | "once";
}

/** An answer with its whole body. */
export interface Answer {
  text: string;
  status: number;
  headers: Headers;
  correlationId: string;
}

/** Why an attempt gave nothing. */
interface Failure {
  error: unknown;
  isFinal: boolean;
  /** What the answer asks to wait. */
  waitMs: number;
}

interface Prepared {
  url: string;
  init: RequestInit;
  correlationId: string;
  maxRetries: number;
  timeoutMs: number;
}

/** Sends requests to one gateway, again where that is safe. */
export class Transport {
  constructor(private readonly settings: Settings) {}

  /** Reads JSON as the client's options say. */
  parse(text: string): unknown {
    return this.settings.parse(text);
  }

  /** The value of an answer's text, which must have this shape. */
  value(text: string, shape: Shape, details: FailureDetails): unknown {
    return parseAnswer(text, this.settings.parse, shape, details);
  }

  /** The JSON of an answer. */
  async json<T>(call: Call, shape: Shape = "object"): Promise<T> {
    return (await this.answer<T>(call, shape)).value;
  }

  /** The JSON of an answer, and its headers. */
  async answer<T>(call: Call, shape: Shape = "object"): Promise<{ value: T; headers: Headers }> {
    const { text, headers, status, correlationId } = await this.text({ accept: "application/json", ...call });
    return { value: this.value(text, shape, { status, correlationId }) as T, headers };
  }

  /** The text of an answer. */
  async text(call: Call): Promise<Answer> {
    const request = this.#prepare(call);
    const deadline = new Deadline(request.timeoutMs, call.options?.signal);
    try {
      const response = await this.#begin(request, call, deadline, async (one) => ({
        text: await this.#readText(one, deadline, request),
        status: one.status,
        headers: one.headers,
        correlationId: one.headers.get("x-correlation-id") ?? request.correlationId,
      }));
      deadline.end("done");
      return response;
    } catch (error) {
      deadline.end("cancel");
      throw error;
    }
  }

  /** The events of an answer. Sent when the first one is asked for; the connection ends when nobody reads on. */
  async *events(call: Call, onBegin?: (headers: Headers) => void): AsyncGenerator<ServerEvent, void, undefined> {
    const request = this.#prepare({ accept: "text/event-stream", ...call });
    const deadline = new Deadline(request.timeoutMs, call.options?.signal);
    try {
      const response = await this.#begin(request, call, deadline, async (one) => one);
      onBegin?.(response.headers);
      const type = response.headers.get("content-type") ?? "";
      if (!type.startsWith("text/event-stream")) {
        // An answer that needed no stream counts as the only event of one.
        const data = await this.#within(deadline, request, this.#readText(response, deadline, request));
        if (data !== "") yield { event: "answer", data, id: undefined };
        return;
      }
      const reader = response.body?.getReader();
      if (!reader) return;
      const parser = new EventParser(this.settings.maxAnswerBytes);
      const decoder = new TextDecoder();
      for (;;) {
        deadline.restart();
        const { done, value } = await this.#within(deadline, request, reader.read());
        // How long the caller takes for an event is not the gateway's silence.
        deadline.pause();
        if (done) return;
        yield* parser.push(decoder.decode(value, { stream: true }));
      }
    } finally {
      deadline.end("cancel");
    }
  }

  async #within<T>(deadline: Deadline, request: Prepared, work: Promise<T>): Promise<T> {
    try {
      return await deadline.race(work);
    } catch (thrown) {
      throw deadline.translate(thrown, request.correlationId);
    }
  }

  /** Sends until there is an answer of 2xx that `read` could read, or until sending again does not help. */
  async #begin<T>(
    request: Prepared,
    call: Call,
    deadline: Deadline,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const retries = call.retry === "once" ? 0 : request.maxRetries;
    let wait = this.settings.retryDelayMs;
    const key = call.retry === "keyed" ? new KeyAge() : undefined;
    const broken = (thrown: unknown): Failure => {
      const error = deadline.translate(thrown, request.correlationId);
      return { error, isFinal: deadline.isOver || error instanceof InvalidAnswerError, waitMs: 0 };
    };
    for (let attempt = 1; ; attempt += 1) {
      const sent = await this.#send(request, deadline).catch(broken);
      let failure: Failure;
      if (!("isFinal" in sent)) {
        // Not within the `try`: what the caller's own function throws is no reason to send again.
        this.#report(sent, request, call, attempt);
        try {
          if (sent.ok || (call.isRedirect && sent.status === 302)) return await read(sent);
          failure = await this.#readFailure(sent, deadline, request);
        } catch (thrown) {
          failure = broken(thrown);
        }
      } else failure = sent;
      const waitMs = Math.max(wait, failure.waitMs);
      // What went wrong says more than that there was no time to try again.
      const mayRepeat = !failure.isFinal && attempt <= retries && deadline.hasTimeFor(waitMs) && !key?.isTooOldAfter(waitMs);
      if (!mayRepeat) throw finished(failure.error, attempt);
      try {
        await deadline.sleep(waitMs);
      } catch (thrown) {
        throw finished(deadline.translate(thrown, request.correlationId), attempt);
      }
      // The machine may have slept meanwhile.
      if (key?.isTooOldAfter(0)) throw finished(failure.error, attempt);
      wait *= this.settings.retryBackoff;
    }
  }

  #readText(response: Response, deadline: Deadline, request: Prepared): Promise<string> {
    return readText(response, deadline, this.settings.maxAnswerBytes, request.correlationId);
  }

  async #send(request: Prepared, deadline: Deadline): Promise<Response> {
    if (deadline.isOver) throw deadline.signal.reason;
    // A redirect would take keys and arguments to an address that the caller has not chosen.
    const init: RequestInit = { ...request.init, redirect: "manual", signal: deadline.signal };
    return deadline.race(this.settings.fetch(request.url, init));
  }

  async #readFailure(response: Response, deadline: Deadline, request: Prepared): Promise<Failure> {
    const { correlationId } = request;
    if (response.type === "opaqueredirect") {
      const message = "Gateway HTTP redirect, which is not followed: is baseUrl the address of a gateway?";
      return { error: new GatewayHttpError(message, { correlationId }), isFinal: true, waitMs: 0 };
    }
    const { status, headers } = response;
    const text = await this.#readText(response, deadline, request);
    let body: unknown = text;
    try {
      body = JSON.parse(text);
    } catch {
      // A proxy in between may answer in another way.
    }
    const reason = status < 400 ? "no body" : response.statusText || "no reason given";
    const error = errorOfAnswer(status, reason, body, headers.get("x-correlation-id") ?? correlationId);
    return { error, isFinal: isSettled(status, error.code, headers), waitMs: retryAfterMs(headers) };
  }

  #report(response: Response, request: Prepared, call: Call, attempts: number): void {
    const correlationId = response.headers.get("x-correlation-id") ?? request.correlationId;
    const info = { correlationId, status: response.status, headers: response.headers, attempts };
    this.settings.onResponse?.(info);
    call.options?.onResponse?.(info);
  }

  #prepare(call: Call): Prepared {
    const options = (call.options ?? {}) as RequestOptions & Record<string, unknown>;
    const operation = OPERATIONS[call.operation];
    const correlationId = options.correlationId ?? newId();
    const headers: Record<string, string> = {
      ...lowerCased(this.settings.headers),
      "x-correlation-id": correlationId,
      ...(call.accept ? { accept: call.accept } : {}),
    };
    for (const [option, header] of Object.entries<string>(operation.headers)) {
      const value = options[option];
      if (value !== undefined && value !== null) headers[header.toLowerCase()] = String(value);
    }
    const maxRetries = numberFrom("maxRetries", options.maxRetries, this.settings.maxRetries, 0);
    // Under a key a call goes on without its caller. One that is sent once needs none, and ends with its signal.
    if (call.retry === "keyed" && maxRetries > 0) headers["idempotency-key"] ??= newId();
    const body = call.text?.body ?? (call.body === undefined ? undefined : toJson(call.body));
    if (body !== undefined) headers["content-type"] = call.text?.type ?? "application/json";
    Object.assign(headers, lowerCased(options.headers));
    checkHeaders(headers);
    return {
      url: this.settings.baseUrl + pathOf(operation.path, call.path ?? {}) + queryOf(operation.query, options, call),
      init: { method: operation.method, headers, ...(body === undefined ? {} : { body }) },
      correlationId,
      maxRetries,
      timeoutMs: call.timeoutMs ?? numberFrom("timeoutMs", options.timeoutMs, this.settings.timeoutMs, 1),
    };
  }
}

function finished(error: unknown, attempts: number): unknown {
  if (!(error instanceof GatewayError)) return error;
  error.attempts = attempts;
  // A deadline that has passed says so itself, however often the request was sent.
  if (attempts > 1 && !(error instanceof RequestTimeoutError)) {
    error.message = `Request failed after ${attempts} attempts: ${error.message}`;
  }
  return error;
}

/** Headers whose names can be compared: the same one in two spellings would be sent twice. */
function lowerCased(headers: Record<string, string> | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
}

function pathOf(template: string, values: Record<string, string>): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    // Dots alone are steps in a path, however they are written.
    if (!value || value === "." || value === "..") {
      throw new TypeError(`\`${value ?? ""}\` cannot be the ${name} of ${template}: give its name`);
    }
    return encodeURIComponent(value);
  });
}

function queryOf(names: readonly string[], options: Record<string, unknown>, call: Call): string {
  const pairs: string[] = [];
  const add = (name: string, value: unknown) => {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one === undefined || one === null) continue;
      const text = one instanceof Date ? one.toISOString() : String(one);
      pairs.push(`${encodeURIComponent(name)}=${encodeURIComponent(text)}`);
    }
  };
  for (const name of names) if (!call.inBody?.includes(name)) add(name, options[name]);
  for (const [name, value] of Object.entries((options["extraQuery"] as object | undefined) ?? {})) add(name, value);
  return pairs.length ? `?${pairs.join("&")}` : "";
}

/** 128 random bits. `randomUUID` is missing from pages that did not come over HTTPS. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
