#!/usr/bin/env python3
"""Point 5: the JSON Schema test suite through every dialect, there and back.

roundtrip.py --bin PATH [--dialect a,b] [--sample N] [--optional]
Each suite schema becomes the required property `value` of a tool. A valid instance must come back equal and the lowered
schema must accept its encoded form; an invalid one must be refused by encode or reported by decode. `open = all`, coercion and
repair off. Exit 0: all cases hold; 1: some do not; 2: the binary broke its line contract.
"""
from __future__ import annotations

import argparse
import collections
import json
import sys
import urllib.parse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kit
import semantics

DRAFTS = {"draft7": "http://json-schema.org/draft-07/schema#",
          "draft2020-12": "https://json-schema.org/draft/2020-12/schema"}
OTHER_LIMIT = 0.02
DATA = ("enum", "const", "default", "examples")
NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
REFS = ("$ref", "$dynamicRef", "$recursiveRef")


@dataclass(frozen=True)
class Case:
    """One test of the suite, with the tool its schema became."""
    draft: str
    file: str
    group: str
    test: str
    number: int  # of the group, so that equal tools are converted once
    tool: dict
    value: Any
    valid: bool
    optional: bool

    @property
    def label(self) -> str:
        return f"{self.draft}/{self.file}: {self.group} / {self.test}"


# ------------------------------------------------------------------------------------------------ wrapping
def sets_base(node: dict, draft: str) -> bool:
    own = node.get("$id")
    if not isinstance(own, str) or not own or own.startswith("#"):
        return False
    return not (draft == "draft7" and "$ref" in node)  # draft 7: everything beside $ref is ignored


def rebase(node: Any, draft: str) -> Any:
    """The schema as it must be written when its root moves to #/properties/value. What stands under an $id of its own keeps
    its base and is left alone; anchors belong to the document and stay."""
    if isinstance(node, list):
        return [rebase(v, draft) for v in node]
    if not isinstance(node, dict) or sets_base(node, draft):
        return node
    out = {}
    for key, value in node.items():
        if key in REFS and isinstance(value, str) and (value == "#" or value.startswith("#/")):
            value = "#/properties/value" + value[1:]
        elif key in NAMED and isinstance(value, dict):
            value = {k: rebase(v, draft) for k, v in value.items()}
        elif key not in DATA:
            value = rebase(value, draft)
        out[key] = value
    return out


def wrap(schema: Any, draft: str) -> dict:
    inner = rebase(schema, draft)
    if isinstance(inner, dict) and inner.get("$schema") == DRAFTS[draft]:
        inner = {k: v for k, v in inner.items() if k != "$schema"}
    return {"name": "suite", "description": "A case of the JSON Schema test suite.", "inputSchema": {
        "$schema": DRAFTS[draft], "type": "object", "properties": {"value": inner}, "required": ["value"]}}


def remote(schema: Any, draft: str) -> bool:
    """Whether some reference leads out of the document."""
    known, asked = {""}, []
    todo = [(schema, "")]
    while todo:
        node, base = todo.pop()
        if isinstance(node, list):
            todo += [(v, base) for v in node]
        if not isinstance(node, dict):
            continue
        if sets_base(node, draft):
            base = urllib.parse.urljoin(base, node["$id"]).split("#")[0]
            known.add(base)
        for key, value in node.items():
            if key in REFS and isinstance(value, str):
                asked.append(base if value.startswith("#") else urllib.parse.urljoin(base, value).split("#")[0])
            elif key in NAMED and isinstance(value, dict):
                todo += [(v, base) for v in value.values()]
            elif key not in DATA:
                todo.append((value, base))
    return any(a not in known for a in asked)


