// Generated from docs/reference/openapi.json by generate.mjs.

/** Every route, with the names of its parameters. */
export const OPERATIONS = {
  getTools: {
    method: "GET",
    path: "/tools",
    query: ["server", "errors", "meta", "limit", "maxTokens", "name", "category", "importance", "tag", "group"],
    headers: {},
  },
  getToolsProvider: {
    method: "GET",
    path: "/tools/{provider}",
    query: ["server", "model", "errors", "report", "list", "meta", "mode", "limit", "query", "maxTokens", "profile", "descriptionFallback", "defaults", "open", "strict", "verbatim", "emptyRequired", "budget", "hide", "compat", "name", "category", "importance", "tag", "group"],
    headers: {},
  },
  getToolsProviderContext: {
    method: "GET",
    path: "/tools/{provider}/context",
    query: ["server", "errors", "mode", "group_by", "maxTokens", "limit", "resources", "name", "category", "importance", "tag", "group"],
    headers: {},
  },
  getResources: {
    method: "GET",
    path: "/resources",
    query: ["server"],
    headers: {},
  },
  getResourcesRead: {
    method: "GET",
    path: "/resources/read",
    query: ["uri", "server", "errors"],
    headers: {},
  },
  postExecute: {
    method: "POST",
    path: "/execute",
    query: ["provider", "server", "model", "result", "errors", "input", "coerceArguments", "fillDefaults", "onBadArguments", "text", "maxCharacters"],
    headers: { idempotencyKey: "Idempotency-Key", cacheControl: "Cache-Control" },
  },
  postCallTool: {
    method: "POST",
    path: "/call_tool",
    query: ["result", "errors", "input"],
    headers: { idempotencyKey: "Idempotency-Key", cacheControl: "Cache-Control" },
  },
  postMcp: {
    method: "POST",
    path: "/mcp",
    query: [],
    headers: { mcpSessionId: "Mcp-Session-Id", mcpProtocolVersion: "MCP-Protocol-Version" },
  },
  getMcp: {
    method: "GET",
    path: "/mcp",
    query: [],
    headers: { mcpSessionId: "Mcp-Session-Id", mcpProtocolVersion: "MCP-Protocol-Version" },
  },
  deleteMcp: {
    method: "DELETE",
    path: "/mcp",
    query: [],
    headers: { mcpSessionId: "Mcp-Session-Id", mcpProtocolVersion: "MCP-Protocol-Version" },
  },
  getMcpEvents: {
    method: "GET",
    path: "/mcp/events",
    query: [],
    headers: {},
  },
  postMcpApi: {
    method: "POST",
    path: "/mcp/api",
    query: ["sessionId"],
    headers: {},
  },
  postMcpGroup: {
    method: "POST",
    path: "/mcp/{group}",
    query: [],
    headers: { mcpSessionId: "Mcp-Session-Id", mcpProtocolVersion: "MCP-Protocol-Version" },
  },
  getMcpGroup: {
    method: "GET",
    path: "/mcp/{group}",
    query: [],
    headers: { mcpSessionId: "Mcp-Session-Id", mcpProtocolVersion: "MCP-Protocol-Version" },
  },
  deleteMcpGroup: {
    method: "DELETE",
    path: "/mcp/{group}",
    query: [],
    headers: { mcpSessionId: "Mcp-Session-Id", mcpProtocolVersion: "MCP-Protocol-Version" },
  },
  getMcpGroupEvents: {
    method: "GET",
    path: "/mcp/{group}/events",
    query: [],
    headers: {},
  },
  postMcpGroupApi: {
    method: "POST",
    path: "/mcp/{group}/api",
    query: ["sessionId"],
    headers: {},
  },
  postRoute: {
    method: "POST",
    path: "/route",
    query: ["format", "server", "timeoutMs"],
    headers: { idempotencyKey: "Idempotency-Key" },
  },
  getRegistry: {
    method: "GET",
    path: "/registry",
    query: [],
    headers: {},
  },
  putRegistryName: {
    method: "PUT",
    path: "/registry/{name}",
    query: [],
    headers: {},
  },
  deleteRegistryName: {
    method: "DELETE",
    path: "/registry/{name}",
    query: [],
    headers: {},
  },
  getApprovals: {
    method: "GET",
    path: "/approvals",
    query: [],
    headers: {},
  },
  postApprovalsId: {
    method: "POST",
    path: "/approvals/{id}",
    query: [],
    headers: {},
  },
  postV1ChatCompletions: {
    method: "POST",
    path: "/v1/chat/completions",
    query: [],
    headers: { gatewayTools: "x-gateway-tools", gatewayContinue: "x-gateway-continue", gatewayEvents: "x-gateway-events" },
  },
  getV1Models: {
    method: "GET",
    path: "/v1/models",
    query: [],
    headers: {},
  },
  getV1ModelsId: {
    method: "GET",
    path: "/v1/models/{id}",
    query: [],
    headers: {},
  },
  getResultsId: {
    method: "GET",
    path: "/results/{id}",
    query: ["offset", "length"],
    headers: {},
  },
  postConversations: {
    method: "POST",
    path: "/conversations",
    query: ["errors"],
    headers: { idempotencyKey: "Idempotency-Key" },
  },
  getConversations: {
    method: "GET",
    path: "/conversations",
    query: ["q", "limit", "after", "errors"],
    headers: {},
  },
  getConversationsId: {
    method: "GET",
    path: "/conversations/{id}",
    query: ["offset", "limit", "errors"],
    headers: {},
  },
  patchConversationsId: {
    method: "PATCH",
    path: "/conversations/{id}",
    query: ["errors"],
    headers: { ifMatch: "If-Match" },
  },
  deleteConversationsId: {
    method: "DELETE",
    path: "/conversations/{id}",
    query: ["errors"],
    headers: {},
  },
  postConversationsIdChat: {
    method: "POST",
    path: "/conversations/{id}/chat",
    query: ["errors"],
    headers: { ifMatch: "If-Match", idempotencyKey: "Idempotency-Key", gatewayTools: "x-gateway-tools" },
  },
  getConversationsIdCalls: {
    method: "GET",
    path: "/conversations/{id}/calls",
    query: ["errors"],
    headers: {},
  },
  postConvert: {
    method: "POST",
    path: "/convert",
    query: ["to", "model"],
    headers: {},
  },
  postTransform: {
    method: "POST",
    path: "/transform",
    query: ["to", "model"],
    headers: {},
  },
  postHistory: {
    method: "POST",
    path: "/history",
    query: [],
    headers: {},
  },
  postCheck: {
    method: "POST",
    path: "/check",
    query: ["to"],
    headers: {},
  },
  getProviders: {
    method: "GET",
    path: "/providers",
    query: [],
    headers: {},
  },
  getDetect: {
    method: "GET",
    path: "/detect",
    query: ["model", "provider"],
    headers: {},
  },
  getProvidersName: {
    method: "GET",
    path: "/providers/{name}",
    query: [],
    headers: {},
  },
  getLogs: {
    method: "GET",
    path: "/logs",
    query: ["server", "tool", "provider", "status", "correlation_id", "caller", "since", "until", "limit", "after", "before", "source", "follow", "stream"],
    headers: { lastEventId: "Last-Event-ID" },
  },
  getServers: {
    method: "GET",
    path: "/servers",
    query: [],
    headers: {},
  },
  postServersNameConnect: {
    method: "POST",
    path: "/servers/{name}/connect",
    query: [],
    headers: {},
  },
  postServersNameRestart: {
    method: "POST",
    path: "/servers/{name}/restart",
    query: [],
    headers: {},
  },
  postServersNameAccept: {
    method: "POST",
    path: "/servers/{name}/accept",
    query: [],
    headers: {},
  },
  getHealth: {
    method: "GET",
    path: "/health",
    query: ["probe"],
    headers: {},
  },
  getLivez: {
    method: "GET",
    path: "/livez",
    query: [],
    headers: {},
  },
  getReady: {
    method: "GET",
    path: "/ready",
    query: [],
    headers: {},
  },
  getReadyz: {
    method: "GET",
    path: "/readyz",
    query: [],
    headers: {},
  },
  getMetrics: {
    method: "GET",
    path: "/metrics",
    query: ["since"],
    headers: {},
  },
  getMetricsPrometheus: {
    method: "GET",
    path: "/metrics/prometheus",
    query: [],
    headers: {},
  },
  getOpenapiJson: {
    method: "GET",
    path: "/openapi.json",
    query: [],
    headers: {},
  },
  get: {
    method: "GET",
    path: "/",
    query: [],
    headers: {},
  },
  getDocs: {
    method: "GET",
    path: "/docs",
    query: [],
    headers: {},
  },
} as const;

