import { type Shape, unexpected } from "./answers.js";
import { InputNeededError, InvalidAnswerError, isObject } from "./errors.js";
import type { ServerEvent } from "./events.js";
import type * as Parameters from "./generated/operations.js";
import type * as Schema from "./generated/schemas.js";
import { type FollowOptions, follow } from "./logs.js";
import { type GatewayClientOptions, type Settings, settingsOf } from "./options.js";
import type { Provider, ToolOf, ToolsOf } from "./providers.js";
import { hasCalls, readReply } from "./reply.js";
import type {
  CallToolOptions,
  ChatOptions,
  CompletionChunk,
  ConversationChunk,
  ExecuteOptions,
  GetToolsOptions,
  McpOptions,
  Options,
  ReplyAnswer,
  ReplyOptions,
  Target,
  ToolResult,
} from "./requests.js";
import { type MessageForm, isCamelCaseSdk, messagesForSdk } from "./sdk.js";
import { type ToolEvent, chunks, rpcMessages, toolEvents } from "./streams.js";
import { Transport } from "./transport.js";

/** Parameters that stand in the body of `/execute`. */
const IN_BODY = ["provider", "server", "model", "input", "text"] as const;

/** A gateway over HTTP. */
export class GatewayClient {
  readonly #settings: Settings;
  readonly #transport: Transport;

  constructor(options: GatewayClientOptions | string = {}) {
    this.#settings = settingsOf(typeof options === "string" ? { baseUrl: options } : options);
    this.#transport = new Transport(this.#settings);
  }

  /** Where the gateway is. */
  get baseUrl(): string {
    return this.#settings.baseUrl;
  }

  /** Tools in a provider's format; `list: true` gives them without the provider's wrapper. */
  getTools<P extends Provider>(provider: P, options: GetToolsOptions & { list: true }): Promise<Array<ToolOf<P>>>;
  getTools<P extends Provider>(provider: P, options?: Target<GetToolsOptions>): Promise<ToolsOf<P>>;
  getTools(provider: string, options?: Target<GetToolsOptions>): Promise<unknown> {
    return this.#get("getToolsProvider", of(options), { provider }, "either");
  }

  /** Tools as their servers gave them. */
  tools(options?: Target<Options<Parameters.GetToolsParameters>>): Promise<Schema.ToolList> {
    return this.#get("getTools", of(options));
  }

