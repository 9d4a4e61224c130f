#!/usr/bin/env python3
"""Points 3 and 4: nothing lost silently, nothing forced. An independent walk over original and lowered schemas.

lossless.py --bin PATH [--dialect a,b] [--sample N] [--hard]
Exit 0: every keyword is present, or described; no optional parameter is forced. 1: not so. 2: the binary broke its line contract.

When is a keyword of the original *present*? When every occurrence of its position in the lowered schema (positions.py) has it with
the same value, and check.py does not warn that the provider drops it there. Otherwise a change entry must name it:
 - exactly (the path of the node that holds it, and the keyword), with any fate but `kept`; `described` only counts when the value,
   or the sentence that stands for it, is in a description of the lowered tool; `dropped` only for annotations.toml;
 - or an entry for a structure above it on the way to that occurrence, when that structure was replaced as a whole: fate `encoded` or
   `rewritten`, or `described` with the JSON of the whole value in a description. Where the position still exists in the lowered
   schema (a reference written out, a nullable wrapper taken off), such an entry covers only what can still be seen somewhere in the
   lowered tool, except below `allOf`, where a looser bound rightly vanishes.
A keyword covered so whose value is nowhere in the lowered tool is counted as *unseen*: no violation, but worth a look.
"""
from __future__ import annotations

import argparse
import ast
import collections
import functools
import json
import re
import sys
from typing import Any, Iterator

import accept
import hard
import kit
import positions
import semantics

DROPS = re.compile(r"(?:silently dropped[^:]*|keywords outside the documented JSON Schema subset[^:]*): (\[.*\])$")
APPLICATORS = frozenset((*positions.MAPS, *positions.LISTS, *positions.ONES, "$ref"))
COVERING = ("encoded", "rewritten")


# ------------------------------------------------------------------------------------------------ what the provider hides
@functools.cache
def oracle_rules():
    sys.path.insert(0, str(kit.ORACLES))
    import rules
    return rules


def hidden(dialect: str, lowered: Any) -> set[tuple[str, str]]:
    """(lowered path, keyword) that oracles/check.py warns the provider drops. Its rules are asked directly: importing every SDK for a
    warning would cost a minute. What only the Python client of Ollama drops is not the provider's doing."""
    if lowered is None:
        return set()
    rules = oracle_rules()
    found: Iterator = iter(())
    if dialect in ("ollama", "ollama-openai"):
        found = rules.ollama_schema(lowered)
    elif dialect in ("gemini-json", "vertex-json"):
        found = rules.gemini_json_schema(lowered)
    out = set()
    for level, path, message in found:
        match = DROPS.search(message) if level == "warning" else None
        if match:
            out |= {(path, keyword) for keyword in ast.literal_eval(match[1])}
    return out


# ------------------------------------------------------------------------------------------------ descriptions
def descriptions(tool: Any, lowered: Any) -> list[str]:
    """Every description of the lowered tool, its own included."""
    out = []
    for holder in (tool, *(tool.get(k) for k in ("function", "toolSpec"))) if isinstance(tool, dict) else ():
        if isinstance(holder, dict) and isinstance(holder.get("description"), str):
            out.append(holder["description"])
    out += [n["description"] for _, n in walk_lowered(lowered) if isinstance(n.get("description"), str)]
    return out


def walk_lowered(node: Any) -> Iterator[tuple[str, dict]]:
    for path, sub in positions.walk(node):
        if isinstance(sub, dict):
            yield path, sub
            if isinstance(sub.get("defs"), dict):
                for name, child in sub["defs"].items():
                    yield from walk_lowered(child)


SENTENCES = {  # keywords whose value is not what a reader is shown
    "uniqueItems": r"unique|duplicate|distinct",
    "additionalProperties": r"additional|other propert|extra|only (use|contain|the)|any (other )?(key|name|propert)|no other|free-form",
    "unevaluatedProperties": r"additional|other propert|extra|only (use|contain|the)|unevaluated|no other",
    "unevaluatedItems": r"additional|other item|extra|only|unevaluated|no other",
    "additionalItems": r"additional|other item|extra|only|no other|no more",
    "deprecated": r"deprecated",
    "readOnly": r"read.?only",
    "writeOnly": r"write.?only",
    "nullable": r"\bnull",
    "exclusiveMinimum": r"exclusive|greater than|more than|above|>",
    "exclusiveMaximum": r"exclusive|less than|below|<",
    "required": r"required",
}
FORMATS = {"uri": r"\bur[il]\b", "url": r"\bur[il]\b", "date-time": r"date[- ]?time|ISO 8601|RFC 3339", "email": r"e-?mail",
           "uuid": r"uuid", "date": r"\bdate\b|ISO 8601", "time": r"\btime\b|ISO 8601", "ipv4": r"ipv4", "ipv6": r"ipv6"}


