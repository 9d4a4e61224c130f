"""Runs the steps of a composite GitHub Action on this machine, as a runner would. To be run by a Python with PyYAML.

    composite_action.py ACTION.yml WORKSPACE '{"input": "value"}'

Prints `{"status", "outputs", "summary"}`; what steps say goes to standard error.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

EXPRESSION = re.compile(r"\$\{\{\s*(inputs|steps)\.([\w-]+)(?:\.outputs\.([\w-]+))?\s*\}\}")
# As GitHub documents `shell: bash`.
BASH = ["bash", "--noprofile", "--norc", "-eo", "pipefail"]


def evaluate(text, inputs, steps):
    def value(match):
        kind, name, output = match.groups()
        # An unknown name is empty there, and a mistake of the action here.
        return inputs[name] if kind == "inputs" else steps.get(name, {}).get(output, "")

    text = EXPRESSION.sub(value, str(text))
    if "${{" in text:
        raise SystemExit(f"this runner does not know the expression in {text!r}")
    return text


def run(action, workspace, given):
    unknown = given.keys() - action["inputs"].keys()
    if unknown:
        raise SystemExit(f"the action has no inputs {sorted(unknown)}")
    inputs = {name: str(given.get(name, one.get("default", ""))) for name, one in action["inputs"].items()}
    steps, path, status = {}, os.environ["PATH"], 0
    with tempfile.TemporaryDirectory() as folder:
        files = {name: pathlib.Path(folder, name) for name in ("GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")}
        for file in files.values():
            file.touch()
        for step in action["runs"]["steps"]:
            files["GITHUB_OUTPUT"].write_text("")
            own = {name: evaluate(text, inputs, steps) for name, text in step.get("env", {}).items()}
            environment = {**os.environ, **own, **{name: str(file) for name, file in files.items()}}
            environment.update(PATH=path, RUNNER_TEMP=folder, GITHUB_WORKSPACE=str(workspace))
            assert step["shell"] == "bash"
            script = pathlib.Path(folder, "step.sh")
            script.write_text(evaluate(step["run"], inputs, steps))
            status = subprocess.run([*BASH, script], cwd=workspace, env=environment, stdout=sys.stderr).returncode
            outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
            steps[step.get("id", step["name"])] = outputs
            path = ":".join([*reversed(files["GITHUB_PATH"].read_text().split()), os.environ["PATH"]])
            if status:
                break
        outputs = {name: evaluate(one["value"], inputs, steps) for name, one in action["outputs"].items()}
        return {"status": status, "outputs": outputs, "summary": files["GITHUB_STEP_SUMMARY"].read_text()}


if __name__ == "__main__":
    action = yaml.safe_load(pathlib.Path(sys.argv[1]).read_text())
    print(json.dumps(run(action, pathlib.Path(sys.argv[2]).resolve(), json.loads(sys.argv[3]))))
