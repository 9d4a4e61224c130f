// Generated from docs/reference/openapi.json by generate.mjs.

export interface ErrorBody {
  /** For people. */
  error: string;
  /** For programs. `x-extensible-enum` has all words of this version, and more may come: treat a word that you do not know as `UNKNOWN`. `x-error-codes` says when each one comes and with which statuses; without a status it stands only in results of calls and in the log. */
  code: string;
  correlationId: string;
  availableProviders?: string[];
  /** With `APPROVAL_REQUIRED`: what `/approvals` has the call under. */
  approvalId?: string;
}

/** A request, a notification or an answer of MCP. */
export interface JsonRpcMessage {
  jsonrpc: "2.0";
  id?: string | number | null;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: {
    code: number;
    message: string;
    data?: unknown;
  };
}

export type JsonObject = Record<string, unknown>;

export interface Tool {
  name: string;
  title?: string;
  description?: string;
  inputSchema?: JsonObject;
  outputSchema?: JsonObject;
  annotations?: JsonObject;
  _meta?: JsonObject;
}

export interface ToolList {
  tools: Tool[];
}

/** The provider's own shape; see the guide of that provider. */
export type RenderedTools = Record<string, unknown> | unknown[];

export interface ExecuteRequest {
  /** The dialect of `call`; found out from its shape where absent. */
  provider?: string;
  server?: string;
  model?: string;
  /** A call, a list of calls, a whole model reply, or a streamed one: its chunks or its text. Needed, unless there is `continue`. */
  call?: Record<string, unknown> | unknown[] | string;
  /** As the parameter of this name, above which it stands. */
  text?: "off" | "auto" | "xml" | "json";
  input?: Input;
  continue?: Continue;
  responses?: Responses;
  [member: string]: unknown;
}

export interface ExecuteAnswer {
  /** The result of a single call. */
  result?: unknown;
  /** The result is that of an earlier call; in `results` it stands in each entry. */
  cached?: boolean;
  /** Where several tools have the name: names that lead to one each. */
  candidates?: string[];
  /** The server of a single call, once it is known. */
  server?: string;
  /** The name of its tool on that server. */
  tool?: string;
  /** Why a single call has an error instead of the tool's result: a code of `Error`. */
  code?: string;
  /** What was done to the arguments of a single call before the tool got them. */
  notes?: unknown[];
  /** Of several calls, an entry each: `name`, `id`, `result`, and `server`, `tool`, `code`, `candidates`, `cached` and `notes` as of a single one. */
  results?: unknown[];
  /** What is other in the messages than in the results as they came. */
  changes?: Array<{
    /** Which result, from 0. */
    result: number;
    /** JSON Pointer into it. */
    path: string;
    fate: string;
    reason: string;
  }>;
  /** Messages for the conversation, in the provider's shape. Absent while there is `inputRequired`. */
  messages?: unknown[];
  /** The dialect that the reply was read as. */
  provider: string;
  /** What the model said beside its calls; absent if nothing. */
  text?: string;
  /** What it thought, if the provider shows it. */
  reasoning?: string;
  /** Tokens of the reply, if the response counts them; a count that it lacks is 0. */
  usage?: {
    inputTokens: number;
    outputTokens: number;
  };
  /** Tool use in the text that is not run: `name`, `notation` and the `reason`. Only where calls are taken out of text. */
  skipped?: unknown[];
  inputRequired?: InputRequired;
}

export interface CallToolRequest {
  server?: string;
  /** Needed, unless there is `continue`. */
  tool?: string;
  arguments?: JsonObject;
  input?: Input;
  continue?: Continue;
  responses?: Responses;
}

/** Tool use in any format; XML as a text. */
export type RouteRequest = Record<string, unknown> | unknown[] | string;

/** The results in the same format; several as a list. */
export type RouteAnswer = Record<string, unknown> | unknown[];

