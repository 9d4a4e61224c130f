"""The GitHub Action and the hook of pre-commit, each with the server of examples/server and with bad ones."""

import json
import os
import shutil
import subprocess
import sys
import zipfile

from programs import ROOT

ACTION = ROOT / "integrations/github-action/action.yml"
HOOKS = ROOT / ".pre-commit-hooks.yaml"
EXAMPLE = ROOT / "examples/server"
PUBLISHED = "OWNER/mcp-tool-gateway"
# What else a workflow may use: nothing of it is ours to run.
FOREIGN = ("actions/checkout@", "actions/setup-python@", "github/codeql-action/upload-sarif@")


def packages(gateway, folder):
    """Stand-ins for the two packages, which have nothing but the command; installed by the ordinary clients, offline."""
    script = f'#!/bin/sh\nexec "{gateway}" "$@"\n'
    wheel = folder / "mcp_tool_gateway-9.9.9-py3-none-any.whl"
    info = "mcp_tool_gateway-9.9.9.dist-info"
    command = "mcp_tool_gateway-9.9.9.data/scripts/mcp-tool-gateway"
    with zipfile.ZipFile(wheel, "w") as archive:
        executable = zipfile.ZipInfo(command)
        executable.external_attr = 0o100755 << 16
        archive.writestr(executable, script)
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: mcp-tool-gateway\nVersion: 9.9.9\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in [*archive.namelist(), f"{info}/RECORD"]))
    node = folder / "package"
    node.mkdir()
    manifest = {"name": "mcp-tool-gateway", "version": "9.9.9", "bin": {"mcp-tool-gateway": "run.sh"}}
    (node / "package.json").write_text(json.dumps(manifest))
    (node / "run.sh").write_text(script)
    (node / "run.sh").chmod(0o755)
    tarball = folder / "mcp-tool-gateway-9.9.9.tgz"
    subprocess.run(["tar", "-czf", tarball, "-C", folder, "package"], check=True)
    return folder, tarball


def run_action(python, workspace, environment, **inputs):
    given = json.dumps({name.replace("_", "-"): value for name, value in inputs.items()})
    command = [python, ROOT / "conformance/authors/composite_action.py", ACTION, workspace, given]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if not done.stdout:
        return {"status": None, "outputs": {}, "summary": "", "said": done.stderr}
    return {**json.loads(done.stdout), "said": done.stderr}


def try_action(gateway, python, programs, broken, url, folder):
    """Rows and failures of the action; `programs` is a folder with a Python that has the SDK."""
    workspace = folder / "action"
    workspace.mkdir()
    index, tarball = packages(gateway, folder)
    # Only the stand-ins: whether the packages are published yet does not matter here.
    environment = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index)}
    environment["PATH"] = f"{programs}:{index / 'package'}:{environment['PATH']}"
    (index / "package/mcp-tool-gateway").symlink_to(gateway)
    tools = {"tools": [{"name": "text", "description": "Arguments that are text", "inputSchema": {"type": "string"}}]}
    (workspace / "tools.json").write_text(json.dumps(tools, indent=1))
    server = f"{sys.executable} {broken}"
    cases = [
        ("bad command, npm", {"command": f"{server} 'bad'", "installer": "npm", "version": f"file:{tarball}"}, 1, "schema"),
        ("bad file", {"file": "tools.json", "to": "openai,gemini", "installer": "none"}, 1, "tools.json:"),
        ("bad, never fails", {"file": "tools.json", "fail_on": "never", "sarif": "out.sarif", "installer": "none"}, 0, "tools.json:"),
        ("good url", {"url": url, "installer": "none"}, 0, "0 errors"),
        ("broken command", {"command": f"{server} exits", "installer": "none"}, 2, "cannot read config.toml"),
        ("nothing to check", {"installer": "none"}, 2, "one of the inputs"),
        ("two to check", {"file": "tools.json", "url": url, "installer": "none"}, 2, "2 are given"),
        ("unknown installer", {"file": "tools.json", "installer": "cargo"}, 2, "pypi, npm or none"),
    ]
    rows, failures = try_workflow(python, environment, folder / "workflow")
    for name, inputs, status, text in cases:
        done = run_action(python, workspace, environment, **inputs)
        wrong = [] if done["status"] == status else [f"status {done['status']} instead of {status}"]
        if text not in done["said"]:
            wrong.append(f"{text!r} is not in the log: {done['said'][-600:]}")
        if status < 2 and not wrong:
            wrong += wrong_report(workspace, inputs, done, "bad" in name)
        failures += [f"action, {name}: {one}" for one in wrong]
        rows.append([f"action: {name}", str(done["status"]), "FAILED" if wrong else "ok"])
    return rows, failures