def suite(data: Path) -> tuple[list[Case], dict]:
    """All cases, and the schema of each group as the suite has it."""
    cases, schemas, number = [], {}, 0
    for draft in DRAFTS:
        top = data / "json-schema-test-suite" / "tests" / draft
        for path in sorted(top.glob("*.json")) + sorted(top.glob("optional/*.json")):
            name = path.relative_to(top).as_posix()
            for group in json.loads(path.read_text(encoding="utf-8")):
                tool = wrap(group["schema"], draft)
                schemas[draft, name, group["description"]] = group["schema"]
                for test in group["tests"]:
                    cases.append(Case(draft, name, group["description"], test["description"], number, tool,
                                      {"value": test["data"]}, test["valid"], name.startswith("optional/")))
                number += 1
    return cases, schemas


# ------------------------------------------------------------------------------------------------ exclusions
class Exclusions:
    """roundtrip-exclusions.toml; every entry must match something and be what it says it is."""

    def __init__(self, cases: list[Case], schemas: dict, held: dict):
        self.faults: list[str] = []
        self.entries = held.get("exclude", [])
        for entry in self.entries:
            name = f"{entry.get('draft')}/{entry.get('file')}: {entry.get('group')}"
            if not entry.get("reason") or entry.get("category") not in ("remote", "vocabulary", "other"):
                self.faults.append(f"exclusion without a reason or category: {name}")
            if not any(self.matches(entry, c) for c in cases):
                self.faults.append(f"exclusion matches no case: {name}")
            schema = schemas.get((entry.get("draft"), entry.get("file"), entry.get("group")))
            if entry.get("category") == "remote" and not remote(schema, entry["draft"]):
                self.faults.append(f"excluded as remote, but every reference is local: {name}")
            if entry.get("category") == "vocabulary" and not (
                    isinstance(schema, dict) and schema.get("$schema") not in DRAFTS.values()):
                self.faults.append(f"excluded for its vocabulary, but it has a standard $schema: {name}")
        self.index: dict = collections.defaultdict(list)
        for entry in self.entries:
            self.index[entry.get("draft"), entry.get("file"), entry.get("group")].append(entry)

    @staticmethod
    def matches(entry: dict, case: Case) -> bool:
        return (entry.get("draft"), entry.get("file"), entry.get("group")) == (case.draft, case.file, case.group) \
            and entry.get("test", case.test) == case.test

    def category(self, case: Case, dialect: str) -> str | None:
        for entry in self.index.get((case.draft, case.file, case.group), ()):
            if self.matches(entry, case) and dialect in entry.get("dialects", [dialect]):
                return entry["category"]
        return None


# ------------------------------------------------------------------------------------------------ one dialect
def judge(case: Case, row: dict, checker, encoded: dict, decoded: dict | None) -> str | None:
    """What is wrong with one case, or None."""
    if case.valid:
        if row["tool"] is None:
            return f"valid instance, but the tool is quarantined: {row['quarantine']}"
        if "error" in encoded:
            return f"valid instance, encode refuses: {encoded['error']['message']}"
        if "error" in decoded:
            return f"valid instance, decode reports: {decoded['error']['message']}; encoded {brief(encoded['arguments'])}"
        if not kit.same(decoded["arguments"], case.value):
            return f"came back different: {brief(case.value)} -> {brief(encoded['arguments'])} -> {brief(decoded['arguments'])}"
        ok, why = semantics.accepts(checker, encoded["arguments"])
        return None if ok else f"lowered schema refuses {brief(encoded['arguments'])}: {why}"
    if "error" in encoded or row["tool"] is None or "error" in decoded:
        return None
    return f"invalid instance accepted: {brief(case.value)} -> {brief(encoded['arguments'])} -> {brief(decoded['arguments'])}"


