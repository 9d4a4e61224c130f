"""Whole turns with models of providers: discover tools, ask, execute the calls, answer, find them in the log.

    run.py --bin mcp-tool-gateway [--model gateway-model]

Each provider is asked twice: by a loop of five rounds that is written here, over `/tools/{provider}` and `/execute`, and by the gateway's own
loop, over `/v1`. Scripted models stand in for all of them, always. The real ones are asked where their variable is set, else a line says that they are
skipped: GEMINI_API_KEY, OPENAI_API_KEY, XAI_API_KEY; OLLAMA_HOST with OLLAMA_E2E_MODEL. GATEWAY_URL names a gateway that runs already;
its own loop is then not asked. Exit status: 0 good, 1 something fails, 2 nothing could be judged.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import sys
import tempfile
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from programs import Process, conclude, find_program, serving, wait_until_ready

ROUNDS = 5
# For one answer of a model, in seconds.
PATIENCE = 120
QUESTION = "What is 15 plus 27? Use the tool `add`, and answer with the number."


class Failed(Exception):
    """A step that did not do what it should."""


@dataclasses.dataclass(frozen=True)
class Provider:
    """A provider's API, and the variable without which it is not asked."""

    dialect: str
    kind: str
    wire: str
    variable: str
    base_url: str
    model: str


PROVIDERS = {
    "gemini": Provider(
        "gemini",
        "gemini",
        "generate-content",
        "GEMINI_API_KEY",
        "https://generativelanguage.googleapis.com/v1beta",
        "gemini-2.5-flash",
    ),
    "openai": Provider("openai-chat", "openai", "chat", "OPENAI_API_KEY", "https://api.openai.com/v1", "gpt-4o-mini"),
    "xai": Provider("xai", "openai", "chat", "XAI_API_KEY", "https://api.x.ai/v1", "grok-4"),
    "ollama": Provider("ollama", "ollama", "ollama", "OLLAMA_HOST", "", ""),
}


def fetch(url, body=None, headers=None):
    """An answer as JSON."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json", **(headers or {})})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise Failed(f"{url} answered {error.code}: {error.read(500).decode(errors='replace')}") from error
    except (urllib.error.URLError, TimeoutError, json.JSONDecodeError) as error:
        raise Failed(f"{url}: {error}") from error


class Chat:
    """A conversation in the provider's own messages."""

    def __init__(self, provider, base_url, model, key):
        self.provider, self.base_url, self.model, self.key = provider, base_url, model, key
        if provider.kind == "gemini":
            self.messages = [{"role": "user", "parts": [{"text": QUESTION}]}]
        else:
            self.messages = [{"role": "user", "content": QUESTION}]

    def ask(self, tools):
        """The model's reply, which is then a part of the conversation."""
        match self.provider.kind:
            case "gemini":
                url = f"{self.base_url}/models/{self.model}:generateContent"
                body = {"contents": self.messages, "tools": [tools]}
                reply = fetch(url, body, {"x-goog-api-key": self.key})
                self.messages.append(reply["candidates"][0]["content"])
            case "ollama":
                body = {"model": self.model, "messages": self.messages, **tools, "stream": False}
                reply = fetch(f"{self.base_url}/api/chat", body)
                self.messages.append(reply["message"])
            case _:
                body = {"model": self.model, "messages": self.messages, **tools}
                url = f"{self.base_url}/chat/completions"
                reply = fetch(url, body, {"authorization": f"Bearer {self.key}"})
                self.messages.append(reply["choices"][0]["message"])
        return reply

    def text(self):
        """What the model said last."""
        last = self.messages[-1]
        if "parts" in last:
            return "".join(part.get("text", "") for part in last["parts"])
        return last.get("content") or ""


def run_loop(gateway, chat):
    """Discover, ask, execute, until there is an answer: how many tools there were, and what was called."""
    tools = fetch(f"{gateway}/tools/{chat.provider.dialect}?model={chat.model}")
    # One member of the request, under the name that the API has for it.
    [listed] = tools.values()
    if '"add"' not in json.dumps(listed):
        raise Failed(f"no tool to add with among {len(listed)}")
    called = []
    for _ in range(ROUNDS):
        reply = chat.ask(tools)
        body = {"provider": chat.provider.dialect, "model": chat.model, "call": reply}
        done = fetch(f"{gateway}/execute", body)
        if not done["messages"]:
            return len(listed), called
        called += done["results"] if "results" in done else [done["result"]]
        chat.messages += done["messages"]
    raise Failed(f"no answer after {ROUNDS} rounds")


