#!/usr/bin/env python3
"""Points 1 and 2: every corpus tool, alone in a list, in every dialect, judged by oracles/check.py.

accept.py --bin PATH [--dialect a,b] [--sample N] [--before]
--before also judges the tools as they were published, only wrapped in the provider's envelope, and prints both shares.
Exit 0: all accepted and native; 1: something is not; 2: the binary broke its line contract.
"""
from __future__ import annotations

import argparse
import collections
import functools
import json
import multiprocessing
import re
import sys

import kit
import positions
import semantics

# Wraps tools and changes nothing.
UNCONVERTED = str(kit.HERE / "selftest" / "standin.py")
QUARANTINE_LIMIT = 3
TEXT_LIMIT = 0.02
SHARED_LIMITS = re.compile(r"optional parameters over all strict tools|union parameters over all strict tools")
JSON_TEXT = re.compile(r"JSON[ -](text|string|encoded|value)|(as|to|in|of|holds?|carries) JSON\b(?! ?schema)|stringified", re.I)


@functools.cache
def oracle():
    """oracles/check.py as a library; verdicts on equal schemas are remembered, since many dialects emit equal schemas."""
    sys.path.insert(0, str(kit.ORACLES))
    import check
    import sdk_oracles

    for name in ("metaschema", "llguidance_compile", "xgrammar_compile", "openai_strict_fixpoint"):
        setattr(sdk_oracles, name, remembered(getattr(sdk_oracles, name)))
    return check


def remembered(program):
    held: dict = {}

    def ask(*arguments):
        key = json.dumps(arguments)
        if key not in held:
            held[key] = program(*arguments)
        return held[key]

    return ask


def judge(dialect: str, tool) -> tuple[list[str], list[str]]:
    """(errors, per-request limits exceeded by this one tool) for a lowered tool in a list of its own."""
    errors, limits = [], []
    for row in oracle().check(dialect, [tool]):
        for reason in row["reasons"]:
            text = " ".join(f"{reason['oracle']} ({reason['kind']}) {reason['path']}: {reason['message']}".split())[:300]
            (limits if row.get("scope") == "list" and dialect == "anthropic-strict" and SHARED_LIMITS.search(reason["message"])
             else errors).append(text)
        # The SDK takes what it does not know, and leaves it out: the model would never see it.
        errors += [f"{w['path']}: {w['message']}" for w in row["warnings"] if w["message"] == oracle().S.OLLAMA_DROPS]
    return errors, limits


# ------------------------------------------------------------------------------------------------ mechanisms
@functools.cache
def annotations() -> tuple[frozenset, tuple]:
    names = kit.load_toml("annotations.toml")["dropped"]
    return frozenset(n for n in names if not n.endswith("*")), tuple(n[:-1] for n in names if n.endswith("*"))


def may_drop(keyword: str, dialect: str) -> bool:
    exact, prefixes = annotations()
    own = kit.load_toml("annotations.toml").get("dialects", {}).get(dialect, [])
    return keyword in exact or keyword.startswith(prefixes) or keyword in own


def encoding(reason: str) -> str:
    """A short name for the kind of encoding, from the words of the reason (values and names taken out)."""
    if JSON_TEXT.search(reason):
        return "JSON text"
    text = re.sub(r"`[^`]*`|\"[^\"]*\"|'[^']*'|-?\d+(\.\d+)?", "…", reason)
    return re.split(r"[;:.(]", text)[0].strip()[:60] or "unnamed"


def property_paths(schema) -> list[str]:
    return [path for path, _ in positions.walk(schema) if is_property(path, schema)]


def is_property(path: str, schema) -> bool:
    """True for a schema position directly under a `properties` keyword (and not a property called `properties`)."""
    node, steps, last = schema, [positions.unescape(s) for s in path.split("/")[1:]], None
    i = 0
    while i < len(steps):
        last = steps[i]
        held = node[last]
        if last in positions.MAPS or isinstance(held, list):
            node = positions.down(held, steps[i + 1])
            i += 2
        else:
            node = held
            i += 1
    return last == "properties"


