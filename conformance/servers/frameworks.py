"""A server written with a framework for Python, whose tools return what functions return: values, not results of MCP.

    frameworks.py fastmcp|sdk

The framework makes the results, and says most of them twice: as text and as `structuredContent`.
"""

import sys

if sys.argv[1] == "fastmcp":
    from fastmcp import FastMCP as Server
else:
    from mcp.server import MCPServer as Server

server = Server("frameworks")


@server.tool()
def number() -> float:
    return 3.0


@server.tool()
def text() -> str:
    return "hello"


@server.tool()
def flag() -> bool:
    return True


@server.tool()
def numbers() -> list[float]:
    return [1.0, 2.5]


@server.tool()
def rows() -> list[dict[str, int]]:
    return [{"a": 1}, {"a": 2}]


@server.tool()
def nested() -> list[list[int]]:
    return [[1, 2], [3]]


@server.tool()
def mapping() -> dict[str, int]:
    return {"a": 1}


@server.tool()
def empty() -> list[int]:
    return []


server.run()
