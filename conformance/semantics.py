"""Read one lowered tool with its dialect's semantics: find the schema, and say it again in plain JSON Schema 2020-12."""
from __future__ import annotations

import functools
import re
from typing import Any

import kit

NOTHING = {"type": "object", "maxProperties": 0}
MAPS = ("properties", "patternProperties", "$defs", "definitions", "defs", "dependentSchemas")
LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
ONES = ("items", "additionalItems", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
        "unevaluatedItems", "unevaluatedProperties", "contentSchema")
CAMEL = {"any_of": "anyOf", "min_items": "minItems", "max_items": "maxItems", "min_length": "minLength",
         "max_length": "maxLength", "min_properties": "minProperties", "max_properties": "maxProperties",
         "property_ordering": "propertyOrdering", "additional_properties": "additionalProperties"}
WHOLE = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")


@functools.cache
def rules(dialect: str) -> dict:
    held = kit.load_toml("semantics.toml")
    return {**held["default"], **held[dialect]}


def schema_of(dialect: str, tool: Any) -> Any:
    """The raw argument schema of a lowered tool, or None where the definition has none."""
    cur = tool
    for key in rules(dialect)["at"]:
        cur = cur.get(key) if isinstance(cur, dict) else None
    return cur


def canonical(dialect: str, schema: Any) -> Any:
    """Google's spelling (upper-case types, snake_case) written like JSON Schema; nothing else changes."""
    if rules(dialect)["language"] != "openapi":
        return schema
    return _spell(schema)


def _spell(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    out = {}
    for key, value in node.items():
        key = CAMEL.get(key, key)
        if key == "type" and isinstance(value, str):
            value = value.lower()
        elif key in MAPS and isinstance(value, dict):
            value = {k: _spell(v) for k, v in value.items()}
        elif key in LISTS and isinstance(value, list):
            value = [_spell(v) for v in value]
        elif key in ONES:
            value = _spell(value)
        elif key in WHOLE and isinstance(value, str) and value.isdigit():
            value = int(value)  # protobuf's JSON writes 64-bit numbers as strings
        out[key] = value
    return out


def admits(dialect: str, tool: Any) -> Any:
    """A JSON Schema 2020-12 (or another draft, by its $schema) that admits what the dialect's schema admits."""
    rule = rules(dialect)
    schema = schema_of(dialect, tool)
    if schema is None:
        return NOTHING if rule["absent"] == "no arguments" else False
    return _plain(canonical(dialect, schema), rule, root=True, whole=False)


def _plain(node: Any, rule: dict, root: bool, whole: bool) -> Any:
    if not isinstance(node, dict):
        return node
    openapi = rule["language"] == "openapi"
    reads = None if whole else rule.get("root_reads" if root and "root_reads" in rule else "reads")
    out: dict[str, Any] = {}
    for key, value in node.items():
        if reads is not None and key not in reads:
            continue
        if key in ("$schema", "$comment", "format", "example", "propertyOrdering") and not (root and key == "$schema"):
            continue
        if key in MAPS and isinstance(value, dict):
            value = {k: _plain(v, rule, False, whole) for k, v in value.items()}
        elif key in LISTS and isinstance(value, list):
            value = [_plain(v, rule, False, whole) for v in value]
        elif key in ONES:
            inner = whole or (key == "items" and bool(rule.get("whole_items")))
            value = [_plain(v, rule, False, inner) for v in value] if isinstance(value, list) else _plain(value, rule, False, inner)
        out[key] = value
    if rule["refs"] == "ref":
        if isinstance(out.get("ref"), str):
            out["$ref"] = re.sub(r"^#/defs/", "#/$defs/", out.pop("ref"))
        if "defs" in out:
            out["$defs"] = out.pop("defs")
    if rule.get("one_of_is_any_of") and "oneOf" in out:
        one = out.pop("oneOf")
        if "anyOf" in out:
            out["allOf"] = [{"anyOf": one}]
        else:
            out["anyOf"] = one
    if not openapi:
        return _spelled(_readable(out), rule)
    return _google(out, rule)


def _spelled(out: dict, rule: dict) -> dict:
    """Null by a word that the description explains; the plain one is taken as well."""
    word, text = rule.get("null"), out.get("description")
    if word is None or not isinstance(text, str) or not (word in text or "(default: null)" in text):
        return out
    return {"anyOf": [out, {"enum": [word, None]}]}


def _google(out: dict, rule: dict) -> dict:
    if out.get("type") == "type_unspecified":
        out.pop("type")
    if out.get("type") == "integer" and isinstance(out.get("enum"), list):
        out["enum"] = [int(v) if isinstance(v, str) and re.fullmatch(r"-?\d+", v) else v for v in out["enum"]]
    if rule["closed"] and (out.get("type") == "object" or "properties" in out):
        if not rule["open"]:
            out.pop("additionalProperties", None)
        out.setdefault("additionalProperties", False)
    null = out.pop("nullable", False) is True
    out.pop("default", None)
    out = _readable(out)
    if not null:
        return out
    held = {k: out.pop(k) for k in ("$defs",) if k in out}
    return {"anyOf": [out, {"type": "null"}], **held}


def _readable(out: dict) -> dict:
    """A pattern that Python cannot compile is left to the dialect's own oracle; here it forbids nothing."""
    if isinstance(out.get("pattern"), str) and not _compiles(out["pattern"]):
        out.pop("pattern")
    named = out.get("patternProperties")
    if isinstance(named, dict):
        out["patternProperties"] = {k if _compiles(k) else "": v if _compiles(k) else True for k, v in named.items()}
    return out


@functools.cache
def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


@functools.cache
def _modern():
    """2020-12, with draft 7's list form of `items` understood wherever it stands (Mistral's own validator is draft 7)."""
    import jsonschema

    plain = jsonschema.Draft202012Validator.VALIDATORS["items"]

    def items(checker, wanted, value, schema):
        if not isinstance(wanted, list):
            yield from plain(checker, wanted, value, schema)
        elif checker.is_type(value, "array"):
            for i, (sub, item) in enumerate(zip(wanted, value)):
                yield from checker.descend(item, sub, path=i, schema_path=i)

    def additional(checker, wanted, value, schema):
        if isinstance(schema.get("items"), list) and checker.is_type(value, "array"):
            for i, item in enumerate(value[len(schema["items"]):], len(schema["items"])):
                yield from checker.descend(item, wanted, path=i)

    return jsonschema.validators.extend(jsonschema.Draft202012Validator, {"items": items, "additionalItems": additional})


def validator(schema: Any):
    """An independent validator (python-jsonschema) that fetches nothing; the draft is the schema's own, 2020-12 by default."""
    import jsonschema
    from referencing import Registry

    cls = _modern()
    if isinstance(schema, dict) and isinstance(schema.get("$schema"), str) and "2020-12" not in schema["$schema"]:
        cls = jsonschema.validators.validator_for(schema, default=cls)
        if cls is _modern():
            schema = {k: v for k, v in schema.items() if k != "$schema"}
    return cls(schema, registry=Registry())


def accepts(checker, value: Any) -> tuple[bool, str]:
    """(verdict, why not). A schema the validator cannot read at all is no acceptance."""
    try:
        error = next(checker.iter_errors(value), None)
    except RecursionError:
        return False, "validator recursed without end"
    except Exception as exc:  # unresolvable references and the like: a defect of the lowered schema
        return False, f"{type(exc).__name__}: {str(exc)[:200]}"
    if error is None:
        return True, ""
    return False, f"/{'/'.join(map(str, error.absolute_path))}: {error.message[:160]} (by {'/'.join(map(str, error.absolute_schema_path))[-100:]})"
