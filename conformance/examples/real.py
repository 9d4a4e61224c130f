"""The examples that speak Chat Completions with a real model, behind `/v1` of the gateway: pointed there by base URL and model name alone."""

import json
import pathlib
import subprocess
import sys
import time
import urllib.request

import stage
from catalogue import HERE, ROOT
from programs import Process, print_table

sys.path.append(str(ROOT / "conformance/real_model"))
from install import NotRun, install

__all__ = ["NotRun", "judge"]

MODEL = "qwen2.5-coder-1.5b-instruct"
# What the examples ask, and what follows from it.
CALL, RESULT = ("add", {"a": 15, "b": 27}), "42"


def judge(arguments, cache, chosen):
    """Runs the examples one after the other, since the model takes a whole core: what is wrong."""
    folder = pathlib.Path(arguments.real_model).resolve()
    install(folder)
    command = [folder / "venv/bin/python", HERE / "greedy_model.py", folder / "qwen.gguf", ROOT / "conformance/real_model/native.jinja"]
    rows, faults = [("example", "calls", "seconds", "result")], []
    with Process(command, stderr=subprocess.DEVNULL, own_group=True) as server:
        port = server.wait_for(r"listening on http://127\.0\.0\.1:(\d+)")
        models = {"local": {"baseUrl": f"http://127.0.0.1:{port}/v1", "model": MODEL, "timeout": "10m", "text": "off"}}
        with stage.gateway_beside(arguments.bin, models) as gateway:
            for example in chosen:
                begun = time.monotonic()
                found, ran = judge_one(example, cache, gateway)
                faults += [f"{example.file}: {fault}" for fault in found]
                rows.append((example.file, str(ran), f"{time.monotonic() - begun:.0f}", "FAILED" if found else "ok"))
    print_table(rows)
    return faults


def judge_one(example, cache, gateway):
    """What is wrong with one, and how many calls ran."""
    before = calls_of(gateway)
    url, name = example.chat
    variables = {key: text for key, text in example.environment.items() if text in ("none", "1")}
    printed, trouble = stage.run(example, cache, gateway, variables | {url: f"{gateway}/v1", name: "local"})
    ran = calls_of(gateway)[len(before) :]
    faults = [trouble] if trouble else []
    if printed.count(RESULT) < example.questions:
        faults.append(f"{RESULT} is not in each answer: {printed!r}")
    if ran.count(CALL) < example.questions:
        faults.append(f"the model called {ran}, not {CALL} for each question")
    return faults, len(ran)


def calls_of(gateway):
    """All calls of the gateway's log, the oldest first."""
    with urllib.request.urlopen(f"{gateway}/logs?limit=1000", timeout=60) as answer:
        entries = sorted(json.load(answer), key=lambda entry: entry["id"])
    return [(entry["tool"], entry["input"]) for entry in entries]
