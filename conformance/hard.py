#!/usr/bin/env python3
"""Point 7: the hard set. Hand-made tools that the corpus does not have, through every dialect.

hard.py --bin PATH [--dialect a,b] [--only NAME]
Each tool must come out valid by oracles/check.py, or be quarantined where hard/NAME.json allows it (`may_quarantine`); valid
arguments must come back equal and be admitted by the lowered schema; invalid ones must be refused. Lists of tools (`tools`)
must be valid as a list, with nothing missing. The same input must give the same bytes twice. Exit 0, 1 or 2 as the others.
"""
from __future__ import annotations

import argparse
import collections
import json
import multiprocessing
import subprocess
import sys

import accept
import kit
import roundtrip
import semantics


def load(only: str | None = None) -> dict[str, dict]:
    held = {}
    for path in sorted((kit.HERE / "hard").glob("*.json")):
        if only is None or only in path.stem:
            held[path.stem] = json.loads(path.read_text(encoding="utf-8"))
    return held


def uncovered(held: dict[str, dict]) -> list[str]:
    """Rows of the catalogue and the matrix that no tool stands for, and names that stand for no row."""
    rows = kit.load_toml("hard/coverage.toml")
    want = {f"catalogue {n}" for n in range(1, rows["catalogue"] + 1)} | {f"matrix {m}" for m in rows["matrix"]} | set(rows["others"])
    have = {c for case in held.values() for c in case["covers"]}
    return [f"no tool covers {w}" for w in sorted(want - have)] + [f"unknown row {h}" for h in sorted(have - want)]


# ------------------------------------------------------------------------------------------------ one dialect
def run_dialect(binary: str, dialect: str, held: dict[str, dict]) -> dict:
    seen = {"tools": 0, "valid": 0, "quarantined": [], "limits": [], "arguments": 0, "held": 0, "failures": []}
    fail = seen["failures"].append
    single = {name: case for name, case in held.items() if "tool" in case}
    tools = [case["tool"] for case in single.values()]
    rows = kit.convert(binary, dialect, tools)
    for name, first, second in zip(single, rows, kit.convert(binary, dialect, tools)):
        if json.dumps(first) != json.dumps(second):
            fail(f"{name}: two runs give different output")
    lowered = dict(zip(single, rows))
    for name, row in lowered.items():
        seen["tools"] += 1
        if row["tool"] is None:
            seen["quarantined"].append(f"{name}: {row['quarantine']}")
            if not single[name].get("may_quarantine"):
                fail(f"{name}: quarantined, though it can be made valid: {row['quarantine']}")
            continue
        errors, limits = accept.judge(dialect, row["tool"])
        seen["limits"] += [f"{name}: {limit}" for limit in limits]
        if errors:
            fail(f"{name}: invalid: " + " | ".join(errors[:3]))
        else:
            seen["valid"] += 1
    arguments(binary, dialect, single, lowered, seen)
    for name, case in held.items():
        if "tools" in case:
            as_list(binary, dialect, name, case, seen)
    return seen


def arguments(binary: str, dialect: str, single: dict, lowered: dict, seen: dict) -> None:
    cases = []
    for n, (name, case) in enumerate(single.items()):
        if lowered[name]["tool"] is None:
            continue
        for valid in (True, False):
            for i, value in enumerate(case["valid" if valid else "invalid"]):
                cases.append(roundtrip.Case("hard", name, case["purpose"], f"{'valid' if valid else 'invalid'} {i}", n, case["tool"],
                                            value, valid, False))
    encoded = kit.translate_arguments(binary, "encode", dialect, [(c.tool, c.value) for c in cases])
    back = [i for i, e in enumerate(encoded) if "arguments" in e]
    answers = kit.translate_arguments(binary, "decode", dialect, [(cases[i].tool, encoded[i]["arguments"]) for i in back])
    decoded = dict(zip(back, answers))
    checkers: dict = {}
    for i, case in enumerate(cases):
        row = lowered[case.file]
        if case.file not in checkers:
            checkers[case.file] = semantics.validator(semantics.admits(dialect, row["tool"]))
        wrong = roundtrip.judge(case, row, checkers[case.file], encoded[i], decoded.get(i))
        seen["arguments"] += 1
        if wrong is None:
            seen["held"] += 1
        else:
            seen["failures"].append(f"{case.file}, {case.test}: {wrong}")


