"""The npm packages, installed by npm into a fresh project."""

import json
import pathlib
import shutil
import signal
import subprocess
import urllib.request

from programs import Unusable
from python_packages import judge_use, readme_lines
from sealed import LISTENING, Sealed, without_network

HERE = pathlib.Path(__file__).resolve().parent


def check_node(packages, node, scratch):
    """With that Node, or the one on PATH; npm is the one on PATH."""
    node = node or shutil.which("node")
    if not node or not shutil.which("npm"):
        raise Unusable("node and npm are not on PATH")
    version = subprocess.run([node, "--version"], capture_output=True, text=True).stdout.strip()
    programs = {name: shutil.which(name) for name in ("sh", "npm", "npx")}
    sealed = Sealed(scratch / f"node-{version}", {"node": node, **programs})
    project = sealed.folder / "project"
    project.mkdir()
    (project / "package.json").write_text('{"private": true, "type": "module"}\n')
    run = lambda *command, **more: sealed.run(*command, folder=project, **more)

    run("npm", "install", "--no-audit", "--no-fund", *packages.tarballs, offline=True)
    installed = sorted(path.name for path in (project / "node_modules").iterdir() if not path.name.startswith("."))
    assert len(installed) == 2, f"npm installed {installed}"
    said = run("npx", "mcp-tool-gateway", "--version")
    assert said.split()[-1] == packages.version, said
    shutil.copy(HERE / "use_gateway.mjs", project)
    judge_use(json.loads(run("node", "use_gateway.mjs")))

    by_group = serve(sealed, project, "npx", "mcp-tool-gateway", number=signal.SIGINT, everybody=True)
    launcher = project / "node_modules/.bin/mcp-tool-gateway"
    alone = serve(sealed, project, launcher, number=signal.SIGTERM, everybody=False)

    program = project / "node_modules/mcp-tool-gateway-linux-x64-gnu/bin/mcp-tool-gateway"
    program.rename(project / "elsewhere")
    said_without = run("sh", "-c", "npx mcp-tool-gateway --version 2>&1 || true")
    assert "mcp-tool-gateway-linux-x64-gnu is not installed" in said_without, said_without
    project.joinpath("elsewhere").rename(program)

    run("npm", "uninstall", "--no-audit", "--no-fund", "mcp-tool-gateway", "mcp-tool-gateway-linux-x64-gnu")
    left = [str(path) for path in project.joinpath("node_modules").rglob("*") if not path.is_dir() and path.name != ".package-lock.json"]
    assert not left, f"npm uninstall leaves {left}"
    network = " without a network" if without_network() else ""
    return f"{version}: installed{network}, {said}, the README's lines, served and ended with {by_group} (Ctrl-C) and {alone} (SIGTERM), uninstalled"


def serve(sealed, project, *command, number, everybody):
    """Serves the demo, runs the three lines of the README, and ends it: the exit status."""
    (project / "config.json").write_text(json.dumps({"mcpServers": {"demo": {"type": "builtin"}}}))
    words = [*command, "serve", "--port", "0", "--config", "config.json", "--data", project / "data"]
    with sealed.start(*words, folder=project) as group:
        url = group.wait_for(LISTENING)
        with urllib.request.urlopen(f"{url}/health", timeout=30) as answer:
            assert answer.status == 200, answer.status
        (project / "readme.mjs").write_text(readme_lines("ts", url))
        said = sealed.run("node", "readme.mjs", folder=project)
        assert '"result":42' in said or "result: 42" in said, said
        status = group.end(number, everybody)
    try:
        urllib.request.urlopen(f"{url}/health", timeout=30)
    except OSError:
        return status
    raise AssertionError(f"{url} still answers after its end")