def described(keyword: str, value: Any, texts: list[str]) -> bool:
    """Whether some description says this keyword's value, as JSON, in words, or as the sentence of seed 003."""
    return any(described_in(keyword, value, text) for text in texts)


def described_in(keyword: str, value: Any, text: str) -> bool:
    if has_json(value, text):
        return True
    if isinstance(value, bool):
        pattern = SENTENCES.get(keyword)
        return re.search(pattern, text, re.I) is not None if pattern else keyword.lower() in text.lower()
    if keyword == "format" and isinstance(value, str):
        return re.search(FORMATS.get(value, re.escape(value)), text, re.I) is not None
    if isinstance(value, (dict, list)):
        words = list(leaves(value))
        return bool(words) and all(says(w, text) for w in words) or not words and keyword.lower() in text.lower()
    return says(value, text)


def has_json(value: Any, text: str) -> bool:
    if isinstance(value, bool) or value is None or isinstance(value, (int, float, str)):
        return re.search(rf'"[^"]+"\s*:\s*{re.escape(json.dumps(value, ensure_ascii=False))}', text) is not None
    return any(json.dumps(value, ensure_ascii=False, separators=s) in text for s in ((",", ":"), (", ", ": ")))


def leaves(value: Any) -> Iterator[Any]:
    """The scalars and property names that a reader must find; structure words are for machines."""
    if isinstance(value, dict):
        for key, sub in value.items():
            if key not in STRUCTURE:
                yield key
            yield from leaves(sub)
    elif isinstance(value, list):
        for sub in value:
            yield from leaves(sub)
    elif not isinstance(value, bool):
        yield value


STRUCTURE = frozenset((*APPLICATORS, "type", "enum", "const", "required", "minimum", "maximum", "minLength", "maxLength", "pattern",
                       "format", "minItems", "maxItems", "description", "default", "title", "exclusiveMinimum", "exclusiveMaximum",
                       "multipleOf", "uniqueItems", "minProperties", "maxProperties", "dependentRequired"))


def says(value: Any, text: str) -> bool:
    if value == "":
        return '""' in text or "''" in text or "``" in text or "empty" in text
    if isinstance(value, str):
        return value in text or json.dumps(value, ensure_ascii=False)[1:-1] in text or " ".join(value.split()) in " ".join(text.split())
    if value is None:
        return "null" in text
    spelled = {json.dumps(value), f"{value:g}" if isinstance(value, float) else str(value)}
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        spelled.add(str(int(value)))
    return any(re.search(rf"(?<![\w.]){re.escape(s)}(?![\w]|\.\d)", text) for s in spelled)


# ------------------------------------------------------------------------------------------------ presence
def keyword_present(keyword: str, value: Any, here: positions.Occurrence, gone: set, places: positions.Positions, path: str) -> bool:
    for view in here.views:
        if not isinstance(view.node, dict):
            continue
        if keyword == "type" and "null" in typed(value) and admits_null(view, places) and same_type(value, types_around(here, places)):
            return True
        if keyword not in view.node or (view.path, keyword) in gone:
            continue
        if equal(keyword, value, view.node[keyword], here, places, path):
            return True
    if keyword == "type" and typed(value) == {"null"}:  # the null branch of a union that became a mark on the rest
        return any(admits_null(v, places) for v in here.alts)
    if keyword == "description" and isinstance(value, str) and len(value.strip()) >= 20:
        return any(value.strip() in t for t in places.texts)
    if (keyword, value) in (("required", []), ("description", "")):  # they say nothing
        return True
    return False


