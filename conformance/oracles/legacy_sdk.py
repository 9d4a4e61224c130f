#!/usr/bin/env python3
"""What `google-generativeai` makes of function declarations: one JSON list of findings for each JSON line with a declaration.

The package needs an older protobuf than the other SDKs, so it runs in an environment of its own (requirements-legacy.txt) and
speaks by lines. Each finding is a text; none means that the declaration was taken and came through whole.
"""
from __future__ import annotations

import json
import sys
from typing import Any


def judge(declaration: Any) -> list[str]:
    import google.generativeai as genai
    from google.protobuf import json_format

    try:
        model = genai.GenerativeModel("gemini-1.5-pro", tools={"function_declarations": [declaration]})
        proto = model._tools.to_proto()[0].function_declarations[0]
    except (AttributeError, KeyError, TypeError, ValueError) as exc:
        return [f"google-generativeai refuses this declaration: {type(exc).__name__}: {str(exc)[:300]}"]
    held = json_format.MessageToDict(type(proto).pb(proto))
    given = {key: said(value) if key == "parameters" else value for key, value in declaration.items() if value != ""}
    return [f"lost on the way to the API: {path}" for path in lost(given, held)]


def said(schema: Any) -> Any:
    """A schema as protobuf writes it: types in capitals, and no field that has its default."""
    out = {}
    for key, value in schema.items():
        if key == "type":
            value = value.upper()
        elif key == "items":
            value = said(value)
        elif key == "properties":
            value = {name: said(inner) for name, inner in value.items()}
        if key == "items" or value not in ({}, [], "", False):
            out[key] = value
    return out


def lost(given: Any, held: Any, path: str = "") -> list[str]:
    if isinstance(given, dict) and isinstance(held, dict):
        return [found for key, value in given.items()
                for found in (lost(value, held[key], f"{path}/{key}") if key in held else [f"{path}/{key}"])]
    return [] if given == held else [f"{path}: {json.dumps(given)[:80]} became {json.dumps(held)[:80]}"]


def main() -> int:
    for line in sys.stdin:
        print(json.dumps(judge(json.loads(line))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