/** Parameters of `GET /tools`. */
export interface GetToolsParameters {
  /** One server by name, or `*` for all. Absent means the default server if there is one, else all. */
  server?: string;
  /** `precise` answers a single call's failure with 404, 502, 503 or 504 where they fit. */
  errors?: "plain" | "precise";
  /** Adds the server and the fingerprint, in `_meta` of each tool. */
  meta?: boolean;
  /** At most so many tools, or `off`; all unless given. */
  limit?: string;
  /** At most so many estimated tokens of definitions; chosen as for `limit`. */
  maxTokens?: number;
  /** Only tools whose name fits one of these patterns (`*`, `?`). */
  name?: string | string[];
  /** Only tools of these categories. */
  category?: string | string[];
  /** Only tools of at least this importance. */
  importance?: "low" | "normal" | "high";
  /** Only tools with one of these tags. */
  tag?: string | string[];
  /** Only tools of these configured groups. */
  group?: string | string[];
}

/** Parameters of `GET /tools/{provider}`. */
export interface GetToolsProviderParameters {
  /** One server by name, or `*` for all. Absent means the default server if there is one, else all. */
  server?: string;
  /** A model id; chooses the rules that this model needs. */
  model?: string;
  /** `precise` answers a single call's failure with 404, 502, 503 or 504 where they fit. */
  errors?: "plain" | "precise";
  /** Adds what was changed, and why. */
  report?: boolean;
  /** The bare list, without its wrapper. */
  list?: boolean;
  /** Adds where each tool comes from, as `meta` beside the list; not with `list`. */
  meta?: boolean;
  /** All tools, or three that search, describe and call them. */
  mode?: "full" | "search";
  /** At most so many tools, those of search included, or `off` for all; as many as the provider takes unless given. */
  limit?: string;
  /** What the tools are for, such as the question of a user: where `limit`, `maxTokens` or the provider leaves no room for all, those come first that fit it best, behind pinned ones; the tools of search are then left out. */
  query?: string;
  /** At most so many estimated tokens of definitions; chosen as for `limit`. */
  maxTokens?: number;
  /** Another dialect than the path names. */
  profile?: string;
  /** The description of tools that have none. */
  descriptionFallback?: string;
  /** What happens to default values. */
  defaults?: "keep" | "strip" | "describe";
  /** Whether undeclared properties can be said. */
  open?: "declared" | "all";
  /** Whether strict mode is chosen by the schema. */
  strict?: "auto" | "as-named";
  /** Leaves schemas as they came, though the provider may refuse some; 400 where the dialect has no such form. */
  verbatim?: boolean;
  /** What happens to an empty `required`. */
  emptyRequired?: "keep" | "omit" | "add";
  /** Most tokens of a lowered schema, or `off` for any number; `auto`, the default: twice those of the original and 300. */
  budget?: string;
  /** Parameters that the model does not see. */
  hide?: string | string[];
  /** `auto`, `off` (the bare form, where the dialect has one) or the name of a layer for a family of models. */
  compat?: string;
  /** Only tools whose name fits one of these patterns (`*`, `?`). */
  name?: string | string[];
  /** Only tools of these categories. */
  category?: string | string[];
  /** Only tools of at least this importance. */
  importance?: "low" | "normal" | "high";
  /** Only tools with one of these tags. */
  tag?: string | string[];
  /** Only tools of these configured groups. */
  group?: string | string[];
}

