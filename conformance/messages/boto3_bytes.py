#!/usr/bin/env python3
"""boto3_bytes.py --bin mcp-tool-gateway --fixture gateway-fixture MESSAGES

Runs the code of docs/guides/bedrock.md through the real boto3, up to the request that it would send. MESSAGES are the lines of the example
program `messages`. On the wire must be what the gateway wrote, so that images and documents are decoded once; and not so
without the guide's step, which would then be superfluous. Exit status: 0 good, 1 something is wrong, 2 nothing could be judged.
"""
import argparse
import base64
import json
import pathlib
import re
import sys
import tempfile

import boto3
import botocore.awsrequest
import botocore.config

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from programs import ROOT, Unusable, conclude, serving

PNG = b"\x89PNG\r\n\x1a\n"
# What a model replies: a call, and reasoning that only it can read, which boto3 gives as bytes.
REPLY = {
    "output": {
        "message": {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"redactedContent": base64.b64encode(b"\x00\xff").decode()}},
                {"toolUse": {"toolUseId": "call_1", "name": "test_image_content", "input": {}}},
            ],
        }
    },
    "stopReason": "tool_use",
    "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
    "metrics": {"latencyMs": 1},
}


class Answer:
    """The body of an answer as urllib3 would give it."""

    def stream(self, **_):
        yield json.dumps(REPLY).encode()


class Wire:
    """A client of boto3 whose requests are kept instead of sent."""

    def __init__(self):
        self.client = boto3.client(
            "bedrock-runtime",
            region_name="us-east-1",
            aws_access_key_id="nobody",
            aws_secret_access_key="nothing",
            config=botocore.config.Config(retries={"max_attempts": 0}),
        )
        self.client.meta.events.register("before-send.bedrock-runtime.Converse", self.keep)

    def keep(self, request, **_):
        self.body = json.loads(request.body)
        return botocore.awsrequest.AWSResponse(request.url, 200, {"content-type": "application/json"}, Answer())

    def send(self, messages):
        """The messages as they would go over the wire."""
        self.client.converse(modelId="model", messages=messages)
        return self.body["messages"]


def guide():
    """What the code of the guide defines."""
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/guides/bedrock.md").read_text(), re.M | re.S):
        exec(block, names)
    return names


def sources(value):
    """The kind and the bytes, as text, of all media in messages."""
    if isinstance(value, list):
        for item in value:
            yield from sources(item)
    elif isinstance(value, dict):
        for kind, item in value.items():
            if kind in ("json", "input"):
                continue
            if isinstance(item, dict) and isinstance(item.get("source"), dict):
                yield kind, item["source"]["bytes"]
            yield from sources(item)


def judge_conversations(wire, to_boto3, lines):
    """What is wrong with conversations that hold media."""
    counts = {"image": 0, "document": 0}
    for line in lines:
        case = json.loads(line)
        messages = case["messages"]
        if case["provider"] != "bedrock" or not (media := list(sources(messages))):
            continue
        for kind, _ in media:
            counts[kind] += 1
        if wire.send(to_boto3(messages)) != messages:
            yield f"{case['name']}: boto3 sends something else"
        if wire.send(messages) == messages:
            yield f"{case['name']}: boto3 takes base64 as it is; the guide's step is superfluous"
    print(f"media sent through boto3: {counts}")
    if not all(counts.values()):
        yield f"not all kinds of media were sent: {counts}"


def judge_turn(wire, names, arguments):
    """What is wrong with a whole turn against the gateway: the guide's loop, and its image on the wire."""
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "config.json"
        server = {"command": str(pathlib.Path(arguments.fixture).resolve()), "args": ["stdio", "--serve", "everything"]}
        config.write_text(json.dumps({"mcpServers": {"everything": server}}))
        with serving(arguments.bin, config, pathlib.Path(folder) / "data") as (_, port):
            names["GATEWAY"] = f"http://127.0.0.1:{port}"
            messages = [{"role": "user", "content": [{"text": "show me"}]}]
            if names["turn"](wire.client, "model", messages) != "tool_use":
                yield "the turn did not end with a call"
            wired = wire.send(messages)
    if wired[1] != REPLY["output"]["message"]:
        yield f"the reply comes back as {wired[1]}"
    images = [base64.b64decode(data) for kind, data in sources(wired) if kind == "image"]
    print(f"a turn with the gateway: {len(images)} image, {sum(map(len, images))} bytes")
    if not images or not all(image.startswith(PNG) for image in images):
        yield f"the images on the wire are {images}"


def judge(arguments):
    """Whether anything is wrong."""
    names, wire = guide(), Wire()
    if not {"to_boto3", "turn"} <= names.keys():
        raise Unusable("the guide has no code for boto3")
    with open(arguments.messages, encoding="utf-8") as lines:
        failures = list(judge_conversations(wire, names["to_boto3"], lines))
    failures += judge_turn(wire, names, arguments)
    for failure in failures:
        print(f"FAILED: {failure}")
    return bool(failures)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="the gateway")
    parser.add_argument("--fixture", required=True, help="the fixture's binary")
    parser.add_argument("messages", help="the lines of the example program `messages`")
    conclude(judge, parser)
