"""The bodies of the gateway's routes, and the options of each operation. Written by generate.py; change that, or what it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Literal, Mapping, TypedDict, Union

if TYPE_CHECKING:
    from typing_extensions import NotRequired, TypeAlias
else:
    # For programs that ask for the hints of these types.
    from ._hints import NotRequired, TypeAlias


class Error(TypedDict):
    error: str
    code: str
    correlationId: str
    availableProviders: NotRequired[List[str]]
    approvalId: NotRequired[str]


class JsonRpcMessageError(TypedDict):
    code: int
    message: str
    data: NotRequired[Any]


class JsonRpcMessage(TypedDict):
    jsonrpc: Literal['2.0']
    id: NotRequired[Union[str, float, None]]
    method: NotRequired[str]
    params: NotRequired[Dict[str, Any]]
    result: NotRequired[Dict[str, Any]]
    error: NotRequired[JsonRpcMessageError]


Object: TypeAlias = "Dict[str, Any]"


class Tool(TypedDict):
    name: str
    title: NotRequired[str]
    description: NotRequired[str]
    inputSchema: NotRequired[Object]
    outputSchema: NotRequired[Object]
    annotations: NotRequired[Object]
    _meta: NotRequired[Object]


class ToolList(TypedDict):
    tools: List[Tool]


RenderedTools: TypeAlias = "Union[Dict[str, Any], List[Any]]"


ExecuteRequest = TypedDict(
    "ExecuteRequest",
    {
        "provider": "NotRequired[str]",
        "server": "NotRequired[str]",
        "model": "NotRequired[str]",
        "call": "NotRequired[Union[Dict[str, Any], List[Any], str]]",
        "text": "NotRequired[Literal['off', 'auto', 'xml', 'json']]",
        "input": "NotRequired[Input]",
        "continue": "NotRequired[Continue]",
        "responses": "NotRequired[Responses]",
    },
)


class ExecuteAnswerUsage(TypedDict):
    inputTokens: int
    outputTokens: int


class ExecuteAnswer(TypedDict):
    result: NotRequired[Any]
    cached: NotRequired[bool]
    candidates: NotRequired[List[str]]
    results: NotRequired[List[Any]]
    messages: NotRequired[List[Any]]
    provider: NotRequired[str]
    text: NotRequired[str]
    reasoning: NotRequired[str]
    usage: NotRequired[ExecuteAnswerUsage]
    skipped: NotRequired[List[Any]]
    inputRequired: NotRequired[InputRequired]


CallToolRequest = TypedDict(
    "CallToolRequest",
    {
        "server": "NotRequired[str]",
        "tool": "NotRequired[str]",
        "arguments": "NotRequired[Object]",
        "input": "NotRequired[Input]",
        "continue": "NotRequired[Continue]",
        "responses": "NotRequired[Responses]",
    },
)


RouteRequest: TypeAlias = "Union[Dict[str, Any], List[Any], str]"


RouteAnswer: TypeAlias = "Union[Dict[str, Any], List[Any]]"


class ApprovalListApprovalsItem(TypedDict):
    id: str
    server: str
    tool: str
    arguments: str
    display: str
    truncated: bool
    caller: NotRequired[Union[str, None]]
    approved: bool
    expiresInMs: int


class ApprovalList(TypedDict):
    approvals: List[ApprovalListApprovalsItem]


class ApprovalRequest(TypedDict):
    decision: Literal['approve', 'deny']


class ApprovalAnswer(TypedDict):
    id: str
    decision: Literal['approve', 'deny']


class RegistryListToolsItemHandler(TypedDict):
    kind: Literal['function', 'endpoint', 'command']
    url: NotRequired[str]


class RegistryListToolsItem(TypedDict):
    name: str
    origin: Literal['program', 'configuration', 'network']
    handler: RegistryListToolsItemHandler
    timeoutMs: int
    definition: Tool


class RegistryList(TypedDict):
    server: str
    tools: List[RegistryListToolsItem]


class RegisterRequestHandler(TypedDict):
    url: str
    headers: NotRequired[Dict[str, str]]


class RegisterRequest(TypedDict):
    name: NotRequired[str]
    title: NotRequired[str]
    description: NotRequired[str]
    inputSchema: NotRequired[Object]
    outputSchema: NotRequired[Object]
    annotations: NotRequired[Object]
    _meta: NotRequired[Object]
    handler: RegisterRequestHandler
    timeout: NotRequired[Union[float, str]]


class RegisterAnswer(TypedDict):
    name: str
    replaced: bool


class CallToolAnswer(TypedDict):
    result: NotRequired[Object]
    inputRequired: NotRequired[InputRequired]


Input: TypeAlias = "List[Literal['elicitation', 'sampling', 'roots']]"


class InputRequiredRequestsValue(TypedDict):
    method: NotRequired[str]
    params: NotRequired[Dict[str, Any]]
    server: NotRequired[str]


class InputRequired(TypedDict):
    requests: Dict[str, InputRequiredRequestsValue]
    state: str
    expiresIn: int


Continue: TypeAlias = "str"


Responses: TypeAlias = "Dict[str, Dict[str, Any]]"


class ConvertRequest(TypedDict):
    to: NotRequired[str]
    provider: NotRequired[str]
    model: NotRequired[str]
    tools: NotRequired[List[Tool]]
    tool: NotRequired[Tool]


class ConvertAnswer(TypedDict):
    dialect: str
    report: List[Object]


class DetectAnswer(TypedDict):
    provider: str
    modelId: str
    supportsStructuredOutputs: bool
    isReasoningModel: bool
    dialect: Union[str, None]
    layer: Union[str, None]


class TransformRequest(TypedDict):
    to: NotRequired[str]
    provider: NotRequired[str]
    profile: NotRequired[str]
    model: NotRequired[str]
    schema: Any


class TransformAnswer(TypedDict):
    dialect: Union[str, None]
    schema: Any
    strict: bool
    tokens: Object
    changes: List[Object]
    warnings: NotRequired[List[str]]


HistoryRequest = TypedDict(
    "HistoryRequest",
    {
        "from": "str",
        "to": "str",
        "messages": "List[Any]",
        "system": "NotRequired[Any]",
        "tools": "NotRequired[List[Tool]]",
        "mode": "NotRequired[Literal['native', 'text', 'text-only']]",
        "model": "NotRequired[str]",
    },
)


class NeutralMessage(TypedDict):
    role: str
    content: NeutralContent
    ts: NotRequired[Any]
    metadata: NotRequired[Any]


NeutralContent: TypeAlias = "Union[str, List[NeutralBlock]]"


class NeutralBlock(TypedDict):
    type: str


class NeutralSourceKind1(TypedDict):
    type: Literal['base64']
    media_type: str
    data: str


class NeutralSourceKind2(TypedDict):
    type: Literal['url']
    url: str
    media_type: NotRequired[str]


NeutralSource: TypeAlias = "Union[NeutralSourceKind1, NeutralSourceKind2]"


class HistoryAnswerWarningsItem(TypedDict):
    message: int
    text: str


class HistoryAnswer(TypedDict):
    messages: List[Any]
    system: NotRequired[Any]
    warnings: List[HistoryAnswerWarningsItem]


class CheckRequest(TypedDict):
    to: NotRequired[Union[str, List[str]]]
    tools: List[Tool]


CheckAnswer: TypeAlias = "Dict[str, Any]"


class ResourceListsServersItem(TypedDict):
    server: str
    resources: List[Dict[str, Any]]
    resourceTemplates: List[Dict[str, Any]]
    problem: NotRequired[Dict[str, Any]]


class ResourceLists(TypedDict):
    servers: List[ResourceListsServersItem]


class ResourceContents(TypedDict):
    contents: NotRequired[List[Dict[str, Any]]]


class Provider(TypedDict):
    name: str


class ProviderList(TypedDict):
    providers: List[Provider]


class LogEntry(TypedDict):
    id: NotRequired[int]
    timestamp: NotRequired[str]
    server: NotRequired[str]
    tool: NotRequired[str]
    provider: NotRequired[Union[str, None]]
    input: NotRequired[Any]
    result: NotRequired[Any]
    error: NotRequired[str]
    code: NotRequired[str]
    duration_ms: NotRequired[float]
    correlation_id: NotRequired[str]
    caller: NotRequired[str]
    transport: NotRequired[str]
    ran_on: NotRequired[str]
    parse_error: NotRequired[str]


LogEntries: TypeAlias = "List[LogEntry]"


class ChangedDefinition(TypedDict):
    tool: str
    change: NotRequired[Literal['added', 'removed', 'changed', 'unverified']]
    parts: NotRequired[List[Literal['description', 'schema', 'annotations', 'unknown']]]
    blocked: bool
    fingerprint: NotRequired[str]
    definition: NotRequired[Dict[str, Any]]


class ServerMalformedToolsItem(TypedDict):
    tool: NotRequired[str]
    index: int
    reason: str
    withheld: Literal['no', 'mcp', 'all']


class ServerConversionProblemsItem(TypedDict):
    tool: str
    providers: List[str]
    reason: str


class ServerProbe(TypedDict):
    ok: NotRequired[bool]
    durationMs: NotRequired[float]
    error: NotRequired[str]


class Server(TypedDict):
    name: str
    transport: Literal['stdio', 'http', 'sse', 'builtin', 'none']
    connected: bool
    status: Literal['connecting', 'connected', 'disconnected', 'failed', 'disabled']
    state: Literal['disabled', 'invalid', 'idle', 'connecting', 'connected', 'disconnected', 'crashing', 'closed']
    ok: bool
    required: NotRequired[bool]
    reason: NotRequired[str]
    configProblems: NotRequired[List[str]]
    era: NotRequired[str]
    version: NotRequired[str]
    serverName: NotRequired[str]
    tools: NotRequired[int]
    stale: NotRequired[bool]
    restarts: NotRequired[int]
    failures: NotRequired[int]
    nextAttemptMs: NotRequired[int]
    inFlight: NotRequired[int]
    process: NotRequired[int]
    malformedTools: NotRequired[List[ServerMalformedToolsItem]]
    conversionProblems: NotRequired[List[ServerConversionProblemsItem]]
    stderr: NotRequired[str]
    changedDefinitions: NotRequired[List[ChangedDefinition]]
    changesFingerprint: NotRequired[str]
    refusedRequests: NotRequired[int]
    probe: NotRequired[ServerProbe]


class ServerList(TypedDict):
    servers: List[Server]


class AcceptRequest(TypedDict):
    fingerprint: str


class ServerAnswer(TypedDict):
    server: Server


class HealthRefusedToolsItem(TypedDict):
    tool: str
    error: str


class HealthClashesItem(TypedDict):
    tool: str
    servers: List[str]


class HealthRenamedToolsItem(TypedDict):
    server: str
    tool: str
    wanted: str
    given: NotRequired[str]
    reservedFor: str


class HealthLog(TypedDict):
    queued: NotRequired[int]
    written: NotRequired[int]
    waiting: NotRequired[int]
    failures: NotRequired[int]
    failing: NotRequired[bool]
    lastError: NotRequired[Union[str, None]]
    bytes: NotRequired[int]
    movedAside: NotRequired[str]


class Health(TypedDict):
    ok: bool
    status: Literal['healthy', 'degraded', 'unhealthy']
    version: str
    uptimeMs: NotRequired[int]
    reasons: NotRequired[List[str]]
    configSource: NotRequired[Literal['file', 'env', 'none']]
    configProblems: NotRequired[List[str]]
    serverCount: NotRequired[int]
    servers: NotRequired[List[Server]]
    refusedTools: NotRequired[List[HealthRefusedToolsItem]]
    clashes: NotRequired[List[HealthClashesItem]]
    memoryProblem: NotRequired[str]
    renamedTools: NotRequired[List[HealthRenamedToolsItem]]
    log: NotRequired[HealthLog]


class Live(TypedDict):
    ok: Literal[True]


class Ready(TypedDict):
    ok: bool
    status: Literal['ready', 'unavailable']
    reasons: NotRequired[List[str]]


class Count(TypedDict):
    total: int
    byProvider: Dict[str, int]
    byEndpoint: Dict[str, int]


class Latency(TypedDict):
    p50: NotRequired[float]
    p95: NotRequired[float]
    p99: NotRequired[float]
    avg: NotRequired[float]


class MetricsLatencies(TypedDict):
    p50: NotRequired[float]
    p95: NotRequired[float]
    p99: NotRequired[float]
    avg: NotRequired[float]
    byProvider: NotRequired[Dict[str, Latency]]
    byEndpoint: NotRequired[Dict[str, Latency]]


class Metrics(TypedDict):
    requests: Count
    errors: Count
    latencies: MetricsLatencies
    since: int


class CompletionRequest(TypedDict):
    model: NotRequired[str]
    messages: List[Object]
    tools: NotRequired[List[Object]]
    tool_choice: NotRequired[Any]
    stream: NotRequired[bool]


class Completion(TypedDict):
    id: NotRequired[str]
    object: NotRequired[str]
    created: NotRequired[int]
    model: NotRequired[str]
    choices: NotRequired[List[Object]]
    usage: NotRequired[Object]
    gateway: NotRequired[CompletionReport]


class CompletionReport(TypedDict):
    calls: NotRequired[List[Object]]
    rounds: NotRequired[List[Object]]
    stopped: NotRequired[Object]
    ignored: NotRequired[List[str]]
    notices: NotRequired[List[str]]


class CompletionErrorError(TypedDict):
    message: str
    type: NotRequired[str]
    param: NotRequired[Union[str, None]]
    code: NotRequired[Any]


class CompletionError(TypedDict):
    error: CompletionErrorError


class ModelList(TypedDict):
    object: NotRequired[Literal['list']]
    data: NotRequired[List[Model]]


class Model(TypedDict):
    id: str
    object: Literal['model']
    created: int
    owned_by: str


class NewConversation(TypedDict):
    title: NotRequired[str]


class RenameConversation(TypedDict):
    title: str
    version: NotRequired[int]


class ConversationSummariesItem(TypedDict):
    id: str
    title: str
    created_at: str
    updated_at: str
    message_count: int
    version: int


ConversationSummaries: TypeAlias = "List[ConversationSummariesItem]"


class Conversation(TypedDict):
    id: str
    title: str
    messages: List[StoredMessage]
    created_at: str
    updated_at: str
    version: int
    message_count: NotRequired[int]
    metadata: NotRequired[Dict[str, Any]]


class StoredMessage(TypedDict):
    role: Literal['system', 'user', 'assistant', 'tool']
    content: NotRequired[Any]
    tool_call_id: NotRequired[str]
    name: NotRequired[str]
    tool_calls: NotRequired[List[Object]]


class ConversationDeleted(TypedDict):
    message: Literal['Conversation deleted successfully']
    success: Literal[True]


class ChatRequestMessage(TypedDict):
    role: NotRequired[Literal['user']]
    content: Any


class ChatRequest(TypedDict):
    message: ChatRequestMessage
    stream: NotRequired[bool]
    model: NotRequired[str]
    events: NotRequired[List[Literal['tool_call', 'tool_result', 'usage', 'reasoning']]]
    version: NotRequired[int]
    system_prompt: NotRequired[str]
    reset_history: NotRequired[bool]


class ChatAnswer(TypedDict):
    content: str
    conversation_id: str


class ConversationCallsCallsItem(TypedDict):
    tool_name: NotRequired[str]
    arguments: NotRequired[Any]
    result: NotRequired[Union[str, None]]
    id: NotRequired[str]
    correlation_id: NotRequired[Union[str, None]]
    status: NotRequired[Literal['error']]


class ConversationCalls(TypedDict):
    conversation_id: str
    calls: List[ConversationCallsCallsItem]


class PostMcpOptionsError(TypedDict):
    code: int
    message: str
    data: NotRequired[Any]


class PostMcpApiOptionsError(TypedDict):
    code: int
    message: str
    data: NotRequired[Any]


class PostMcpGroupOptionsError(TypedDict):
    code: int
    message: str
    data: NotRequired[Any]


class PostMcpGroupApiOptionsError(TypedDict):
    code: int
    message: str
    data: NotRequired[Any]


class PutRegistryNameOptionsHandler(TypedDict):
    url: str
    headers: NotRequired[Dict[str, str]]


class PostConversationsIdChatOptionsMessage(TypedDict):
    role: NotRequired[Literal['user']]
    content: Any


class CallOptions(TypedDict, total=False):
    timeout: Union[float, None]
    deadline: Union[float, None]
    correlation_id: Union[str, None]
    headers: Mapping[str, str]


class GetToolsOptions(CallOptions, total=False):
    errors: Literal['plain', 'precise']
    meta: bool
    limit: str
    max_tokens: int
    name: List[str]
    category: List[str]
    importance: Literal['low', 'normal', 'high']
    tag: List[str]
    group: List[str]


class GetToolsProviderOptions(CallOptions, total=False):
    model: str
    errors: Literal['plain', 'precise']
    report: bool
    list: bool
    meta: bool
    mode: Literal['full', 'search']
    limit: str
    query: str
    max_tokens: int
    profile: str
    description_fallback: str
    defaults: Literal['keep', 'strip', 'describe']
    open: Literal['declared', 'all']
    strict: Literal['auto', 'as-named']
    verbatim: bool
    empty_required: Literal['keep', 'omit', 'add']
    budget: str
    hide: List[str]
    compat: str
    name: List[str]
    category: List[str]
    importance: Literal['low', 'normal', 'high']
    tag: List[str]
    group: List[str]


class GetToolsProviderContextOptions(CallOptions, total=False):
    errors: Literal['plain', 'precise']
    mode: Literal['concise', 'standard', 'detailed']
    group_by: Literal['server', 'category', 'importance']
    max_tokens: int
    limit: str
    resources: bool
    name: List[str]
    category: List[str]
    importance: Literal['low', 'normal', 'high']
    tag: List[str]
    group: List[str]


class GetResourcesOptions(CallOptions, total=False):
    pass


class GetResourcesReadOptions(CallOptions, total=False):
    errors: Literal['plain', 'precise']


class PostExecuteOptions(CallOptions, total=False):
    model: str
    result: str
    errors: Literal['plain', 'precise']
    input: Input
    coerce_arguments: bool
    fill_defaults: bool
    on_bad_arguments: Literal['error', 'raw', 'repair']
    text: Literal['off', 'auto', 'xml', 'json']
    max_characters: int
    idempotency_key: str
    cache_control: str
    continue_: Continue
    responses: Responses


class PostCallToolOptions(CallOptions, total=False):
    result: str
    errors: Literal['plain', 'precise']
    input: Input
    idempotency_key: str
    cache_control: str
    continue_: Continue
    responses: Responses


class PostMcpOptions(CallOptions, total=False):
    mcp_session_id: str
    mcp_protocol_version: str


class GetMcpOptions(CallOptions, total=False):
    mcp_session_id: str
    mcp_protocol_version: str


class DeleteMcpOptions(CallOptions, total=False):
    mcp_session_id: str
    mcp_protocol_version: str


class GetMcpEventsOptions(CallOptions, total=False):
    pass


class PostMcpApiOptions(CallOptions, total=False):
    session_id: str


class PostMcpGroupOptions(CallOptions, total=False):
    mcp_session_id: str
    mcp_protocol_version: str


class GetMcpGroupOptions(CallOptions, total=False):
    mcp_session_id: str
    mcp_protocol_version: str


class DeleteMcpGroupOptions(CallOptions, total=False):
    mcp_session_id: str
    mcp_protocol_version: str


class GetMcpGroupEventsOptions(CallOptions, total=False):
    pass


class PostMcpGroupApiOptions(CallOptions, total=False):
    session_id: str


class PostRouteOptions(CallOptions, total=False):
    format: str
    server: str
    timeout_ms: int
    idempotency_key: str


class GetRegistryOptions(CallOptions, total=False):
    pass


class PutRegistryNameOptions(CallOptions, total=False):
    title: str
    description: str
    input_schema: Object
    output_schema: Object
    annotations: Object
    _meta: Object
    timeout_: Union[float, str]


class DeleteRegistryNameOptions(CallOptions, total=False):
    pass


class GetApprovalsOptions(CallOptions, total=False):
    pass


class PostApprovalsIdOptions(CallOptions, total=False):
    pass


class PostV1ChatCompletionsOptions(CallOptions, total=False):
    gateway_tools: str
    gateway_continue: str
    gateway_events: str
    model: str
    tools: List[Object]
    tool_choice: Any


class GetV1ModelsOptions(CallOptions, total=False):
    pass


class GetV1ModelsIdOptions(CallOptions, total=False):
    pass


class GetResultsIdOptions(CallOptions, total=False):
    offset: int
    length: int


class PostConversationsOptions(CallOptions, total=False):
    errors: Literal['plain', 'precise']
    idempotency_key: str


class GetConversationsOptions(CallOptions, total=False):
    q: str
    limit: int
    after: str
    errors: Literal['plain', 'precise']


class GetConversationsIdOptions(CallOptions, total=False):
    offset: int
    limit: int
    errors: Literal['plain', 'precise']


class PatchConversationsIdOptions(CallOptions, total=False):
    errors: Literal['plain', 'precise']
    if_match: str
    version: int


class DeleteConversationsIdOptions(CallOptions, total=False):
    errors: Literal['plain', 'precise']


class PostConversationsIdChatOptions(CallOptions, total=False):
    errors: Literal['plain', 'precise']
    if_match: str
    idempotency_key: str
    gateway_tools: str
    model: str
    events: List[Literal['tool_call', 'tool_result', 'usage', 'reasoning']]
    version: int
    system_prompt: str
    reset_history: bool


class GetConversationsIdCallsOptions(CallOptions, total=False):
    errors: Literal['plain', 'precise']


class PostConvertOptions(CallOptions, total=False):
    model: str
    provider: str
    tool: Tool


class PostTransformOptions(CallOptions, total=False):
    model: str
    provider: str
    profile: str


class PostHistoryOptions(CallOptions, total=False):
    system: Any
    tools: List[Tool]
    mode: Literal['native', 'text', 'text-only']
    model: str


class PostCheckOptions(CallOptions, total=False):
    to: Union[str, List[str]]


class GetProvidersOptions(CallOptions, total=False):
    pass


class GetDetectOptions(CallOptions, total=False):
    pass


class GetProvidersNameOptions(CallOptions, total=False):
    pass


class GetLogsOptions(CallOptions, total=False):
    tool: str
    provider: str
    status: Literal['ok', 'error']
    caller: str
    until: str
    after: int
    before: int
    source: Literal['gateway', 'server']


class GetServersOptions(CallOptions, total=False):
    pass


class PostServersNameConnectOptions(CallOptions, total=False):
    pass


class PostServersNameRestartOptions(CallOptions, total=False):
    pass


class PostServersNameAcceptOptions(CallOptions, total=False):
    pass


class GetHealthOptions(CallOptions, total=False):
    probe: bool


class GetLivezOptions(CallOptions, total=False):
    pass


class GetReadyOptions(CallOptions, total=False):
    pass


class GetReadyzOptions(CallOptions, total=False):
    pass


class GetMetricsOptions(CallOptions, total=False):
    since: int


class GetMetricsPrometheusOptions(CallOptions, total=False):
    pass


class GetOpenapiJsonOptions(CallOptions, total=False):
    pass


class GetOptions(CallOptions, total=False):
    pass


class GetDocsOptions(CallOptions, total=False):
    pass