/** Parameters of `GET /tools/{provider}/context`. */
export interface GetToolsProviderContextParameters {
  /** One server by name, or `*` for all. Absent means the default server if there is one, else all. */
  server?: string;
  /** `precise` answers a single call's failure with 404, 502, 503 or 504 where they fit. */
  errors?: "plain" | "precise";
  /** How much is said. */
  mode?: "concise" | "standard" | "detailed";
  /** Puts tools that belong together under one heading; those without a category under `Other`. */
  group_by?: "server" | "category" | "importance";
  /** Bounds the text: whole tools, the most important first, and a line that says how many are left out. */
  maxTokens?: number;
  /** At most so many tools, or `off`; all unless given. */
  limit?: string;
  /** Tells the servers' resources too, with the state of each server. */
  resources?: boolean;
  /** Only tools whose name fits one of these patterns (`*`, `?`). */
  name?: string | string[];
  /** Only tools of these categories. */
  category?: string | string[];
  /** Only tools of at least this importance. */
  importance?: "low" | "normal" | "high";
  /** Only tools with one of these tags. */
  tag?: string | string[];
  /** Only tools of these configured groups. */
  group?: string | string[];
}

/** Parameters of `GET /resources`. */
export interface GetResourcesParameters {
  /** One server by name, or `*` for all. Absent means the default server if there is one, else all. */
  server?: string;
}

