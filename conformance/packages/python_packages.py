"""The wheel and the source distribution, installed by pip."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

from programs import ROOT
from sealed import LISTENING, TOOLS, NotRun, Sealed, without_network

HERE = pathlib.Path(__file__).resolve().parent
# Where the README's gateway listens.
ADDRESS = "http://127.0.0.1:8787"
VERSIONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]

# What `Gateway.start` says where a wheel was built without the program.
WITHOUT_PROGRAM = """
import mcp_tool_gateway
try:
    mcp_tool_gateway.Gateway.start()
except mcp_tool_gateway.GatewayError as error:
    print(error)
"""


def interpreters():
    """By version, the interpreters of this machine: those on PATH, and those that pyenv keeps."""
    kept = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"), "versions")
    return {version: find_interpreter(version, kept) for version in VERSIONS}


def find_interpreter(version, kept):
    for candidate in [sys.executable, shutil.which(f"python{version}"), *sorted(kept.glob(f"{version}.*/bin/python{version}"))]:
        ask = [candidate, "-c", "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"]
        if candidate and subprocess.run(ask, capture_output=True, text=True).stdout.strip() == version:
            return candidate
    return None


def check_python(packages, interpreter, scratch):
    if interpreter is None:
        raise NotRun("this machine has no such interpreter with venv")
    version = subprocess.run([interpreter, "--version"], capture_output=True, text=True).stdout.split()[1]
    sealed = Sealed(scratch / f"python-{version}", {"sh": shutil.which("sh")})
    venv = sealed.folder / "venv"
    sealed.run(interpreter, "-m", "venv", venv)
    before = files_of(venv)
    sealed.add_to_path(venv / "bin")
    python, program = venv / "bin/python", venv / "bin/mcp-tool-gateway"

    sealed.run("pip", "install", "--no-index", "--find-links", packages.folder, "--only-binary", ":all:", "mcp-tool-gateway", offline=True)
    assert program.exists(), f"{packages.wheel.name} has no command mcp-tool-gateway"
    said = sealed.run("mcp-tool-gateway", "--version")
    assert said.split()[-1] == packages.version, said
    seen = json.loads(sealed.run(python, "-I", HERE / "use_gateway.py"))
    judge_use(seen)
    readme = check_readme(sealed)
    # Without --bin: with the program that the wheel has installed.
    cases = sealed.run(python, "-I", ROOT / "clients/python/tests/isolated.py")

    program.rename(venv / "elsewhere")
    said_without = sealed.run(python, "-I", "-c", WITHOUT_PROGRAM)
    assert "mcp-tool-gateway" in said_without and "MCP_TOOL_GATEWAY_BIN" in said_without, said_without
    venv.joinpath("elsewhere").rename(program)

    sealed.run("pip", "uninstall", "--yes", "mcp-tool-gateway")
    left = sorted(files_of(venv) - before)
    assert not left, f"pip uninstall leaves {left}"
    return f"{version}: installed{' without a network' if without_network() else ''}, {said}, {readme}, {summary(cases)}, uninstalled"


def check_readme(sealed):
    """Runs the three lines of the README, as they are, against a gateway that the command starts."""
    with sealed.start("mcp-tool-gateway", "serve", "--port", "0", "--data", sealed.folder / "data") as gateway:
        program = sealed.folder / "readme.py"
        program.write_text(readme_lines("python", gateway.wait_for(LISTENING)))
        said = sealed.run("python", "-I", program)
        gateway.end(signal.SIGTERM, everybody=False)
    assert "'result': 42" in said, said
    return "the README's lines"


def readme_lines(language, url):
    """The first program of the README in that language, for the gateway at `url`."""
    program = re.search(rf"^```{language}\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)[1]
    assert len(program.splitlines()) == 3 and ADDRESS in program, program
    return program.replace(ADDRESS, url)


def summary(cases):
    """The last line that a test runner says."""
    return cases.splitlines()[-1].strip("= ") if cases else "no word"


def judge_use(seen):
    """Whether a program in Python or JavaScript saw what it should, of the gateway and of the engine in process."""
    assert "add" in seen["listed"], seen
    assert seen["called"] == 42, seen
    assert seen["converted"] == EXPECTED, seen["converted"]
    assert seen["after"] == "nobody listens", seen


# The tool of use_gateway.* as OpenAI takes it.
EXPECTED = [
    {
        "type": "function",
        "function": {
            "name": "greet",
            "description": "Says hello",
            "parameters": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        },
    }
]


def files_of(venv):
    """All files of an environment but the caches of what Python and pip themselves import."""
    return {str(path.relative_to(venv)) for path in venv.rglob("*") if "__pycache__" not in path.parts or "mcp_tool_gateway" in str(path)}


def check_source(packages, cache, scratch):
    """Builds the wheel from the source distribution alone, with the registry of crates as its only source, and uses it."""
    folder = scratch / "source"
    wheels = folder / "wheels"
    wheels.mkdir(parents=True)
    environment = {name: text for name, text in os.environ.items() if not name.startswith(("MCP_TOOL_GATEWAY", "MATURIN"))}
    environment |= {"PATH": f"{TOOLS}:{environment['PATH']}", "CARGO_TARGET_DIR": str(cache / "source-target")}
    command = [TOOLS / "python", "-m", "pip", "wheel", "--no-index", "--no-build-isolation", "--no-deps", "--wheel-dir", wheels]
    ended = subprocess.run([*command, packages.sdist], env=environment, cwd=folder, capture_output=True, text=True)
    assert ended.returncode == 0, f"pip could not build {packages.sdist.name}: {(ended.stdout + ended.stderr)[-4000:]}"
    built = next(wheels.glob("*.whl"))

    sealed = Sealed(folder / "user", {"sh": shutil.which("sh")})
    sealed.run(sys.executable, "-m", "venv", sealed.folder / "venv")
    sealed.add_to_path(sealed.folder / "venv/bin")
    sealed.run("pip", "install", "--no-index", built, offline=True)
    said = sealed.run("mcp-tool-gateway", "--version")
    judge_use(json.loads(sealed.run("python", "-I", HERE / "use_gateway.py")))
    return f"{packages.sdist.name} gives {built.name} of {built.stat().st_size:,} bytes; {said}"