def text_properties(original, lowered, encoded: list[dict]) -> tuple[int, int]:
    """(all properties, those whose value travels as JSON text or inside one), seen in the schemas and reported as encoded."""
    props = property_paths(original)
    if not props:
        return 0, 0
    held = set(props)
    places = positions.Positions(original, lowered)
    texts = set()
    for path in props:
        kinds = positions.types(places.nodes[path], places.doc, path) if path in places.nodes else frozenset()
        if kinds & {"object", "array"} and any(positions.only_text(o) for o in places.found[path]):
            texts.add(path)
    for change in encoded:
        if JSON_TEXT.search(change["reason"]):
            path = pointer(change["path"])
            while path and path not in held:
                path = path.rpartition("/")[0]
            if path in held:
                texts.add(path)
    inside = [p for p in props if p not in texts and any(p.startswith(t + "/") for t in texts)
              and not any(o.alts for o in places.found.get(p, ()))]
    return len(props), len(texts) + len(inside)


def pointer(path: str) -> str:
    return path[1:] if path.startswith("#") else path


# ------------------------------------------------------------------------------------------------ one share of the corpus
def share(job) -> dict:
    """All dialects over one slice of the corpus; the slices run in processes of their own."""
    pairs, rows, wanted = job
    out = {}
    count_text = remembered(text_properties)
    for dialect in wanted:
        seen = {"tools": 0, "valid": 0, "quarantined": [], "invalid": [], "limits": [], "fates": collections.Counter(),
                "kinds": collections.Counter(), "bad_drops": collections.Counter(), "properties": 0, "text": 0, "text_tools": []}
        for (server, tool), row in zip(pairs, rows[dialect]):
            seen["tools"] += 1
            for change in row["changes"]:
                seen["fates"][change["fate"]] += 1
                if change["fate"] == "encoded":
                    seen["kinds"][encoding(change["reason"])] += 1
                if change["fate"] == "dropped" and not may_drop(change["keyword"], dialect):
                    seen["bad_drops"][change["keyword"]] += 1
            if row["tool"] is None:
                seen["quarantined"].append((server, tool["name"], row["quarantine"]))
                continue
            errors, limits = judge(dialect, row["tool"])
            if limits:
                seen["limits"].append((server, tool["name"], "; ".join(limits)))
            if errors:
                seen["invalid"].append((server, tool["name"], errors))
            else:
                seen["valid"] += 1
            lowered = semantics.canonical(dialect, semantics.schema_of(dialect, row["tool"]))
            encoded = [change for change in row["changes"] if change["fate"] == "encoded"]
            props, texts = count_text(tool.get("inputSchema"), lowered, encoded)
            seen["properties"] += props
            seen["text"] += texts
            if texts:
                seen["text_tools"].append((server, tool["name"], texts))
        out[dialect] = seen
    return out


def merged(parts: list[dict], dialect: str) -> dict:
    out = parts[0][dialect]
    for part in parts[1:]:
        for key, value in part[dialect].items():
            out[key] = out[key] + value
    return out


def run(binary: str, pairs: list, wanted: list[str], jobs: int) -> dict[str, dict]:
    tools = [tool for _, tool in pairs]
    rows = {d: kit.convert(binary, d, tools) for d in wanted}
    jobs = max(1, min(jobs, len(pairs)))
    cuts = [slice(i, None, jobs) for i in range(jobs)]
    work = [(pairs[c], {d: r[c] for d, r in rows.items()}, wanted) for c in cuts]
    if jobs == 1:
        parts = [share(work[0])]
    else:
        with multiprocessing.get_context("fork").Pool(jobs, kit.quiet_stderr) as pool:
            parts = pool.map(share, work, chunksize=1)
    return {d: merged(parts, d) for d in wanted}