export interface ApprovalList {
  approvals: Array<{
    id: string;
    server: string;
    tool: string;
    /** As JSON, up to 20000 characters. */
    arguments: string;
    /** What a person decides by: server, tool and arguments, one line each, quoted and escaped. */
    display: string;
    /** Whether there are more. */
    truncated: boolean;
    caller?: string | null;
    approved: boolean;
    expiresInMs: number;
  }>;
}

export interface ApprovalRequest {
  decision: "approve" | "deny";
}

export interface ApprovalAnswer {
  id: string;
  decision: "approve" | "deny";
}

export interface RegistryList {
  /** The server that the tools are offered as. */
  server: string;
  tools: Array<{
    name: string;
    origin: "program" | "configuration" | "network";
    handler: {
      kind: "function" | "endpoint" | "command";
      url?: string;
    };
    timeoutMs: number;
    definition: Tool;
  }>;
}

export interface RegisterRequest {
  /** The same as in the path, where it is there. */
  name?: string;
  title?: string;
  description?: string;
  inputSchema?: JsonObject;
  outputSchema?: JsonObject;
  annotations?: JsonObject;
  _meta?: JsonObject;
  handler: {
    /** Takes `{tool, arguments}` by POST; redirects are not followed. */
    url: string;
    headers?: Record<string, string>;
  };
  /** Seconds, or a text such as `30s`; at most an hour. */
  timeout?: number | string;
  [member: string]: unknown;
}

export interface RegisterAnswer {
  name: string;
  replaced: boolean;
}

/** Either `result`, or `inputRequired` with the names of server and tool. */
export interface CallToolAnswer {
  result?: JsonObject;
  inputRequired?: InputRequired;
}

/** What the server may ask the caller while the tool works. Without it, whatever the server asks is declined. */
export type Input = Array<"elicitation" | "sampling" | "roots">;

/** The server wants to know something before there is a result. Send `state` back as `continue`, with the answers as `responses`. */
export interface InputRequired {
  /** Requests of MCP, by name. */
  requests: Record<string, {
    method?: string;
    params?: Record<string, unknown>;
    /** The server that asks. */
    server?: string;
  }>;
  /** Holds for this caller and this route, once. */
  state: string;
  /** Seconds for which the state holds. */
  expiresIn: number;
}

/** The `state` of an answer with `inputRequired`. Only `responses` may stand beside it. */
export type Continue = string;

/** The results of the requests, by the names of `requests`. What is left out is declined. */
export type Responses = Record<string, Record<string, unknown>>;

export interface ConvertRequest {
  /** The dialect; `provider` means the same. */
  to?: string;
  provider?: string;
  model?: string;
  tools?: Tool[];
  tool?: Tool;
  [member: string]: unknown;
}

/** The tools in the provider's own shape, under the provider's own name for the list. */
export interface ConvertAnswer {
  dialect: string;
  /** What happened to each tool. */
  report: JsonObject[];
}

export interface DetectAnswer {
  /** Who serves the model; `unknown` where no rule knows it. */
  provider: string;
  /** The id in lower case. */
  modelId: string;
  /** Whether the provider can hold the model to a schema. */
  supportsStructuredOutputs: boolean;
  isReasoningModel: boolean;
  dialect: string | null;
  /** The layer of the model's family. */
  layer: string | null;
}

export interface TransformRequest {
  /** The dialect; `provider` and `profile` mean the same. */
  to?: string;
  provider?: string;
  profile?: string;
  model?: string;
  /** A JSON Schema; what is no object comes back as it was. */
  schema: unknown;
  [member: string]: unknown;
}

export interface TransformAnswer {
  /** `null` where no rule knows the model. */
  dialect: string | null;
  /** `null` where the dialect sends none, as some do for tools without parameters. */
  schema: unknown;
  strict: boolean;
  tokens: JsonObject;
  changes: JsonObject[];
  warnings?: string[];
}

