"""What the engine writes in process is, byte for byte, what the command line writes, but for characters that could lead a terminal."""

from __future__ import annotations

import json
import os
import subprocess
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from known_tools import corpus_tools, hard_tools

pytest.importorskip("mcp_tool_gateway._engine", reason="the native part is not built")

from mcp_tool_gateway import engine

DIALECTS = ["openai", "openai-responses-strict", "anthropic", "gemini", "vertex-json", "bedrock", "cohere", "ollama", "argo", "universal"]
GATEWAY = os.environ.get("MCP_TOOL_GATEWAY_BIN", "")


def tools() -> list[Any]:
    """Three hundred tools from all over the corpus, or what the repository has itself."""
    found = corpus_tools() or hard_tools()
    step = max(1, len(found) // 300)
    return found[::step][:300]


def for_terminals(text: str) -> str:
    """The text as the command line has it, which escapes control characters and those that nobody sees."""
    hidden = ("Cc", "Cf", "Zl", "Zp")
    return "".join(json.dumps(one)[1:-1] if unicodedata.category(one) in hidden else one for one in text)


@pytest.mark.skipif(not GATEWAY, reason="MCP_TOOL_GATEWAY_BIN names no gateway")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_command_line_says_the_same(dialect: str, tmp_path: Path) -> None:
    given = tools()
    assert len(given) >= 100
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(given, ensure_ascii=False), encoding="utf-8")
    ran = subprocess.run([GATEWAY, "convert", "--to", dialect, str(file)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    expected = ran.stdout.decode().removesuffix("\n")
    assert expected.startswith("[")
    assert for_terminals(engine.convert_text(file.read_bytes(), dialect)) == expected
    objects = engine.convert(given, to=dialect)
    assert objects == json.loads(expected)
    # Doubles may be written differently by Python; everything else, and the order of all members, is the same.
    rewritten = json.dumps(json.loads(expected), separators=(",", ":"), ensure_ascii=False)
    assert json.dumps(objects, separators=(",", ":"), ensure_ascii=False) == rewritten