def brief(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else text[:157] + "..."


def run_dialect(binary: str, dialect: str, cases: list[Case]) -> list[tuple[Case, str | None]]:
    tools = {c.number: c.tool for c in cases}
    rows = dict(zip(tools, kit.convert(binary, dialect, list(tools.values()), "--open", "all")))
    checkers = {n: semantics.validator(semantics.admits(dialect, r["tool"])) for n, r in rows.items() if r["tool"] is not None}
    encoded = kit.translate_arguments(binary, "encode", dialect, [(c.tool, c.value) for c in cases], "--open", "all")
    back = [i for i, e in enumerate(encoded) if "arguments" in e]
    answers = kit.translate_arguments(binary, "decode", dialect, [(cases[i].tool, encoded[i]["arguments"]) for i in back],
                                      "--open", "all")
    decoded = dict(zip(back, answers))
    return [(c, judge(c, rows[c.number], checkers.get(c.number), encoded[i], decoded.get(i))) for i, c in enumerate(cases)]


def work(job) -> tuple[str, list | str]:
    binary, dialect, cases = job
    sys.setrecursionlimit(10_000)
    try:
        return dialect, run_dialect(binary, dialect, cases)
    except kit.Fault as fault:
        return dialect, str(fault)


def counted(results: list[tuple[Case, str | None]], dialect: str, exclusions: Exclusions) -> dict:
    seen = {"cases": 0, "held": 0, "remote": 0, "vocabulary": 0, "other": 0, "failures": [], "optional": 0, "optional_held": 0,
            "optional_failures": []}
    for case, wrong in results:
        if case.optional:
            seen["optional"] += 1
            if wrong is None:
                seen["optional_held"] += 1
            else:
                seen["optional_failures"].append(f"{case.label}: {wrong}")
            continue
        seen["cases"] += 1
        category = exclusions.category(case, dialect)
        if category:
            seen[category] += 1
        elif wrong is None:
            seen["held"] += 1
        else:
            seen["failures"].append(f"{case.label}: {wrong}")
    return seen


def verdict(results: dict[str, dict], exclusions: Exclusions, show: int, optional: bool) -> int:
    faults = list(exclusions.faults)
    rows = []
    for dialect, seen in results.items():
        part = seen["other"] / seen["cases"] if seen["cases"] else 0.0
        rows.append([dialect, seen["cases"], seen["held"], len(seen["failures"]), seen["remote"], seen["vocabulary"], seen["other"],
                     f"{part:.2%}", f"{seen['optional_held']} of {seen['optional']}"])
        if seen["failures"]:
            faults.append(f"{dialect}: {len(seen['failures'])} cases fail")
        if part >= OTHER_LIMIT:
            faults.append(f"{dialect}: {part:.2%} of cases excluded beyond remote references and vocabularies, must be under 2 %")
    print("Round trip: JSON Schema test suite, main files of draft 7 and 2020-12; optional/ only reported\n")
    kit.table(["dialect", "cases", "held", "failed", "remote", "vocabulary", "other", "other share", "optional held"], rows)
    print()
    for dialect, seen in results.items():
        for line in kit.few(seen["failures"], show):
            print(f"{dialect}: {line}")
        if optional:
            for line in kit.few(seen["optional_failures"], show):
                print(f"{dialect} (optional, no verdict): {line}")
    for fault in faults:
        print("FAIL " + fault)
    print(f"roundtrip: {len(faults)} violations in {len(results)} dialects")
    return 1 if faults else 0


def main(argv=None) -> int:
    parser = kit.arguments(argparse.ArgumentParser(description=__doc__.splitlines()[0]))
    parser.add_argument("--optional", action="store_true", help="print what fails under optional/ too")
    args = parser.parse_args(argv)
    wanted = kit.dialects_of(args.dialect)
    cases, schemas = suite(kit.data_dir(args.data))
    exclusions = Exclusions(cases, schemas, kit.load_toml("roundtrip-exclusions.toml"))
    cases = kit.thin(cases, args.sample)
    done = kit.each_dialect(work, [(args.bin, d, cases) for d in wanted], args.jobs)
    if kit.is_broken("roundtrip", done):
        return 2
    return verdict({d: counted(done[d], d, exclusions) for d in wanted}, exclusions, args.show, args.optional)


if __name__ == "__main__":
    sys.exit(main())