/** Parameters of `GET /resources/read`. */
export interface GetResourcesReadParameters {
  /** The URI. */
  uri?: string;
  /** One server by name, or `*` for all. Absent means the default server if there is one, else all. */
  server?: string;
  /** `precise` answers a single call's failure with 404, 502, 503 or 504 where they fit. */
  errors?: "plain" | "precise";
}

/** Parameters of `POST /execute`. */
export interface PostExecuteParameters {
  /** The dialect, where the body is a stream. A body of JSON says it itself. */
  provider?: string;
  /** One server by name, or `*` for all. Absent means the default server if there is one, else all. */
  server?: string;
  /** A model id; chooses the rules that this model needs. */
  model?: string;
  /** The shape of the result: `raw` as the server gave it, `parsed`, `first-text`, `joined`, `rich` or `provider`. */
  result?: string;
  /** `precise` answers a single call's failure with 404, 502, 503 or 504 where they fit. */
  errors?: "plain" | "precise";
  /** What the server may ask the caller: `elicitation`, `sampling`, `roots`. The body may say it too. */
  input?: string | string[];
  /** Repair arguments of the wrong type, such as "15" for a number. */
  coerceArguments?: boolean;
  /** Send the schema's defaults for what the model left out, as where its list has them stripped; each is in the notes of the result. */
  fillDefaults?: boolean;
  /** What happens to arguments that are no JSON object: `raw` hands them on as `{"raw": text}`, and no schema is applied to them (those of a registered tool are still checked: nobody else does); `repair` mends what it can. */
  onBadArguments?: "error" | "raw" | "repair";
  /** In which notation calls are taken out of the text of a reply without native calls: `off` unless the model's data says that it writes calls as text. Only whole calls of tools in the list, with arguments that validate. */
  text?: "off" | "auto" | "xml" | "json";
  /** Cut results that are longer. */
  maxCharacters?: number;
  /** Up to 255 visible characters. The same key with the same body gives the first answer again, for ten minutes; where the answer could not be kept so long, 409. */
  idempotencyKey?: string;
  /** `no-cache` wants a fresh result where the configuration keeps results of the tool. */
  cacheControl?: string;
}

/** Parameters of `POST /call_tool`. */
export interface PostCallToolParameters {
  /** The shape of the result: `raw` as the server gave it, `parsed`, `first-text`, `joined`, `rich` or `provider`. */
  result?: string;
  /** `precise` answers a single call's failure with 404, 502, 503 or 504 where they fit. */
  errors?: "plain" | "precise";
  /** What the server may ask the caller: `elicitation`, `sampling`, `roots`. The body may say it too. */
  input?: string | string[];
  /** Up to 255 visible characters. The same key with the same body gives the first answer again, for ten minutes; where the answer could not be kept so long, 409. */
  idempotencyKey?: string;
  /** `no-cache` wants a fresh result where the configuration keeps results of the tool. */
  cacheControl?: string;
}

