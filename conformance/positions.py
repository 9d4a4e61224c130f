"""Which node of a lowered schema stands for which node of the original.

Lowering moves things: references are written out, unions folded, nulls wrapped around, keys renamed. This walker goes down
both schemas together, guided by the original only, and finds for every schema position of the original the
*occurrences* in the lowered one. An occurrence is a set of alternatives (the node itself, what it refers to, the branches of a
union wrapped around it) and the trail of original keywords that led there. An occurrence without alternatives is a
position that no longer exists: something above it was replaced as a whole.
"""
from __future__ import annotations

import re
import urllib.parse
from dataclasses import dataclass, field
from typing import Any, Iterator

import kit

MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
UNIONS = ("anyOf", "oneOf")
LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
ONES = ("items", "additionalItems", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
        "unevaluatedItems", "unevaluatedProperties", "contentSchema")
TYPES = frozenset(("string", "number", "integer", "boolean", "null", "object", "array"))
MAX_NODES = 200_000


def children(node: Any) -> Iterator[tuple[str, tuple, Any]]:
    """(keyword, steps below the node, sub-schema) for each direct sub-schema."""
    if not isinstance(node, dict):
        return
    for key in MAPS:
        sub = node.get(key)
        if isinstance(sub, dict):
            for name, child in sub.items():
                if isinstance(child, (dict, bool)):
                    yield key, (key, name), child
    for key in LISTS:
        sub = node.get(key)
        if isinstance(sub, list):
            for i, child in enumerate(sub):
                yield key, (key, i), child
    for key in ONES:
        sub = node.get(key)
        if isinstance(sub, list) and key == "items":
            for i, child in enumerate(sub):
                yield key, (key, i), child
        elif isinstance(sub, dict):
            yield key, (key,), sub


