#!/usr/bin/env python3
"""Whole lists: 200 and 600 corpus tools behind the gateway, listed over HTTP in every dialect, judged as one request by oracles/check.py.

lists.py --bin PATH [--dialect a,b]
Exit 0: every list is accepted and nothing is out of reach; 1: something is not; 2: the gateway does not start or there is no data.
"""
from __future__ import annotations

import argparse
import json
import sys
import tempfile
import urllib.request
from pathlib import Path

import accept
import kit
from programs import Unusable, print_table, serving

SIZES = {"few": 200, "many": 600}
SEARCH = ["search_tools", "describe_tool", "call_tool"]
WAIT = 120


def tools_of(data: Path, count: int) -> list[dict]:
    """So many tools with different names, evenly spread over the corpus."""
    distinct = {tool["name"]: tool for _, tool in kit.corpus(data)}
    return kit.thin(list(distinct.values()), count)


def fetch(port: str, dialect: str, server: str) -> tuple[dict, list[dict], list[dict]]:
    """The headers, the list and the report."""
    headers, tools = get(f"http://127.0.0.1:{port}/tools/{dialect}?server={server}&list=1")
    _, reported = get(f"http://127.0.0.1:{port}/tools/{dialect}?server={server}&report=true")
    return headers, tools, reported["report"]


def get(address: str):
    with urllib.request.urlopen(address, timeout=WAIT) as answer:
        return {name.lower(): value for name, value in answer.headers.items()}, json.load(answer)


def problems(dialect: str, headers: dict, tools: list[dict], report: list[dict]) -> list[str]:
    """What is wrong with a list as one request."""
    check = accept.oracle()
    tools = check.flatten(dialect, tools)
    _, whole = check.PROFILES[dialect]()
    found = [message for level, _, message in whole(tools) if level == "error"]
    names = [check.tool_name(tool) for tool in tools]
    omitted = [row["wireName"] for row in report if row.get("omitted")]
    loosened = [row["wireName"] for row in report if row.get("notStrict") and not row.get("omitted")]
    for header, rows in (("x-tools-omitted", omitted), ("x-tools-not-strict", loosened)):
        if int(headers.get(header, 0)) != len(rows):
            found.append(f"{header} is {headers.get(header)}, and the report has {len(rows)}")
    listed = [row["wireName"] for row in report if not row.get("omitted") and not row.get("quarantine")]
    if sorted(listed) != sorted(names):
        found.append("the report has other tools than the list")
    if omitted and names[-3:] != SEARCH:
        found.append(f"{len(omitted)} tools are out of reach: the list ends with {names[-3:]}")
    # Tools of servers are judged by accept.py, each by itself; those of search, and those that are not strict in a strict list, are only here.
    special = tools[-3:] if omitted else []
    special += [tool for tool, name in zip(tools, names) if name in loosened]
    for tool in special:
        is_loose = dialect.endswith("-strict") and check.tool_name(tool) in loosened
        errors, _ = accept.judge(dialect.removesuffix("-strict") if is_loose else dialect, tool)
        found += [f"{check.tool_name(tool)}: {error}" for error in errors]
    return found


def judge(binary: str, data: Path, dialects: list[str]) -> int:
    rows, wrong = [["dialect", *(f"{count} tools" for count in SIZES.values())]], []
    with tempfile.TemporaryDirectory() as folder:
        servers = {}
        for name, count in SIZES.items():
            path = Path(folder) / f"{name}.json"
            path.write_text(json.dumps(tools_of(data, count)), encoding="utf-8")
            servers[name] = {"command": sys.executable, "args": [str(kit.HERE / "lists_server.py"), str(path)]}
        config = Path(folder) / "config.json"
        config.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
        with serving(kit.command(binary)[-1], str(config), str(Path(folder) / "data")) as (_, port):
            for dialect in dialects:
                cells = []
                for server in SIZES:
                    headers, tools, report = fetch(port, dialect, server)
                    found = problems(dialect, headers, tools, report)
                    wrong += [f"{dialect}, {SIZES[server]} tools: {problem}" for problem in found]
                    strict = sum(row["strict"] for row in report if not row.get("omitted"))
                    cells.append(f"{len(tools)} listed, {headers.get('x-tools-omitted', 0)} omitted, {strict} strict")
                rows.append([dialect, *cells])
    print_table(rows)
    for problem in wrong[:50]:
        print(problem)
    print(f"{len(dialects)} dialects, {len(wrong)} problems")
    return 1 if wrong else 0


def main() -> int:
    args = kit.arguments(argparse.ArgumentParser(description=__doc__.splitlines()[0])).parse_args()
    try:
        return judge(args.bin, kit.data_dir(args.data), kit.dialects_of(args.dialect))
    except (Unusable, OSError) as problem:
        print(f"lists.py: {problem}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
