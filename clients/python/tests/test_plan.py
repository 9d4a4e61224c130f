"""The cases of cases.py, under pytest and, as isolated.py runs them, in an environment of their own."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import venv

import pytest
from cases import CASES
from conftest import HERE, ROOT

from mcp_tool_gateway import GatewayClient


@pytest.mark.parametrize("name", CASES)
def test_case(name: str, client: GatewayClient) -> None:
    CASES[name](client)


def test_an_empty_environment_passes_the_cases(tmp_path: pathlib.Path) -> None:
    venv.create(tmp_path / "empty", with_pip=False)
    program = tmp_path / "empty" / ("Scripts" if os.name == "nt" else "bin") / "python"
    command = [str(program), "-I", str(HERE / "isolated.py"), "--bin", os.environ["MCP_TOOL_GATEWAY_BIN"], "--package", str(ROOT / "clients/python/src")]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.splitlines()[-1] == f"{len(CASES)} of {len(CASES)} cases pass on Python {sys.version.split()[0]} -I"
