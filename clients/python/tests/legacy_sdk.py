#!/usr/bin/env python3
"""google-generativeai 0.8.6 against the gateway, in an environment that has that SDK and not google-genai: legacy_sdk.py --package FOLDER, with MCP_TOOL_GATEWAY_BIN.

1. The usage example of the plan (examples/python/gemini_legacy_short.py) runs as it stands there, byte for byte, against a local server that stands for the model.
2. The tools of conformance/hard: those that this SDK refuses in the plain form of `gemini`, it takes as `get_tools("gemini")` gives them.
3. The same with all tools of MCP_TOOL_GATEWAY_CORPUS, a folder, as `convert` writes them.
4. Its other objects: whole replies, streamed replies, several calls in one.
"""

from __future__ import annotations

import argparse
import hashlib
import http.server
import io
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.request
import warnings
from contextlib import redirect_stdout
from typing import Any

from known_tools import corpus_tools, hard_tools

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples/python/gemini_legacy_short.py"
# The bytes of the plan's usage example.
DIGEST = "f5fb53f72beb24de7e0fb0326296782b45b645548361bc4cb3cfa2cddf398e2a"


class Model(http.server.BaseHTTPRequestHandler):
    """Calls `add` until it has the result; refuses conversations and tools that the API refuses."""

    asked: list[dict[str, Any]] = []
    parts: list[Any] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.asked.append(body)
        problem = self.problem(body)
        if problem:
            return self.say(400, {"error": {"code": 400, "message": problem, "status": "INVALID_ARGUMENT"}})
        response = body["contents"][-1]["parts"][0].get("functionResponse")
        if response:
            given = response["response"]
            parts = [{"text": f"{given.get('structuredContent', given)['result']:g} tasks"}]
        else:
            parts = self.parts or [{"functionCall": {"name": "add", "args": {"a": 15, "b": 27}}}]
        reply = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}]}
        # A stream over REST is an array of replies.
        self.say(200, [reply] if "stream" in self.path else reply)

    def problem(self, body: dict[str, Any]) -> str | None:
        names = [one["name"] for tool in body.get("tools", []) for one in tool["functionDeclarations"]]
        calls: list[str] = []
        for content in body["contents"]:
            for part in content["parts"]:
                if "functionCall" in part:
                    calls.append(part["functionCall"]["name"])
                if "functionResponse" in part and part["functionResponse"]["name"] not in calls:
                    return "a function response has to come right after its function call"
        return None if "add" in names else f"no function add among {names}"

    def say(self, status: int, body: Any) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        pass


def run_example(gateway: Any) -> str:
    """Runs the example; the port that it has in it is led to the gateway's."""
    source = EXAMPLE.read_bytes()
    assert hashlib.sha256(source).hexdigest() == DIGEST, f"{EXAMPLE.name} is not the plan's example any more"
    port = int(gateway.url.rsplit(":", 1)[1])
    real = socket.create_connection

    def connect(address: Any, *arguments: Any, **named: Any) -> socket.socket:
        return real(("127.0.0.1", port) if tuple(address) == ("localhost", 8787) else address, *arguments, **named)

    said = io.StringIO()
    socket.create_connection = connect
    try:
        with redirect_stdout(said):
            exec(compile(source, str(EXAMPLE), "exec"), {"__name__": "__main__"})
    finally:
        socket.create_connection = real
    return said.getvalue()


def refusal(genai: Any, tool: Any) -> str | None:
    try:
        genai.GenerativeModel("model", tools={"function_declarations": [tool]})
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def compare_forms(genai: Any, client: Any, url: str) -> tuple[int, int, int]:
    """How many tools there are, how many the SDK refuses in the plain form, and how many of all as the client gives them."""
    with urllib.request.urlopen(f"{url}/tools/gemini?server=hard") as answer:
        plain = {tool["name"]: tool for tool in json.load(answer)["function_declarations"]}
    given = {tool["name"]: tool for tool in client.get_tools("gemini", server="hard")["function_declarations"]}
    assert plain.keys() == given.keys()
    refused_plain = [name for name, tool in plain.items() if refusal(genai, tool)]
    refused_given = {name: text for name, tool in given.items() if (text := refusal(genai, tool))}
    for name, text in refused_given.items():
        print(f"FAILED: {name} is refused as the client gives it: {text}")
    return len(plain), len(refused_plain), len(refused_given)


