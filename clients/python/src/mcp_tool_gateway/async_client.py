"""The asynchronous client: a method for each operation of the gateway."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Callable, Literal, Mapping, Sequence, cast, overload
from typing import Awaitable

from . import types as t
from ._answers import LIST, OBJECT_OR_LIST, REDIRECTED, metadata, unexpected, with_metadata
from ._async_core import AsyncCore
from ._events import Event
from ._streams import dialect_for, has_calls, messages_with_bytes, of_async_source, wants_bytes

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

TEXT = ("text/plain",)


class AsyncGatewayClient(AsyncCore):
    __doc__ = AsyncCore.__doc__

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes all connections; what runs meanwhile ends with an error."""
        await self._transport.aclose()

    # Tools

    async def tools(self, server: str | None = None, **options: Unpack[t.GetToolsOptions]) -> t.ToolList:
        """The tools as their servers define them."""
        return cast("t.ToolList", await self._call("getTools", {"server": server, **options}))

    async def get_tools(self, provider: str, server: str | None = None, **options: Unpack[t.GetToolsProviderOptions]) -> Any:
        """The tools as the provider's SDK takes them: hand the answer, or its `tools`, to the SDK. For `gemini` this is `gemini-legacy` where `google.generativeai`
        is the only SDK of Google that was imported."""
        return await self._call("getToolsProvider", {"provider": dialect_for(provider), "server": server, **options}, kinds=OBJECT_OR_LIST)

    async def context(self, provider: str, server: str | None = None, **options: Unpack[t.GetToolsProviderContextOptions]) -> str:
        """The tools as text for a prompt."""
        return cast(str, await self._call("getToolsProviderContext", {"provider": provider, "server": server, **options}, accepts=TEXT))

    # Calls

    async def execute(
        self,
        provider: str | None,
        call: Any,
        server: str | None = None,
        *,
        on_event: Callable[[str, Any], None] | None = None,
        **options: Unpack[t.PostExecuteOptions],
    ) -> Any:
        """Runs a call as the model made it, and gives its result; for a list of calls the list of their results, also where it has one or none. A whole reply, or the
        chunks of one, gives the result alone where it has one call. A tool that fails is a result with `isError`, for the model.
        The message to append to the conversation is in the answer of `execute_reply`. With `on_event`, progress and log messages come as they are reported; such a call
        is sent once."""
        given = None if call is None else await of_async_source(call)
        answer = await self._execute(given, provider, server, on_event, options)
        about = metadata(answer)
        if "result" in answer:
            return with_metadata([answer["result"]] if has_calls(given) else answer["result"], about)
        if "results" in answer:
            entries = answer["results"]
            if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
                raise unexpected(answer, "POST /execute: expected a list of objects in `results`")
            return with_metadata([entry.get("result") for entry in entries], about)
        return answer

    async def execute_reply(
        self,
        reply: Any = None,
        provider: str | None = None,
        server: str | None = None,
        *,
        on_event: Callable[[str, Any], None] | None = None,
        **options: Unpack[t.PostExecuteOptions],
    ) -> t.ExecuteAnswer:
        """Runs all calls of a model's reply: an object of its SDK, a dict, or a stream, which is read to its end. `messages` of the answer go into the conversation after
        the reply; for boto3 they hold bytes, as it takes them. There are none after a reply without calls, and none yet where there is `inputRequired`."""
        call = None if reply is None else await of_async_source(reply)
        return await self._execute(call, provider, server, on_event, options)

    async def _execute(
        self, call: Any, provider: str | None, server: str | None, on_event: Callable[[str, Any], None] | None, options: Mapping[str, Any]
    ) -> t.ExecuteAnswer:
        given = {"provider": dialect_for(provider), "call": call, "server": server, **options}
        answer = await (self._call("postExecute", given) if on_event is None else self._watched("postExecute", given, on_event))
        answer.setdefault("messages", [])
        if answer.get("provider") == "bedrock" and wants_bytes(self._bytes_for_boto3):
            answer["messages"] = messages_with_bytes(answer)
        return cast("t.ExecuteAnswer", answer)

    async def call_tool(
        self,
        server: str | None = None,
        tool: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        *,
        on_event: Callable[[str, Any], None] | None = None,
        **options: Unpack[t.PostCallToolOptions],
    ) -> Any:
        """Runs a tool by its name, and gives the result of its server. A canonical name, `mcp__<server>__<tool>`, needs no server."""
        given = {"server": server, "tool": tool, "arguments": arguments, **options}
        answer = await (self._call("postCallTool", given) if on_event is None else self._watched("postCallTool", given, on_event))
        return with_metadata(answer["result"], metadata(answer)) if "result" in answer else answer

    async def route(self, tool_use: Any, **options: Unpack[t.PostRouteOptions]) -> Any:
        """Runs tool use of any format, and answers in the same one: XML in, XML out."""
        return await self._call("postRoute", options, body=tool_use, accepts=("application/json", "application/xml"), kinds=OBJECT_OR_LIST)

    # Conversions: nothing runs, and nothing is remembered

    async def convert(self, to: str | None = None, tools: Sequence[Any] | None = None, **options: Unpack[t.PostConvertOptions]) -> t.ConvertAnswer:
        """Definitions of tools in a provider's format, with what became of each keyword."""
        return cast("t.ConvertAnswer", await self._call("postConvert", {"to": to, "tools": tools, **options}))

    async def transform(self, schema: Any, to: str | None = None, **options: Unpack[t.PostTransformOptions]) -> t.TransformAnswer:
        """One schema in a provider's format."""
        return cast("t.TransformAnswer", await self._call("postTransform", {"schema": schema, "to": to, **options}))

    async def history(self, from_: str, to: str, messages: Sequence[Any], **options: Unpack[t.PostHistoryOptions]) -> t.HistoryAnswer:
        """A conversation of one dialect as one of another."""
        answer = await self._call("postHistory", {"from_": from_, "to": to, "messages": messages, **options})
        if to == "bedrock" and wants_bytes(self._bytes_for_boto3):
            answer["messages"] = messages_with_bytes(answer)
        return cast("t.HistoryAnswer", answer)

    async def check(self, tools: Sequence[Any], **options: Unpack[t.PostCheckOptions]) -> t.CheckAnswer:
        """What is wrong with definitions of tools, for each provider."""
        return cast("t.CheckAnswer", await self._call("postCheck", {"tools": tools, **options}))

    async def detect(self, model: str | None = None, provider: str | None = None, **options: Unpack[t.GetDetectOptions]) -> t.DetectAnswer:
        """Who serves a model, and which dialect it asks for."""
        return cast("t.DetectAnswer", await self._call("getDetect", {"model": model, "provider": provider, **options}))

    async def providers(self, **options: Unpack[t.GetProvidersOptions]) -> t.ProviderList:
        return cast("t.ProviderList", await self._call("getProviders", options))

    async def provider(self, name: str, **options: Unpack[t.GetProvidersNameOptions]) -> t.Provider:
        """The rules of one provider."""
        return cast("t.Provider", await self._call("getProvidersName", {"name": name, **options}))

    # Models

    @overload
    def chat(self, messages: Any, *, stream: Literal[True], **members: Any) -> AsyncIterator[Any]: ...
    @overload
    def chat(self, messages: Any, *, stream: Literal[False] = False, **members: Any) -> Awaitable[t.Completion]: ...

    def chat(self, messages: Any, *, stream: bool = False, **members: Any) -> AsyncIterator[Any] | Awaitable[t.Completion]:
        """Asks a model of the configuration, whose calls of tools run in the gateway. `messages` are those of Chat Completions, or one text; `members` are those of its body
        (`model`, `temperature`, …) and the client's options. With `stream` the chunks come as they arrive."""
        given = {key: members.pop(key) for key in CHAT_OPTIONS if key in members}
        listed = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        body = {**members, "messages": listed}
        if stream:
            return self._chunks("postV1ChatCompletions", given, {**body, "stream": True})
        return cast("Awaitable[t.Completion]", self._call("postV1ChatCompletions", given, body=body))

    async def models(self, **options: Unpack[t.GetV1ModelsOptions]) -> t.ModelList:
        return cast("t.ModelList", await self._call("getV1Models", options))

    async def model(self, id: str, **options: Unpack[t.GetV1ModelsIdOptions]) -> t.Model:
        return cast("t.Model", await self._call("getV1ModelsId", {"id": id, **options}))

    async def result(self, id: str, **options: Unpack[t.GetResultsIdOptions]) -> str:
        """A piece of a long result that was kept; `metadata()` has the headers that say where the next one begins."""
        return cast(str, await self._call("getResultsId", {"id": id, **options}, accepts=TEXT))

    # Conversations that the gateway keeps

    async def create_conversation(self, title: str | None = None, **options: Unpack[t.PostConversationsOptions]) -> t.Conversation:
        return cast("t.Conversation", await self._call("postConversations", {"title": title, **options}))

    async def conversations(self, **options: Unpack[t.GetConversationsOptions]) -> t.ConversationSummaries:
        return cast("t.ConversationSummaries", await self._call("getConversations", options, kinds=LIST))

    async def conversation(self, id: str, **options: Unpack[t.GetConversationsIdOptions]) -> t.Conversation:
        return cast("t.Conversation", await self._call("getConversationsId", {"id": id, **options}))

    async def rename_conversation(self, id: str, title: str, **options: Unpack[t.PatchConversationsIdOptions]) -> t.Conversation:
        return cast("t.Conversation", await self._call("patchConversationsId", {"id": id, "title": title, **options}))

    async def delete_conversation(self, id: str, **options: Unpack[t.DeleteConversationsIdOptions]) -> t.ConversationDeleted:
        return cast("t.ConversationDeleted", await self._call("deleteConversationsId", {"id": id, **options}))

    @overload
    def send_message(
        self, id: str, message: Any, *, stream: Literal[True], **options: Unpack[t.PostConversationsIdChatOptions]
    ) -> AsyncIterator[Any]: ...
    @overload
    def send_message(
        self, id: str, message: Any, *, stream: Literal[False] = False, **options: Unpack[t.PostConversationsIdChatOptions]
    ) -> Awaitable[t.ChatAnswer]: ...

    def send_message(
        self, id: str, message: Any, *, stream: bool = False, **options: Unpack[t.PostConversationsIdChatOptions]
    ) -> AsyncIterator[Any] | Awaitable[t.ChatAnswer]:
        """Says something in a conversation; the answer, or with `stream` its chunks as they arrive."""
        said = {"role": "user", "content": message} if isinstance(message, str) else message
        given = {"id": id, "message": said, "stream": stream, **options}
        if stream:
            return self._chunks("postConversationsIdChat", given)
        return cast("Awaitable[t.ChatAnswer]", self._call("postConversationsIdChat", given))

    async def conversation_calls(self, id: str, **options: Unpack[t.GetConversationsIdCallsOptions]) -> t.ConversationCalls:
        """The calls of a conversation, in order."""
        return cast("t.ConversationCalls", await self._call("getConversationsIdCalls", {"id": id, **options}))

    # The call log

    @overload
    def logs(
        self,
        server: str | None = None,
        since: str | None = None,
        limit: int | None = 100,
        *,
        follow: Literal[True],
        last_event_id: str | None = None,
        **options: Unpack[t.GetLogsOptions],
    ) -> AsyncIterator[t.LogEntry]: ...
    @overload
    def logs(
        self,
        server: str | None = None,
        since: str | None = None,
        limit: int | None = 100,
        *,
        follow: Literal[False] = False,
        **options: Unpack[t.GetLogsOptions],
    ) -> Awaitable[t.LogEntries]: ...

    def logs(
        self,
        server: str | None = None,
        since: str | None = None,
        limit: int | None = 100,
        *,
        follow: bool = False,
        last_event_id: str | None = None,
        **options: Unpack[t.GetLogsOptions],
    ) -> AsyncIterator[t.LogEntry] | Awaitable[t.LogEntries]:
        """The newest calls, oldest first. With `follow` an iterator that goes on with every new one, and resumes by itself where its connection breaks."""
        given = {"server": server, "since": since, "limit": limit, **options}
        if follow:
            return self._followed("getLogs", {**given, "follow": True}, last_event_id)
        return cast("Awaitable[t.LogEntries]", self._call("getLogs", given, kinds=LIST))

    get_logs = logs

    def follow_logs(self, server: str | None = None, **options: Unpack[t.GetLogsOptions]) -> AsyncIterator[t.LogEntry]:
        """The same as `logs(follow=True)`."""
        return self.logs(server, follow=True, **options)

    # Servers, their resources, and what somebody has to decide

    async def servers(self, **options: Unpack[t.GetServersOptions]) -> t.ServerList:
        return cast("t.ServerList", await self._call("getServers", options))

    async def connect_server(self, name: str, **options: Unpack[t.PostServersNameConnectOptions]) -> t.ServerAnswer:
        return cast("t.ServerAnswer", await self._call("postServersNameConnect", {"name": name, **options}))

    async def restart_server(self, name: str, **options: Unpack[t.PostServersNameRestartOptions]) -> t.ServerAnswer:
        return cast("t.ServerAnswer", await self._call("postServersNameRestart", {"name": name, **options}))

    async def accept_definitions(self, name: str, fingerprint: str, **options: Unpack[t.PostServersNameAcceptOptions]) -> t.ServerAnswer:
        """Accepts what changed in the definitions of a server."""
        return cast("t.ServerAnswer", await self._call("postServersNameAccept", {"name": name, "fingerprint": fingerprint, **options}))

    async def resources(self, server: str | None = None, **options: Unpack[t.GetResourcesOptions]) -> t.ResourceLists:
        return cast("t.ResourceLists", await self._call("getResources", {"server": server, **options}))

    async def read_resource(self, uri: str, server: str | None = None, **options: Unpack[t.GetResourcesReadOptions]) -> t.ResourceContents:
        return cast("t.ResourceContents", await self._call("getResourcesRead", {"uri": uri, "server": server, **options}))

    async def approvals(self, **options: Unpack[t.GetApprovalsOptions]) -> t.ApprovalList:
        """The calls that wait for a decision."""
        return cast("t.ApprovalList", await self._call("getApprovals", options))

    async def decide(self, id: str, decision: Literal["approve", "deny"], **options: Unpack[t.PostApprovalsIdOptions]) -> t.ApprovalAnswer:
        """Decides about a call that waits."""
        return cast("t.ApprovalAnswer", await self._call("postApprovalsId", {"id": id, "decision": decision, **options}))

    async def registry(self, **options: Unpack[t.GetRegistryOptions]) -> t.RegistryList:
        """The tools that are no server's."""
        return cast("t.RegistryList", await self._call("getRegistry", options))

    async def register_tool(self, name: str, handler: Mapping[str, Any], **options: Unpack[t.PutRegistryNameOptions]) -> t.RegisterAnswer:
        return cast("t.RegisterAnswer", await self._call("putRegistryName", {"name": name, "handler": handler, **options}))

    async def unregister_tool(self, name: str, **options: Unpack[t.DeleteRegistryNameOptions]) -> None:
        await self._call("deleteRegistryName", {"name": name, **options}, may_be_empty=True)

    # Operations

    async def health(self, **options: Unpack[t.GetHealthOptions]) -> t.Health:
        return cast("t.Health", await self._call("getHealth", options))

    async def live(self, **options: Unpack[t.GetLivezOptions]) -> t.Live:
        return cast("t.Live", await self._call("getLivez", options))

    async def ready(self, **options: Unpack[t.GetReadyOptions]) -> t.Ready:
        """Whether all required servers are there; raises an error where not."""
        return cast("t.Ready", await self._call("getReady", options))

    async def readyz(self, **options: Unpack[t.GetReadyzOptions]) -> t.Ready:
        """The same as `ready`."""
        return cast("t.Ready", await self._call("getReadyz", options))

    async def metrics(self, **options: Unpack[t.GetMetricsOptions]) -> t.Metrics:
        return cast("t.Metrics", await self._call("getMetrics", options))

    async def metrics_text(self, **options: Unpack[t.GetMetricsPrometheusOptions]) -> str:
        """The figures in the format of Prometheus."""
        return cast(str, await self._call("getMetricsPrometheus", options, accepts=TEXT))

    async def openapi(self, **options: Unpack[t.GetOpenapiJsonOptions]) -> dict[str, Any]:
        return cast("dict[str, Any]", await self._call("getOpenapiJson", options))

    async def start_page(self, **options: Unpack[t.GetOptions]) -> str:
        """The address that `/` leads to."""
        return cast(str, await self._call("get", options, accepts=REDIRECTED))

    async def docs(self, **options: Unpack[t.GetDocsOptions]) -> str:
        """The page that shows all routes."""
        return cast(str, await self._call("getDocs", options, accepts=("text/html",)))

    # The gateway as an MCP server; clients of MCP do more with it

    async def mcp(self, message: Any, group: str | None = None, **options: Unpack[t.PostMcpOptions]) -> Any:
        """Sends one message of MCP, and gives the answer to it."""
        name, where = ("postMcp", {}) if group is None else ("postMcpGroup", {"group": group})
        return await self._call(name, {**where, **options}, body=message, kinds=OBJECT_OR_LIST, may_be_empty=True)

    def mcp_stream(self, group: str | None = None, **options: Unpack[t.GetMcpOptions]) -> AsyncIterator[Event]:
        """What the gateway says by itself in a session of MCP."""
        name, where = ("getMcp", {}) if group is None else ("getMcpGroup", {"group": group})
        return self._events(self._stream_request(name, {**where, **options}), ends=False)

    async def end_mcp_session(self, mcp_session_id: str, group: str | None = None, **options: Unpack[t.CallOptions]) -> None:
        name, where = ("deleteMcp", {}) if group is None else ("deleteMcpGroup", {"group": group})
        await self._call(name, {**where, "mcp_session_id": mcp_session_id, **options}, may_be_empty=True)

    def mcp_events(self, group: str | None = None, **options: Unpack[t.CallOptions]) -> AsyncIterator[Event]:
        """The stream of MCP's older HTTP transport; its first event has the address for `mcp_send`."""
        name, where = ("getMcpEvents", {}) if group is None else ("getMcpGroupEvents", {"group": group})
        return self._events(self._stream_request(name, {**where, **options}), ends=False)

    async def mcp_send(self, message: Any, session_id: str, group: str | None = None, **options: Unpack[t.CallOptions]) -> Any:
        """Sends one message by MCP's older HTTP transport; the answer comes on the stream."""
        name, where = ("postMcpApi", {}) if group is None else ("postMcpGroupApi", {"group": group})
        return await self._call(name, {**where, "session_id": session_id, **options}, body=message, kinds=OBJECT_OR_LIST, may_be_empty=True)


# Options of `chat` that are no members of its body.
CHAT_OPTIONS = ("timeout", "deadline", "correlation_id", "headers", "gateway_tools", "gateway_continue", "gateway_events")

AsyncMcpToolGatewayClient = AsyncGatewayClient
AsyncMCPToolGatewayClient = AsyncGatewayClient