def count_log(gateway):
    return len(fetch(f"{gateway}/logs?tool=add&limit=1000"))


def try_provider(gateway, provider, base_url, model, key):
    """All steps with one model; what came of them."""
    before = count_log(gateway)
    chat = Chat(provider, base_url, model, key)
    tools, called = run_loop(gateway, chat)
    if not called or "42" not in chat.text():
        raise Failed(f"{len(called)} calls, and the answer is {chat.text()!r}")
    if count_log(gateway) <= before:
        raise Failed("the call is not in the log")
    return f"{tools} tools, {len(called)} calls, logged, answer {chat.text()!r}"


def try_own_loop(gateway, name):
    request = {"model": name, "messages": [{"role": "user", "content": QUESTION}]}
    answer = fetch(f"{gateway}/v1/chat/completions", request)
    text, calls = answer["choices"][0]["message"]["content"], answer["gateway"]["calls"]
    if "42" not in text or not any(call["tool"] == "add" for call in calls):
        raise Failed(f"{len(calls)} calls over /v1, and the answer is {text!r}")
    return f"over /v1 {len(calls)} calls, answer {text!r}"


def scripts():
    """What stands in for a real model: two times a call and an answer, once for each loop; and calls without an end."""
    call = {"id": "call00001", "name": "add", "arguments": {"a": 15, "b": 27}}
    turn = [{"reply": {"calls": [call]}}, {"reply": {"text": "It is 42."}}]
    return {"answers": {"steps": turn * 2, "strict": True}, "endless": {"last": {"call_tool": "add"}, "strict": True}}


MODELS = {"generate-content": "gemini-2.5-flash", "chat": "gpt-4o", "ollama": "llama3.2"}


def judge(arguments):
    arguments.bin = pathlib.Path(arguments.bin).resolve()
    program = find_program("gateway-model", arguments.model)
    is_wrong = False
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        # Who is asked: the provider, its address, the model and the key.
        asked, models, endless = {}, {}, []
        for name, provider in PROVIDERS.items():
            for kind, script in scripts().items():
                path = folder / f"{name} {kind}.json"
                path.write_text(json.dumps(script))
                server = Process([program, "--wire", provider.wire, "--script", path])
                url = stack.enter_context(server).wait_for(r'"url":"([^"]+)"')
                entry = (provider, url, MODELS[provider.wire], "none")
                if kind == "endless":
                    endless.append((name, entry))
                else:
                    asked[f"{name} (scripted)"] = entry
            value = os.environ.get(provider.variable)
            model = os.environ.get("OLLAMA_E2E_MODEL") if name == "ollama" else provider.model
            if not value or not model:
                missing = provider.variable if not value else "OLLAMA_E2E_MODEL"
                print(f"live: {name}: SKIPPED, {missing} is not set")
            elif name == "ollama":
                host = value if "://" in value else f"http://{value}"
                asked[name] = (provider, host.rstrip("/"), model, "none")
            else:
                asked[name] = (provider, provider.base_url, model, value)
        for name, (provider, url, model, key) in asked.items():
            variable = key if key == "none" else f"${{{provider.variable}}}"
            models[name] = {"kind": provider.kind, "baseUrl": url, "model": model, "apiKey": variable, "retries": 1}
        gateway = os.environ.get("GATEWAY_URL", "").rstrip("/")
        is_own = not gateway
        if is_own:
            config = folder / "config.json"
            servers = {"demo": {"type": "builtin"}}
            config.write_text(json.dumps({"mcpServers": servers, "models": models, "loop": {"maxRounds": ROUNDS}}))
            _, port = stack.enter_context(serving(arguments.bin, config, folder / "data"))
            wait_until_ready(port)
            gateway = f"http://127.0.0.1:{port}"
        for name, entry in asked.items():
            try:
                said = try_provider(gateway, *entry)
                print(f"live: {name}: {said}" + (f"; {try_own_loop(gateway, name)}" if is_own else ""))
            except Failed as problem:
                is_wrong = True
                print(f"live: {name}: FAILED: {problem}")
        for name, entry in endless:
            try:
                run_loop(gateway, Chat(*entry))
                problem = "it ended"
            except Failed as stopped:
                problem = None if f"after {ROUNDS} rounds" in str(stopped) else stopped
            is_wrong |= problem is not None
            print(f"live: {name} (scripted, endless): " + (f"FAILED: {problem}" if problem else f"stopped after {ROUNDS} rounds"))
    return is_wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="the gateway")
    parser.add_argument("--model", help="the scripted model's binary; else the newest under target/")
    conclude(judge, parser)


if __name__ == "__main__":
    main()
