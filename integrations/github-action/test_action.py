"""What the action does with its inputs, and with a server that does not start each time; needs PyYAML, but no gateway.

    python3 -m unittest integrations/github-action/test_action.py
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import tomllib
import unittest

import yaml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ACTION = HERE / "action.yml"
# Keeps its arguments, and fails at the runs that FAILING names.
STAND_IN = f"""#!{sys.executable}
import json, os, pathlib, sys
runs = pathlib.Path(os.environ["RUNS"])
with runs.open("a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
count = len(runs.read_text().splitlines())
if str(count) in os.environ["FAILING"].split(","):
    print("half a report")
    sys.exit(2)
print("# Tools in " + " ".join(sys.argv))
sys.exit(int(os.environ["FINDS"]) if "never" not in sys.argv else 0)
"""


class Action(unittest.TestCase):
    def run_action(self, failing="", finds="0", **inputs):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        program = folder / "programs/mcp-tool-gateway"
        program.parent.mkdir()
        program.write_text(STAND_IN)
        program.chmod(0o755)
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        runs = folder / "runs"
        runs.touch()
        environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "RUNS": str(runs), "FAILING": failing, "FINDS": finds}
        runner = ROOT / "conformance/authors/composite_action.py"
        given = json.dumps({"installer": "none", "fail-on": "error", **inputs})
        command = [sys.executable, runner, ACTION, self.workspace, given]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        self.runs = [json.loads(line) for line in runs.read_text().splitlines()]
        return {**json.loads(done.stdout), "said": done.stderr}

    def test_a_command_is_split_into_words_and_nothing_of_it_is_run(self):
        rows = {
            "python server.py": ["python", "server.py"],
            "python 'a b' \"c  d\" e\\ f '' g'h'": ["python", "a b", "c  d", "e f", "", "gh"],
            "python server.py \\\n  --x\n--y": ["python", "server.py", "--x", "--y"],
            "x); echo INJECTED; y=(": ["x);", "echo", "INJECTED;", "y=("],
            "x $(touch made) `touch made` $HOME * > made & touch made": [
                *("x", "$(touch", "made)", "`touch", "made`", "$HOME", "*", ">", "made", "&", "touch", "made")
            ],
            "x %s \\\\n -- --fail-on never": ["x", "%s", "\\n", "--", "--fail-on", "never"],
            "server 'ü €'": ["server", "ü €"],
        }
        for command, words in rows.items():
            with self.subTest(command):
                done = self.run_action(command=command)
                self.assertEqual(self.runs[0], ["check", "--to", "all", "--fail-on", "error", "--", *words])
                self.assertEqual([run[run.index("--") + 1 :] for run in self.runs], [words] * 3)
                self.assertNotIn("INJECTED", [line.strip() for line in done["said"].splitlines()])
                self.assertEqual([path.name for path in self.workspace.iterdir()], ["mcp-tools.sarif"])

    def test_a_quote_without_an_end_is_an_error(self):
        done = self.run_action(command="python 'server.py")
        self.assertEqual((done["status"], done["outputs"]["status"], self.runs), (2, "2", []))
        self.assertIn("::error::the input command has a quote that does not end", done["said"])

    def test_all_reports_are_written(self):
        for finds in ("0", "1"):
            done = self.run_action(command="x", finds=finds)
            self.assertEqual((done["status"], done["outputs"]), (int(finds), {"sarif": "mcp-tools.sarif", "status": finds}))
            self.assertIn("markdown", done["summary"])
            self.assertIn("sarif", (self.workspace / "mcp-tools.sarif").read_text())

    def test_a_report_that_cannot_be_written_loses_nothing_else(self):
        code_scanning, summary = "no file for code scanning", "no summary"
        rows = [
            ("2", "", True, [code_scanning], [summary]),
            ("3", "mcp-tools.sarif", False, [summary], [code_scanning]),
            ("2,3", "", False, [code_scanning, summary], []),
        ]
        for failing, sarif, has_summary, said, unsaid in rows:
            with self.subTest(failing):
                done = self.run_action(command="x", failing=failing, finds="1")
                self.assertEqual((done["status"], done["outputs"]), (2, {"sarif": sarif, "status": "2"}))
                self.assertEqual(bool(done["summary"]), has_summary)
                # No half of a file is left for code scanning.
                self.assertEqual((self.workspace / "mcp-tools.sarif").exists(), bool(sarif))
                for text in said:
                    self.assertIn(f"::error::the check ended with status 1, but {text} was written", done["said"])
                for text in unsaid:
                    self.assertNotIn(text, done["said"])

    def test_a_check_that_fails_is_the_only_one(self):
        done = self.run_action(command="x", failing="1")
        self.assertEqual((done["status"], done["outputs"], len(self.runs)), (2, {"sarif": "", "status": "2"}, 1))

    def test_a_file_that_cannot_be_written_is_an_error_that_says_so(self):
        done = self.run_action(command="x", sarif="nowhere/x.sarif")
        self.assertEqual((done["status"], done["outputs"]), (2, {"sarif": "", "status": "2"}))
        self.assertIn("no file for code scanning was written", done["said"])

    def test_the_version_is_that_of_the_action(self):
        workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
        self.assertEqual(yaml.safe_load(ACTION.read_text())["inputs"]["version"]["default"], workspace)


class Packages(unittest.TestCase):
    def test_only_what_is_built_is_asked_for(self):
        sys.path.insert(0, str(ROOT / "scripts/packaging"))
        from platforms import optional_dependencies

        built = {f"mcp-tool-gateway-{path.parent.name}" for path in (ROOT / "clients/typescript/npm").glob("*/package.json")}
        self.assertEqual(set(optional_dependencies("1")), built)


if __name__ == "__main__":
    unittest.main()
