"""What can go wrong: a class for each code of the gateway, and those of the way to it.

    GatewayError
    ├── GatewayHttpError        the gateway answered with an error; `code` says which, and each code has a class below this one
    ├── NetworkError            no complete answer came; the request may have run
    │   ├── UnreachableError    no connection was made; nothing was sent
    │   └── RequestTimeoutError it took longer than `timeout` or `deadline`
    ├── InvalidAnswerError      something answered that is not the gateway, or not as it should
    │   └── AnswerTooLargeError
    ├── InvalidRequestError     the request cannot be written as JSON; nothing was sent
    ├── StreamError             a stream ended with an error, or too early
    ├── GatewayStartError       `Gateway.start` could not start the program
    └── MissingDependencyError  something that is not installed is needed
"""

from __future__ import annotations

from typing import Any, Mapping

__all__ = [
    "CLASSES",
    "AnswerTooLargeError",
    "ApprovalRequiredError",
    "BodyTooLargeError",
    "CallTimeoutError",
    "CancelledError",
    "ConflictError",
    "ConnectionFailedError",
    "ContextLengthError",
    "ConversationFullError",
    "ConversationNotFoundError",
    "ConversionError",
    "DefinitionChangedError",
    "ForbiddenError",
    "GatewayError",
    "GatewayHttpError",
    "GatewayStartError",
    "IdempotencyConflictError",
    "InputExpiredError",
    "InputRequiredError",
    "InvalidAnswerError",
    "InvalidRequestError",
    "LimitExceededError",
    "MethodNotAllowedError",
    "MissingDependencyError",
    "ModelError",
    "ModelNotFoundError",
    "NetworkError",
    "OverloadedError",
    "PersonalDataError",
    "RegistryConflictError",
    "RegistryFullError",
    "RequestTimeoutError",
    "ResourceNotFoundError",
    "ResultDroppedError",
    "RouteNotFoundError",
    "ServerError",
    "ServerNotFoundError",
    "StoreError",
    "StreamError",
    "ToolDeniedError",
    "ToolError",
    "ToolNotFoundError",
    "UnauthorizedError",
    "UnknownError",
    "UnknownProviderError",
    "UnreachableError",
    "UnsupportedMediaTypeError",
    "ValidationError",
]


