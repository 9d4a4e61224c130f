"""MCP tools → OpenAI's function calling, for programs that want nothing but that.

    >>> tool = {"name": "build", "description": "Build.", "inputSchema": {"type": "object", "properties": {"a": {"default": 1}}}}
    >>> MCPToOpenAIConverter.convert_tool(tool)["function"]["parameters"]
    {'type': 'object', 'properties': {'a': {}}}
"""

from __future__ import annotations

import logging
from typing import Any

from . import _engine
from ._engine import EngineError

__all__ = ["MCPToOpenAIConverter"]

_log = logging.getLogger("mcp_tool_gateway")

# Where a schema holds schemas: one, a list of them, or a table by name. Everything else is data and stays as it is.
_ONE = (
    "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then",
    "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
_LIST = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
_TABLE = ("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties")

_OPTIONS = {"to": "argo"}


class MCPToOpenAIConverter:
    """Static methods that convert tools and never change what they are given, but for `_remove_defaults`."""

    @staticmethod
    def convert_tool(mcp_tool: dict[str, Any]) -> dict[str, Any]:
        """One tool: `{"type": "function", "function": {"name", "description", "parameters"}}`, without defaults in its schema.

        A tool that cannot be converted raises an `EngineError` with the code `CONVERSION_ERROR`.
        """
        converted, left_out = _engine.convert([mcp_tool], _OPTIONS)
        if not converted:
            reason = left_out[0][1] if left_out else "there is no tool"
            error = EngineError(f"converting the tool {mcp_tool.get('name', '')!r}: {reason}")
            error.code, error.message = "CONVERSION_ERROR", str(error)
            raise error
        tool: dict[str, Any] = converted[0]
        return tool

    @staticmethod
    def convert_all_tools(mcp_tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """All tools, in order. One that cannot be converted is left out, with a warning of the logger `mcp_tool_gateway`."""
        converted, left_out = _engine.convert(mcp_tools, _OPTIONS)
        for name, reason in left_out:
            _log.warning("left out %s: %s", name, reason)
        tools: list[dict[str, Any]] = converted
        return tools

    @staticmethod
    def _remove_defaults(schema: dict[str, Any]) -> None:
        """Takes `default` out of the schema and of every schema in it, in place. A property of that name stays."""
        waiting: list[Any] = [schema]
        seen: set[int] = set()
        while waiting:
            node = waiting.pop()
            if not isinstance(node, dict) or id(node) in seen:
                continue
            seen.add(id(node))
            node.pop("default", None)
            waiting += (node[key] for key in _ONE if key in node)
            for key in _LIST:
                if isinstance(node.get(key), (list, tuple)):
                    waiting += node[key]
            for key in _TABLE:
                if isinstance(node.get(key), dict):
                    waiting += node[key].values()

    @staticmethod
    def validate_conversion(openai_tool: dict[str, Any]) -> bool:
        """Whether a converted tool is whole; what is wrong is logged. Every required parameter must be declared."""
        problem = _problem(openai_tool)
        if problem:
            _log.warning("invalid tool: %s", problem)
        return problem is None


def _problem(tool: Any) -> str | None:
    if not isinstance(tool, dict) or tool.get("type") != "function":
        return "its type is not `function`"
    function = tool.get("function")
    if not isinstance(function, dict):
        return "it has no `function`"
    name = function.get("name")
    for key in ("name", "description", "parameters"):
        if key not in function:
            return f"`{name}` has no `{key}`"
    parameters = function["parameters"]
    if not isinstance(parameters, dict) or parameters.get("type") != "object":
        return f"the parameters of `{name}` are not an object"
    properties = parameters.get("properties")
    if not isinstance(properties, dict):
        return f"the parameters of `{name}` have no `properties`"
    missing = [one for one in parameters.get("required", ()) if one not in properties]
    return f"`{name}` requires {missing}, which it does not declare" if missing else None