export interface HistoryRequest {
  /** The dialect of the conversation, or `neutral`. */
  from: string;
  /** The dialect of the answer, or `neutral`. */
  to: string;
  /** The messages, contents or items, as the dialect has them. */
  messages: unknown[];
  /** The instructions, where the dialect keeps them apart. */
  system?: unknown;
  /** The tools of the calls: their names and arguments are then translated. */
  tools?: Tool[];
  /** `text` writes calls and results as text, `text-only` leaves them out. */
  mode?: "native" | "text" | "text-only";
  /** The model that reads the answer, where media depend on it. */
  model?: string;
}

/** A message of the neutral format. Members that are not named here are kept. */
export interface NeutralMessage {
  /** `system`, `user`, `assistant` or `tool`; another one is kept. */
  role: string;
  content: NeutralContent;
  /** When it was written. */
  ts?: unknown;
  /** Whatever its writer keeps with it. */
  metadata?: unknown;
}

/** A text, or blocks. */
export type NeutralContent = string | NeutralBlock[];

/** One part of a message. Blocks of other types, and members that are not named here, are kept. */
export interface NeutralBlock {
  type: string;
}

/** Bytes, or where they are. */
export type NeutralSource = {
  type: "base64";
  media_type: string;
  data: string;
} | {
  type: "url";
  url: string;
  media_type?: string;
};

export interface HistoryAnswer {
  messages: unknown[];
  /** The instructions, where the dialect keeps them apart. */
  system?: unknown;
  warnings: Array<{
    /** The message, counted from zero. */
    message: number;
    text: string;
  }>;
}

export interface CheckRequest {
  /** The dialects; all of them where absent. */
  to?: string | string[];
  tools: Tool[];
  [member: string]: unknown;
}

export type CheckAnswer = Record<string, unknown>;

export interface ResourceLists {
  servers: Array<{
    server: string;
    /** As in MCP's `resources/list`. */
    resources: Array<Record<string, unknown>>;
    /** As in MCP's `resources/templates/list`. */
    resourceTemplates: Array<Record<string, unknown>>;
    /** Why its resources are not known, with `code` and `error`. */
    problem?: Record<string, unknown>;
  }>;
}

/** The result of MCP's `resources/read`. */
export interface ResourceContents {
  contents?: Array<Record<string, unknown>>;
}

export interface ProviderInfo {
  name: string;
}

export interface ProviderList {
  providers: ProviderInfo[];
}

/** One call; or, from a server's own file, a line that could not be read, as `parse_error`. */
export interface LogEntry {
  id?: number;
  timestamp?: string;
  server?: string;
  tool?: string;
  provider?: string | null;
  input?: unknown;
  result?: unknown;
  error?: string;
  code?: string;
  duration_ms?: number;
  correlation_id?: string;
  caller?: string;
  transport?: string;
  /** The server that ran the call, where it took it over from `server`. */
  ran_on?: string;
  parse_error?: string;
}

export type LogEntries = LogEntry[];

export interface ChangedDefinition {
  tool: string;
  change?: "added" | "removed" | "changed" | "unverified";
  parts?: Array<"description" | "schema" | "annotations" | "unknown">;
  /** Whether calls are refused until somebody accepts the definition. */
  blocked: boolean;
  /** What the definition is known by now; whoever accepts it sends this back. */
  fingerprint?: string;
  /** The definition as it is now; in `/servers` only. */
  definition?: Record<string, unknown>;
}

