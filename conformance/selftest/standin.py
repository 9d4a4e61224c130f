#!/usr/bin/env python3
"""A stand-in for the binary: wraps each MCP tool in the dialect's envelope, changes no schema, reports no change.

It speaks the line contract and nothing more; the self-tests use it to exercise the judges. STANDIN_FAULT picks a
defect to plant: drop (constraints vanish), force (all parameters required), narrow (strings shortened), mute (decode checks
nothing), short (one line missing).
"""
from __future__ import annotations

import argparse
import copy
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import semantics  # noqa: E402

FAULT = os.environ.get("STANDIN_FAULT", "")


def wrap(dialect: str, tool: dict) -> dict:
    schema = copy.deepcopy(tool.get("inputSchema"))
    if isinstance(schema, dict):
        spoil(schema)
    said = tool.get("description") or "no description"
    path = semantics.rules(dialect)["at"]
    out: dict = {"name": tool["name"], "description": said}
    if path[0] == "toolSpec":
        return {"toolSpec": {**out, "inputSchema": {"json": schema}}}
    if path == ["function", "parameters"]:
        if dialect.endswith("-strict"):
            out["strict"] = True
        return {"type": "function", "function": {**out, "parameters": schema}}
    out[path[0]] = schema
    if dialect == "anthropic-strict":
        out["strict"] = True
    if dialect.startswith("openai-responses"):
        out = {"type": "function", **out, "strict": dialect.endswith("-strict")}
    return out


def spoil(schema: dict) -> None:
    if FAULT == "force" and isinstance(schema.get("properties"), dict):
        schema["required"] = list(schema["properties"])
    props = schema.get("properties")
    for child in props.values() if isinstance(props, dict) else ():
        if isinstance(child, dict):
            if FAULT == "drop":
                for key in ("minimum", "maximum", "minLength", "maxLength", "pattern", "format", "enum", "default"):
                    child.pop(key, None)
            if FAULT == "narrow" and child.get("type") == "string":
                child["maxLength"] = 0


def main() -> int:
    top = argparse.ArgumentParser()
    top.add_argument("verb", choices=["convert", "arguments"])
    top.add_argument("rest", nargs="*")
    top.add_argument("--to", required=True)
    top.add_argument("--jsonl", action="store_true")
    top.add_argument("--open", default="declared")
    args = top.parse_intermixed_args()
    out = []
    if args.verb == "convert" and not args.jsonl:
        tools = json.load(sys.stdin)
        json.dump([wrap(args.to, t) for t in tools], sys.stdout)
        return 0
    for line in sys.stdin:
        item = json.loads(line)
        if args.verb == "convert":
            out.append({"name": item["name"], "tool": wrap(args.to, item), "quarantine": None, "changes": [],
                        "tokens": {"before": 1, "after": 1}})
        elif args.rest == ["decode"] and FAULT != "mute":
            ok, why = semantics.accepts(semantics.validator(item["tool"].get("inputSchema", True)), item["arguments"])
            out.append({"arguments": item["arguments"]} if ok else {"error": {"message": why}})
        else:
            out.append({"arguments": item["arguments"]})
    for row in out[1:] if FAULT == "short" else out:
        print(json.dumps(row))
    return 0


if __name__ == "__main__":
    sys.exit(main())
