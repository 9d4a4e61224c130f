"""The programs of both READMEs run as they stand there; only where the services listen is not theirs to say."""

from __future__ import annotations

import ast
import os
import pathlib
import re
import subprocess
import sys

import pytest
from conftest import ROOT
from providers import Providers, serve

from mcp_tool_gateway import Gateway

SERVERS = {"mcpServers": {"demo": {"type": "builtin"}}}
USUAL = "http://127.0.0.1:8787"


def programs_of(page: str) -> list[str]:
    return re.findall(r"^```py(?:thon|3)?\b[^\n]*\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)


PROJECT = programs_of("README.md")
CLIENT = programs_of("clients/python/README.md")
SNIPPETS = [*PROJECT, *CLIENT]


def run(snippet: str, folder: pathlib.Path, **environment: str) -> str:
    program = folder / "program.py"
    program.write_text(snippet)
    variables = {**os.environ, "PYTHONPATH": str(ROOT / "clients/python/src"), **environment}
    ended = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, env=variables)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def beside(gateway: Gateway, snippet: str, folder: pathlib.Path, **environment: str) -> str:
    """What a program says that expects the gateway at its usual address."""
    assert snippet.count(USUAL) == 1
    return run(snippet.replace(USUAL, gateway.url), folder, **environment)


def test_each_program_has_a_test() -> None:
    assert (len(PROJECT), len(CLIENT)) == (1, 4), "write a test for a program that came, and drop that of one that went"


def test_the_first_three_lines_of_the_project(tmp_path: pathlib.Path) -> None:
    assert len(PROJECT[0].splitlines()) == 3
    gateway = Gateway.start(SERVERS)
    with gateway:
        said = beside(gateway, PROJECT[0], tmp_path)
    assert ast.literal_eval(said)["structuredContent"]["result"] == 42


def test_the_first_three_lines(tmp_path: pathlib.Path) -> None:
    first = CLIENT[0]
    assert len([line for line in first.splitlines() if line.strip()]) == 3
    assert ast.literal_eval(run(first, tmp_path))["structuredContent"]["result"] == 42


def test_a_turn_with_a_model(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("openai", reason="these tests run in the environment of the SDKs")
    server = serve()
    model = {"OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1", "OPENAI_API_KEY": "none"}
    gateway = Gateway.start(SERVERS)
    with gateway:
        assert beside(gateway, CLIENT[1], tmp_path, **model) == "sums 42 and 3\n"
    server.shutdown()
    assert [message["role"] for message in Providers.asked[-1][1]["messages"]] == ["user", "assistant", "tool", "tool"]


def test_the_correlation_id(tmp_path: pathlib.Path) -> None:
    assert run(CLIENT[2], tmp_path) == "mine-1 ['add']\n"


def test_the_asynchronous_client(tmp_path: pathlib.Path) -> None:
    assert ast.literal_eval(run(CLIENT[3], tmp_path))["tools"][0]["name"] == "add"
