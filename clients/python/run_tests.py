#!/usr/bin/env python3
"""All tests of the Python client.

    run_tests.py --install-only --cache FOLDER           installs the SDKs and checkers of tests/requirements-sdks.txt, and google-generativeai, once
    run_tests.py --bin mcp-tool-gateway --fixture gateway-fixture [--native LIBRARY] --cache FOLDER
    run_tests.py … --only sdks                           one part

Two environments, because google-generativeai needs a protobuf that the others cannot have. The engine in process is tested in a copy of the package that has its library. Exit status: 0 good, 1 something fails, 77 with a line `NOT RUN: …` if what it needs cannot be had.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import sys
import time
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "conformance"))
from programs import (  # noqa: E402
    Unusable,
    find_fixture,
    install_once,
    install_python_packages,
    pinned_packages,
    print_table,
    run_to_end,
    versions_beside_newest,
)

ENVIRONMENTS = {"sdks": HERE / "tests/requirements-sdks.txt", "legacy": ROOT / "conformance/oracles/requirements-legacy.txt"}
SHOWN = ("openai", "anthropic", "google-genai", "mistralai", "cohere", "boto3", "ollama", "xai-sdk", "httpx", "httpx2", "mypy", "pyright", "google-generativeai")
LIMIT = 600


@dataclass(frozen=True)
class Part:
    """Tests that run in one process."""

    environment: str
    command: tuple[str, ...]


def pytest(*files: str) -> tuple[str, ...]:
    return ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore::DeprecationWarning", "--rootdir", "tests", *files)


# The longest first, since two run at a time.
PARTS = {
    "types": Part("sdks", pytest("tests/test_types.py")),
    "chaos": Part("sdks", pytest("-s", "tests/test_chaos.py")),
    "sdks": Part("sdks", pytest("tests/test_sdks.py", "tests/test_xai.py", "tests/test_bytes.py", "tests/test_readme.py")),
    "failures": Part("sdks", pytest("tests/test_failures.py", "tests/test_concurrency.py", "tests/test_gateway.py")),
    "engine": Part("sdks", pytest("tests/test_engine.py", "tests/test_engine_converter.py", "tests/test_engine_parity.py")),
    "plan": Part("sdks", pytest("tests/test_plan.py", "tests/test_drift.py", "tests/test_parts.py", "tests/test_everything.py")),
    "google-generativeai": Part("legacy", ("-W", "ignore", "tests/legacy_sdk.py", "--package", "src")),
}


def install(cache: pathlib.Path) -> None:
    for name, requirements in ENVIRONMENTS.items():

        def fill(folder: pathlib.Path, name: str = name, requirements: pathlib.Path = requirements) -> None:
            install_python_packages(requirements, folder)
            if name == "sdks":
                # Its wrapper fetches the checker itself when it runs first.
                status, said = run_to_end([folder / "bin/python", "-m", "pyright", "--version"], HERE, variables(cache), LIMIT)
                if status != 0:
                    raise Unusable(f"pyright could not be installed: {said}")

        # Packages with native code are those of one version of Python.
        install_once(cache / name, f"{sys.version}\n{requirements.read_text()}", fill)


def variables(cache: pathlib.Path) -> dict[str, str]:
    return {"PYRIGHT_PYTHON_CACHE_DIR": str(cache / "pyright"), "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1", "PYTHONPATH": "src"}


def find_native(given: pathlib.Path | None) -> pathlib.Path | None:
    """The engine's library: the one that was named, else the newest that was built; none where there is none."""
    built = [given] if given else sorted((ROOT / "target").glob("*/lib_engine.so"), key=lambda path: path.stat().st_mtime)
    return next((path.resolve() for path in reversed(built) if path.is_file()), None)


def copy_package(native: pathlib.Path, cache: pathlib.Path) -> pathlib.Path:
    """The package with its library, as a wheel has it, and without what was built in its folder."""
    copy = cache / "package"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(HERE / "src", copy, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    # The ending of a module for every Python from 3.10 on, which the library is built for.
    shutil.copy(native, copy / "mcp_tool_gateway/_engine.abi3.so")
    return copy


def find_corpus() -> pathlib.Path | None:
    """The tools of published servers: the large set beside the checkout, which CI must have, else what was captured."""
    places = [ROOT.parent / "shared/corpus/servers"]
    if os.environ.get("CI") != "true":
        places.append(pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "data/corpus/servers")
    found = next((place.resolve() for place in places if place.is_dir()), None)
    if found is None and os.environ.get("CI") == "true":
        sys.exit(f"FAILED: there is no corpus in {places[0]}, which CI must have")
    return found


def run(name: str, cache: pathlib.Path, more: dict[str, str]) -> tuple[str, bool, str, float]:
    part = PARTS[name]
    began = time.monotonic()
    status, said = run_to_end([cache / part.environment / "bin/python", *part.command], HERE, {**variables(cache), **more}, LIMIT)
    return name, status == 0, said, time.monotonic() - began


def report(outcomes: list[tuple[str, bool, str, float]]) -> bool:
    """Prints what was seen; whether anything failed."""
    for name, passed, said, _ in outcomes:
        if not passed:
            print(f"FAILED: {name}\n{said}\n")
    rows = [["part", "outcome", "seconds", "seen"]]
    for name, passed, said, seconds in outcomes:
        lines = [line for line in said.splitlines() if " passed" in line or "calls," in line or "hard tools" in line or "corpus tools" in line or "byte for byte" in line]
        for line in lines or [""]:
            rows.append([name, "ok" if passed else "FAILED", f"{seconds:.0f}", line.strip("= .")])
    print_table(rows)
    return not all(passed for _, passed, _, _ in outcomes)


def shown_versions() -> dict[str, str]:
    pinned = {}
    for requirements in ENVIRONMENTS.values():
        pinned |= pinned_packages(requirements)
    return {name: pinned[name] for name in SHOWN}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, help="the gateway")
    parser.add_argument("--fixture", type=pathlib.Path, help="the fixture's binary")
    parser.add_argument("--native", type=pathlib.Path, help="the engine's library for Python; else the newest under target/")
    parser.add_argument("--cache", type=pathlib.Path, required=True, help="where the environments are")
    parser.add_argument("--install-only", action="store_true")
    parser.add_argument("--only", choices=PARTS, action="append", help="this part; may be given several times")
    given = parser.parse_args()
    cache = given.cache.resolve()
    try:
        install(cache)
        if given.install_only:
            return 0
        if given.bin is None:
            parser.error("--bin is needed")
        fixture = find_fixture(given.fixture)
    except Unusable as problem:
        print(f"NOT RUN: {problem}")
        return 77
    more = {"MCP_TOOL_GATEWAY_BIN": str(given.bin.resolve()), "GATEWAY_FIXTURE": str(fixture), "MCP_TOOL_GATEWAY_CORPUS": str(find_corpus() or "")}
    names = given.only or list(PARTS)
    native = find_native(given.native)
    own = {"engine": {"PYTHONPATH": str(copy_package(native, cache))}} if native else {}
    missing = "engine" in names and native is None
    if missing:
        names.remove("engine")
    print(f"Python {sys.version.split()[0]}\n")
    with versions_beside_newest(shown_versions(), cache / "sdks/bin/python"), concurrent.futures.ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(lambda name: run(name, cache, {**more, **own.get(name, {})}), names))
    if report(outcomes):
        return 1
    if missing:
        print(f"NOT RUN: the engine: {given.native or 'target/*/lib_engine.so'} is not there; build gateway-python, or name its library with --native")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
