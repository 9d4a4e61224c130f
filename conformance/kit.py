"""What all judges share: finding the corpus, running the binary, knowing the dialects, printing tables.

The judges know nothing of the engine. They see what a user sees: lines into a command and lines out of it.
"""
from __future__ import annotations

import json
import math
import multiprocessing
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator

HERE = Path(__file__).resolve().parent
ORACLES = HERE / "oracles"

# Every dialect that has a profile in oracles/check.py; grammar-* and metaschema-* profiles are programs, not providers.
DIALECTS = (
    "openai-chat", "openai-chat-strict", "openai-responses", "openai-responses-strict", "openai-functions",
    "gemini", "gemini-json", "gemini-legacy", "vertex", "vertex-json", "anthropic", "anthropic-strict", "bedrock", "mistral", "cohere",
    "ollama", "ollama-openai", "xai", "groq", "deepseek", "deepseek-strict", "moonshot", "dial", "argo",
    "openai-compatible", "vllm", "llamacpp", "lmstudio",
)
FATES = ("kept", "rewritten", "encoded", "described", "dropped")


class Fault(Exception):
    """The binary broke its contract, so nothing it said can be judged."""


# ---------------------------------------------------------------------------------------------- arguments, files
def data_dir(given: str | None) -> Path:
    """Where corpus/ and json-schema-test-suite/ are: the folder that was named, else the large set beside the checkout, else what
    corpus/capture.py fills. In CI the large set must be there. Ends the judge where there is no data: it could not fail."""
    beside = HERE.parent.parent / "shared"
    captured = Path(os.environ.get("CARGO_TARGET_DIR") or HERE.parent / "target") / "data"
    if given:
        places = [Path(given)]
    elif os.environ.get("CI") == "true":
        places = [beside]
    else:
        places = [beside, captured]
    for path in places:
        if (path / "corpus" / "servers").is_dir():
            return path
    print(f"nothing can be judged: no corpus in {' or '.join(map(str, places))}; run conformance/corpus/capture.py or give "
          "--data DIR", file=sys.stderr)
    sys.exit(2)


def arguments(parser):
    parser.add_argument("--bin", required=True, help="the binary to judge")
    parser.add_argument("--data", help="folder with corpus/ and json-schema-test-suite/ (default: ../shared, else target/data)")
    parser.add_argument("--dialect", help="comma-separated dialects (default: all with an oracle profile)")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="judge only about N evenly spread cases")
    parser.add_argument("--jobs", type=int, default=max(1, os.cpu_count() or 1), help="processes")
    parser.add_argument("--show", type=int, default=10, metavar="N", help="findings printed per dialect")
    return parser


def dialects_of(given: str | None) -> list[str]:
    if not given:
        return list(DIALECTS)
    chosen = [d.strip() for d in given.split(",") if d.strip()]
    unknown = [d for d in chosen if d not in DIALECTS]
    if unknown:
        print(f"no oracle profile: {', '.join(unknown)}", file=sys.stderr)
        sys.exit(2)
    return chosen


def corpus(data: Path, sample: int = 0) -> list[tuple[str, dict]]:
    """(server, tool) for the whole corpus, in a fixed order."""
    found = []
    files = sorted((data / "corpus" / "servers").glob("*.json"))
    for path in files:
        with open(path, encoding="utf-8") as f:
            held = json.load(f)
        found += [(held["server"], tool) for tool in held["tools"]]
    print(f"corpus: {len(found)} tools of {len(files)} servers in {data}")
    return thin(found, sample)


