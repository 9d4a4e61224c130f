"""Tools that others published, and those that the repository wrote to be hard."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]


def corpus_tools() -> list[Any]:
    """What the servers in MCP_TOOL_GATEWAY_CORPUS list; empty if it names no folder."""
    folder = os.environ.get("MCP_TOOL_GATEWAY_CORPUS")
    documents = [json.loads(file.read_bytes()) for file in sorted(Path(folder).glob("*.json"))] if folder else []
    return [tool for document in documents for tool in (document if isinstance(document, list) else document.get("tools", []))]


def hard_tools() -> list[Any]:
    """Those of conformance/hard, whose files have one tool each or several; one of each name."""
    documents = [json.loads(file.read_bytes()) for file in sorted((ROOT / "conformance/hard").glob("*.json"))]
    tools = {tool["name"]: tool for one in documents for tool in [one.get("tool"), *one.get("tools", [])] if isinstance(tool, dict) and tool.get("name")}
    return list(tools.values())
