"""Both type checkers on the package, on programs that use it, and on those of the READMEs; what is wrong there on purpose they have to find."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from conftest import HERE, ROOT
from test_readme import SNIPPETS

PACKAGE = ROOT / "clients/python/src"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The package beside programs that use it, and the snippets."""
    folder = tmp_path_factory.mktemp("typed")
    shutil.copy(HERE / "typed.py", folder)
    for number, snippet in enumerate(SNIPPETS):
        (folder / f"snippet_{number}.py").write_text(snippet)
    return folder


def check(command: list[str], folder: pathlib.Path) -> None:
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(PACKAGE)})
    assert run.returncode == 0, run.stdout + run.stderr


def test_mypy_strict(programs: pathlib.Path) -> None:
    files = [str(PACKAGE / "mcp_tool_gateway"), *map(str, programs.glob("*.py"))]
    check([sys.executable, "-m", "mypy", "--strict", "--warn-unused-ignores", *files], programs)


def test_pyright(programs: pathlib.Path) -> None:
    assert importlib.util.find_spec("pyright")
    config = {
        "include": [".", os.path.relpath(PACKAGE / "mcp_tool_gateway", programs)],
        "extraPaths": [str(PACKAGE)],
        "reportUnnecessaryTypeIgnoreComment": "error",
        "enableTypeIgnoreComments": False,
    }
    (programs / "pyrightconfig.json").write_text(json.dumps(config))
    check([sys.executable, "-m", "pyright", "--pythonpath", sys.executable], programs)
