import type { InputRequired } from "./generated/schemas.js";

/** What is known about a failure. */
export interface FailureDetails {
  /** The gateway's word for programs; one that this version does not know stays as it came. */
  code?: string | undefined;
  /** The HTTP status, where there was an answer. */
  status?: number | undefined;
  /** The id that the gateway's logs have the request under. */
  correlationId?: string | undefined;
  /** The answer as it came: parsed, or its text where it is no JSON. */
  body?: unknown;
  cause?: unknown;
}

/** Whatever goes wrong between this client and a gateway. */
export class GatewayError extends Error {
  readonly code: string | undefined;
  readonly status: number | undefined;
  readonly correlationId: string | undefined;
  readonly body: unknown;
  /** How often the request was sent. */
  attempts = 1;

  constructor(message: string, details: FailureDetails = {}) {
    super(message, "cause" in details ? { cause: details.cause } : undefined);
    this.name = new.target.name;
    this.code = details.code;
    this.status = details.status;
    this.correlationId = details.correlationId;
    this.body = details.body;
  }
}

/** The gateway cannot be reached, or the connection broke. */
export class NetworkError extends GatewayError {}

/** The deadline of a call has passed. */
export class RequestTimeoutError extends NetworkError {}

/** An answer that is not what the gateway writes; something else may listen at its address. */
export class InvalidAnswerError extends GatewayError {}

/** The answer is larger than `maxAnswerBytes`, or an event of a stream is. */
export class AnswerTooLargeError extends InvalidAnswerError {}

/** A server asks something before there is a result; the same method with `continue` goes on. */
export class InputNeededError extends GatewayError {
  /** What to answer, and the `state` to go on with. */
  get inputRequired(): InputRequired {
    return (this.body as { inputRequired: InputRequired }).inputRequired;
  }
}

/** The gateway answered with an error. The classes below are for the codes that it has. */
export class GatewayHttpError extends GatewayError {}

/** `CONNECTION_ERROR`: the server cannot be reached, or went away. */
export class ConnectionFailedError extends GatewayHttpError {}
/** `TOOL_NOT_FOUND`: no such tool. */
export class ToolNotFoundError extends GatewayHttpError {}
/** `RESOURCE_NOT_FOUND`: no such resource. */
export class ResourceNotFoundError extends GatewayHttpError {}
/** `VALIDATION_ERROR`: the request or its arguments are wrong. */
export class ValidationError extends GatewayHttpError {}
/** `SERVER_ERROR`: the server answered with a fault. */
export class ServerError extends GatewayHttpError {}
/** `TIMEOUT`, `model_timeout`: the server or the model gave no answer in time. */
export class CallTimeoutError extends GatewayHttpError {}
/** `TOOL_ERROR`: the tool itself says that it failed. */
export class ToolError extends GatewayHttpError {}
/** `SERVER_NOT_FOUND`: no such server. */
export class ServerNotFoundError extends GatewayHttpError {}
/** `UNKNOWN_PROVIDER`: no such provider. */
export class UnknownProviderError extends GatewayHttpError {}
/** `NOT_FOUND`: no such route; the gateway may be older than this client. */
export class RouteNotFoundError extends GatewayHttpError {}
/** `METHOD_NOT_ALLOWED`: the route has no such method. */
export class MethodNotAllowedError extends GatewayHttpError {}
/** `BODY_TOO_LARGE`: the body is too large. */
export class BodyTooLargeError extends GatewayHttpError {}
/** `UNSUPPORTED_MEDIA_TYPE`: the body is not of a type that is read there. */
export class UnsupportedMediaTypeError extends GatewayHttpError {}
/** `UNAUTHORIZED`: a key is missing or wrong. */
export class UnauthorizedError extends GatewayHttpError {}
/** `FORBIDDEN`: the host, the page or the caller may not do this. */
export class ForbiddenError extends GatewayHttpError {}
/** `OVERLOADED`: too much at once; nothing ran. */
export class OverloadedError extends GatewayHttpError {}
/** `RESULT_DROPPED`: the tool ran, but there was no room for its result. */
export class ResultDroppedError extends GatewayHttpError {}
/** `IDEMPOTENCY_CONFLICT`: the key was used for another request, or for one that ran and whose answer could not be kept. */
export class IdempotencyConflictError extends GatewayHttpError {}
/** `TOOL_DENIED`: the policy, or somebody who was asked, denies the call. */
export class ToolDeniedError extends GatewayHttpError {}
/** `APPROVAL_REQUIRED`: somebody has to approve the call; `body.approvalId` names it. */
export class ApprovalRequiredError extends GatewayHttpError {}
/** `REGISTRY_CONFLICT`: the tool stands in the configuration file. */
export class RegistryConflictError extends GatewayHttpError {}
/** `REGISTRY_FULL`: no more tools can be registered. */
export class RegistryFullError extends GatewayHttpError {}
/** `DEFINITION_CHANGED`: another definition waits to be accepted by now, or none. */
export class DefinitionChangedError extends GatewayHttpError {}
/** `INPUT_REQUIRED`: the server asks something that the caller did not offer to answer. */
export class InputRequiredError extends GatewayHttpError {}
/** `INPUT_EXPIRED`: answers for a server came too late, or twice. */
export class InputExpiredError extends GatewayHttpError {}
/** `CANCELLED`, `cancelled`: the caller went away before the call ended. */
export class CancelledError extends GatewayHttpError {}
/** `CONVERSION_ERROR`: a tool cannot be written in the provider's format. */
export class ConversionError extends GatewayHttpError {}
/** `PERSONAL_DATA`: personal data that the configuration does not let pass. */
export class PersonalDataError extends GatewayHttpError {}
/** `CONVERSATION_NOT_FOUND`: the caller has no such conversation. */
export class ConversationNotFoundError extends GatewayHttpError {}
/** `CONVERSATION_FULL`: the conversation would be larger than it may be. */
export class ConversationFullError extends GatewayHttpError {}
/** `CONFLICT`: somebody else was faster. */
export class ConflictError extends GatewayHttpError {}
/** `STORE_ERROR`, `store_unavailable`: the store of conversations, or of turns that stopped, cannot be used. */
export class StoreError extends GatewayHttpError {}
/** `model_not_found`: no such model; `models()` has those that there are. */
export class ModelNotFoundError extends GatewayHttpError {}
/** `context_length_exceeded`: the conversation is longer than the model takes; a shorter one may work. */
export class ContextLengthError extends GatewayHttpError {}
/** `MODEL_ERROR`, `model_error`, `model_unreachable`, `empty_answer`: the model gave no answer, or an empty one, or cannot be reached. */
export class ModelError extends GatewayHttpError {}
/** `LIMIT_EXCEEDED`, `limit_exceeded`: a bound of the loop was reached. */
export class LimitExceededError extends GatewayHttpError {}
/** `UNKNOWN`: anything else. */
export class UnknownError extends GatewayHttpError {}