def try_workflow(python, environment, workspace):
    """Rows and failures of the steps in the example's workflow: the action, installed from PyPI's stand-in, and the tests with the cassette."""
    shutil.copytree(EXAMPLE, workspace)
    [workflow] = (workspace / ".github/workflows").iterdir()
    rows, failures = [], []
    [job] = read_yaml(python, workflow)["jobs"].values()
    for step in job["steps"]:
        name, wrong = step.get("run") or step["uses"], []
        if "run" in step:
            done = subprocess.run(["bash", "-e", "-c", name], cwd=workspace, env=environment, capture_output=True, text=True)
            status, said = done.returncode, done.stdout + done.stderr
        elif name.startswith(f"{PUBLISHED}/{ACTION.parent.relative_to(ROOT)}@"):
            done = run_action(python, workspace, environment, **step["with"], version="9.9.9")
            status, said = done["status"], done["said"]
            wrong = [] if status else list(wrong_report(workspace, step["with"], done, False))
        else:
            status, said = 0 if name.startswith(FOREIGN) else None, ""
        if status != 0:
            wrong.append(f"status {status}: {said[-1500:]}")
        failures += [f"workflow, {name}: {one}" for one in wrong]
        rows.append([f"workflow: {name}", str(status), "FAILED" if wrong else "ok"])
    return rows, failures


def read_yaml(python, path):
    load = "import json, sys, yaml; json.dump(yaml.load(open(sys.argv[1]), yaml.BaseLoader), sys.stdout)"
    return json.loads(subprocess.run([python, "-c", load, path], capture_output=True, text=True, check=True).stdout)


def wrong_report(workspace, inputs, done, is_bad):
    """What is wrong with the summary and with the file for code scanning."""
    if not done["summary"].startswith("# Tools in"):
        yield f"the summary is {done['summary'][:200]!r}"
    expected = inputs.get("sarif", "mcp-tools.sarif")
    if done["outputs"] != {"sarif": expected, "status": str(done["status"])}:
        yield f"the outputs are {done['outputs']}"
    sarif = workspace / expected
    results = json.loads(sarif.read_text())["runs"][0]["results"]
    sarif.unlink()
    if any(result["level"] == "error" for result in results) != is_bad:
        yield f"the file for code scanning has {results}"


def git(folder, *words):
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", folder, *identity, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def try_hook(gateway, python, programs, broken, folder):
    """Rows and failures of the hook, run by pre-commit for the example as it is, and with bad servers in it."""
    hooks, sample, commands = folder / "hooks", folder / "sample", folder / "commands"
    for path in (hooks, commands):
        path.mkdir()
    shutil.copy(HOOKS, hooks)
    git(hooks, "init", "-q")
    git(hooks, "add", ".")
    git(hooks, "commit", "-q", "-m", "hooks")
    git(hooks, "tag", "v0.1.0")
    (commands / "mcp-tool-gateway").symlink_to(gateway)
    environment = {
        **os.environ,
        "PATH": f"{programs}:{commands}:{os.environ['PATH']}",
        "PRE_COMMIT_HOME": str(folder / "pre-commit"),
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    shutil.copytree(EXAMPLE, sample)
    git(sample, "init", "-q")
    # Where the hooks come from is all that is not as it stands there.
    configuration = sample / ".pre-commit-config.yaml"
    text = configuration.read_text().replace(f"https://github.com/{PUBLISHED}", str(hooks))
    rows, failures = [], []
    # What the guide says about changes of other files.
    narrowed = text + "        files: server\\.py\n        always_run: false\n"
    for name, status, expected in [("good", 0, "Passed"), ("narrowed", 0, "Skipped"), ("bad", 1, "[tool-left-out]"), ("exits", 1, "cannot read config.toml")]:
        if name in ("bad", "exits"):
            shutil.copy(broken, sample / "server.py")
            configuration.write_text(text.replace("server.py]", f"server.py, {name}]"))
        else:
            configuration.write_text(text if name == "good" else narrowed)
        git(sample, "add", ".")
        files = ["--files", "README.md"] if name == "narrowed" else ["--all-files"]
        command = [python, "-m", "pre_commit", "run", *files, "--color", "never"]
        done = subprocess.run(command, cwd=sample, env=environment, capture_output=True, text=True)
        good = done.returncode == status and expected in done.stdout
        if not good:
            failures.append(f"hook, {name}: {done.returncode} and {(done.stdout + done.stderr)[-800:]!r}")
        rows.append([f"pre-commit: {name} server", str(done.returncode), "ok" if good else "FAILED"])
    return rows, failures