  /** Tools as text for a prompt. */
  async context(provider: Provider, options?: Target<Options<Parameters.GetToolsProviderContextParameters>>): Promise<string> {
    const call = { operation: "getToolsProviderContext", options: of(options), path: { provider } } as const;
    return (await this.#transport.text({ ...call, retry: "safe" })).text;
  }

  /**
   * Runs one call as the provider's model made it, and gives what the tool answered; of a list of calls, the list of that, also
   * where it has one or none. A whole reply, or the chunks of one, gives the answer alone where it has one call. The option `result` chooses another shape of it.
   */
  async execute<T = ToolResult>(provider: Provider, call: unknown, options?: Target<ExecuteOptions>): Promise<T> {
    const { answer, sent } = await this.#execute(call, { ...of(options), provider });
    if (answer.inputRequired) throw inputNeeded(answer);
    if ("results" in answer) return resultsOf(answer) as T;
    return (hasCalls(sent) ? [resultOf(answer)] : resultOf(answer)) as T;
  }

  /**
   * Runs all calls of a model's reply: the SDK's own object, the text, or a stream of either, also while it still comes.
   * Failures of tools are messages for the model.
   */
  async executeReply<P extends Provider = Provider>(reply: unknown, options: ReplyOptions<P> = {}): Promise<ReplyAnswer<P>> {
    return (await this.#execute(reply, options)).answer as ReplyAnswer<P>;
  }

  /** The same, with what the servers report meanwhile. Sent once. */
  async *executeStream<P extends Provider = Provider>(
    reply: unknown,
    options: ReplyOptions<P> = {},
  ): AsyncGenerator<ToolEvent<ReplyAnswer<P>>, void, undefined> {
    const { call, finish } = await this.#prepareReply(reply, options);
    const finished = (answer: unknown) => finish(answer as Schema.ExecuteAnswer) as ReplyAnswer<P>;
    yield* toolEvents(this.#transport, { ...call, retry: "once" }, finished);
  }

  /** Runs one tool by its name: `callTool(server, tool, arguments)`. `server` may be `undefined` for canonical names. */
  async callTool<T = ToolResult>(
    server: string | undefined,
    tool: string,
    args: Record<string, unknown> = {},
    options: CallToolOptions = {},
  ): Promise<T> {
    const call = this.#toolCall(server, tool, args, options);
    const answer = await this.#transport.json<Schema.CallToolAnswer>({ ...call, retry: "keyed" });
    if (answer.inputRequired) throw inputNeeded(answer);
    return resultOf(answer) as T;
  }

  /** The same, with what the server reports meanwhile. Sent once. */
  callToolStream(
    server: string | undefined,
    tool: string,
    args: Record<string, unknown> = {},
    options: CallToolOptions = {},
  ): AsyncGenerator<ToolEvent<Schema.CallToolAnswer>, void, undefined> {
    const call = this.#toolCall(server, tool, args, options);
    return toolEvents(this.#transport, { ...call, retry: "once" }, (answer) => answer as Schema.CallToolAnswer);
  }

  /**
   * Runs tool use in any format and answers in the same; XML as a text. `timeoutMs` is for the calls: the gateway gets it,
   * and the client waits a little longer, so that the answer says what took too long.
   */
  async route(request: Schema.RouteRequest, options: Options<Parameters.PostRouteParameters> = {}): Promise<unknown> {
    const body = typeof request === "string" ? { text: { body: request, type: "text/plain" } } : { body: request };
    const call = { operation: "postRoute", options, ...body, accept: "application/json, application/xml" } as const;
    const timeoutMs = Math.max(this.#settings.timeoutMs, (options.timeoutMs ?? 0) + 5000);
    const { text, headers, status, correlationId } = await this.#transport.text({ ...call, retry: "keyed", timeoutMs });
    const type = headers.get("content-type") ?? "";
    // Something else than a gateway would answer with a page.
    return type.includes("xml") && text !== "" ? text : this.#transport.value(text, "either", { status, correlationId });
  }

  /** Asks a model that has all tools, as OpenAI's Chat Completions. Sent once, as models cost money. */
  chat(request: Schema.CompletionRequest & { stream: true }, options?: ChatOptions): AsyncGenerator<CompletionChunk, void, undefined>;
  chat(request: Schema.CompletionRequest, options?: ChatOptions): Promise<Schema.Completion>;
  chat(request: Schema.CompletionRequest, options: ChatOptions = {}): unknown {
    const call = { operation: "postV1ChatCompletions", options, body: request, retry: "once" } as const;
    return request.stream ? chunks(this.#transport, call) : this.#transport.json(call);
  }

  /** The models that can be asked. */
  models(options: Options = {}): Promise<Schema.ModelList> {
    return this.#get("getV1Models", options);
  }

  /** One of them. */
  model(id: string, options: Options = {}): Promise<Schema.Model> {
    return this.#get("getV1ModelsId", options, { id });
  }

  /** Begins a conversation. */
  createConversation(
    conversation: Schema.NewConversation = {},
    options: Options<Parameters.PostConversationsParameters> = {},
  ): Promise<Schema.Conversation> {
    return this.#transport.json({ operation: "postConversations", options, body: conversation, retry: "keyed" });
  }

  /** Conversations, last updated first. */
  conversations(options: Options<Parameters.GetConversationsParameters> = {}): Promise<Schema.ConversationSummaries> {
    return this.#get("getConversations", options, {}, "list");
  }

  /** One conversation with its messages. */
  conversation(id: string, options: Options<Parameters.GetConversationsIdParameters> = {}): Promise<Schema.Conversation> {
    return this.#get("getConversationsId", options, { id });
  }

  /** Gives a conversation another title. */
  renameConversation(
    id: string,
    title: string | Schema.RenameConversation,
    options: Options<Parameters.PatchConversationsIdParameters> = {},
  ): Promise<Schema.Conversation> {
    const body = typeof title === "string" ? { title } : title;
    return this.#transport.json({ operation: "patchConversationsId", path: { id }, options, body, retry: "once" });
  }

  /** Deletes a conversation. */
  deleteConversation(
    id: string,
    options: Options<Parameters.DeleteConversationsIdParameters> = {},
  ): Promise<Schema.ConversationDeleted> {
    return this.#transport.json({ operation: "deleteConversationsId", path: { id }, options, retry: "once" });
  }

  /** Sends a message and gives the answer; with `stream: true` as it comes, which is sent once. */
  conversationChat(
    id: string,
    message: string | Schema.ChatRequest,
    options: Options<Parameters.PostConversationsIdChatParameters> & { stream: true },
  ): AsyncGenerator<ConversationChunk, void, undefined>;
  conversationChat(
    id: string,
    message: string | Schema.ChatRequest,
    options?: Options<Parameters.PostConversationsIdChatParameters> & { stream?: false },
  ): Promise<Schema.ChatAnswer>;
  conversationChat(
    id: string,
    message: string | Schema.ChatRequest,
    options: Options<Parameters.PostConversationsIdChatParameters> & { stream?: boolean } = {},
  ): unknown {
    const given = typeof message === "string" ? { message: { role: "user", content: message } } : message;
    const body = { ...given, stream: options.stream === true };
    const call = { operation: "postConversationsIdChat", path: { id }, options, body } as const;
    return body.stream
      ? chunks(this.#transport, { ...call, retry: "once" })
      : this.#transport.json({ ...call, retry: "keyed" });
  }

  /** The calls of a conversation. */
  conversationCalls(
    id: string,
    options: Options<Parameters.GetConversationsIdCallsParameters> = {},
  ): Promise<Schema.ConversationCalls> {
    return this.#get("getConversationsIdCalls", options, { id });
  }

  /** Converts tools. */
  convert(
    tools: Schema.Tool[] | Schema.ConvertRequest,
    options: Options<Parameters.PostConvertParameters> = {},
  ): Promise<Schema.ConvertAnswer & Record<string, unknown>> {
    return this.#post("postConvert", Array.isArray(tools) ? { tools } : tools, options);
  }

  /** Transforms one JSON Schema. */
  transform(
    schema: Schema.TransformRequest,
    options: Options<Parameters.PostTransformParameters> = {},
  ): Promise<Schema.TransformAnswer> {
    return this.#post("postTransform", schema, options);
  }

  /** Says how well tools fit the providers. */
  check(
    tools: Schema.Tool[] | Schema.CheckRequest,
    options: Options<Parameters.PostCheckParameters> = {},
  ): Promise<Schema.CheckAnswer> {
    return this.#post("postCheck", Array.isArray(tools) ? { tools } : tools, options);
  }

  /** Writes a conversation of one dialect as one of another; as `to`'s SDK takes it, unless `form` is `wire`. */
  async history(
    request: Schema.HistoryRequest,
    options: Options & { form?: MessageForm } = {},
  ): Promise<Schema.HistoryAnswer> {
    const answer = await this.#post<Schema.HistoryAnswer>("postHistory", request, options);
    if (!Array.isArray(answer.messages)) throw unexpected("a conversation", answer);
    if (options.form === "wire") return answer;
    return { ...answer, messages: messagesForSdk(answer.messages, request.to) };
  }

  /** The dialects. */
  providers(options: Options = {}): Promise<Schema.ProviderList> {
    return this.#get("getProviders", options);
  }

  /** One dialect. */
  provider(name: Provider, options: Options = {}): Promise<Schema.ProviderInfo> {
    return this.#get("getProvidersName", options, { name });
  }

  /** What a model id stands for. */
  detect(model: Target<Options<Parameters.GetDetectParameters>>, options: Options = {}): Promise<Schema.DetectAnswer> {
    return this.#get("getDetect", { ...options, ...(typeof model === "string" ? { model } : model) });
  }

  /** The servers' resources. */
  resources(options?: Target<Options<Parameters.GetResourcesParameters>>): Promise<Schema.ResourceLists> {
    return this.#get("getResources", of(options));
  }

  /** The contents of one resource. */
  readResource(
    uri: string,
    options?: Target<Options<Omit<Parameters.GetResourcesReadParameters, "uri">>>,
  ): Promise<Schema.ResourceContents> {
    return this.#get("getResourcesRead", { ...of(options), uri });
  }

  /** A piece of a long result; `next` is where the next one begins, unless this is the last. */
  async result(
    id: string,
    options: Options<Parameters.GetResultsIdParameters> = {},
  ): Promise<{ text: string; bytes: number; offset: number; next: number | undefined }> {
    const call = { operation: "getResultsId", path: { id }, options, retry: "safe" } as const;
    const { text, headers } = await this.#transport.text(call);
    const next = headers.get("x-result-next");
    return {
      text,
      bytes: Number(headers.get("x-result-bytes")),
      offset: Number(headers.get("x-result-offset")),
      next: next === null ? undefined : Number(next),
    };
  }

  /** Whether calls would work. */
  health(options: Options<Parameters.GetHealthParameters> = {}): Promise<Schema.Health> {
    return this.#get("getHealth", options);
  }

  /** The call log, oldest first: `logs({server, since, limit})`, or `logs(server, since, limit)`. */
  logs(options?: Target<LogsOptions>, since?: string | Date, limit?: number): Promise<Schema.LogEntries> {
    const moment = since instanceof Date ? since.toISOString() : since;
    return this.#get("getLogs", { limit: limit ?? 100, since: moment, ...of(options) }, {}, "list");
  }

  /** The same as `logs`. */
  getLogs(options?: Target<LogsOptions>, since?: string | Date, limit?: number): Promise<Schema.LogEntries> {
    return this.logs(options, since, limit);
  }

  /** The newest entries of the call log, then every new one as it comes; goes on after a break where it was. */
  followLogs(options?: Target<FollowOptions>): AsyncGenerator<Schema.LogEntry, void, undefined> {
    const { retryDelayMs: delayMs, retryBackoff: backoff } = this.#settings;
    return follow(this.#transport, of(options), { delayMs, backoff });
  }

  /** The servers and how they are. */
  servers(options: Options = {}): Promise<Schema.ServerList> {
    return this.#get("getServers", options);
  }

  /** Connects a server that is not connected. */
  connectServer(name: string, options: Options = {}): Promise<Schema.ServerAnswer> {
    return this.#transport.json({ operation: "postServersNameConnect", path: { name }, options, retry: "once" });
  }

  /** Ends a server's connection and starts it anew. */
  restartServer(name: string, options: Options = {}): Promise<Schema.ServerAnswer> {
    return this.#transport.json({ operation: "postServersNameRestart", path: { name }, options, retry: "once" });
  }

  /** Accepts changed tool definitions by their fingerprint. */
  acceptServer(name: string, fingerprint: string, options: Options = {}): Promise<Schema.ServerAnswer> {
    const call = { operation: "postServersNameAccept", path: { name }, body: { fingerprint }, options } as const;
    return this.#transport.json({ ...call, retry: "once" });
  }

  /** The calls that wait for approval. */
  approvals(options: Options = {}): Promise<Schema.ApprovalList> {
    return this.#get("getApprovals", options);
  }

  /** Approves or denies a call that waits. */
  decide(id: string, decision: "approve" | "deny", options: Options = {}): Promise<Schema.ApprovalAnswer> {
    const call = { operation: "postApprovalsId", path: { id }, body: { decision }, options } as const;
    return this.#transport.json({ ...call, retry: "once" });
  }

  /** The registered tools. */
  registry(options: Options = {}): Promise<Schema.RegistryList> {
    return this.#get("getRegistry", options);
  }

  /** Registers a tool, or replaces it. */
  registerTool(name: string, tool: Schema.RegisterRequest, options: Options = {}): Promise<Schema.RegisterAnswer> {
    const call = { operation: "putRegistryName", path: { name }, body: tool, options } as const;
    return this.#transport.json({ ...call, retry: "safe" });
  }

  /** Unregisters a tool. */
  async unregisterTool(name: string, options: Options = {}): Promise<void> {
    await this.#transport.text({ operation: "deleteRegistryName", path: { name }, options, retry: "once" });
  }

  /** That the process answers. */
  livez(options: Options = {}): Promise<Schema.Live> {
    return this.#get("getLivez", options);
  }

  /** Whether to send calls here; throws with status 503 where not. */
  ready(options: Options = {}): Promise<Schema.Ready> {
    return this.#get("getReady", options);
  }

  /** The same as `ready`. */
  readyz(options: Options = {}): Promise<Schema.Ready> {
    return this.#get("getReadyz", options);
  }

  /** Counters and latencies. */
  metrics(options: Options<Parameters.GetMetricsParameters> = {}): Promise<Schema.Metrics> {
    return this.#get("getMetrics", options);
  }

  /** The same as Prometheus text. */
  async metricsText(options: Options = {}): Promise<string> {
    return (await this.#transport.text({ operation: "getMetricsPrometheus", options, retry: "safe" })).text;
  }

  /** The gateway's OpenAPI document. */
  openapi(options: Options = {}): Promise<Record<string, unknown>> {
    return this.#get("getOpenapiJson", options);
  }

  /** The same for people, as HTML. */
  async docs(options: Options = {}): Promise<string> {
    return (await this.#transport.text({ operation: "getDocs", options, retry: "safe" })).text;
  }

  /** The address that the gateway's root leads to, which is that of the document for people. Browsers do not show it to pages. */
  async root(options: Options = {}): Promise<string> {
    const { headers, status, text } = await this.#transport.text({ operation: "get", options, isRedirect: true, retry: "safe" });
    const location = headers.get("location");
    if (location === null) throw new InvalidAnswerError("Gateway answered without an address to go to", { status, body: text });
    return location;
  }

  /** Sends a message of MCP and gives what comes back; nothing for a notification. Sent once. */
  mcp(message: Schema.JsonRpcMessage, options: McpOptions = {}): AsyncGenerator<Schema.JsonRpcMessage, void, undefined> {
    const operation = options.group === undefined ? "postMcp" : "postMcpGroup";
    return rpcMessages(this.#transport, { operation, ...inGroup(options), body: message, retry: "once" });
  }

  /** What was not asked for, in the legacy era. */
  mcpListen(options: McpOptions = {}): AsyncGenerator<Schema.JsonRpcMessage, void, undefined> {
    const operation = options.group === undefined ? "getMcp" : "getMcpGroup";
    return rpcMessages(this.#transport, { operation, ...inGroup(options), accept: "text/event-stream", retry: "safe" });
  }

  /** Ends a session of the legacy era. */
  async mcpEnd(options: McpOptions): Promise<void> {
    const operation = options.group === undefined ? "deleteMcp" : "deleteMcpGroup";
    await this.#transport.text({ operation, ...inGroup(options), retry: "once" });
  }

  /** The stream of MCP as it began; its first event names the session. */
  mcpEvents(options: McpOptions = {}): AsyncGenerator<ServerEvent, void, undefined> {
    const operation = options.group === undefined ? "getMcpEvents" : "getMcpGroupEvents";
    return this.#transport.events({ operation, ...inGroup(options), retry: "safe" });
  }

  /** Sends a message into such a stream's session. */
  async mcpSend(sessionId: string, message: Schema.JsonRpcMessage, options: McpOptions = {}): Promise<void> {
    const operation = options.group === undefined ? "postMcpApi" : "postMcpGroupApi";
    const { path, options: given } = inGroup(options);
    const call = { operation, path, options: { ...given, sessionId }, body: message, retry: "once" } as const;
    await this.#transport.text(call);
  }

  #get<T>(operation: GetOperation, options: object, path: Record<string, string> = {}, shape: Shape = "object"): Promise<T> {
    return this.#transport.json({ operation, options, path, retry: "safe" }, shape);
  }

  /** For routes that remember nothing. */
  #post<T>(operation: PureOperation, body: unknown, options: object): Promise<T> {
    return this.#transport.json({ operation, options, body, retry: "safe" });
  }

  async #execute(reply: unknown, options: ReplyOptions): Promise<{ answer: Schema.ExecuteAnswer; sent: unknown }> {
    const { call, finish } = await this.#prepareReply(reply, options);
    const answer = finish(await this.#transport.json<Schema.ExecuteAnswer>({ ...call, retry: "keyed" }));
    return { answer, sent: call.body.call };
  }

  async #prepareReply(reply: unknown, options: ReplyOptions) {
    const goesOn = options.continue !== undefined;
    const read = goesOn ? undefined : await readReply(reply, options.signal);
    const { provider, server, model, text, input, continue: state, responses } = options;
    const body = goesOn ? { call: undefined, continue: state, responses } : { provider, server, model, call: read?.call, text, input };
    const finish = (answer: Schema.ExecuteAnswer): Schema.ExecuteAnswer => {
      const dialect = answer.provider ?? provider ?? "";
      const isWire = options.form === "wire" || (!options.form && isCamelCaseSdk(dialect) && !read?.isCamelCase);
      const messages = answer.messages ?? [];
      if (!Array.isArray(messages)) throw unexpected("an answer to calls", answer);
      return { ...answer, messages: isWire ? messages : messagesForSdk(messages, dialect) };
    };
    return { call: { operation: "postExecute", options, body, inBody: IN_BODY } as const, finish };
  }

  #toolCall(server: string | undefined, tool: string, args: Record<string, unknown>, options: CallToolOptions) {
    const { continue: state, responses, input } = options;
    const body = state === undefined ? { server, tool, arguments: args, input } : { continue: state, responses };
    return { operation: "postCallTool", options, body, inBody: ["input"] } as const;
  }
}

type GetOperation = {
  [K in keyof typeof Parameters.OPERATIONS]: (typeof Parameters.OPERATIONS)[K]["method"] extends "GET" ? K : never;
}[keyof typeof Parameters.OPERATIONS];
type PureOperation = "postConvert" | "postTransform" | "postCheck" | "postHistory";

type LogsOptions = Options<Omit<Parameters.GetLogsParameters, "follow" | "stream" | "lastEventId">>;

/** Where a method takes options, it also takes the name of a server. */
function of<O extends object>(target: Target<O>): O {
  return (typeof target === "string" ? { server: target } : (target ?? {})) as O;
}

function inGroup(options: McpOptions): { path: Record<string, string>; options: McpOptions } {
  return { path: options.group === undefined ? {} : { group: options.group }, options };
}

/** The result of an answer to one call. */
function resultOf(answer: object): unknown {
  if (!("result" in answer)) throw unexpected("the result of a call", answer);
  return answer.result;
}

/** The results of an answer to several calls, in their order. */
function resultsOf(answer: Schema.ExecuteAnswer): unknown[] {
  const { results } = answer;
  if (!Array.isArray(results) || !results.every(isObject)) throw unexpected("a list of results", answer);
  return results.map(resultOf);
}

function inputNeeded(answer: { inputRequired?: Schema.InputRequired }): InputNeededError {
  const asked = Object.values(answer.inputRequired?.requests ?? {}).map((one) => one?.server ?? "a server");
  const message = `${asked.join(", ")} asks something first: go on with continue: error.inputRequired.state`;
  return new InputNeededError(message, { code: "INPUT_REQUIRED", body: answer });
}
