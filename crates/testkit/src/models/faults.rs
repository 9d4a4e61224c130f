//! What a model server can do wrong.

use super::words::words;

words! {
    /// A fault. Where it needs a reply to spoil, it takes that of its step. Faults inside streams also hit whole answers.
    Fault, "fault":
    /// 429, `Retry-After` in seconds.
    RateLimitedSeconds = "rate-limited-seconds";
    /// 429, `Retry-After` as a date.
    RateLimitedDate = "rate-limited-date";
    /// 429 without `Retry-After`.
    RateLimited = "rate-limited";
    /// 500.
    ServerError = "server-error";
    /// 503.
    Unavailable = "unavailable";
    /// 529, Anthropic's overload.
    Overloaded = "overloaded";
    /// 400 that names a keyword of a schema.
    SchemaRefused = "schema-refused";
    /// 400 that names a tool.
    ToolRefused = "tool-refused";
    /// 401.
    Unauthorized = "unauthorized";
    /// 404 that names the model.
    UnknownModel = "unknown-model";
    /// 400: the conversation is longer than the model can read.
    ContextLength = "context-length";
    /// Nobody listens at the port. The port closes as soon as this is the next step, until `reopen`.
    ConnectionRefused = "connection-refused";
    /// The connection ends without an answer.
    ClosedBeforeHeaders = "closed-before-headers";
    /// The connection ends in the middle of a chunk of HTTP.
    ClosedInChunk = "closed-in-chunk";
    /// The connection ends in the middle of a call's arguments.
    ClosedInArguments = "closed-in-arguments";
    /// The body ends properly, but without what ends a turn.
    NoTerminalEvent = "no-terminal-event";
    /// One event in the middle is no JSON.
    MalformedJson = "malformed-json";
    /// The provider's error in the middle of a stream that began with 200.
    ErrorEvent = "error-event";
    /// A page of HTML with 200.
    Html = "html";
    /// A page of HTML with 502.
    HtmlBadGateway = "html-bad-gateway";
    /// 200 and nothing.
    EmptyBody = "empty-body";
    /// The right body, called `text/plain`.
    WrongContentType = "wrong-content-type";
    /// A body that claims to be compressed and is not.
    GzipGarbage = "gzip-garbage";
    /// No byte ever comes.
    HangBeforeHeaders = "hang-before-headers";
    /// Nothing comes after the first chunk.
    HangAfterFirstChunk = "hang-after-first-chunk";
    /// A byte every 20 milliseconds.
    Trickle = "trickle";
    /// A line of 64 MiB without an end.
    OversizeLine = "oversize-line";
    /// 307 to another host: [`super::ModelServer::redirected`] has what follows it.
    Redirect = "redirect";
    /// `Content-Length` promises more than comes.
    ContentLengthTooLong = "content-length-too-long";
    /// `Content-Length` promises less than comes.
    ContentLengthTooShort = "content-length-too-short";
}
