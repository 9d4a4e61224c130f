import { AnswerTooLargeError } from "./errors.js";

/** One server-sent event. */
export interface ServerEvent {
  event: string;
  data: string;
  id: string | undefined;
}

/** Cuts text as it comes into server-sent events. */
export class EventParser {
  /** The beginning of a line that has no end yet, in pieces: joined once, however many come. */
  #begun: string[] = [];
  #endedInCr = false;
  #data: string[] = [];
  #event = "";
  #id: string | undefined;
  #size = 0;

  /** No event is longer than `limit`. */
  constructor(private readonly limit: number) {}

  /** The events that end in this piece. */
  push(piece: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    const text = this.#endedInCr && piece.startsWith("\n") ? piece.slice(1) : piece;
    if (piece !== "") this.#endedInCr = piece.endsWith("\r");
    this.#size += text.length;
    const lines = text.split(/\r\n|[\r\n]/);
    const last = lines.pop() ?? "";
    for (const line of lines) {
      const event = this.#line(this.#begun.join("") + line);
      this.#begun = [];
      if (event) events.push(event);
    }
    if (last !== "") this.#begun.push(last);
    if (this.#size > this.limit) {
      throw new AnswerTooLargeError(`an event of the stream is larger than maxAnswerBytes=${this.limit}: is this address a gateway's?`);
    }
    return events;
  }

  #line(line: string): ServerEvent | undefined {
    if (line === "") {
      const event = { event: this.#event || "message", data: this.#data.join("\n"), id: this.#id };
      const hasData = this.#data.length > 0;
      this.#data = [];
      this.#event = "";
      this.#size = 0;
      return hasData ? event : undefined;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id" && !value.includes("\0")) this.#id = value;
    return undefined;
  }
}