def as_list(binary: str, dialect: str, name: str, case: dict, seen: dict) -> None:
    done = subprocess.run(kit.command(binary) + ["convert", "--to", dialect, "-"], input=json.dumps(case["tools"]), text=True,
                          capture_output=True, check=False)
    if done.returncode not in (0, 1):
        raise kit.Fault(f"convert --to {dialect}: {name}: exit {done.returncode}: {done.stderr[-300:]}")
    out = json.loads(done.stdout)
    out = out.get("tools", out.get("functionDeclarations")) if isinstance(out, dict) else out
    seen["tools"] += 1
    rows = accept.oracle().check(dialect, out)
    reasons = [f"{r['oracle']}: {r['message']}" for row in rows for r in row["reasons"]]
    count = len(accept.oracle().flatten(dialect, out))
    if reasons:
        seen["failures"].append(f"{name}: invalid list: " + " | ".join(reasons[:3]))
    elif count != len(case["tools"]) and not case.get("may_quarantine"):
        seen["failures"].append(f"{name}: {len(case['tools'])} tools in, {count} out")
    else:
        seen["valid"] += 1
        if count != len(case["tools"]):
            seen["quarantined"].append(f"{name}: {len(case['tools']) - count} of {len(case['tools'])} left out")


def work(job) -> dict[str, dict | str]:
    binary, wanted, held = job
    out: dict = {}
    for dialect in wanted:
        try:
            out[dialect] = run_dialect(binary, dialect, held)
        except kit.Fault as fault:
            out[dialect] = str(fault)
    return out


def verdict(results: dict[str, dict], gaps: list[str], show: int) -> int:
    faults, rows = list(gaps), []
    for dialect, seen in results.items():
        rows.append([dialect, seen["tools"], seen["valid"], len(seen["quarantined"]), len(seen["limits"]), seen["arguments"], seen["held"],
                     len(seen["failures"])])
        if seen["failures"]:
            faults.append(f"{dialect}: {len(seen['failures'])} findings")
    print("Hard set: hand-made tools, valid or rightly quarantined, with sample arguments there and back\n")
    kit.table(["dialect", "tools", "valid", "quarantined", "over request limits", "arguments", "held", "findings"], rows)
    print()
    reported = collections.defaultdict(list)
    for dialect, seen in results.items():
        for line in seen["quarantined"]:
            reported[line].append(dialect)
    for line, where in sorted(reported.items()):
        print(f"quarantined {line} [{', '.join(where) if len(where) < len(results) else 'every dialect'}]")
    for dialect, seen in results.items():
        for line in kit.few(seen["failures"], show):
            print(f"{dialect}: {line}"[:600])
    for fault in faults:
        print("FAIL " + fault)
    print(f"hard: {len(faults)} violations in {len(results)} dialects")
    return 1 if faults else 0


def main(argv=None) -> int:
    parser = kit.arguments(argparse.ArgumentParser(description=__doc__.splitlines()[0]))
    parser.add_argument("--only", help="only files whose name contains this")
    args = parser.parse_args(argv)
    wanted = kit.dialects_of(args.dialect)
    held = load(args.only)
    gaps = [] if args.only else uncovered(held)
    jobs = min(args.jobs, len(wanted))
    shares = [(args.bin, wanted[i::jobs], held) for i in range(jobs)]
    if jobs == 1:
        parts = [work(shares[0])]
    else:
        with multiprocessing.get_context("fork").Pool(jobs, kit.quiet_stderr) as pool:
            parts = pool.map(work, shares, chunksize=1)
    done = {d: r for part in parts for d, r in part.items()}
    return 2 if kit.is_broken("hard", done) else verdict({d: done[d] for d in wanted}, gaps, args.show)


if __name__ == "__main__":
    sys.exit(main())
