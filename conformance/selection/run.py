#!/usr/bin/env python3
"""Choosing tools: twenty tasks over 10, 100 and 1,000 tools of the corpus, with all tools, with selected ones and with those of search.

run.py --bin PATH [--data DIR] [--show]
Exit 0: the targets hold; 1: they do not; 2: the gateway does not start or there is no data.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import random
import sys
import tempfile
import time
import tomllib
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import kit  # noqa: E402
from corpus_servers import serving_corpus  # noqa: E402
from programs import Unusable, conclude, print_table, serving, wait_until_ready  # noqa: E402
from scripted_model import serving_model  # noqa: E402

SIZES = (10, 100, 1000)
SEED = 13
# How a model is configured: with all tools, with the choice that docs/guides/agent.md recommends, with search alone.
WAYS = {"all": {}, "selected": {"max": 24, "maxTokens": 8000}, "search": {"search": "only"}}
CLASSES = ("literal", "paraphrased", "several")
# Of the tokens of "all" at the largest size.
SHARE = 0.10
WAIT = 120


def tools_of(data: pathlib.Path) -> dict[str, dict]:
    """All tools of the corpus as `server/name`; the server is the name of its file."""
    found = {}
    for path in sorted((data / "corpus" / "servers").glob("*.json")):
        for tool in json.loads(path.read_text(encoding="utf-8"))["tools"]:
            found.setdefault(f"{path.stem}/{tool['name']}", tool)
    return found


def sample(tools: dict[str, dict], needed: set[str], size: int, seed: str) -> list[str]:
    """So many tools, the needed ones among them, in the order of the corpus."""
    others = [name for name in tools if name not in needed]
    chosen = needed | set(random.Random(seed).sample(others, min(size, len(tools)) - len(needed)))
    return [name for name in tools if name in chosen]


class Outcome:
    """What came of a task with tools of one size, offered in one way."""

    def __init__(self, task, answer, rounds, calls, wanted):
        self.tokens = sum(seen.tokens for seen in rounds)
        self.rounds = len(rounds)
        expected = [(step["tool"], step["arguments"]) for step in task["step"]]
        text = "" if "error" in answer else answer["choices"][0]["message"]["content"]
        self.is_good = kit.same(list(map(list, calls)), list(map(list, expected))) and text.startswith("Done: ")
        searches = [call for call in answer.get("gateway", {}).get("calls", []) if call["tool_name"].startswith("search_tools")]
        self.looked_up = sum(call["arguments"].get("query") == "" for call in searches)
        # Of the tools that the task needs, those that were offered at once.
        self.at_once = sum(name in rounds[0].names for name in wanted) if rounds else 0
        self.wanted = len(wanted)
        self.fault = None if self.is_good else f"called {calls}, answered {text or answer.get('error')!r}"


def ask(port, way, task, only):
    body = {"model": way, "messages": [{"role": "user", "content": task["ask"]}]}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/chat/completions", json.dumps(body).encode())
    request.add_header("content-type", "application/json")
    if only is not None:
        request.add_header("x-gateway-tools", ", ".join(only))
    try:
        with urllib.request.urlopen(request, timeout=WAIT) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refusal:
        return json.load(refusal)


def wire_names(port, tools):
    """What models are offered each tool as, once all are listed."""
    deadline = time.monotonic() + WAIT
    while True:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/tools/vllm?limit=off&meta=true", timeout=WAIT) as answer:
            origins = json.load(answer)["meta"]
        names = {f"{origin['server']}/{origin['name']}": name for name, origin in origins.items()}
        unlisted = set(tools) - names.keys()
        if not unlisted:
            return names
        if time.monotonic() > deadline:
            raise Unusable(f"the gateway does not list {', '.join(sorted(unlisted)[:5])}")
        time.sleep(0.2)


def run(arguments, tools, tasks):
    """The outcomes by size, way and task."""
    needed = {step["tool"] for task in tasks for step in task["step"]}
    missing = needed - tools.keys()
    if missing:
        raise Unusable(f"the corpus lacks {', '.join(sorted(missing))}")
    largest = sample(tools, needed, SIZES[-1], f"{SEED}")
    among = {name: tools[name] for name in largest}
    servers = {}
    for name in largest:
        servers.setdefault(name.split("/")[0], []).append(tools[name])
    names = {}
    with serving_corpus(servers) as (entries, calls), serving_model(tasks, names) as (model_port, rounds), \
            tempfile.TemporaryDirectory() as folder:
        model = {"baseUrl": f"http://127.0.0.1:{model_port}/v1", "dialect": "vllm", "text": "off"}
        models = {way: {**model, "tools": budget} for way, budget in WAYS.items()}
        config = pathlib.Path(folder) / "config.json"
        config.write_text(json.dumps({"mcpServers": entries, "models": models, "loop": {"maxRounds": 12}}))
        with serving(arguments.bin, config, pathlib.Path(folder) / "data") as (_, port):
            wait_until_ready(port)
            names.update(wire_names(port, largest))
            outcomes = {}
            for size in SIZES:
                for number, task in enumerate(tasks):
                    own = {step["tool"] for step in task["step"]}
                    only = sample(among, own, size, f"{SEED}-{size}-{number}") if size < SIZES[-1] else None
                    for way in WAYS:
                        rounds.clear()
                        answer = ask(port, way, task, only)
                        wanted = [names[step["tool"]] for step in task["step"]]
                        outcomes[size, way, number] = Outcome(task, answer, list(rounds), calls.take(), wanted)
    print(f"{len(largest)} tools of {len(servers)} servers\n")
    return outcomes


def report(outcomes, tasks):
    rows = [["tools", "way", "tokens", "of all", "rounds", "solved", *CLASSES, "offered at once", "by directory"]]
    for size in SIZES:
        for way in WAYS:
            of = lambda which: [outcomes[size, way, n] for n, task in enumerate(tasks) if which in (None, task["class"])]
            every, total = of(None), sum(outcomes[size, "all", n].tokens for n in range(len(tasks)))
            tokens = sum(o.tokens for o in every)
            good = lambda some: f"{sum(o.is_good for o in some)}/{len(some)}"
            at_once = [f"{sum(o.at_once for o in some)}/{sum(o.wanted for o in some)}" for some in map(of, CLASSES)]
            rows.append([f"{size:,}", way, f"{tokens:,}", f"{tokens / total:.1%}", f"{sum(o.rounds for o in every) / len(every):.1f}",
                         good(every), *(good(of(which)) for which in CLASSES), " · ".join(at_once),
                         " · ".join(str(sum(o.looked_up for o in some)) for some in map(of, CLASSES))])
    print_table(rows)


def judge(arguments):
    tasks = tomllib.loads((HERE / "tasks.toml").read_text(encoding="utf-8"))["task"]
    outcomes = run(arguments, tools_of(kit.data_dir(arguments.data)), tasks)
    report(outcomes, tasks)
    if arguments.show:
        for (size, way, number), outcome in outcomes.items():
            if outcome.fault:
                print(f"{size} {way}: {tasks[number]['ask']!r}: {outcome.fault}")
    total = lambda size, way, what: sum(getattr(outcomes[size, way, n], what) for n in range(len(tasks)))
    least, most, wrong = SIZES[0], SIZES[-1], []
    for way in ("selected", "search"):
        share = total(most, way, "tokens") / total(most, "all", "tokens")
        if share > SHARE:
            wrong.append(f"{way}: {share:.1%} of the tokens of all at {most}; at most {SHARE:.0%} are good")
    for size in SIZES:
        if total(size, "selected", "is_good") < total(size, "all", "is_good"):
            wrong.append(f"selected: {total(size, 'selected', 'is_good')} solved at {size}, and {total(size, 'all', 'is_good')} with all")
    for what in ("tokens", "rounds"):
        if total(least, "selected", what) > total(least, "all", what):
            wrong.append(f"selected: more {what} than all at {least}")
    print("\n".join(wrong) or "selection: good")
    return bool(wrong)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True, help="the binary to judge")
    parser.add_argument("--data", help="folder with corpus/ (default: ../shared, else target/data)")
    parser.add_argument("--show", action="store_true", help="what went wrong with each task")
    conclude(judge, parser)
