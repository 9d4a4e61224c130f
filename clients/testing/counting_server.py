#!/usr/bin/env python3
"""An MCP server over stdio with a counter, for tests of calls that must run exactly once, and with what clients have to carry.

    increment {by?, note?}  adds to the counter and gives the new count; it is not idempotent, and says so
    count {}                gives the count, and how often each note was seen more than once
    picture {}              gives an image, the smallest PNG
    echo {…}                gives its arguments
"""

from __future__ import annotations

import json
import sys
from collections import Counter

TOOLS = [
    {
        "name": "increment",
        "description": "Adds to the counter, and gives the new count.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "by": {"type": "integer", "description": "How much to add; 1 if absent."},
                "note": {"type": "string", "description": "Who calls, so that repetitions can be seen."},
            },
        },
        "annotations": {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False},
    },
    {
        "name": "count",
        "description": "Gives the count.",
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": {"readOnlyHint": True},
    },
    {"name": "picture", "description": "Gives an image.", "inputSchema": {"type": "object", "properties": {}}},
    {"name": "echo", "description": "Gives its arguments.", "inputSchema": {"type": "object", "properties": {"value": {}}}},
]
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class CountingServer:
    def __init__(self) -> None:
        self.count = 0
        self.notes: Counter[str] = Counter()

    def call(self, name: str, arguments: dict) -> dict:
        if name == "increment":
            self.count += arguments.get("by", 1)
            if "note" in arguments:
                self.notes[arguments["note"]] += 1
            return {"count": self.count}
        if name == "count":
            return {"count": self.count, "repeated": {note: times for note, times in self.notes.items() if times > 1}}
        if name == "echo":
            return arguments
        raise ValueError(f"no tool `{name}`; there are {', '.join(tool['name'] for tool in TOOLS)}")

    def answer(self, method: str, params: dict) -> dict:
        if method == "initialize":
            return {
                "protocolVersion": params.get("protocolVersion", "2025-06-18"),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "counting", "version": "1.0.0"},
            }
        if method == "tools/list":
            return {"tools": TOOLS}
        if method == "ping":
            return {}
        if method == "tools/call":
            if params.get("name") == "picture":
                return {"content": [{"type": "image", "data": PNG, "mimeType": "image/png"}]}
            try:
                result = self.call(params.get("name", ""), params.get("arguments") or {})
            except ValueError as error:
                return {"content": [{"type": "text", "text": str(error)}], "isError": True}
            return {"content": [{"type": "text", "text": json.dumps(result)}], "structuredContent": result}
        raise LookupError(method)


def main() -> None:
    server = CountingServer()
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            reply["result"] = server.answer(message["method"], message.get("params") or {})
        except LookupError as error:
            reply["error"] = {"code": -32601, "message": f"no method `{error.args[0]}`"}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