def walk(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every schema position of a document: (JSON Pointer, node)."""
    todo = [(path, node)]
    while todo:
        path, node = todo.pop()
        yield path, node
        todo += [(kit.at(path, *steps), child) for _, steps, child in reversed(list(children(node)))]


# ------------------------------------------------------------------------------------------------ references
class Document:
    """One schema and what its references mean."""

    def __init__(self, root: Any):
        self.root = root
        self.named: dict[str, tuple[str, Any]] = {}
        self._index(root, "", "")

    def _index(self, node: Any, path: str, base: str) -> None:
        todo = [(node, path, base)]
        while todo:
            node, path, base = todo.pop()
            if not isinstance(node, dict):
                continue
            own = node.get("$id", node.get("id") if isinstance(node.get("id"), str) else None)
            if isinstance(own, str) and own:
                joined = urllib.parse.urljoin(base, own)
                self.named.setdefault(joined.rstrip("#"), (path, node))
                if not own.startswith("#"):
                    base = joined.split("#")[0]
            for key in ("$anchor", "$dynamicAnchor"):
                if isinstance(node.get(key), str):
                    self.named.setdefault(f"{base}#{node[key]}", (path, node))
            todo += [(child, kit.at(path, *steps), base) for _, steps, child in children(node)]

    def base_of(self, path: str) -> str:
        base = ""
        node: Any = self.root
        for step in [None, *path.split("/")[1:]]:
            if step is not None:
                node = down(node, unescape(step))
            if isinstance(node, dict) and isinstance(node.get("$id"), str) and not node["$id"].startswith("#"):
                base = urllib.parse.urljoin(base, node["$id"]).split("#")[0]
        return base

    def resolve(self, ref: Any, path: str = "") -> tuple[str, Any] | None:
        """(path, node) that a reference at `path` means, or None when it means nothing here."""
        if not isinstance(ref, str):
            return None
        base = self.base_of(path) if self.named else ""
        whole = urllib.parse.urljoin(base, ref) if ref else base
        if ref.startswith("#"):
            whole = base + ref
        doc, _, fragment = whole.partition("#")
        start = ("", self.root) if doc == "" else self.named.get(doc)
        if whole.rstrip("#") in self.named and whole.rstrip("#"):
            return self.named[whole.rstrip("#")]
        if start is None:
            return None
        if fragment and not fragment.startswith("/"):
            return self.named.get(f"{doc}#{fragment}") or self.named.get(f"#{fragment}")
        path, node = start
        for step in urllib.parse.unquote(fragment).split("/")[1:]:
            step = unescape(step)
            try:
                node = down(node, step)
            except (KeyError, IndexError, ValueError, TypeError):
                return None
            path = kit.at(path, step)
        return path, node


def unescape(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")


def down(node: Any, step: str) -> Any:
    return node[int(step)] if isinstance(node, list) else node[step]


# ------------------------------------------------------------------------------------------------ types
def types(node: Any, doc: Document, path: str = "", depth: int = 0) -> frozenset:
    """The JSON types a schema can admit (an upper bound; integer and number are told apart only by name)."""
    if node is False:
        return frozenset()
    if not isinstance(node, dict) or depth > 12:
        return TYPES
    found = TYPES
    t = node.get("type")
    if isinstance(t, str):
        found &= {t.lower()}
    elif isinstance(t, list):
        found &= {str(x).lower() for x in t}
    for values in ([node["const"]] if "const" in node else None, node.get("enum")):
        if isinstance(values, list):
            found &= {kind(v) for v in values} | ({"number"} if any(kind(v) == "integer" for v in values) else set())
    ref = node.get("$ref", node.get("ref"))
    if isinstance(ref, str):
        target = doc.resolve(ref if ref.startswith("#") or "$ref" in node else "#/" + ref, path)
        if target is not None:
            found &= types(target[1], doc, target[0], depth + 1)
    for key in UNIONS:
        if isinstance(node.get(key), list) and node[key]:
            found &= frozenset().union(*(types(b, doc, path, depth + 1) for b in node[key]))
    for sub in node.get("allOf") if isinstance(node.get("allOf"), list) else ():
        found &= types(sub, doc, path, depth + 1)
    if node.get("nullable") is True:
        found |= {"null"}
    return frozenset(found)


def kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "integer" if isinstance(value, int) or value.is_integer() else "number"
    return {str: "string", list: "array", dict: "object"}[type(value)]


def is_null(node: Any) -> bool:
    return isinstance(node, dict) and (node.get("type") in ("null", ["null"]) or "const" in node and node["const"] is None
                                       or node.get("enum") == [None])


# ------------------------------------------------------------------------------------------------ occurrences
@dataclass
class Alt:
    """One node of the lowered schema; `path` is spelled as oracles/schema_walk.py spells it."""
    path: str
    node: Any


@dataclass
class Occurrence:
    alts: list[Alt]
    trail: tuple[tuple[str, str], ...]
    views: list[Alt] = field(default_factory=list)
    renamed: bool = False


class Positions:
    def __init__(self, original: Any, lowered: Any):
        self.doc, self.low = Document(original), Document(lowered)
        self.found: dict[str, list[Occurrence]] = {}
        self.nodes: dict[str, Any] = {}
        self.cut = False
        start = [Alt("#", lowered)] if isinstance(lowered, dict) else []
        todo = [("", original, start, (), False)]
        seen: set = set()
        while todo:
            path, node, alts, trail, renamed = todo.pop()
            mark = (path, tuple(sorted({id(a.node) for a in alts})) if alts else trail[-1:])
            if mark in seen:
                continue
            if len(seen) > MAX_NODES:
                self.cut = True
                break
            seen.add(mark)
            self.nodes[path] = node
            here = Occurrence(alts, trail, self.views(alts), renamed)
            self.found.setdefault(path, []).append(here)
            if isinstance(node, dict):
                todo += reversed(list(self.step(path, node, here)))

    def views(self, alts: list[Alt], depth: int = 0) -> list[Alt]:
        """The node, what it refers to, and the non-null branches of unions around it."""
        out: dict[int, Alt] = {}
        for alt in alts:
            out.setdefault(id(alt.node), alt)
            if depth > 4 or not isinstance(alt.node, dict):
                continue
            inner = []
            target = self.follow(alt)
            if target is not None:
                inner.append(target)
            for key in (*UNIONS, "allOf"):
                for i, branch in enumerate(alt.node.get(key) if isinstance(alt.node.get(key), list) else ()):
                    if not is_null(branch):
                        inner.append(Alt(f"{alt.path}/{key}/{i}", branch))
            for view in self.views(inner, depth + 1):
                out.setdefault(id(view.node), view)
        return list(out.values())

    def follow(self, alt: Alt) -> Alt | None:
        node = alt.node
        ref = node.get("$ref", node.get("ref")) if isinstance(node, dict) else None
        if not isinstance(ref, str):
            return None
        target = self.low.resolve(ref, "")
        if target is None:
            return None
        return Alt("#" + target[0].replace("~1", "/").replace("~0", "~"), target[1])

    def step(self, path: str, node: dict, here: Occurrence) -> Iterator[tuple]:
        views = [v for v in here.views if isinstance(v.node, dict)]
        for key, steps, child in children(node):
            alts, renamed = self.counterparts(node, key, steps, child, views, here.alts)
            trail = here.trail + ((path, key),)
            yield kit.at(path, *steps), child, unique(alts), trail, renamed
        if isinstance(node.get("$ref"), str) and here.alts:
            target = self.doc.resolve(node["$ref"], path)
            if target is not None and isinstance(target[1], (dict, bool)):
                alts = [self.follow(a) or a for a in here.alts]
                # a recursive definition that is kept as a reference comes back to the same lowered node and stops there
                yield target[0], target[1], unique(alts), here.trail + ((path, "$ref"),), False

    def counterparts(self, node: dict, key: str, steps: tuple, child: Any, views: list[Alt], raw: list[Alt]) -> tuple[list[Alt], bool]:
        out, renamed = [], False
        if key in ("properties", "patternProperties", "dependentSchemas", "dependencies"):
            for view in views:
                sub = view.node.get(key)
                if not isinstance(sub, dict):
                    continue
                name = steps[1]
                if name not in sub:
                    other = renamed_key(name, node[key], sub) if key == "properties" else None
                    if other is None:
                        continue
                    name, renamed = other, True
                out.append(Alt(f"{view.path}/{key}/{name}", sub[name]))
        elif key in ("$defs", "definitions"):
            for view in views:
                for spelled in ("$defs", "definitions", "defs"):
                    sub = view.node.get(spelled)
                    if isinstance(sub, dict) and steps[1] in sub:
                        out.append(Alt(f"{view.path}/{spelled}/{steps[1]}", sub[steps[1]]))
        elif key in UNIONS:
            out = self.branches(node, key, steps[1], child, raw)
        elif key == "allOf":
            for alt in raw:
                sub = alt.node.get("allOf") if isinstance(alt.node, dict) else None
                if isinstance(sub, list) and len(sub) == len(node["allOf"]):
                    out.append(Alt(f"{alt.path}/allOf/{steps[1]}", sub[steps[1]]))
                else:
                    out.append(alt)
        elif len(steps) == 2:  # a tuple position
            for view in views:
                out += tuple_position(view, steps[1])
        else:
            for view in views:
                sub = view.node.get(key)
                if isinstance(sub, (dict, bool)):
                    out.append(Alt(f"{view.path}/{key}", sub))
                elif key == "additionalItems" and "prefixItems" in view.node and isinstance(view.node.get("items"), dict):
                    out.append(Alt(f"{view.path}/items", view.node["items"]))
        return out, renamed

    def unwrapped(self, alt: Alt) -> Alt:
        """The node behind references and behind unions of one branch, which carry only a description or a null."""
        for _ in range(4):
            target = self.follow(alt)
            if target is not None:
                alt = target
                continue
            held = alt.node if isinstance(alt.node, dict) else {}
            spelled = next((u for u in UNIONS if isinstance(held.get(u), list)), None)
            real = [(i, b) for i, b in enumerate(held[spelled]) if not is_null(b)] if spelled else []
            if len(real) != 1:
                break
            alt = Alt(f"{alt.path}/{spelled}/{real[0][0]}", real[0][1])
        return alt

    def branches(self, node: dict, key: str, index: int, child: Any, raw: list[Alt]) -> list[Alt]:
        mine = [b for b in node[key] if not is_null(b)]
        out = []
        for alt in [self.unwrapped(a) if len(mine) > 1 else self.follow(a) or a for a in raw]:
            held = alt.node if isinstance(alt.node, dict) else {}
            spelled = key if isinstance(held.get(key), list) else next((u for u in UNIONS if isinstance(held.get(u), list)), None)
            if spelled is None or is_null(child):
                out.append(alt)
                continue
            theirs = [(i, b) for i, b in enumerate(held[spelled]) if not is_null(b)]
            if len(theirs) == len(mine):
                order = next(n for n, b in enumerate(mine) if b is child)
                theirs = [theirs[order]]
            elif len(mine) == 1:
                out.append(alt)
                continue
            out += [Alt(f"{alt.path}/{spelled}/{i}", b) for i, b in theirs]
        return out


def tuple_position(view: Alt, index: int) -> list[Alt]:
    node = view.node
    for key in ("prefixItems", "items"):
        if isinstance(node.get(key), list):
            return [Alt(f"{view.path}/{key}/{index}", node[key][index])] if index < len(node[key]) else []
    if isinstance(node.get("properties"), dict) and index < len(node["properties"]):
        name = list(node["properties"])[index]
        return [Alt(f"{view.path}/properties/{name}", node["properties"][name])]
    if isinstance(node.get("items"), dict):
        return [Alt(f"{view.path}/items", node["items"])]
    return []


def plain(key: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", key.lower()).strip("_")


def renamed_key(name: str, mine: dict, theirs: dict) -> str | None:
    """The key that stands for one the dialect cannot spell: alike in its legal characters, else alike in its place. A key that
    every dialect can spell is never renamed; if it is not there, it is gone."""
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", name):
        return None
    lost = [k for k in mine if k not in theirs]
    new = [k for k in theirs if k not in mine]
    want = plain(name)
    alike = [k for k in new if want and (plain(k) == want or plain(k).startswith(want[:24]))]
    if alike:
        rivals = [k for k in lost if plain(k)[:24] == want[:24]]
        return alike[rivals.index(name)] if len(rivals) == len(alike) else alike[0]
    if len(lost) == len(new):
        return new[lost.index(name)]
    return None


def unique(alts: list[Alt]) -> list[Alt]:
    return list({id(a.node): a for a in alts}.values())


def is_text(alt: Alt) -> bool:
    """A plain string where something else stood: the value travels as JSON text."""
    node = alt.node
    if not isinstance(node, dict) or "enum" in node or "const" in node:
        return False
    return node.get("type") == "string" or isinstance(node.get("type"), list) and set(node["type"]) in ({"string"}, {"string", "null"})


def only_text(here: Occurrence) -> bool:
    leaves = [v for v in here.views if isinstance(v.node, dict) and not any(k in v.node for k in (*UNIONS, "$ref", "ref"))]
    return bool(leaves) and all(is_text(v) for v in leaves)
