"""The scripted servers of `gateway-model`, judged: by the oracles' cases, and by the providers' own SDKs.

    run.py [--model gateway-model] [--cache FOLDER]
    run.py --only 'mistral*,boto3'     some SDKs
    run.py --install-only              fill the cache folder and judge nothing

1. Strictness: what the strict servers accept and refuse against the verdicts of oracles/selftest.py (strictness.py).
2. Shapes: each SDK, as it is published, reads a call and the answer to its result, whole and streamed, and a refusal (sdk_python.py).
3. The shapes of Converse are those of the AWS SDK that is installed (converse_shapes.py).

xAI's server is examples/xai_server.py. Exit status: 0 good, 1 something differs, 2 wrong usage or a part that does not start.
"""

import argparse
import concurrent.futures
import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import strictness
from programs import ROOT, Process, conclude, find_program, pinned_packages, print_table
from published_clients import choose, install_clients, run_program
from sdk_python import SDKS

AT_ONCE = 2
ARGUMENTS = {"a": 15, "b": 27}
TEXT = "Let me add: ü."


class Sdk:
    """An SDK, its packages, the server that stands for its provider, and the refusal that it is to see."""

    program = "sdk_python.py"

    def __init__(self, wire, package, refusal, words, home="sdks"):
        self.wire, self.package, self.refusal, self.words, self.home = wire, package, refusal, words, home


class XaiCases:
    """The program that sends the oracle's cases to xAI's server."""

    program, home = "xai_cases.py", "sdks"


# The status of the refusal as the SDK's exception has it, and words of its message.
CLIENTS = {
    "openai chat": Sdk("chat", "openai", ("BadRequestError", "400"), "string does not match pattern"),
    "openai responses": Sdk("responses", "openai", ("BadRequestError", "400"), "string does not match pattern"),
    "anthropic": Sdk("messages", "anthropic", ("BadRequestError", "400"), "tools.0.custom.name: String should match pattern"),
    "google-genai": Sdk("generate-content", "google-genai", ("ClientError", "400"), "Invalid function name."),
    "google-generativeai": Sdk("generate-content", "google-generativeai", ("BadRequest", "400"), "Invalid function name.", "legacy"),
    "mistralai": Sdk("mistral", "mistralai", ("SDKError", "400"), "Function name was a b but must be"),
    "cohere": Sdk("cohere", "cohere", ("UnprocessableEntityError", "422"), "unknown field: parameter 'strict' is not a valid field"),
    "boto3": Sdk("converse", "boto3", ("ValidationException", "ValidationException"), "must be one of the following: object"),
    "ollama": Sdk("ollama", "ollama", ("ResponseError", "400"), "follows no call of it"),
    "xai-sdk": Sdk("xai", "xai-sdk", ("_InactiveRpcError", "INVALID_ARGUMENT"), "must match"),
}
# Gives ids of its own to calls, or knows none.
WITHOUT_IDS = {"ollama", "google-generativeai"}


def script():
    """Two rounds: text and two calls, then what the result says."""
    calls = [{"id": ident, "name": "add", "arguments": ARGUMENTS} for ident in ("abcDEF123", "abcDEF124")]
    # Gemini's first call of a turn carries a signature, which the strict server wants back.
    signed = [{**calls[0], "signature": "c2lnbmF0dXJl"}, calls[1]]
    plain = [{"reply": {"text": TEXT, "calls": calls}}, {"echo_result": True}]
    return {"signed": [{"reply": {"text": TEXT, "calls": signed}}, {"echo_result": True}], "plain": plain}


def run_sdk(arguments, cache, name, client):
    """What the SDK saw, by way, and what went wrong."""
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        steps = script()["signed" if client.wire == "generate-content" else "plain"]
        path = folder / "script.json"
        path.write_text(json.dumps({"strict": True, "steps": steps * 2}))
        if client.wire == "xai":
            server = [cache / client.home / "bin/python", HERE.parent / "examples/xai_server.py"]
        else:
            server = [arguments.model, "--wire", client.wire]
        url = stack.enter_context(Process([*server, "--script", path])).wait_for(r'"url": ?"([^"]+)"')
        environment = {"HOME": str(folder), "NO_PROXY": "127.0.0.1", "AWS_EC2_METADATA_DISABLED": "true"}
        lines, trouble = run_program(HERE, cache, client, [name, url], environment)
    return {line.pop("way"): line for line in lines}, trouble


