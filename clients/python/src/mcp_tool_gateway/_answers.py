"""Answers of the gateway as values or errors, and when a request is sent again. Nothing here does I/O."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Mapping

from ._requests import Request
from .errors import CLASSES, GatewayError, GatewayHttpError, InvalidAnswerError, NetworkError, RequestTimeoutError, UnreachableError

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

# With these codes the tool ran, or the same request fails again.
SETTLED = frozenset({"SERVER_ERROR", "RESULT_DROPPED", "TIMEOUT", "TOOL_ERROR", "CONVERSION_ERROR", "PERSONAL_DATA", "LIMIT_EXCEEDED"})
REDIRECTED = ("text/plain", "text/html")
SHOWN = 200
Kinds: TypeAlias = "tuple[type, ...]"
# What an answer in JSON may be.
OBJECT: Kinds = (dict,)
LIST: Kinds = (list,)
OBJECT_OR_LIST: Kinds = (dict, list)
# A proxy may ask for days, and nobody would know why the program stands still.
LONGEST_RETRY_AFTER = 60
LONGEST_DELAY = 24 * 3600
# Between attempts to resume a stream: a gateway that starts again is there within seconds, and one that ends each stream at once is not to be flooded.
SHORTEST_BREAK = 0.1
LONGEST_BREAK = 10
# The gateway keeps keys for ten minutes; one is left for the way. Later the same request would run a second time.
KEY_USED_FOR = 9 * 60


@dataclass(frozen=True)
class Metadata:
    """What an answer says beside its body."""

    status: int
    headers: Mapping[str, str]
    correlation_id: str
    # Whether the gateway gave the answer of an earlier request under the same key.
    replayed: bool = False


class _Answer:
    """A body with what was said beside it."""

    metadata: Metadata

    @property
    def correlation_id(self) -> str:
        return self.metadata.correlation_id


class AnswerObject(_Answer, dict[str, Any]):
    """A JSON object of the gateway, with all its members."""


class AnswerList(_Answer, list[Any]):
    """A JSON array of the gateway."""


class AnswerText(_Answer, str):
    """A text of the gateway."""


def metadata(answer: Any) -> Metadata:
    """The status, the headers and the correlation id of what a method of a client gave."""
    if isinstance(answer, _Answer):
        return answer.metadata
    raise TypeError(f"{type(answer).__name__} is not an answer of the gateway: only what a client's method gave has metadata")


def with_metadata(value: Any, about: Metadata) -> Any:
    """The value as one that carries metadata, unless it is a number, a boolean or null."""
    answer: AnswerObject | AnswerList | AnswerText
    if isinstance(value, dict):
        answer = AnswerObject(value)
    elif isinstance(value, list):
        answer = AnswerList(value)
    elif isinstance(value, str):
        answer = AnswerText(value)
    else:
        return value
    answer.metadata = about
    return answer


@dataclass(frozen=True)
class Head:
    """The beginning of an answer; names of headers in small letters."""

    status: int
    headers: Mapping[str, str]

    def media_type(self) -> str:
        return self.headers.get("content-type", "").split(";")[0].strip().lower()

    def about(self, request: Request) -> Metadata:
        replayed = self.headers.get("idempotent-replayed", "").lower() == "true"
        return Metadata(self.status, self.headers, self.headers.get("x-correlation-id", request.correlation_id), replayed)


def excerpt(body: bytes) -> str:
    text = body[: SHOWN * 4].decode("utf-8", "replace").strip()
    return repr(text[:SHOWN] + ("…" if len(text) > SHOWN or len(body) > SHOWN * 4 else ""))


def parse_json(body: bytes, request: Request, head: Head) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        text = f"{request.method} {request.target}: the answer is not JSON: {error}; it begins with {excerpt(body)}"
        raise InvalidAnswerError(text, status=head.status, correlation_id=head.about(request).correlation_id) from error


def parse_as(kinds: Kinds, body: bytes, request: Request, head: Head) -> Any:
    """The JSON of a body, if it is of one of the kinds."""
    value = parse_json(body, request, head)
    if not isinstance(value, kinds):
        text = f"{request.method} {request.target}: expected {name_of(kinds)}, got {excerpt(body)}; is a gateway at this URL?"
        raise InvalidAnswerError(text, status=head.status, correlation_id=head.about(request).correlation_id)
    return value


def name_of(kinds: Kinds) -> str:
    return "a JSON " + " or ".join("object" if kind is dict else "list" for kind in kinds)


def unexpected(answer: Any, text: str) -> InvalidAnswerError:
    """The error of an answer whose members are not what they should be."""
    about = metadata(answer)
    return InvalidAnswerError(f"{text}; is a gateway at this URL?", status=about.status, correlation_id=about.correlation_id)


def read(request: Request, head: Head, body: bytes, accepts: tuple[str, ...], kinds: Kinds = OBJECT, *, may_be_empty: bool = False) -> Any:
    """The value of an answer, or its error. Of a redirection that is asked for, it is the address."""
    if head.status == 302 and accepts == REDIRECTED:
        return with_metadata(head.headers.get("location", ""), head.about(request))
    if not 200 <= head.status < 300:
        raise http_error(request, head, body)
    about = head.about(request)
    if head.status in (202, 204, 205) and not body:
        if may_be_empty:
            return None
        text = f"{request.method} {request.target}: expected {' or '.join(accepts)}, got status {head.status} with no content; is a gateway at this URL?"
        raise InvalidAnswerError(text, status=head.status, correlation_id=about.correlation_id)
    media = head.media_type()
    if media not in accepts:
        expected = " or ".join(accepts)
        text = f"{request.method} {request.target}: expected {expected}, got {media or 'no content type'} with {excerpt(body)}; is a gateway at this URL?"
        raise InvalidAnswerError(text, status=head.status, correlation_id=about.correlation_id)
    if media == "application/json":
        return with_metadata(parse_as(kinds, body, request, head), about)
    return with_metadata(body.decode("utf-8", "replace"), about)


def http_error(request: Request, head: Head, body: bytes) -> GatewayHttpError:
    """The error of an answer that is not of 2xx, whatever its body is."""
    found: Any = None
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        pass
    members = found if isinstance(found, dict) else {}
    return error_of(members, head.status, head.about(request).correlation_id, excerpt(body) if body.strip() else "no body", head)


def error_of(members: Mapping[str, Any], status: int, correlation_id: str, otherwise: str = "", head: Head | None = None) -> GatewayHttpError:
    """The error that a body says: that of the gateway's routes, or that of OpenAI's and of MCP, whose `error` is an object."""
    error = members.get("error")
    nested = error if isinstance(error, dict) else {}
    message = nested.get("message") if nested else error
    code = members.get("code", nested.get("code"))
    message = str(message) if message is not None else otherwise
    code = str(code) if code is not None else None
    retry_after = head.headers.get("retry-after", "") if head else ""
    return CLASSES.get(code or "", GatewayHttpError)(
        f"Gateway HTTP {status}: {message}",
        message=message,
        code=code,
        status=status,
        body=members,
        correlation_id=str(members.get("correlationId") or correlation_id),
        retry_after=float(retry_after) if retry_after.isdecimal() else None,
    )


def event_error(value: Any, correlation_id: str) -> GatewayHttpError:
    """The error that an event of a stream says, whatever its value is."""
    members = value if isinstance(value, dict) else {"error": value}
    status = members.get("status")
    # Compared by type, since true is an int as well.
    return error_of(members, status if type(status) is int and status > 0 else 500, correlation_id, "no reason given")


@dataclass(frozen=True)
class Policy:
    """How often a request is sent, and how long all of it may take."""

    timeout: float | None = 60
    max_retries: int = 3
    retry_delay: float = 1
    retry_backoff: float = 2
    deadline: float | None = None

    def delay(self, failures: int, error: GatewayError, longest: float = LONGEST_DELAY) -> float:
        """How long to wait after so many failures in a row, the last of which is the error."""
        try:
            delay = self.retry_delay * self.retry_backoff ** (failures - 1)
        except OverflowError:
            delay = longest
        return max(min(delay, longest), min(error.retry_after or 0, LONGEST_RETRY_AFTER))


class Attempts:
    """The attempts of one request. The clock is the caller's."""

    def __init__(self, policy: Policy, request: Request, now: float) -> None:
        self.policy = policy
        self.request = request
        self.timeout = policy.timeout if request.timeout is None else request.timeout
        deadline = policy.deadline if request.deadline is None else request.deadline
        self.deadline = deadline
        self.end = None if deadline is None else now + deadline
        self.made = 0
        self.begun = now
        # When the first attempt began that may have reached the gateway.
        self.sent: float | None = None

    def begin(self, now: float) -> float | None:
        """How many seconds the next attempt may take; `None` for as long as it likes."""
        self.made += 1
        self.begun = now
        return self.left(self.timeout, now)

    def left(self, timeout: float | None, now: float) -> float | None:
        """The time, or what is left of the deadline if that is less."""
        left = None if self.end is None else max(0.0, self.end - now)
        return min((one for one in (timeout, left) if one is not None), default=None)

    def delay_after(self, error: GatewayError, now: float, replayed: bool = False) -> float:
        """How long to wait before the next attempt. Raises the error where there is none."""
        if error.correlation_id is None:
            error.correlation_id = self.request.correlation_id
        if self.sent is None and not isinstance(error, UnreachableError):
            self.sent = self.begun
        if not self.may_succeed(error, replayed):
            raise error.after(self.made) if self.made > 1 else error
        if self.made > self.policy.max_retries:
            raise error.after(self.made)
        delay = self.policy.delay(self.made, error)
        if self.end is not None and now + delay >= self.end:
            raise self.late(error)
        if self.request.is_keyed and self.sent is not None and now + delay >= self.sent + KEY_USED_FOR:
            raise error.after(self.made, f"; a request with an idempotency key is not repeated later than {KEY_USED_FOR // 60} minutes after it was sent first")
        return delay

    def delay_before_resuming(self, error: GatewayError, now: float) -> float:
        """How long to wait before a stream that broke is asked for again, without end unless there is a deadline. Raises the error where it is no use."""
        self.made += 1
        if not self.may_succeed(error, replayed=False):
            raise error
        delay = max(SHORTEST_BREAK, self.policy.delay(self.made, error, LONGEST_BREAK))
        if self.end is not None and now + delay >= self.end:
            raise self.late(error)
        return delay

    def late(self, error: GatewayError) -> GatewayError:
        """The error, saying that it is the deadline that ends the request."""
        return error.after(self.made, f"; no time is left of deadline={self.deadline:g} s")

    def is_late(self, now: float) -> bool:
        return self.end is not None and now >= self.end

    def may_succeed(self, error: GatewayError, replayed: bool) -> bool:
        if isinstance(error, UnreachableError):
            return True
        if isinstance(error, NetworkError):
            return self.request.may_repeat
        is_fault = isinstance(error, GatewayHttpError) and (error.status or 0) >= 500
        return is_fault and self.request.may_repeat and not replayed and error.code not in SETTLED


def pool_is_full(max_connections: int) -> UnreachableError:
    return UnreachableError(f"Network error: all {max_connections} connections are in use; raise max_connections= or close streams")


def timed_out(seconds: float | None) -> RequestTimeoutError:
    return RequestTimeoutError(f"Network error: no complete answer within {seconds or 0:.3g} s; a longer timeout= may help")
