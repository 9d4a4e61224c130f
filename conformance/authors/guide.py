"""Whether what docs/guides/servers-that-work-everywhere.md says is so: each section has a tool before and after, findings, and what providers get."""

import json
import re
import subprocess

BLOCK = re.compile(r"^```(\w+) ([\w-]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
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


def judge_section(binary, blocks):
    """What is wrong with one section."""
    before, after = json.loads(blocks.pop("before")), json.loads(blocks.pop("after"))
    claims = blocks.pop("check", "")
    yield from wrong_claims(claims, findings(binary, before))
    named = {line.split()[1] for line in claims.splitlines()}
    for one in findings(binary, after):
        if one["level"] != "note" or one["rule"] in named:
            yield f"the tool after still has {one['level']} {one['rule']} at {one['pointer']}"
    for dialect, text in blocks.items():
        [given] = run(binary, before, "convert", "--to", dialect)
        if given != json.loads(text):
            yield f"{dialect} gets {json.dumps(given)}"


def judge(binary, path):
    """The headings with the number of what each claims, and what is wrong."""
    rows, failures = [], []
    for heading, blocks in sections(path.read_text()):
        count = len(blocks.get("check", "").splitlines()) + len(blocks.keys() - {"before", "after", "check"}) + 1
        wrong = [f"{heading}: {text}" for text in judge_section(binary, blocks)]
        rows.append([heading, str(count), "FAILED" if wrong else "ok"])
        failures += wrong
    if len(rows) < 8:
        failures.append(f"only {len(rows)} sections have snippets")
    return rows, failures