def problems_of(name, client, seen):
    """What each way should have been and was not."""
    ids = ("", "") if name in WITHOUT_IDS else ("abcDEF123", "abcDEF124")
    calls = [{"id": ident, "name": "add", "arguments": ARGUMENTS} for ident in ids]
    expected = {"text": TEXT, "calls": calls, "answer": "42"}
    for way in ("whole", "streamed"):
        if seen.get(way) != expected:
            yield way, f"saw {json.dumps(seen.get(way))} instead of {json.dumps(expected)}"
    refusal = seen.get("refused", {})
    if (refusal.get("class"), refusal.get("status")) != client.refusal or client.words not in refusal.get("message", ""):
        yield "refused", f"saw {json.dumps(refusal)} instead of {client.refusal} with “{client.words}”"


def judge_sdks(arguments, cache, chosen):
    one = lambda entry: (entry[0], run_sdk(arguments, cache, *entry))
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        results = dict(pool.map(one, chosen.items()))
    pins = {home: pinned_packages(HERE / f"requirements-{home}.txt") for home in ("sdks", "legacy")}
    rows, findings = [["SDK", "version", "wire", "whole", "streamed", "refused"]], []
    for name, (seen, trouble) in results.items():
        client = chosen[name]
        wrong = dict(problems_of(name, client, seen))
        findings += [f"{name}, {way}: {text}" for way, text in wrong.items()] + ([f"{name}: {trouble}"] if trouble else [])
        cells = ["FAILED" if way in wrong else "ok" for way in ("whole", "streamed", "refused")]
        rows.append([name, pins[client.home][client.package], client.wire, *cells])
    print_table(rows)
    return findings


def judge_strictness(arguments, cache):
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        path = folder / "script.json"
        path.write_text(json.dumps({"strict": True, "last": {"reply": {"text": "Ok."}}}))
        urls = {}

        def serve(wire):
            if wire not in urls:
                server = Process([arguments.model, "--wire", wire, "--script", path])
                urls[wire] = stack.enter_context(server).wait_for(r'"url":"([^"]+)"')
            return urls[wire]

        rows, differ, left_out = strictness.compare(serve)
        server = [cache / "sdks/bin/python", HERE.parent / "examples/xai_server.py", "--script", path]
        address = stack.enter_context(Process(server)).wait_for(r'"url": ?"([^"]+)"')
        said, trouble = run_program(HERE, cache, XaiCases, [address], {})
    good, bad = [[one for one in said if one["good"] is wanted] for wanted in (True, False)]
    agree = [sum(one["accepted"] is one["good"] for one in half) for half in (good, bad)]
    rows.append(["xai", "xai_server.py", f"{agree[0]} of {len(good)}", f"{agree[1]} of {len(bad)}"])
    differ += [["xai", "xai_server.py", one["label"], "accepts" if one["good"] else "refuses", one["said"] or "ok"] for one in said if one["accepted"] != one["good"]]
    if trouble or not good or not bad:
        differ.append(["xai", "xai_server.py", "all cases", "has", trouble or "nothing"])
    print_table(rows)
    for provider, label, reason in left_out:
        print(f"not of the service: {provider}, {label}: {reason}")
    return [f"{wire}: the oracle {provider} {verdict} “{label}”; the server says {said}" for provider, wire, label, verdict, said in differ]


def judge(arguments):
    cache = pathlib.Path(arguments.cache).resolve()
    chosen = choose(CLIENTS, arguments.only)
    install_clients(HERE, cache, {client.home for client in chosen.values()})
    if arguments.install_only:
        return False
    arguments.model = find_program("gateway-model", arguments.model)
    findings = [] if arguments.only else judge_strictness(arguments, cache)
    findings += judge_sdks(arguments, cache, chosen)
    if not arguments.only:
        shapes = [cache / "sdks/bin/python", HERE / "converse_shapes.py", "--check"]
        if subprocess.run(shapes).returncode != 0:
            findings.append("the shapes of Converse are not those of boto3's botocore")
        if set(CLIENTS) != set(SDKS):
            findings.append(f"SDKs without a client or the opposite: {sorted(set(CLIENTS) ^ set(SDKS))}")
    for text in findings:
        print(f"FAILED: {text}")
    return bool(findings)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="the scripted model's binary; else the newest under target/")
    parser.add_argument("--bin", help="not needed: no gateway is asked")
    parser.add_argument("--fixture", help="not needed either")
    parser.add_argument("--only", help="only SDKs that match one of these patterns, by commas")
    parser.add_argument("--install-only", action="store_true", help="fill the cache folder and judge nothing")
    parser.add_argument("--cache", default=str(ROOT / "target/model-sdks"))
    conclude(judge, parser)


if __name__ == "__main__":
    main()