/** Parameters of `POST /mcp`. */
export interface PostMcpParameters {
  /** The session that `initialize` gave (legacy era). */
  mcpSessionId?: string;
  /** The version of MCP that the request speaks. */
  mcpProtocolVersion?: string;
}

/** Parameters of `GET /mcp`. */
export interface GetMcpParameters {
  /** The session that `initialize` gave (legacy era). */
  mcpSessionId?: string;
  /** The version of MCP that the request speaks. */
  mcpProtocolVersion?: string;
}

/** Parameters of `DELETE /mcp`. */
export interface DeleteMcpParameters {
  /** The session that `initialize` gave (legacy era). */
  mcpSessionId?: string;
  /** The version of MCP that the request speaks. */
  mcpProtocolVersion?: string;
}

/** Parameters of `POST /mcp/api`. */
export interface PostMcpApiParameters {
  /** The session that the stream's first event names. */
  sessionId?: string;
}

/** Parameters of `POST /mcp/{group}`. */
export interface PostMcpGroupParameters {
  /** The session that `initialize` gave (legacy era). */
  mcpSessionId?: string;
  /** The version of MCP that the request speaks. */
  mcpProtocolVersion?: string;
}

/** Parameters of `GET /mcp/{group}`. */
export interface GetMcpGroupParameters {
  /** The session that `initialize` gave (legacy era). */
  mcpSessionId?: string;
  /** The version of MCP that the request speaks. */
  mcpProtocolVersion?: string;
}

/** Parameters of `DELETE /mcp/{group}`. */
export interface DeleteMcpGroupParameters {
  /** The session that `initialize` gave (legacy era). */
  mcpSessionId?: string;
  /** The version of MCP that the request speaks. */
  mcpProtocolVersion?: string;
}

/** Parameters of `POST /mcp/{group}/api`. */
export interface PostMcpGroupApiParameters {
  /** The session that the stream's first event names. */
  sessionId?: string;
}

/** Parameters of `POST /route`. */
export interface PostRouteParameters {
  /** The format of the body: `xml`, `json`, `openai`, `neutral` or the name of a dialect; found out where absent. */
  format?: string;
  /** One server by name, or `*` for all. Absent means the default server if there is one, else all. */
  server?: string;
  /** How long all calls may take together. */
  timeoutMs?: number;
  /** Up to 255 visible characters. The same key with the same body gives the first answer again, for ten minutes; where the answer could not be kept so long, 409. */
  idempotencyKey?: string;
}

/** Parameters of `POST /v1/chat/completions`. */
export interface PostV1ChatCompletionsParameters {
  /** Which of the gateway's tools are offered: `auto` for all, `none`, `group:NAME`, or patterns of names and of `server/tool`, separated by commas. `auto` if absent; `none` if the request brings `tools`. */
  gatewayTools?: string;
  /** Goes on where an earlier answer stopped: its `gateway.continuation`. The body may say it too, as `gateway.continue`. */
  gatewayContinue?: string;
  /** `calls` for chunks of the stream that say which calls run here. The body may say it too, as `gateway.events`. */
  gatewayEvents?: string;
}

/** Parameters of `GET /results/{id}`. */
export interface GetResultsIdParameters {
  /** The byte to start from. */
  offset?: number;
  /** How many bytes to read. */
  length?: number;
}

/** Parameters of `POST /conversations`. */
export interface PostConversationsParameters {
  /** `precise` answers a single call's failure with 404, 502, 503 or 504 where they fit. */
  errors?: "plain" | "precise";
  /** Up to 255 visible characters. The same key with the same body gives the first answer again, for ten minutes; where the answer could not be kept so long, 409. */
  idempotencyKey?: string;
}

/** Parameters of `GET /conversations`. */
export interface GetConversationsParameters {
  /** Only those with this text in their title or in a message, ignoring case. */
  q?: string;
  /** How many at most; no page has more than 200. */
  limit?: number;
  /** Where the page before ended, as its `Link` says. */
  after?: string;
  /** `precise` answers a single call's failure with 404, 502, 503 or 504 where they fit. */
  errors?: "plain" | "precise";
}