export interface Server {
  name: string;
  /** `none` where the entry is invalid. */
  transport: "stdio" | "http" | "sse" | "builtin" | "none";
  connected: boolean;
  status: "connecting" | "connected" | "disconnected" | "failed" | "disabled";
  state: "disabled" | "invalid" | "idle" | "connecting" | "connected" | "disconnected" | "crashing" | "closed";
  /** Whether a call would work now; an idle server is started by the call. */
  ok: boolean;
  required?: boolean;
  reason?: string;
  /** What is wrong with its entry in the configuration; absent where nothing is. A server that is not `invalid` all the same runs under its earlier entry. */
  configProblems?: string[];
  era?: string;
  /** What the server says about itself. */
  version?: string;
  serverName?: string;
  tools?: number;
  /** Whether these are the tools of an earlier run: the server was not asked yet in this one. Absent where it was. */
  stale?: boolean;
  restarts?: number;
  failures?: number;
  nextAttemptMs?: number;
  inFlight?: number;
  process?: number;
  /** Tools that are not as MCP has them; absent where there are none, and the first hundred where there are many. */
  malformedTools?: Array<{
    /** Its name, if it has one. */
    tool?: string;
    /** Its index in the server's list. */
    index: number;
    reason: string;
    /** Whether it is in no list, not in those of MCP, or repaired there. */
    withheld: "no" | "mcp" | "all";
  }>;
  /** Tools that providers cannot take, known as soon as a server with `connect: eager` has listed them, for the plainest dialect of each wire format and all configured ones; absent where there are none, and the first hundred where there are many. */
  conversionProblems?: Array<{
    tool: string;
    /** The dialects whose lists are without it. */
    providers: string[];
    reason: string;
  }>;
  /** The last 1,000 characters of its standard error, without lines at the levels INFO, DEBUG and TRACE. */
  stderr?: string;
  changedDefinitions?: ChangedDefinition[];
  /** Stands for all changed definitions at once. */
  changesFingerprint?: string;
  /** Requests of the server that nobody could answer; absent where there were none. */
  refusedRequests?: number;
  probe?: {
    ok?: boolean;
    durationMs?: number;
    error?: string;
  };
}

export interface ServerList {
  servers: Server[];
}

export interface AcceptRequest {
  /** That of one changed definition, or `changesFingerprint` of the server. */
  fingerprint: string;
}

export interface ServerAnswer {
  server: Server;
}

export interface Health {
  ok: boolean;
  status: "healthy" | "degraded" | "unhealthy";
  version: string;
  uptimeMs?: number;
  /** Why it is not healthy, as far as the servers alone do not say it; absent where there is nothing to say. */
  reasons?: string[];
  /** Where the configuration in use comes from. */
  configSource?: "file" | "env" | "none";
  /** Why a changed configuration was not taken over; absent where the file is in use. */
  configProblems?: string[];
  serverCount?: number;
  servers?: Server[];
  /** Tools of the configuration file that are left out; absent where there are none. */
  refusedTools?: Array<{
    tool: string;
    error: string;
  }>;
  /** Names that several servers have a tool of, and that are in no list for that; absent where there are none. */
  clashes?: Array<{
    tool: string;
    servers: string[];
  }>;
  /** What became of a `servers.json` that could not be read; absent where it could. */
  memoryProblem?: string;
  /** Tools whose own names are reserved for another server; absent where there are none. Without `given` the tool is only reached by naming its server. */
  renamedTools?: Array<{
    server: string;
    tool: string;
    wanted: string;
    given?: string;
    reservedFor: string;
  }>;
  log?: {
    queued?: number;
    written?: number;
    waiting?: number;
    failures?: number;
    failing?: boolean;
    lastError?: string | null;
    bytes?: number;
    /** Where a database that could not be read was moved to at the start; absent where it could. */
    movedAside?: string;
  };
}

export interface Live {
  ok: true;
}

export interface Ready {
  ok: boolean;
  status: "ready" | "unavailable";
  reasons?: string[];
}

export interface Count {
  total: number;
  byProvider: Record<string, number>;
  byEndpoint: Record<string, number>;
}

/** Milliseconds. */
export interface Latency {
  p50?: number;
  p95?: number;
  p99?: number;
  avg?: number;
}

export interface Metrics {
  requests: Count;
  errors: Count;
  latencies: {
    p50?: number;
    p95?: number;
    p99?: number;
    avg?: number;
    byProvider?: Record<string, Latency>;
    byEndpoint?: Record<string, Latency>;
  };
  /** Milliseconds since 1970 from which on requests are counted. */
  since: number;
}

