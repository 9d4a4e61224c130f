"""A gateway for all tests: the program of MCP_TOOL_GATEWAY_BIN, with the servers of the cases."""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Iterator

import pytest
from cases import CONFIG

from mcp_tool_gateway import Gateway, GatewayClient

HERE = pathlib.Path(__file__).resolve().parent
TESTING = HERE.parents[1] / "testing"
ROOT = HERE.parents[2]


@pytest.fixture(scope="session")
def gateway() -> Iterator[Gateway]:
    running = Gateway.start(CONFIG)
    with running:
        yield running


@pytest.fixture
def client(gateway: Gateway) -> Iterator[GatewayClient]:
    with gateway.client() as one:
        yield one


@pytest.fixture(scope="session")
def fixture_program() -> str:
    """The program with MCP servers for tests."""
    path = os.environ.get("GATEWAY_FIXTURE", "")
    if not os.access(path, os.X_OK):
        pytest.fail(f"GATEWAY_FIXTURE={path!r} is not a program; run the tests by run_tests.py")
    return path


def python(*arguments: str) -> list[str]:
    return [sys.executable, *arguments]