def equal(keyword: str, mine: Any, theirs: Any, here: positions.Occurrence, places: positions.Positions, path: str) -> bool:
    if keyword == "type":
        return same_type(mine, typed(theirs))
    if keyword == "required" and isinstance(mine, list) and isinstance(theirs, list):
        node = places.nodes.get(path) or {}
        return len(set(map(str, mine))) == len(theirs) and all(spelled(k, node, here) in theirs for k in mine)
    if keyword == "description" and isinstance(mine, str) and isinstance(theirs, str):
        return mine.strip() in theirs or " ".join(mine.split()) in " ".join(theirs.split())
    if keyword == "enum" and isinstance(mine, list) and isinstance(theirs, list):
        rest = [v for v in theirs if not kit.member(v, mine)]
        return all(kit.member(v, theirs) for v in mine) and rest in ([], [None])
    if keyword == "$ref":
        return theirs == mine
    if keyword in ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas"):
        return isinstance(mine, dict) and isinstance(theirs, dict) and (
            keyword == "properties" or all(k in theirs for k in mine))  # single properties are judged one by one
    if keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
        return isinstance(mine, list) and isinstance(theirs, list) and len(theirs) >= len([b for b in mine if not positions.is_null(b)])
    if keyword in positions.ONES and isinstance(mine, dict):
        return isinstance(theirs, dict) or mine == {} and theirs is True
    if keyword in positions.ONES and isinstance(mine, bool) and isinstance(theirs, dict):
        return mine is True and theirs == {}
    return kit.same(mine, theirs)


def spelled(key: Any, node: dict, here: positions.Occurrence) -> Any:
    """The key as the lowered schema spells it."""
    mine = node.get("properties")
    if not isinstance(mine, dict) or key not in mine:
        return key
    for view in here.views:
        theirs = view.node.get("properties") if isinstance(view.node, dict) else None
        if isinstance(theirs, dict):
            return key if key in theirs else positions.renamed_key(key, mine, theirs) or key
    return key


def typed(value: Any) -> set:
    return {str(v).lower() for v in value} if isinstance(value, list) else {str(value).lower()}


def same_type(mine: Any, theirs: set) -> bool:
    """Null may have come in as the way out of a parameter that strict mode requires; nothing else may."""
    return typed(mine) == theirs or typed(mine) | {"null"} == theirs | {"null"} and typed(mine) <= theirs | {"null"} \
        and ("null" not in typed(mine) or "null" in theirs)


def types_around(here: positions.Occurrence, places: positions.Positions) -> set:
    return set().union(*(typed(v.node["type"]) for v in here.views if isinstance(v.node, dict) and "type" in v.node)) | {"null"}


def admits_null(view: positions.Alt, places: positions.Positions) -> bool:
    return "null" in positions.types(view.node, places.low)


# ------------------------------------------------------------------------------------------------ coverage
class Changes:
    def __init__(self, changes: list[dict], dialect: str = ""):
        self.dialect = dialect
        self.by: dict[tuple[str, str], list[dict]] = collections.defaultdict(list)
        self.paths: dict[str, list[dict]] = collections.defaultdict(list)
        for change in changes:
            if change["fate"] != "kept":
                path = accept.pointer(change["path"])
                self.by[path, change["keyword"]].append(change)
                self.paths[path].append(change)

    def exact(self, path: str, keyword: str, value: Any, texts: list[str]) -> str | None:
        """The fate that covers the keyword, or "unexplained" when its only entries claim a text that is not there."""
        fates = [c["fate"] for c in self.by.get((path, keyword), ())]
        for fate in ("rewritten", "encoded"):
            if fate in fates:
                return fate
        if "described" in fates:
            return "described" if described(keyword, value, texts) else "unexplained"
        if "dropped" in fates:
            return "dropped" if accept.may_drop(keyword, self.dialect) else "unexplained"
        return None

    def above(self, here: positions.Occurrence, places: positions.Positions, texts: list[str]) -> tuple[str, bool] | None:
        """(fate, whole) of the nearest replaced structure on the trail; whole: nothing below it has to be seen any more."""
        exists = bool(here.alts)
        for path, keyword in reversed(here.trail):
            for change in self.by.get((path, keyword), ()):
                if change["fate"] in COVERING and not (exists and keyword == "properties"):
                    return change["fate"], not exists or keyword == "allOf"
                node = places.nodes.get(path)
                if change["fate"] == "described" and isinstance(node, dict) and keyword in node \
                        and any(has_json(node[keyword], t) for t in texts):
                    return "described", True
            # the whole node travels as text: the entry may name its type instead of the keyword we came by
            if not exists and any(positions.only_text(o) for o in places.found.get(path, ())) and \
                    any(c["fate"] == "encoded" for c in self.paths.get(path, ())):
                return "encoded", True
        return None


def seen_below(keyword: str, value: Any, lowered_values: set, texts: list[str]) -> bool:
    if keyword in APPLICATORS or keyword in ("type", "required"):
        return True
    parts = value if isinstance(value, list) else [value]
    return described(keyword, value, texts) or all(
        json.dumps(p, sort_keys=True) in lowered_values or json.dumps(json.dumps(p)) in lowered_values for p in parts)