/** A request of OpenAI's Chat Completions. All members are passed on. */
export interface CompletionRequest {
  /** A name under `models`, or of a model that an entry with `models: "auto"` lists; `loop.model` if absent. */
  model?: string;
  messages: JsonObject[];
  /** Tools of the caller, whose calls are handed back. */
  tools?: JsonObject[];
  /** Counts for the first round. */
  tool_choice?: unknown;
  stream?: boolean;
  [member: string]: unknown;
}

export interface Completion {
  id?: string;
  object?: string;
  created?: number;
  model?: string;
  choices?: JsonObject[];
  usage?: JsonObject;
  gateway?: CompletionReport;
}

/** What happened on the way to the answer. */
export interface CompletionReport {
  /** Each call with `tool_name`, `arguments`, `result`, in order. */
  calls?: JsonObject[];
  /** What each reply of the model cost. */
  rounds?: JsonObject[];
  stopped?: JsonObject;
  /** Members of the request that the model's API does not have. */
  ignored?: string[];
  notices?: string[];
}

/** An error below `/v1`, in OpenAI's shape. An error of a model's API may have more members, and its own words. */
export interface CompletionError {
  error: {
    /** For people. */
    message: string;
    type?: string;
    /** The member of the request that is wrong. */
    param?: string | null;
    /** For programs. `x-extensible-enum` has all words of this version, and more may come; an error of a model's API may have a code of its own, and a request that is not sound has none. `x-error-codes` says when each one comes and with which statuses. A stream that has begun ends with the same object, and `[DONE]`. */
    code?: string | number | null;
    gateway?: {
      /** A later request goes on with it where the loop stopped. */
      continuation?: string;
    };
  };
  correlationId?: string;
}

export interface ModelList {
  object?: "list";
  data?: Model[];
}

export interface Model {
  id: string;
  object: "model";
  created: number;
  owned_by: string;
}

export interface NewConversation {
  title?: string;
}

export interface RenameConversation {
  title: string;
  /** The version that the conversation has to have. */
  version?: number;
}

export type ConversationSummaries = Array<{
  id: string;
  title: string;
  created_at: string;
  updated_at: string;
  message_count: number;
  version: number;
}>;

export interface Conversation {
  id: string;
  title: string;
  messages: StoredMessage[];
  created_at: string;
  updated_at: string;
  /** Increments with every change. */
  version: number;
  message_count?: number;
  /** `usage`: tokens of all answers. `summary`: what the model is sent in place of the first `covers` messages. */
  metadata?: Record<string, unknown>;
}

/** A message of Chat Completions; members without a value are left out. `blocks` has what that form cannot carry, `interrupted` says that a turn broke off, `correlation_id` which request calls belong to. */
export interface StoredMessage {
  role: "system" | "user" | "assistant" | "tool";
  content?: unknown;
  tool_call_id?: string;
  name?: string;
  tool_calls?: JsonObject[];
}

export interface ConversationDeleted {
  message: "Conversation deleted successfully";
  success: true;
}

export interface ChatRequest {
  message: {
    role?: "user";
    /** A text, or parts of Chat Completions. */
    content: unknown;
  };
  stream?: boolean;
  /** `loop.model` if absent. */
  model?: string;
  /** What a stream has beside the answer. */
  events?: Array<"tool_call" | "tool_result" | "usage" | "reasoning">;
  /** The version that the conversation has to have. */
  version?: number;
  /** Instructions for a conversation that is empty; blank for none, `loop.systemPrompt` if absent. */
  system_prompt?: string;
  /** Forget what was said before. */
  reset_history?: boolean;
  [member: string]: unknown;
}

export interface ChatAnswer {
  content: string;
  conversation_id: string;
}

export interface ConversationCalls {
  conversation_id: string;
  calls: Array<{
    tool_name?: string;
    arguments?: unknown;
    result?: string | null;
    id?: string;
    correlation_id?: string | null;
    status?: "error";
  }>;
}
