"""The tools of any MCP server in every model's format, and the calls of any model run on the right server.

    from mcp_tool_gateway import GatewayClient

    gateway = GatewayClient("http://127.0.0.1:8787")
    tools = gateway.get_tools("openai")

The clients need a gateway: a running one, or one that `Gateway.start` starts. The engine (`convert`, `check`, …) runs in this process, and is loaded when it is used first.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import errors, types
from ._answers import Metadata, metadata
from ._events import Event
from .async_client import AsyncGatewayClient, AsyncMcpToolGatewayClient, AsyncMCPToolGatewayClient
from .client import GatewayClient, McpToolGatewayClient, MCPToolGatewayClient
from .errors import *  # noqa: F403
from .gateway import Gateway

if TYPE_CHECKING:
    from .converter import MCPToOpenAIConverter as MCPToOpenAIConverter
    from .engine import StreamAssembler as StreamAssembler
    from .engine import check as check
    from .engine import convert as convert
    from .engine import convert_history as convert_history
    from .engine import parse_calls as parse_calls
    from .engine import render_results as render_results

_ENGINE = {
    **dict.fromkeys(("StreamAssembler", "check", "convert", "convert_history", "parse_calls", "render_results"), "engine"),
    "MCPToOpenAIConverter": "converter",
}

# Not the engine: `from mcp_tool_gateway import *` would load it.
__all__ = [
    "AsyncGatewayClient",
    "AsyncMCPToolGatewayClient",
    "AsyncMcpToolGatewayClient",
    "Event",
    "Gateway",
    "GatewayClient",
    "MCPToolGatewayClient",
    "McpToolGatewayClient",
    "Metadata",
    "errors",
    "metadata",
    "types",
]
__all__ += errors.__all__

def __getattr__(name: str) -> Any:
    if name not in _ENGINE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f".{_ENGINE[name]}", __name__), name)
    except ImportError as error:
        text = f"{name} needs the native part of mcp-tool-gateway, which is not there: {error}; install a wheel of it, or use GatewayClient, which needs none"
        raise errors.MissingDependencyError(text) from error


def __dir__() -> list[str]:
    return sorted([*__all__, *_ENGINE])
