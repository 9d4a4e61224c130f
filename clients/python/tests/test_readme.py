"""The programs of both READMEs, and the one of the providers' guide, run as they stand there; only where the services listen is not theirs to say."""

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
PROVIDERS = programs_of("docs/guides/providers/README.md")
SNIPPETS = [*PROJECT, *CLIENT, *PROVIDERS]


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
    assert (len(PROJECT), len(CLIENT), len(PROVIDERS)) == (1, 4, 1), "write a test for a program that came, and drop that of one that went"


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


def test_the_whole_object_and_the_inner_list(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("google.genai", reason="these tests run in the environment of the SDKs")
    # Both forms go to the model, which the guide leaves out.
    asks = """
from google import genai

client = genai.Client(api_key="none")
for config in (whole, inner):
    client.models.generate_content(model="m", contents="Hello", config=config)
"""
    server = serve()
    asked = len(Providers.asked)
    gateway = Gateway.start(SERVERS)
    with gateway as client:
        program = PROVIDERS[0].replace("GatewayClient()", f"GatewayClient({gateway.url!r})")
        assert program != PROVIDERS[0]
        run(program + asks, tmp_path, GOOGLE_GEMINI_BASE_URL=f"http://127.0.0.1:{server.server_port}")
        names = [tool["name"] for tool in client.tools()["tools"]]
    server.shutdown()
    sent = [[tool["name"] for tool in one["functionDeclarations"]] for _, body in Providers.asked[asked:] for one in body["tools"]]
    assert sent == [names, [*names, "now"]]


def test_the_asynchronous_client(tmp_path: pathlib.Path) -> None:
    assert ast.literal_eval(run(CLIENT[3], tmp_path))["tools"][0]["name"] == "add"