def thin(items: list, sample: int) -> list:
    if not sample or sample >= len(items):
        return items
    return [items[i * len(items) // sample] for i in range(sample)]


def load_toml(name: str) -> dict:
    with open(HERE / name, "rb") as f:
        return tomllib.load(f)


# ---------------------------------------------------------------------------------------------- the binary
def lines(binary: str, args: list[str], items: Iterable[Any]) -> list[Any]:
    """One JSON line out per JSON line in, in order. Exit 1 (findings) is a good end; 2 and signals are not."""
    count = 0
    with tempfile.TemporaryFile("w+", encoding="utf-8") as stdin, tempfile.TemporaryFile("w+", encoding="utf-8") as stdout, \
            tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as stderr:
        for item in items:
            stdin.write(json.dumps(item) + "\n")
            count += 1
        stdin.seek(0)
        try:
            done = subprocess.run(command(binary) + args, stdin=stdin, stdout=stdout, stderr=stderr, check=False)
            stdout.seek(0)
            out = [json.loads(line) for line in stdout if line.strip()]
        except (OSError, ValueError) as exc:
            raise Fault(f"{' '.join(args)}: {type(exc).__name__}: {exc}") from exc
        stderr.seek(0)
        said = stderr.read()[-400:].strip()
    if done.returncode not in (0, 1):
        raise Fault(f"{' '.join(args)}: exit {done.returncode}: {said}")
    if len(out) != count:
        raise Fault(f"{' '.join(args)}: {count} lines in, {len(out)} lines out: {said}")
    return out


def command(binary: str) -> list[str]:
    return [sys.executable, binary] if binary.endswith(".py") else [str(Path(binary).resolve())]


def convert(binary: str, dialect: str, tools: list[dict], *more: str) -> list[dict]:
    rows = lines(binary, ["convert", "--to", dialect, "--jsonl", *more, "-"], tools)
    for tool, row in zip(tools, rows):
        fault = row_fault(tool, row)
        if fault:
            raise Fault(f"convert --to {dialect}: {tool.get('name')!r}: {fault}")
    return rows


def row_fault(tool: dict, row: Any) -> str | None:
    """The line contract of `convert --jsonl`."""
    if not isinstance(row, dict):
        return "not an object"
    if row.get("name") != tool.get("name"):
        return f"answers for {row.get('name')!r}"
    if (row.get("tool") is None) == (row.get("quarantine") is None):
        return "needs exactly one of tool and quarantine"
    if row.get("quarantine") is not None and not (isinstance(row["quarantine"], str) and row["quarantine"].strip()):
        return "quarantine without a reason"
    if not isinstance(row.get("changes"), list):
        return "no list of changes"
    for change in row["changes"]:
        if not isinstance(change, dict) or not {"path", "keyword", "value", "fate", "reason"} <= set(change):
            return f"incomplete change {json.dumps(change)[:120]}"
        if change["fate"] not in FATES:
            return f"unknown fate {change['fate']!r}"
        if not isinstance(change["path"], str) or not isinstance(change["reason"], str):
            return f"change with a path or reason that is not text: {json.dumps(change)[:120]}"
    tokens = row.get("tokens")
    if not (isinstance(tokens, dict) and all(isinstance(tokens.get(k), int) for k in ("before", "after"))):
        return "no token estimates"
    return None


def translate_arguments(binary: str, way: str, dialect: str, pairs: list[tuple[dict, Any]], *more: str) -> list[dict]:
    """`arguments encode` or `arguments decode`; each answer holds `arguments` or `error`."""
    rows = lines(binary, ["arguments", way, "--to", dialect, *more, "--jsonl"],
                 ({"tool": tool, "arguments": value} for tool, value in pairs))
    for row in rows:
        if not isinstance(row, dict) or ("arguments" in row) == ("error" in row):
            raise Fault(f"arguments {way} --to {dialect}: needs exactly one of arguments and error: {json.dumps(row)[:160]}")
        if "error" in row and not (isinstance(row["error"], dict) and row["error"].get("message")):
            raise Fault(f"arguments {way} --to {dialect}: error without a message: {json.dumps(row)[:160]}")
    return rows


# ---------------------------------------------------------------------------------------------- dialects
def each_dialect(work: Callable[[Any], tuple[str, Any]], shares: list, jobs: int) -> dict[str, Any]:
    """What `work` makes of each share: a dialect and what was seen, in the order of the shares."""
    if jobs == 1:
        return dict(map(work, shares))
    with multiprocessing.get_context("fork").Pool(min(jobs, len(shares))) as pool:
        return dict(pool.imap(work, shares))


def is_broken(judge: str, results: dict[str, Any]) -> bool:
    """Whether the binary broke its contract for some dialect, which then has a text instead of what was seen; reports it."""
    texts = [f"{judge}: {dialect}: {seen}" for dialect, seen in results.items() if isinstance(seen, str)]
    for text in texts:
        print(text, file=sys.stderr)
    return bool(texts)


# ---------------------------------------------------------------------------------------------- JSON
def same(a: Any, b: Any) -> bool:
    """Equality of JSON values: 1 and 1.0 are one number, true and 1 are not one value."""
    if isinstance(a, bool) or isinstance(b, bool):
        return isinstance(a, bool) and isinstance(b, bool) and a == b
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a == b or (isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(v, b[k]) for k, v in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


def member(value: Any, values: Iterable[Any]) -> bool:
    return any(same(value, v) for v in values)


def token(key: Any) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")


def at(path: str, *keys: Any) -> str:
    """The JSON Pointer one or more steps below `path`."""
    return path + "".join("/" + token(k) for k in keys)


# ---------------------------------------------------------------------------------------------- printing
def table(head: list[str], rows: list[list[Any]]) -> None:
    cells = [[str(c) for c in row] for row in [head, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    for n, row in enumerate(cells):
        print("  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))).rstrip())
        if n == 0:
            print("  ".join("-" * w for w in widths))


def few(items: list, limit: int) -> Iterator[str]:
    yield from (str(i) for i in items[:limit])
    if len(items) > limit:
        yield f"... and {len(items) - limit} more"


def quiet_stderr() -> None:
    """Native libraries under the oracles write progress to descriptor 2; keep it out of the verdicts."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    os.close(null)