/** Parameters of `GET /conversations/{id}`. */
export interface GetConversationsIdParameters {
  /** The first message. */
  offset?: number;
  /** How many messages; all if absent. */
  limit?: number;
  /** `precise` answers a single call's failure with 404, 502, 503 or 504 where they fit. */
  errors?: "plain" | "precise";
}

/** Parameters of `PATCH /conversations/{id}`. */
export interface PatchConversationsIdParameters {
  /** `precise` answers a single call's failure with 404, 502, 503 or 504 where they fit. */
  errors?: "plain" | "precise";
  /** The `ETag` that the conversation has to have; the same as `version` in the body. Another one is refused with 409. */
  ifMatch?: string;
}

/** Parameters of `DELETE /conversations/{id}`. */
export interface DeleteConversationsIdParameters {
  /** `precise` answers a single call's failure with 404, 502, 503 or 504 where they fit. */
  errors?: "plain" | "precise";
}

/** Parameters of `POST /conversations/{id}/chat`. */
export interface PostConversationsIdChatParameters {
  /** `precise` answers a single call's failure with 404, 502, 503 or 504 where they fit. */
  errors?: "plain" | "precise";
  /** The `ETag` that the conversation has to have; the same as `version` in the body. Another one is refused with 409. */
  ifMatch?: string;
  /** Up to 255 visible characters. The same key with the same body gives the first answer again, for ten minutes; where the answer could not be kept so long, 409. */
  idempotencyKey?: string;
  /** Which of the gateway's tools are offered: `auto` for all, `none`, `group:NAME`, or patterns of names and of `server/tool`, separated by commas. */
  gatewayTools?: string;
}

/** Parameters of `GET /conversations/{id}/calls`. */
export interface GetConversationsIdCallsParameters {
  /** `precise` answers a single call's failure with 404, 502, 503 or 504 where they fit. */
  errors?: "plain" | "precise";
}

/** Parameters of `POST /convert`. */
export interface PostConvertParameters {
  /** The dialects to convert to or to check for. */
  to?: string | string[];
  /** A model id; chooses the rules that this model needs. */
  model?: string;
}

/** Parameters of `POST /transform`. */
export interface PostTransformParameters {
  /** The dialects to convert to or to check for. */
  to?: string | string[];
  /** A model id; chooses the rules that this model needs. */
  model?: string;
}

/** Parameters of `POST /check`. */
export interface PostCheckParameters {
  /** The dialects to convert to or to check for. */
  to?: string | string[];
}

/** Parameters of `GET /detect`. */
export interface GetDetectParameters {
  /** The id, with or without prefixes: `openrouter/openai/gpt-4o`. */
  model?: string;
  /** Who serves it, if that is known; alone it is the id. */
  provider?: string;
}

/** Parameters of `GET /logs`. */
export interface GetLogsParameters {
  /** Only calls of this server. */
  server?: string;
  /** Only calls of this tool. */
  tool?: string;
  /** Only calls that came in this dialect. */
  provider?: string;
  /** Only calls that ended so. */
  status?: "ok" | "error";
  /** Only calls of this request. */
  correlation_id?: string;
  /** Only calls by the owner of this key. */
  caller?: string;
  /** Only calls from this moment on. */
  since?: string;
  /** Only calls before this moment. */
  until?: string;
  /** How many entries at most. */
  limit?: number;
  /** Only entries with a greater id, the oldest of them. */
  after?: number;
  /** Only entries with a smaller id, the newest of them. */
  before?: number;
  /** `server` reads the file that the server itself writes (`logPath`). */
  source?: "gateway" | "server";
  /** Stream new entries as they come. */
  follow?: boolean;
  /** The same as `follow`. */
  stream?: boolean;
  /** With `follow`: the id after which to go on. */
  lastEventId?: string;
}

/** Parameters of `GET /health`. */
export interface GetHealthParameters {
  /** Also ask each connected server for a sign of life; needs a key where keys are configured. */
  probe?: boolean;
}

/** Parameters of `GET /metrics`. */
export interface GetMetricsParameters {
  /** Milliseconds since 1970; JSON only. */
  since?: number;
}
