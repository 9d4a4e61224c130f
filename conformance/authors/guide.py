"""Whether what docs/guides/servers-that-work-everywhere.md says is so: most sections have a tool before and after, findings, what providers get,
and what becomes of calls; others have parts of files, and what cassettes answer."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

from programs import ROOT

BLOCK = re.compile(r"^```(\w+) ([\w./-]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CALL = re.compile(r"^(\S+) sends (\{.*\}): (the server gets (\{.*\})|refused, (.*))$")
ANSWER = re.compile(r"^(\w+) (\S+)( \{.*\})?: (result|error (-\d+)(, .*)?)$")
# A client of each era, as it names itself in a request.
OPENING = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "guide", "version": "1"}}
META = {f"io.modelcontextprotocol/{name}": OPENING[kind] for name, kind in [("clientInfo", "clientInfo"), ("clientCapabilities", "capabilities")]}
META["io.modelcontextprotocol/protocolVersion"] = "2026-07-28"
CLAIM = re.compile(r"^(error|warning|note) (\S+) (.*): (.*)$")


def sections(text):
    """The advice: its heading, and its marked blocks by kind."""
    for part in text.split("\n## ")[1:]:
        blocks = {kind: body for _, kind, body in BLOCK.findall(part)}
        if blocks:
            yield part.splitlines()[0], blocks


def run(binary, tool, *words):
    done = subprocess.run([binary, *words], input=json.dumps([tool]), capture_output=True, text=True)
    if not done.stdout:
        raise ValueError(f"{' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout)


def findings(binary, tool):
    return run(binary, tool, "check", "--to", "all", "--format", "json", "--fail-on", "never")["findings"]


def wrong_claims(claims, found):
    """What is claimed and not found."""
    for line in claims.splitlines():
        if not (claim := CLAIM.match(line)):
            yield f"`{line}` is no claim"
            continue
        level, rule, pointer, where = claim.groups()
        dialects = set() if where == "everywhere" else set(where.split(", "))
        same = [one for one in found if (one["level"], one["rule"], one["pointer"]) == (level, rule, pointer)]
        if not any(dialects <= set(one["dialects"]) and bool(dialects) == bool(one["dialects"]) for one in same):
            yield f"`{line}` is not what check finds: {[(one['level'], one['rule'], one['pointer'], one['dialects']) for one in found]}"


def wrong_calls(binary, tool, claims):
    """What is claimed of calls of the tool and is not so."""
    for line in claims.splitlines():
        if not (claim := CALL.match(line)):
            yield f"`{line}` is no claim"
            continue
        dialect, given, _, arguments, refusal = claim.groups()
        text = json.dumps({"tool": tool, "arguments": json.loads(given)})
        decode = [binary, "arguments", "decode", "--to", dialect, "--jsonl"]
        done = subprocess.run(decode, input=text, capture_output=True, text=True)
        answer = json.loads(done.stdout or "{}")
        same = answer == {"arguments": json.loads(arguments)} if arguments else refusal in answer.get("error", {}).get("message", "")
        if not same:
            yield f"`{line}` is not so: {done.stdout or done.stderr}"


def judge_section(binary, blocks):
    """What is wrong with one section about a tool."""
    before, after = json.loads(blocks.pop("before")), json.loads(blocks.pop("after"))
    claims = blocks.pop("check", "")
    yield from wrong_claims(claims, findings(binary, before))
    named = {line.split()[1] for line in claims.splitlines()}
    for one in findings(binary, after):
        if one["level"] != "note" or one["rule"] in named:
            yield f"the tool after still has {one['level']} {one['rule']} at {one['pointer']}"
    for kind, text in blocks.items():
        kind, is_after, _ = kind.partition("-after")
        tool = after if is_after else before
        if kind == "calls":
            yield from wrong_calls(binary, tool, text)
            continue
        [given] = run(binary, tool, "convert", "--to", kind)
        if given != json.loads(text):
            yield f"{kind} gets {json.dumps(given)}"


def wrong_part(file, text):
    """Whether a block is no part of the file, however far it is indented there."""
    lines = lambda words: "\n".join(line.strip() for line in words.splitlines())
    if lines(text) not in lines((ROOT / file).read_text()):
        yield f"the block is not what {file} has"


def wrong_answers(binary, claims):
    """What is claimed of cassettes and is not so: the one of the example, which is modern, and one of a legacy server."""
    with tempfile.TemporaryDirectory() as folder:
        cassettes = {"modern": ROOT / "examples/server/session.json", "legacy": pathlib.Path(folder, "legacy.json")}
        server = [sys.executable, pathlib.Path(__file__).with_name("broken_server.py"), "good"]
        subprocess.run([binary, "record", "--tools", cassettes["legacy"], "--", *server], capture_output=True, check=True)
        for line in claims.splitlines():
            if not (claim := ANSWER.match(line)):
                yield f"`{line}` is no claim"
                continue
            era, method, given, _, code, text = claim.groups()
            params = OPENING if method == "initialize" else {**json.loads(given or "{}"), "_meta": META}
            request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
            done = subprocess.run([binary, "replay", cassettes[era]], input=f"{request}\n", capture_output=True, text=True)
            answer = json.loads(done.stdout or "{}")
            error = answer.get("error", {})
            good = "result" in answer if not code else error.get("code") == int(code) and (text or ", ")[2:] in error["message"]
            if not good:
                yield f"`{line}` is not so: {done.stdout or done.stderr}"


def wrong_blocks(binary, blocks):
    """What is wrong with the marked blocks of one section."""
    if "before" in blocks:
        yield from judge_section(binary, dict(blocks))
        return
    for kind, text in blocks.items():
        yield from wrong_answers(binary, text) if kind == "replay" else wrong_part(kind, text)


def judge(binary, path):
    """The headings with the number of what each claims, and what is wrong."""
    rows, failures = [], []
    text = path.read_text()
    for heading, blocks in sections(text):
        lines = sum(len(body.splitlines()) for kind, body in blocks.items() if kind.split("-")[0] in ("check", "calls", "replay"))
        others = {kind for kind in blocks if kind.split("-")[0] not in ("before", "after", "check", "calls", "replay")}
        wrong = [f"{heading}: {one}" for one in wrong_blocks(binary, blocks)]
        rows.append([heading, str(lines + len(others) + ("after" in blocks)), "FAILED" if wrong else "ok"])
        failures += wrong
    inputs = re.findall(r"^  ([\w-]+):$", (ROOT / "integrations/github-action/action.yml").read_text().partition("\noutputs:")[0], re.MULTILINE)
    failures += [f"the guide does not name the input {name}" for name in inputs if f"`{name}`" not in text]
    if len(rows) < 11:
        failures.append(f"only {len(rows)} sections have snippets")
    return rows, failures
