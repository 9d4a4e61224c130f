"""The examples with real models: those with OpenAI's API with one on this machine, pointed there by base URL and model name alone; all with their
providers' own, where the key is set."""

import json
import os
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

__all__ = ["NotRun", "judge", "judge_services"]

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
        url = f"http://127.0.0.1:{port}/v1"
        models = {"local": {"baseUrl": url, "model": MODEL, "timeout": "10m", "text": "off"}}
        with stage.gateway_beside(arguments.bin, models) as gateway:
            for example in chosen:
                # The gateway has Chat Completions; Responses are those of the model's own server.
                at = (url, MODEL) if example.wire == "responses" else (f"{gateway}/v1", "local")
                variables = {key: text for key, text in example.environment.items() if text in ("none", "1")}
                rows.append(judged(example, cache, gateway, variables | dict(zip(example.openai, at)), faults))
    print_table(rows)
    return faults


def judge_services(arguments, cache, chosen):
    """Runs the examples whose keys are in the environment, with their providers: what is wrong. One that every provider refuses is left out."""
    rows, faults = [("example", "calls", "seconds", "result")], []
    with stage.gateway_beside(arguments.bin) as gateway:
        for example in (one for one in chosen if not one.refusal):
            if missing := missing_of(example):
                rows.append((example.file, "-", "-", f"NOT RUN: {', '.join(missing)} not set"))
                continue
            rows.append(judged(example, cache, gateway, {key: os.environ[key] for key in settings_of(example)}, faults))
    print_table(rows)
    if all(calls == "-" for _, calls, _, _ in rows[1:]):
        raise NotRun("no provider's key is set")
    return faults


def missing_of(example):
    """The variables without which the provider cannot be asked. Ollama has no key: who wants it asked says where it is."""
    wanted = [key for key, text in example.environment.items() if text == "none" or key == "OLLAMA_HOST"]
    return [key for key in wanted if not os.environ.get(key)]


def settings_of(example):
    """The variables of the environment that are about the example's SDK, such as OPENAI_MODEL beside OPENAI_API_KEY."""
    families = {key.split("_")[0] for key in example.environment} | {"GOOGLE", "GEMINI", "COHERE", "BEDROCK"}
    return [key for key in os.environ if key.split("_")[0] in families]


def judged(example, cache, gateway, variables, faults):
    """A row of the table; adds to the faults."""
    begun = time.monotonic()
    found, ran = judge_one(example, cache, gateway, variables)
    faults += [f"{example.file}: {fault}" for fault in found]
    return example.file, str(ran), f"{time.monotonic() - begun:.0f}", "FAILED" if found else "ok"


def judge_one(example, cache, gateway, variables):
    """What is wrong with one, and how many calls ran."""
    before = calls_of(gateway)
    printed, trouble = stage.run(example, cache, gateway, variables)
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