def values_of(node: Any) -> set:
    out, todo = set(), [node]
    while todo:
        cur = todo.pop()
        if len(out) < 100_000:
            out.add(json.dumps(cur, sort_keys=True))
        todo += cur.values() if isinstance(cur, dict) else cur if isinstance(cur, list) else ()
    return out


def judge(dialect: str, original: Any, tool: Any, changes: list[dict]) -> dict:
    """Counts and findings for one tool."""
    seen: dict[str, Any] = {"keywords": 0, "present": 0, "fates": collections.Counter(), "above": collections.Counter(),
                            "missing": [], "unseen": [], "forced": [], "optional": 0}
    lowered = semantics.canonical(dialect, semantics.schema_of(dialect, tool))
    places = positions.Positions(original, lowered)
    texts = places.texts = descriptions(tool, lowered)
    gone = hidden(dialect, lowered)
    reported = Changes(changes, dialect)
    lowered_values: set | None = None
    if lowered is None and takes_nothing(original):
        places.found.setdefault("", [])
    for path, node in positions.walk(original):
        if not isinstance(node, dict):
            continue
        found = places.found.get(path, [])
        if any(o.alts for o in found):
            found = [o for o in found if o.alts or not from_definitions(o)]
        for keyword, value in node.items():
            seen["keywords"] += 1
            if lowered is None and takes_nothing(original) and keyword in ("type", "properties", "required", "additionalProperties"):
                seen["present"] += 1  # no schema at all says the same: no arguments
                continue
            absent = [o for o in found if not keyword_present(keyword, value, o, gone, places, path)]
            if found and not absent:
                seen["present"] += 1
                continue
            fate = reported.exact(path, keyword, value, texts)
            if fate and fate != "unexplained":
                seen["fates"][fate] += 1
                continue
            covers = [reported.above(o, places, texts) for o in absent] or [None]
            why = "claimed, but not in a description or not droppable" if fate else "no change entry"
            if all(covers):
                if lowered_values is None:
                    lowered_values = values_of(lowered)
                shown = seen_below(keyword, value, lowered_values, texts)
                if shown or all(whole for _, whole in covers):
                    seen["above"][covers[0][0]] += 1
                    if not shown:
                        seen["unseen"].append((path, keyword, value))
                    continue
                why = "inside a rewritten structure, and nowhere to be seen"
            seen["missing"].append((path, keyword, value, why))
        for key in vanished(path, node, places):
            if not reported.exact(path, "properties", key, [*texts, key]) and not any(
                    reported.above(o, places, texts) for o in places.found.get(kit.at(path, "properties", key), ())):
                seen["missing"].append((path, "properties", key, "property is gone, no change entry"))
    forced(original, places, seen)
    return seen


def vanished(path: str, node: dict, places: positions.Positions) -> Iterator[str]:
    """Properties without any keyword of their own (`{}`, `true`) that have no counterpart; others speak for themselves."""
    props = node.get("properties")
    for key, child in props.items() if isinstance(props, dict) else ():
        found = places.found.get(kit.at(path, "properties", key), ())
        if (child is True or child == {}) and not any(o.alts for o in found):
            yield key


def takes_nothing(original: Any) -> bool:
    return isinstance(original, dict) and not original.get("properties")


def from_definitions(here: positions.Occurrence) -> bool:
    """A definition reached only through its table, while its uses were found: written out where it is used."""
    return any(key in ("$defs", "definitions") for _, key in here.trail)


# ------------------------------------------------------------------------------------------------ point 4
def forced(original: Any, places: positions.Positions, seen: dict) -> None:
    for path, node in positions.walk(original):
        props = node.get("properties") if isinstance(node, dict) else None
        if not isinstance(props, dict):
            continue
        needed = required_at(path, places)
        for key in props:
            if key in needed:
                continue
            seen["optional"] += 1
            for here in places.found.get(path, ()):
                for view in here.views:
                    if not isinstance(view.node, dict):
                        continue
                    theirs, wanted = view.node.get("properties"), view.node.get("required")
                    if not isinstance(theirs, dict) or not isinstance(wanted, list):
                        continue
                    name = key if key in theirs else positions.renamed_key(key, props, theirs)
                    if name in wanted and name in theirs and "null" not in positions.types(theirs[name], places.low):
                        seen["forced"].append((kit.at(path, "properties", key), view.path))


