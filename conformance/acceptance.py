#!/usr/bin/env python3
"""The page of acceptance by provider: well-known servers, their tools as published and converted, judged by oracles/check.py.

acceptance.py --bin PATH [--data DIR] [--out PAGE | --check PAGE [--sample N]]
Writes the page to --out (standard output if absent). --check judges again, only about N servers with --sample, and fails if PAGE says
something else, or if a converted tool is refused. Exit 0: good; 1: a tool is refused or the page is not current; 2: the binary broke
its line contract.
"""
from __future__ import annotations

import argparse
import collections
import json
import re
import sys
from pathlib import Path

import accept
import kit

REASONS = 3
QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"|`([^`]*)`")
# Words in quotes that say what is wrong; all others are names and values of one tool.
KEYWORDS = frozenset(
    "$defs $ref $schema additionalProperties allOf anyOf const default definitions description enum exclusiveMaximum exclusiveMinimum format "
    "items maxItems maxLength maximum minItems minLength minimum not nullable object oneOf pattern properties propertyNames required strict "
    "string title type uniqueItems".split()
)


def servers(data: Path, wanted: list[str]) -> list[dict]:
    """The captured servers of the page, in its order."""
    held = {}
    for path in sorted((data / "corpus" / "servers").glob("*.json")):
        server = json.loads(path.read_text(encoding="utf-8"))
        held[server["server"]] = server
    return [held[name] for name in wanted if name in held]


def judged(binary: str, pairs: list, dialects: list[str], jobs: int) -> tuple[dict, dict]:
    """For each dialect and server how many tools are accepted; for each dialect why tools are refused."""
    accepted: dict = collections.defaultdict(collections.Counter)
    reasons: dict = collections.defaultdict(collections.Counter)
    for dialect, seen in accept.run(binary, pairs, dialects, jobs).items():
        refused = [(server, [reason]) for server, _, reason in seen["quarantined"]]
        refused += [(server, why) for server, _, why in seen["invalid"]]
        for server, _ in pairs:
            accepted[dialect][server] += 1
        for server, why in refused:
            accepted[dialect][server] -= 1
            for reason in {plain(reason) for reason in why}:
                reasons[dialect][reason] += 1
    return accepted, reasons


def plain(reason: str) -> str:
    """What is wrong, without the names, places and values of one tool."""
    text = re.sub(r"^[\w.-]+ \([\w -]+\) (?:#\S*: )?", "", reason)
    text = re.split(r" at \"| Available Fields", text)[0]
    text = QUOTED.sub(lambda match: f"`{word}`" if (word := match[1] or match[2] or match[3]) in KEYWORDS else "…", text)
    return re.sub(r"\{.*\}", "…", text).strip(" :.")[:140]


def row(server: dict, columns: dict[str, str], before: tuple, after: tuple) -> str:
    name, tools = server["server"], len(server["tools"])
    cells = [cell(before[0][dialect][name], after[0][dialect][name], tools) for dialect in columns]
    return f"| `{name}` | {server['version']} | {tools} | " + " | ".join(cells) + " |"


def cell(before: int, after: int, count: int) -> str:
    """How many tools are accepted before and after; in bold where a request with all tools was refused and no longer is."""
    if before == after == count:
        return f"{count}"
    text = f"{before} → {after}"
    return f"**{text}**" if before < count == after else text


def page(found: list[dict], columns: dict[str, str], before: tuple, after: tuple) -> str:
    count = sum(len(server["tools"]) for server in found)
    lines = [
        "# Acceptance by provider",
        "",
        "Tools of well-known MCP servers, as they were published and after conversion. A provider that refuses one tool refuses the whole request, so that a",
        "list is only as good as its worst tool.",
        "",
        "A cell has the number of tools that the provider's oracle accepts: as published (in the provider's envelope, with name and schema as they are) → converted by the gateway. One",
        "number means all of them, both ways. **Bold**: a request with all tools of the server was refused, and no longer is. The oracles are the providers' own SDKs, protobufs,",
        "grammars and documented rules, not their services ([conformance](../../conformance/README.md)); each tool is judged in a list of its own. For Ollama a tool counts as refused",
        "if its SDK would leave out a part of it without a word.",
        "",
        "`conformance/acceptance.py` writes this page from captured definitions, and `scripts/test` fails when it is no longer true.",
        "",
        "| server | version | tools | " + " | ".join(columns.values()) + " |",
        "| --- | --- | ---: | " + " | ".join("---:" for _ in columns) + " |",
    ]
    lines += [row(server, columns, before, after) for server in found]
    sums = [[sum(side[0][dialect].values()) for side in (before, after)] for dialect in columns]
    lines.append(f"| all | | {count} | " + " | ".join(cell(was, now, count) for was, now in sums) + " |")
    whole = [[sum(side[0][d][s["server"]] == len(s["tools"]) for s in found) for side in (before, after)] for d in columns]
    lines.append(f"| whole lists | | {len(found)} | " + " | ".join(cell(was, now, len(found)) for was, now in whole) + " |")
    lines += ["", "## Why tools are refused as published", "", "The most frequent reasons, with the number of tools.", "", "| provider | reason | tools |", "| --- | --- | ---: |"]
    for dialect, title in columns.items():
        for reason, tools in sorted(before[1][dialect].items(), key=lambda row: (-row[1], row[0]))[:REASONS]:
            lines.append(f"| {title} | {reason.replace('|', chr(92) + '|')} | {tools} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True, help="the binary to judge")
    parser.add_argument("--data", help="folder with corpus/ (default: ../shared, else target/data)")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--out", type=Path, help="the page to write")
    parser.add_argument("--check", type=Path, help="the page that must be current")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="with --check, only about N evenly spread servers")
    args = parser.parse_args()
    if args.sample and not args.check:
        parser.error("--sample goes with --check: a page of some servers is no page")
    settings = kit.load_toml("acceptance.toml")
    columns, data = settings["dialects"], kit.data_dir(args.data)
    found = kit.thin(servers(data, settings["servers"]), args.sample)
    pairs = [(server["server"], tool) for server in found for tool in server["tools"]]
    try:
        before = judged(accept.UNCONVERTED, pairs, list(columns), args.jobs)
        after = judged(args.bin, pairs, list(columns), args.jobs)
    except kit.Fault as fault:
        print(f"acceptance: {fault}", file=sys.stderr)
        return 2
    text = page(found, columns, before, after)
    refused = [f"{title}: {reason} ({tools} tools)" for dialect, title in columns.items() for reason, tools in after[1][dialect].items()]
    for line in refused:
        print(f"refused after conversion: {line}", file=sys.stderr)
    if args.check:
        held = args.check.read_text(encoding="utf-8")
        # Of some servers only their rows can be judged.
        whole = len(found) == len(settings["servers"])
        now = text if whole else "\n".join(row(server, columns, before, after) for server in found)
        stale = sorted(set(now.splitlines()) - set(held.splitlines()))
        if stale or whole and held != text:
            print(f"acceptance: {args.check} is not current; write it anew with --out. It lacks:", *stale, sep="\n", file=sys.stderr)
            return 1
    elif args.out:
        args.out.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    print(f"acceptance: {len(pairs)} tools of {len(found)} servers, {len(columns)} dialects, {len(refused)} reasons to refuse a converted tool", file=sys.stderr)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
