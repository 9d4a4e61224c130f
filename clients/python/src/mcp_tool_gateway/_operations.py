"""The operations of the gateway as data. Written by generate.py; change that, or what it reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping


@dataclass(frozen=True)
class Operation:
    """One method of one route: names of Python to names on the wire, by where they stand."""

    method: str
    template: str
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    header: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_keyed(self) -> bool:
        """Whether the gateway runs it once under an `Idempotency-Key`, however often it is sent."""
        return "idempotency_key" in self.header


OPERATIONS: Mapping[str, Operation] = {
    "getTools": Operation(
        method="GET",
        template="/tools",
        query={"server": "server", "errors": "errors", "meta": "meta", "limit": "limit", "max_tokens": "maxTokens", "name": "name", "category": "category", "importance": "importance", "tag": "tag", "group": "group"},
    ),
    "getToolsProvider": Operation(
        method="GET",
        template="/tools/{provider}",
        path={"provider": "provider"},
        query={"server": "server", "model": "model", "errors": "errors", "report": "report", "list": "list", "meta": "meta", "mode": "mode", "limit": "limit", "query": "query", "max_tokens": "maxTokens", "profile": "profile", "description_fallback": "descriptionFallback", "defaults": "defaults", "open": "open", "strict": "strict", "verbatim": "verbatim", "empty_required": "emptyRequired", "budget": "budget", "hide": "hide", "compat": "compat", "name": "name", "category": "category", "importance": "importance", "tag": "tag", "group": "group"},
    ),
    "getToolsProviderContext": Operation(
        method="GET",
        template="/tools/{provider}/context",
        path={"provider": "provider"},
        query={"server": "server", "errors": "errors", "mode": "mode", "group_by": "group_by", "max_tokens": "maxTokens", "limit": "limit", "resources": "resources", "name": "name", "category": "category", "importance": "importance", "tag": "tag", "group": "group"},
    ),
    "getResources": Operation(
        method="GET",
        template="/resources",
        query={"server": "server"},
    ),
    "getResourcesRead": Operation(
        method="GET",
        template="/resources/read",
        query={"uri": "uri", "server": "server", "errors": "errors"},
    ),
    "postExecute": Operation(
        method="POST",
        template="/execute",
        query={"provider": "provider", "server": "server", "model": "model", "result": "result", "errors": "errors", "input": "input", "coerce_arguments": "coerceArguments", "fill_defaults": "fillDefaults", "on_bad_arguments": "onBadArguments", "text": "text", "max_characters": "maxCharacters"},
        header={"idempotency_key": "Idempotency-Key", "cache_control": "Cache-Control"},
        body={"provider": "provider", "server": "server", "model": "model", "call": "call", "text": "text", "input": "input", "continue_": "continue", "responses": "responses"},
    ),
    "postCallTool": Operation(
        method="POST",
        template="/call_tool",
        query={"result": "result", "errors": "errors", "input": "input"},
        header={"idempotency_key": "Idempotency-Key", "cache_control": "Cache-Control"},
        body={"server": "server", "tool": "tool", "arguments": "arguments", "input": "input", "continue_": "continue", "responses": "responses"},
    ),
    "postMcp": Operation(
        method="POST",
        template="/mcp",
        header={"mcp_session_id": "Mcp-Session-Id", "mcp_protocol_version": "MCP-Protocol-Version"},
        body={"jsonrpc": "jsonrpc", "id": "id", "method": "method", "params": "params", "result": "result", "error": "error"},
    ),
    "getMcp": Operation(
        method="GET",
        template="/mcp",
        header={"mcp_session_id": "Mcp-Session-Id", "mcp_protocol_version": "MCP-Protocol-Version"},
    ),
    "deleteMcp": Operation(
        method="DELETE",
        template="/mcp",
        header={"mcp_session_id": "Mcp-Session-Id", "mcp_protocol_version": "MCP-Protocol-Version"},
    ),
    "getMcpEvents": Operation(
        method="GET",
        template="/mcp/events",
    ),
    "postMcpApi": Operation(
        method="POST",
        template="/mcp/api",
        query={"session_id": "sessionId"},
        body={"jsonrpc": "jsonrpc", "id": "id", "method": "method", "params": "params", "result": "result", "error": "error"},
    ),
    "postMcpGroup": Operation(
        method="POST",
        template="/mcp/{group}",
        path={"group": "group"},
        header={"mcp_session_id": "Mcp-Session-Id", "mcp_protocol_version": "MCP-Protocol-Version"},
        body={"jsonrpc": "jsonrpc", "id": "id", "method": "method", "params": "params", "result": "result", "error": "error"},
    ),
    "getMcpGroup": Operation(
        method="GET",
        template="/mcp/{group}",
        path={"group": "group"},
        header={"mcp_session_id": "Mcp-Session-Id", "mcp_protocol_version": "MCP-Protocol-Version"},
    ),
    "deleteMcpGroup": Operation(
        method="DELETE",
        template="/mcp/{group}",
        path={"group": "group"},
        header={"mcp_session_id": "Mcp-Session-Id", "mcp_protocol_version": "MCP-Protocol-Version"},
    ),
    "getMcpGroupEvents": Operation(
        method="GET",
        template="/mcp/{group}/events",
        path={"group": "group"},
    ),
    "postMcpGroupApi": Operation(
        method="POST",
        template="/mcp/{group}/api",
        path={"group": "group"},
        query={"session_id": "sessionId"},
        body={"jsonrpc": "jsonrpc", "id": "id", "method": "method", "params": "params", "result": "result", "error": "error"},
    ),
    "postRoute": Operation(
        method="POST",
        template="/route",
        query={"format": "format", "server": "server", "timeout_ms": "timeoutMs"},
        header={"idempotency_key": "Idempotency-Key"},
    ),
    "getRegistry": Operation(
        method="GET",
        template="/registry",
    ),
    "putRegistryName": Operation(
        method="PUT",
        template="/registry/{name}",
        path={"name": "name"},
        body={"name": "name", "title": "title", "description": "description", "input_schema": "inputSchema", "output_schema": "outputSchema", "annotations": "annotations", "_meta": "_meta", "handler": "handler", "timeout_": "timeout"},
    ),
    "deleteRegistryName": Operation(
        method="DELETE",
        template="/registry/{name}",
        path={"name": "name"},
    ),
    "getApprovals": Operation(
        method="GET",
        template="/approvals",
    ),
    "postApprovalsId": Operation(
        method="POST",
        template="/approvals/{id}",
        path={"id": "id"},
        body={"decision": "decision"},
    ),
    "postV1ChatCompletions": Operation(
        method="POST",
        template="/v1/chat/completions",
        header={"gateway_tools": "x-gateway-tools", "gateway_continue": "x-gateway-continue", "gateway_events": "x-gateway-events"},
        body={"model": "model", "messages": "messages", "tools": "tools", "tool_choice": "tool_choice", "stream": "stream"},
    ),
    "getV1Models": Operation(
        method="GET",
        template="/v1/models",
    ),
    "getV1ModelsId": Operation(
        method="GET",
        template="/v1/models/{id}",
        path={"id": "id"},
    ),
    "getResultsId": Operation(
        method="GET",
        template="/results/{id}",
        path={"id": "id"},
        query={"offset": "offset", "length": "length"},
    ),
    "postConversations": Operation(
        method="POST",
        template="/conversations",
        query={"errors": "errors"},
        header={"idempotency_key": "Idempotency-Key"},
        body={"title": "title"},
    ),
    "getConversations": Operation(
        method="GET",
        template="/conversations",
        query={"q": "q", "limit": "limit", "after": "after", "errors": "errors"},
    ),
    "getConversationsId": Operation(
        method="GET",
        template="/conversations/{id}",
        path={"id": "id"},
        query={"offset": "offset", "limit": "limit", "errors": "errors"},
    ),
    "patchConversationsId": Operation(
        method="PATCH",
        template="/conversations/{id}",
        path={"id": "id"},
        query={"errors": "errors"},
        header={"if_match": "If-Match"},
        body={"title": "title", "version": "version"},
    ),
    "deleteConversationsId": Operation(
        method="DELETE",
        template="/conversations/{id}",
        path={"id": "id"},
        query={"errors": "errors"},
    ),
    "postConversationsIdChat": Operation(
        method="POST",
        template="/conversations/{id}/chat",
        path={"id": "id"},
        query={"errors": "errors"},
        header={"if_match": "If-Match", "idempotency_key": "Idempotency-Key", "gateway_tools": "x-gateway-tools"},
        body={"message": "message", "stream": "stream", "model": "model", "events": "events", "version": "version", "system_prompt": "system_prompt", "reset_history": "reset_history"},
    ),
    "getConversationsIdCalls": Operation(
        method="GET",
        template="/conversations/{id}/calls",
        path={"id": "id"},
        query={"errors": "errors"},
    ),
    "postConvert": Operation(
        method="POST",
        template="/convert",
        query={"to": "to", "model": "model"},
        body={"to": "to", "provider": "provider", "model": "model", "tools": "tools", "tool": "tool"},
    ),
    "postTransform": Operation(
        method="POST",
        template="/transform",
        query={"to": "to", "model": "model"},
        body={"to": "to", "provider": "provider", "profile": "profile", "model": "model", "schema": "schema"},
    ),
    "postHistory": Operation(
        method="POST",
        template="/history",
        body={"from_": "from", "to": "to", "messages": "messages", "system": "system", "tools": "tools", "mode": "mode", "model": "model"},
    ),
    "postCheck": Operation(
        method="POST",
        template="/check",
        query={"to": "to"},
        body={"to": "to", "tools": "tools"},
    ),
    "getProviders": Operation(
        method="GET",
        template="/providers",
    ),
    "getDetect": Operation(
        method="GET",
        template="/detect",
        query={"model": "model", "provider": "provider"},
    ),
    "getProvidersName": Operation(
        method="GET",
        template="/providers/{name}",
        path={"name": "name"},
    ),
    "getLogs": Operation(
        method="GET",
        template="/logs",
        query={"server": "server", "tool": "tool", "provider": "provider", "status": "status", "correlation_id": "correlation_id", "caller": "caller", "since": "since", "until": "until", "limit": "limit", "after": "after", "before": "before", "source": "source", "follow": "follow", "stream": "stream"},
        header={"last_event_id": "Last-Event-ID"},
    ),
    "getServers": Operation(
        method="GET",
        template="/servers",
    ),
    "postServersNameConnect": Operation(
        method="POST",
        template="/servers/{name}/connect",
        path={"name": "name"},
    ),
    "postServersNameRestart": Operation(
        method="POST",
        template="/servers/{name}/restart",
        path={"name": "name"},
    ),
    "postServersNameAccept": Operation(
        method="POST",
        template="/servers/{name}/accept",
        path={"name": "name"},
        body={"fingerprint": "fingerprint"},
    ),
    "getHealth": Operation(
        method="GET",
        template="/health",
        query={"probe": "probe"},
    ),
    "getLivez": Operation(
        method="GET",
        template="/livez",
    ),
    "getReady": Operation(
        method="GET",
        template="/ready",
    ),
    "getReadyz": Operation(
        method="GET",
        template="/readyz",
    ),
    "getMetrics": Operation(
        method="GET",
        template="/metrics",
        query={"since": "since"},
    ),
    "getMetricsPrometheus": Operation(
        method="GET",
        template="/metrics/prometheus",
    ),
    "getOpenapiJson": Operation(
        method="GET",
        template="/openapi.json",
    ),
    "get": Operation(
        method="GET",
        template="/",
    ),
    "getDocs": Operation(
        method="GET",
        template="/docs",
    ),
}