def required_at(path: str, places: positions.Positions) -> set:
    """What the original requires at a node: its own list, its allOf members', and that of a node it is an allOf member of."""
    out: set = set()
    todo, done = [path], set()
    head, _, last = path.rpartition("/")
    while last.isdigit() and head.endswith("/allOf"):
        path = head[: -len("/allOf")]
        todo.append(path)
        head, _, last = path.rpartition("/")
    while todo:
        path = todo.pop()
        node = places.nodes.get(path)
        if path in done or not isinstance(node, dict):
            continue
        done.add(path)
        if isinstance(node.get("required"), list):
            out |= {k for k in node["required"] if isinstance(k, str)}
        todo += [kit.at(path, "allOf", i) for i in range(len(node.get("allOf") or ()))]
        target = places.doc.resolve(node["$ref"], path) if "$ref" in node else None
        if target is not None:
            places.nodes.setdefault(*target)
            todo.append(target[0])
    return out


# ------------------------------------------------------------------------------------------------ the corpus
def work(job) -> tuple[str, dict | str]:
    binary, dialect, pairs = job
    try:
        rows = kit.convert(binary, dialect, [tool for _, tool in pairs])
    except kit.Fault as fault:
        return dialect, str(fault)
    total: dict[str, Any] = {"keywords": 0, "present": 0, "fates": collections.Counter(), "above": collections.Counter(),
                             "missing": [], "unseen": [], "forced": [], "optional": 0}
    for (server, tool), row in zip(pairs, rows):
        if row["tool"] is None:
            continue
        seen = judge(dialect, tool.get("inputSchema"), row["tool"], row["changes"])
        for key, value in seen.items():
            if key in ("missing", "unseen", "forced"):
                total[key] += [(f"{server} / {tool['name']}", *finding) for finding in value]
            else:
                total[key] += value
    return dialect, total


def verdict(results: dict[str, dict], show: int) -> int:
    faults, rows = [], []
    for dialect, seen in results.items():
        rows.append([dialect, seen["keywords"], seen["present"], *(seen["fates"][f] for f in kit.FATES[1:]), sum(seen["above"].values()),
                     len(seen["unseen"]), len(seen["missing"]), f"{len(seen['forced'])} of {seen['optional']}"])
        if seen["missing"]:
            faults.append(f"{dialect}: {len(seen['missing'])} keywords lost silently")
        if seen["forced"]:
            faults.append(f"{dialect}: {len(seen['forced'])} optional parameters forced")
    print("Lossless: every keyword of every corpus schema, by what became of it\n")
    kit.table(["dialect", "keywords", "present", *kit.FATES[1:], "in a replaced structure", "unseen", "missing", "forced"], rows)
    print()
    for dialect, seen in results.items():
        by = collections.Counter((f[2], f[4]) for f in seen["missing"])
        for (keyword, why), count in by.most_common(show):
            first = next(f for f in seen["missing"] if f[2] == keyword and f[4] == why)
            print(f"{dialect}: MISSING `{keyword}` x {count}, {why}: {first[0]} at {first[1] or '/'} = {json.dumps(first[3])[:100]}")
        for tool, where, low in seen["forced"][:show]:
            print(f"{dialect}: FORCED {tool} at {where} (lowered {low})")
        by = collections.Counter(f[2] for f in seen["unseen"])
        for keyword, count in by.most_common(show):
            first = next(f for f in seen["unseen"] if f[2] == keyword)
            print(f"{dialect}: unseen `{keyword}` x {count}: {first[0]} at {first[1] or '/'} = {json.dumps(first[3])[:100]}")
    for fault in faults:
        print("FAIL " + fault)
    print(f"lossless: {len(faults)} violations in {len(results)} dialects")
    return 1 if faults else 0


def main(argv=None) -> int:
    parser = kit.arguments(argparse.ArgumentParser(description=__doc__.splitlines()[0]))
    parser.add_argument("--hard", action="store_true", help="walk the well-formed tools of the hard set instead of the corpus")
    args = parser.parse_args(argv)
    wanted = kit.dialects_of(args.dialect)
    if args.hard:
        pairs = [("hard", c["tool"]) for c in hard.load().values() if "tool" in c and not c.get("malformed")]
    else:
        pairs = kit.corpus(kit.data_dir(args.data), args.sample)
    done = kit.each_dialect(work, [(args.bin, d, pairs) for d in wanted], args.jobs)
    return 2 if kit.is_broken("lossless", done) else verdict(done, args.show)


if __name__ == "__main__":
    sys.exit(main())