def compare_corpus(genai: Any, folder: str) -> tuple[int, int, int]:
    """The same for published tools."""
    listed = pathlib.Path(folder, "corpus.json")
    listed.write_text(json.dumps(corpus_tools()))
    converted = {}
    for dialect in ("gemini", "gemini-legacy"):
        # Tools that no provider takes are left out, which is not what this is about.
        command = [os.environ["MCP_TOOL_GATEWAY_BIN"], "convert", "--to", dialect, str(listed)]
        converted[dialect] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout)
    plain, given = converted.values()
    assert [tool["name"] for tool in plain] == [tool["name"] for tool in given]
    refused = [[text for tool in tools if (text := refusal(genai, tool))] for tools in (plain, given)]
    for text in refused[1]:
        print(f"FAILED: a tool of the corpus is refused as gemini-legacy: {text}")
    return len(plain), len(refused[0]), len(refused[1])


def try_replies(genai: Any, client: Any) -> None:
    tools = client.get_tools("gemini", server="default")
    model = genai.GenerativeModel("gemini-1.5-pro", tools=tools)
    Model.parts = [{"functionCall": {"name": "add", "args": {"a": number, "b": 1}}} for number in (1, 2)]
    whole = model.generate_content("add")
    streamed = model.generate_content("add", stream=True)
    for reply in (whole, whole.candidates[0].content, streamed, list(model.generate_content("add", stream=True))):
        answer = client.execute_reply(reply, "gemini", server="default")
        assert [one["result"]["structuredContent"]["result"] for one in answer["results"]] == [2, 3], answer
        # The SDK takes the messages as they are.
        final = model.generate_content([{"role": "user", "parts": ["add"]}, whole.candidates[0].content, *answer["messages"]])
        assert final.text == "2 tasks", final
    Model.parts = []
    calls = [part.function_call for part in whole.candidates[0].content.parts]
    results = client.execute("gemini", calls, server="default")
    assert [one["structuredContent"]["result"] for one in results] == [2, 3], results
    # Numbers of protobuf are all fractions; the tools are sent the integers that the model meant.
    for call in (calls[1], calls[1].args, whole.candidates[0].content.parts[1]):
        sent = client.call_tool("echo", "echo", {"value": call})["structuredContent"]["value"]
        assert '"a": 2, "b": 1' in json.dumps(sent, sort_keys=True), sent


def main() -> int:
    parser = argparse.ArgumentParser(description="google-generativeai against the gateway.")
    parser.add_argument("--package", required=True, help="the folder that the package is in")
    sys.path.insert(0, parser.parse_args().package)
    warnings.simplefilter("ignore")
    import google.generativeai as genai

    from mcp_tool_gateway import Gateway

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    genai.configure(api_key="none", transport="rest", client_options={"api_endpoint": f"http://127.0.0.1:{server.server_port}"})
    with tempfile.TemporaryDirectory() as folder:
        listed = pathlib.Path(folder, "tools.json")
        listed.write_text(json.dumps(hard_tools()))
        hard = {"command": sys.executable, "args": [str(ROOT / "conformance/lists_server.py"), str(listed)]}
        echo = {"command": sys.executable, "args": [str(ROOT / "clients/testing/counting_server.py")]}
        gateway = Gateway.start({"mcpServers": {"default": {"type": "builtin"}, "hard": hard, "echo": echo}})
        with gateway as client:
            printed = run_example(gateway)
            assert printed == "42 tasks\n", printed
            print(f"the plan's example, byte for byte: printed {printed!r} after {len(Model.asked)} requests to the model")
            tools, plain, hard_refused = compare_forms(genai, client, gateway.url)
            print(f"{tools} hard tools: google-generativeai {genai.__version__} refuses {plain} as plain gemini, {hard_refused} as the client gives them")
            assert plain > 0, "the SDK takes all plain forms, so nothing was shown"
            corpus_refused = 0
            if os.environ.get("MCP_TOOL_GATEWAY_CORPUS"):
                tools, plain, corpus_refused = compare_corpus(genai, folder)
                print(f"{tools} corpus tools: it refuses {plain} as gemini, {corpus_refused} as gemini-legacy")
                assert plain > 0, "the SDK takes the whole corpus as it is, so nothing was shown"
            else:
                print("no corpus tools: MCP_TOOL_GATEWAY_CORPUS names no folder")
            try_replies(genai, client)
            print("whole replies, contents, streams and lists of calls: run")
    server.shutdown()
    return 1 if hard_refused or corpus_refused else 0


if __name__ == "__main__":
    sys.exit(main())
