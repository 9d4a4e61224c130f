"""The programs of the README run as they stand there."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
from conftest import ROOT
from providers import Providers, serve

from mcp_tool_gateway import Gateway

README = ROOT / "clients/python/README.md"
SNIPPETS = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.M | re.S)


def run(snippet: str, folder: pathlib.Path, **environment: str) -> str:
    program = folder / "program.py"
    program.write_text(snippet)
    variables = {**os.environ, "PYTHONPATH": str(ROOT / "clients/python/src"), **environment}
    ended = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, env=variables)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_there_are_as_many_programs_as_tests() -> None:
    assert len(SNIPPETS) == 4


def test_the_first_three_lines(tmp_path: pathlib.Path) -> None:
    first = SNIPPETS[0]
    assert len([line for line in first.splitlines() if line.strip()]) == 3
    assert "'result': 42" in run(first, tmp_path)


def test_a_turn_with_a_model(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("openai", reason="these tests run in the environment of the SDKs")
    server = serve()
    gateway = Gateway.start({"mcpServers": {"demo": {"type": "builtin"}}})
    with gateway:
        snippet = SNIPPETS[1].replace("http://127.0.0.1:8787", gateway.url)
        assert snippet != SNIPPETS[1]
        model = {"OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1", "OPENAI_API_KEY": "none"}
        assert run(snippet, tmp_path, **model) == "sums 42 and 3\n"
    server.shutdown()
    assert [message["role"] for message in Providers.asked[-1][1]["messages"]] == ["user", "assistant", "tool", "tool"]


def test_the_correlation_id(tmp_path: pathlib.Path) -> None:
    assert run(SNIPPETS[2], tmp_path) == "mine-1 ['add']\n"


def test_the_asynchronous_client(tmp_path: pathlib.Path) -> None:
    said = run(SNIPPETS[3], tmp_path)
    assert json.loads(said.replace("'", '"').replace("False", "false").replace("True", "true"))["tools"][0]["name"] == "add"
