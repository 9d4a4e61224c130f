"""What the engine writes in process is, byte for byte, what the command line writes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp_tool_gateway._engine", reason="the native part is not built")

from mcp_tool_gateway import engine

DIALECTS = ["openai", "openai-responses-strict", "anthropic", "gemini", "vertex-json", "bedrock", "cohere", "ollama", "argo", "universal"]
GATEWAY = os.environ.get("MCP_TOOL_GATEWAY_BIN", "")
CORPUS = Path(os.environ.get("MCP_TOOL_GATEWAY_CORPUS", Path(__file__).resolve().parents[4] / "shared" / "corpus" / "servers"))
OWN = Path(__file__).resolve().parents[3] / "conformance" / "hard_tools"


def tools() -> list[Any]:
    """Three hundred tools from all over the corpus, or what the repository has itself."""
    found: list[Any] = []
    for file in sorted(CORPUS.glob("*.json")):
        document = json.loads(file.read_bytes())
        found += document if isinstance(document, list) else document.get("tools", [])
    if not found:
        for file in sorted(OWN.rglob("*.json")):
            document = json.loads(file.read_bytes())
            found += [tool for tool in document if isinstance(tool, dict) and "name" in tool] if isinstance(document, list) else []
    step = max(1, len(found) // 300)
    return found[::step][:300]


@pytest.mark.skipif(not GATEWAY, reason="MCP_TOOL_GATEWAY_BIN names no gateway")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_command_line_says_the_same(dialect: str, tmp_path: Path) -> None:
    given = tools()
    assert len(given) >= 3
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(given, ensure_ascii=False), encoding="utf-8")
    ran = subprocess.run([GATEWAY, "convert", "--to", dialect, str(file)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    expected = ran.stdout.decode().removesuffix("\n")
    assert expected.startswith("[")
    assert engine.convert_text(file.read_bytes(), dialect) == expected
    objects = engine.convert(given, to=dialect)
    assert objects == json.loads(expected)
    # Doubles may be written differently by Python; everything else, and the order of all members, is the same.
    rewritten = json.dumps(json.loads(expected), separators=(",", ":"), ensure_ascii=False)
    assert json.dumps(objects, separators=(",", ":"), ensure_ascii=False) == rewritten