def verdict(results: dict[str, dict], show: int, whole: bool = False) -> int:
    excepted = {(e["dialect"], e["server"], e["tool"]): e["reason"] for e in kit.load_toml("exceptions.toml").get("exception", [])}
    faults: list[str] = []
    rows = []
    for dialect, seen in results.items():
        invalid = [i for i in seen["invalid"] if (dialect, i[0], i[1]) not in excepted]
        rows.append([dialect, seen["tools"], seen["valid"], len(seen["quarantined"]), len(invalid),
                     len(seen["invalid"]) - len(invalid), len(seen["limits"])])
        seen["judged"] = invalid
        stale = {k for k in excepted if k[0] == dialect} - {(dialect, i[0], i[1]) for i in seen["invalid"]}
        faults += [f"{dialect}: exception for {k[1]} / {k[2]} is no longer needed" for k in sorted(stale) if whole]
        if invalid:
            faults.append(f"{dialect}: {len(invalid)} invalid tools")
        if len(seen["quarantined"]) > QUARANTINE_LIMIT:
            faults.append(f"{dialect}: {len(seen['quarantined'])} quarantined, at most {QUARANTINE_LIMIT}")
    print("Accepted: corpus tools, each in a list of its own, judged by oracles/check.py\n")
    kit.table(["dialect", "tools", "valid", "quarantined", "invalid", "excepted", "over request limits"], rows)

    print("\nMechanisms: change entries by fate, encodings by kind, corpus properties carried as JSON text (at most 2 %)\n")
    rows = []
    for dialect, seen in results.items():
        part = seen["text"] / seen["properties"] if seen["properties"] else 0.0
        rows.append([dialect, *(seen["fates"][f] for f in kit.FATES), seen["properties"], seen["text"], f"{part:.2%}"])
        if part > TEXT_LIMIT:
            faults.append(f"{dialect}: {part:.2%} of properties are JSON text, at most {TEXT_LIMIT:.0%}")
        for keyword, count in seen["bad_drops"].most_common():
            faults.append(f"{dialect}: `{keyword}` dropped {count} times, but it is not in annotations.toml")
    kit.table(["dialect", *kit.FATES, "properties", "JSON text", "share"], rows)
    print()
    for dialect, seen in results.items():
        if seen["kinds"]:
            print(f"{dialect}: encoded " + ", ".join(f"{k} {n}" for k, n in seen["kinds"].most_common(12)))

    for dialect, seen in results.items():
        for server, tool, reason in seen["quarantined"][:show]:
            print(f"{dialect}: quarantined {server} / {tool}: {reason}")
        for server, tool, reason in seen["limits"]:
            print(f"{dialect}: over the limits of one request, excepted: {server} / {tool}: {reason}")
        for server, tool, reasons in seen["judged"][:show]:
            print(f"{dialect}: INVALID {server} / {tool}: " + " | ".join(reasons[:3]))
        if seen["judged"]:
            common = collections.Counter(re.sub(r"'[^']*'|#\S*|\d+", "…", r) for _, _, rs in seen["judged"] for r in set(rs))
            for text, count in common.most_common(show):
                print(f"{dialect}: {count} x {text[:200]}")
        worst = sorted(seen["text_tools"], key=lambda t: -t[2])[:3]
        if worst and seen["text"] > TEXT_LIMIT * seen["properties"]:
            print(f"{dialect}: most JSON text in " + ", ".join(f"{s} / {t} ({n})" for s, t, n in worst))
    print()
    for fault in faults:
        print("FAIL " + fault)
    print(f"accept: {len(faults)} violations in {len(results)} dialects")
    return 1 if faults else 0


def compare(before: dict[str, dict], after: dict[str, dict]) -> None:
    """The shares of tools that are accepted as they were published, and converted. What is quarantined is not accepted."""
    print("\nBefore and after: tools accepted as published, only wrapped, and converted\n")
    rows = []
    for dialect, seen in after.items():
        count, wrapped, converted = seen["tools"], before[dialect]["valid"], seen["valid"]
        rows.append([dialect, count, wrapped, f"{wrapped / count:.1%}", converted, f"{converted / count:.1%}"])
    kit.table(["dialect", "tools", "accepted before", "share", "accepted after", "share"], rows)
    print()


def main(argv=None) -> int:
    parser = kit.arguments(argparse.ArgumentParser(description=__doc__.splitlines()[0]))
    parser.add_argument("--before", action="store_true", help="also judge the tools as they were published")
    args = parser.parse_args(argv)
    wanted = kit.dialects_of(args.dialect)
    pairs = kit.corpus(kit.data_dir(args.data), args.sample)
    try:
        results = run(args.bin, pairs, wanted, args.jobs)
        if args.before:
            compare(run(UNCONVERTED, pairs, wanted, args.jobs), results)
        return verdict(results, args.show, whole=not args.sample)
    except kit.Fault as fault:
        print(f"accept: {fault}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