class GatewayError(Exception):
    """The base of all errors of this package. `message` is the text without what was added for people."""

    def __init__(
        self,
        text: str,
        *,
        message: str | None = None,
        code: str | None = None,
        status: int | None = None,
        body: Mapping[str, Any] | None = None,
        correlation_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(text)
        self.message = text if message is None else message
        self.code = code
        self.status = status
        self.body = dict(body or {})
        self.correlation_id = correlation_id
        self.retry_after = retry_after
        self.attempts = 1

    def after(self, attempts: int, note: str = "") -> GatewayError:
        """The same error, saying how often the request was sent."""
        self.attempts = attempts
        if attempts > 1 or note:
            times = f"{attempts} attempt{'s' if attempts > 1 else ''}"
            self.args = (f"Request failed after {times}: {self.args[0]}{note}", *self.args[1:])
        return self


class NetworkError(GatewayError):
    """No complete answer came. A call without an idempotency key may have run."""


class UnreachableError(NetworkError):
    """No connection was made, so that nothing was sent."""


class RequestTimeoutError(NetworkError):
    """No complete answer came in time."""


class InvalidAnswerError(GatewayError):
    """The answer is not what a gateway gives: another content type, broken JSON, or no HTTP."""


class AnswerTooLargeError(InvalidAnswerError):
    """The answer is larger than `max_answer_bytes`."""


class InvalidRequestError(GatewayError, ValueError):
    """A value cannot be written as JSON; nothing was sent."""


class StreamError(GatewayError):
    """A stream ended with an error, or before its end."""


class GatewayStartError(GatewayError):
    """The gateway's program is not there, or did not start; the text has what it said."""


class MissingDependencyError(GatewayError, ImportError):
    """A package that is not installed is needed."""


class GatewayHttpError(GatewayError):
    """The gateway answered with an error. Codes that have no class, as those of a newer gateway, come as this one."""


class ConnectionFailedError(GatewayHttpError):
    """The MCP server cannot be reached, or went away."""


class ToolNotFoundError(GatewayHttpError):
    """No such tool."""


class ResourceNotFoundError(GatewayHttpError):
    """No such resource, or no such kept result."""


class ValidationError(GatewayHttpError):
    """The request or its arguments are wrong."""


class ServerError(GatewayHttpError):
    """The MCP server answered with a fault."""


class CallTimeoutError(GatewayHttpError):
    """The MCP server or the model gave no answer in time, or the gateway waited too long for the request's body."""


class ToolError(GatewayHttpError):
    """The tool itself says that it failed."""


class ServerNotFoundError(GatewayHttpError):
    """No such server."""


class UnknownProviderError(GatewayHttpError):
    """No such provider; `available_providers` has those that are known."""

    @property
    def available_providers(self) -> list[str]:
        return list(self.body.get("availableProviders", []))


class RouteNotFoundError(GatewayHttpError):
    """No such route, or nothing is there."""


class MethodNotAllowedError(GatewayHttpError):
    """The route has no such method."""


class BodyTooLargeError(GatewayHttpError):
    """The request is too large for the gateway."""


class UnsupportedMediaTypeError(GatewayHttpError):
    """The route does not read bodies of that type."""


class UnauthorizedError(GatewayHttpError):
    """A key is missing or wrong."""


class ForbiddenError(GatewayHttpError):
    """The caller may not do this."""


class OverloadedError(GatewayHttpError):
    """Too much at once; `retry_after` says after how many seconds it may work."""


class ResultDroppedError(GatewayHttpError):
    """The tool ran, but there was no room for its result."""


class IdempotencyConflictError(GatewayHttpError):
    """The key was used for another request, or for one that ran and whose answer could not be kept."""


class ToolDeniedError(GatewayHttpError):
    """The policy, or somebody who was asked, denies the call."""


class ApprovalRequiredError(GatewayHttpError):
    """Somebody has to approve the call; `approval_id` is what `approvals()` has it under."""

    @property
    def approval_id(self) -> str | None:
        return self.body.get("approvalId")


class RegistryConflictError(GatewayHttpError):
    """The tool stands in the configuration file, which is where it is changed."""


class RegistryFullError(GatewayHttpError):
    """No more tools can be registered."""


class DefinitionChangedError(GatewayHttpError):
    """The definition that is to be accepted is another one by now, or none waits."""


class InputRequiredError(GatewayHttpError):
    """The server wants to know something that the caller did not offer to answer."""


class InputExpiredError(GatewayHttpError):
    """What a server wanted to know came too late, or twice."""


class CancelledError(GatewayHttpError):
    """The call was cancelled before it ended."""


class ConversionError(GatewayHttpError):
    """A tool cannot be written in the provider's format."""


class PersonalDataError(GatewayHttpError):
    """There is personal data in it that the configuration does not let pass."""


class ConversationNotFoundError(GatewayHttpError):
    """The caller has no such conversation."""


class ConversationFullError(GatewayHttpError):
    """The conversation would be larger than it may be."""


class ConflictError(GatewayHttpError):
    """Somebody else was faster."""


class StoreError(GatewayHttpError):
    """The store of conversations, or of turns that stopped, cannot be used."""


class ModelNotFoundError(GatewayHttpError):
    """No such model; `models()` has those that there are."""


class ContextLengthError(GatewayHttpError):
    """The conversation is longer than the model takes; a shorter one may work."""


class ModelError(GatewayHttpError):
    """The model gave no answer, or an empty one, or cannot be reached."""


class LimitExceededError(GatewayHttpError):
    """A bound of the agent's loop was reached."""


class UnknownError(GatewayHttpError):
    """The gateway does not say what it was; a mistake of its own."""


CLASSES: Mapping[str, type[GatewayHttpError]] = {
    "CONNECTION_ERROR": ConnectionFailedError,
    "TOOL_NOT_FOUND": ToolNotFoundError,
    "RESOURCE_NOT_FOUND": ResourceNotFoundError,
    "VALIDATION_ERROR": ValidationError,
    "SERVER_ERROR": ServerError,
    "TIMEOUT": CallTimeoutError,
    "TOOL_ERROR": ToolError,
    "SERVER_NOT_FOUND": ServerNotFoundError,
    "UNKNOWN_PROVIDER": UnknownProviderError,
    "NOT_FOUND": RouteNotFoundError,
    "METHOD_NOT_ALLOWED": MethodNotAllowedError,
    "BODY_TOO_LARGE": BodyTooLargeError,
    "UNSUPPORTED_MEDIA_TYPE": UnsupportedMediaTypeError,
    "UNAUTHORIZED": UnauthorizedError,
    "FORBIDDEN": ForbiddenError,
    "OVERLOADED": OverloadedError,
    "RESULT_DROPPED": ResultDroppedError,
    "IDEMPOTENCY_CONFLICT": IdempotencyConflictError,
    "TOOL_DENIED": ToolDeniedError,
    "APPROVAL_REQUIRED": ApprovalRequiredError,
    "REGISTRY_CONFLICT": RegistryConflictError,
    "REGISTRY_FULL": RegistryFullError,
    "DEFINITION_CHANGED": DefinitionChangedError,
    "INPUT_REQUIRED": InputRequiredError,
    "INPUT_EXPIRED": InputExpiredError,
    "CANCELLED": CancelledError,
    "CONVERSION_ERROR": ConversionError,
    "PERSONAL_DATA": PersonalDataError,
    "CONVERSATION_NOT_FOUND": ConversationNotFoundError,
    "CONVERSATION_FULL": ConversationFullError,
    "CONFLICT": ConflictError,
    "STORE_ERROR": StoreError,
    "MODEL_ERROR": ModelError,
    "LIMIT_EXCEEDED": LimitExceededError,
    "UNKNOWN": UnknownError,
    # Those of `/v1`.
    "model_not_found": ModelNotFoundError,
    "context_length_exceeded": ContextLengthError,
    "model_timeout": CallTimeoutError,
    "model_unreachable": ModelError,
    "model_error": ModelError,
    "empty_answer": ModelError,
    "limit_exceeded": LimitExceededError,
    "store_unavailable": StoreError,
    "cancelled": CancelledError,
}