/** The class of each code. */
export const ERROR_CLASSES = {
  CONNECTION_ERROR: ConnectionFailedError,
  TOOL_NOT_FOUND: ToolNotFoundError,
  RESOURCE_NOT_FOUND: ResourceNotFoundError,
  VALIDATION_ERROR: ValidationError,
  SERVER_ERROR: ServerError,
  TIMEOUT: CallTimeoutError,
  TOOL_ERROR: ToolError,
  SERVER_NOT_FOUND: ServerNotFoundError,
  UNKNOWN_PROVIDER: UnknownProviderError,
  NOT_FOUND: RouteNotFoundError,
  METHOD_NOT_ALLOWED: MethodNotAllowedError,
  BODY_TOO_LARGE: BodyTooLargeError,
  UNSUPPORTED_MEDIA_TYPE: UnsupportedMediaTypeError,
  UNAUTHORIZED: UnauthorizedError,
  FORBIDDEN: ForbiddenError,
  OVERLOADED: OverloadedError,
  RESULT_DROPPED: ResultDroppedError,
  IDEMPOTENCY_CONFLICT: IdempotencyConflictError,
  TOOL_DENIED: ToolDeniedError,
  APPROVAL_REQUIRED: ApprovalRequiredError,
  REGISTRY_CONFLICT: RegistryConflictError,
  REGISTRY_FULL: RegistryFullError,
  DEFINITION_CHANGED: DefinitionChangedError,
  INPUT_REQUIRED: InputRequiredError,
  INPUT_EXPIRED: InputExpiredError,
  CANCELLED: CancelledError,
  CONVERSION_ERROR: ConversionError,
  PERSONAL_DATA: PersonalDataError,
  CONVERSATION_NOT_FOUND: ConversationNotFoundError,
  CONVERSATION_FULL: ConversationFullError,
  CONFLICT: ConflictError,
  STORE_ERROR: StoreError,
  MODEL_ERROR: ModelError,
  LIMIT_EXCEEDED: LimitExceededError,
  UNKNOWN: UnknownError,
  // Those of `/v1`.
  model_not_found: ModelNotFoundError,
  context_length_exceeded: ContextLengthError,
  model_timeout: CallTimeoutError,
  model_unreachable: ModelError,
  model_error: ModelError,
  empty_answer: ModelError,
  limit_exceeded: LimitExceededError,
  store_unavailable: StoreError,
  cancelled: CancelledError,
} as const;

/** The codes that this version knows. */
export type ErrorCode = keyof typeof ERROR_CLASSES;

/** The error for an answer, or for an event of a stream, that reports one. */
export function errorOfAnswer(
  status: number | undefined,
  reason: string,
  body: unknown,
  sentCorrelationId: string | undefined,
): GatewayHttpError {
  const members = isObject(body) ? body : {};
  // Routes below /v1 and /mcp have the error as an object of its own.
  const nested = isObject(members["error"]) ? members["error"] : {};
  const given = textOf(members["code"]) ?? textOf(nested["code"]) ?? textOf(nested["type"]);
  const text =
    textOf(members["error"]) ?? textOf(nested["message"]) ?? textOf(members["detail"]) ?? textOf(body) ?? reason;
  // Of an event of a stream, the error itself says which status it would have been.
  const shown = status ?? (typeof members["status"] === "number" ? members["status"] : 500);
  const details: FailureDetails = {
    code: given,
    status: shown,
    correlationId: textOf(members["correlationId"]) ?? sentCorrelationId,
    body,
  };
  const known = Object.hasOwn(ERROR_CLASSES, given ?? "") ? ERROR_CLASSES[given as ErrorCode] : GatewayHttpError;
  return new known(`Gateway HTTP ${shown}: ${text}`, details);
}

/** Whether a value is an object with members. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
