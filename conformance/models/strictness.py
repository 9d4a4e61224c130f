"""Whether the strict servers of `gateway-model` take what the oracles take, and refuse what they refuse.

The cases, and what the oracles say of them, are those of oracles/selftest.py, which holds the oracles to them. Each case is sent to the
server as its provider's API would get it: a tool in an otherwise good request, a list of tools, or a conversation.
"""

import copy
import json
import pathlib
import sys
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "oracles"))
import selftest as oracle  # noqa: E402

# Which server stands for which oracle.
WIRES = {
    "openai-chat": "chat",
    "openai-chat-strict": "chat",
    "openai-responses": "responses",
    "openai-responses-strict": "responses",
    "openai-functions": "functions",
    "gemini": "generate-content",
    "gemini-json": "generate-content",
    "anthropic": "messages",
    "anthropic-strict": "messages",
    "bedrock": "converse",
    "mistral": "mistral",
    "cohere": "cohere",
    "ollama": "ollama",
    "dial": "dial",
}
PATHS = {
    "chat": "/v1/chat/completions",
    "dial": "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21",
    "functions": "/v1/chat/completions",
    "responses": "/v1/responses",
    "generate-content": "/v1beta/models/gemini-3-pro:generateContent",
    "messages": "/v1/messages",
    "converse": "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse",
    "mistral": "/v1/chat/completions",
    "cohere": "/v2/chat",
    "ollama": "/api/chat",
}
MODELS = {"mistral": "mistral-large-latest", "cohere": "command-a-03-2025", "messages": "claude-sonnet-4-5", "ollama": "llama3.2"}
SIGNATURE = "AWS4-HMAC-SHA256 Credential=AKID/20251118/us-east-1/bedrock/aws4_request, SignedHeaders=host;x-amz-date, Signature=" + "0" * 64
HEADERS = {"anthropic-version": "2023-06-01", "authorization": SIGNATURE, "x-amz-date": "20251118T000000Z"}

# What an oracle says about a profile of the gateway or about an SDK, and no service does: the case, and why.
NOT_OF_THE_SERVICE = [
    ("openai-chat-strict", lambda tool, good: tool == oracle.oai(oracle.STRICT), "a tool that is not strict is a good tool"),
    ("openai-responses", lambda tool, good: "strict" not in tool and "name" in tool, "the SDK's type wants strict; the service makes the schema strict by itself"),
    ("anthropic", lambda tool, good: good and tool.get("strict") and tool["input_schema"]["properties"] == {}, "how many strict tools there are, of tools that are not closed"),
]


def cases():
    """All cases with a verdict of an oracle: provider, what it is, whether it is good, what is sent as `tools` or as `messages`."""
    for provider, good, bads in oracle.TOOLS:
        yield provider, "good tool", True, [good], None
        for index, (bad, *_) in enumerate(bads):
            yield provider, f"bad tool {index}", False, [bad], None
    for label, build, verdicts in oracle.MATRIX:
        for provider, verdict in zip(oracle.COLUMNS, verdicts):
            if verdict != "-":
                yield provider, label, verdict == "A", [oracle.tool_for(provider, build(provider))], None
    for index, (provider, good, tool) in enumerate(oracle.MORE):
        yield provider, f"more {index}", good, [tool], None
    for provider, good, bad in oracle.LISTS:
        yield provider, "good list", True, good, None
        yield provider, "bad list", False, bad, None
    for provider, kind, good, bads in oracle.MESSAGES:
        if kind == "request":
            yield provider, "good conversation", True, None, good
            for index, (bad, *_) in enumerate(bads):
                yield provider, f"bad conversation {index}", False, None, bad


def request(wire, tools, messages):
    """The body with these tools, or with this conversation and the tools that it speaks of."""
    ask = [{"role": "user", "content": "weather?"}]
    body = {"model": MODELS.get(wire, "gpt-4o"), "messages": messages or ask}
    if wire == "generate-content":
        body = {"contents": messages or [{"role": "user", "parts": [{"text": "weather?"}]}]}
        if tools:
            body["tools"] = tools if "functionDeclarations" in tools[0] else [{"functionDeclarations": tools}]
    elif wire == "converse":
        blocks = [{"role": "user", "content": [{"text": "weather?"}]}]
        body = {"messages": messages or blocks, "toolConfig": {"tools": [oracle.bed()] if tools is None else tools}}
    elif wire == "responses":
        body = {"model": "gpt-4o", "input": messages or ask, **({"tools": tools} if tools else {})}
    elif wire == "functions":
        body |= {"functions": tools} if tools else {}
    elif wire == "messages":
        body |= {"max_tokens": 100, "tools": [oracle.ant()] if tools is None else tools}
    elif tools:
        body["tools"] = tools
    return body


def send(url, wire, body):
    """The status and the text of the answer."""
    base = url.removesuffix("/v1").removesuffix("/v1beta")
    wanted = HEADERS | {"content-type": "application/json"}
    asked = urllib.request.Request(base + PATHS[wire], json.dumps(body).encode(), wanted)
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return answer.status, ""
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def complete(provider, messages):
    """A conversation from its question to its last result: what the oracles judge are parts of one."""
    first = messages[0] if messages else {}
    asks = {
        "bedrock": {"role": "user", "content": [{"text": "weather?"}]},
        "gemini": {"role": "user", "parts": [{"text": "weather?"}]},
    }
    if first.get("role") in ("assistant", "model"):
        return [asks.get(provider, {"role": "user", "content": "weather?"}), *messages]
    return messages


def compare(serve, only=""):
    """Rows of the table, and what differs. `serve(wire)` gives the address of a strict server."""
    counts, differ, left_out = {}, [], []
    for provider, label, good, tools, messages in cases():
        if provider not in WIRES or not provider.startswith(only):
            continue
        wire = WIRES[provider]
        if tools and (reason := reason_to_leave_out(provider, tools[0], good)):
            left_out.append([provider, label, reason])
            continue
        messages = complete(provider, copy.deepcopy(messages)) if messages else None
        status, said = send(serve(wire), wire, request(wire, tools, messages))
        row = counts.setdefault((provider, wire), [0, 0, 0, 0])
        row[0 if good else 2] += 1
        agrees = status == 200 if good else 400 <= status < 500
        row[1 if good else 3] += agrees
        if not agrees:
            differ.append([provider, wire, label, "accepts" if good else "refuses", f"{status} {said[:160]}"])
    rows = [["oracle", "wire", "good ones accepted", "bad ones refused"]]
    for (provider, wire), (good, accepted, bad, refused) in sorted(counts.items()):
        rows.append([provider, wire, f"{accepted} of {good}", f"{refused} of {bad}"])
    return rows, differ, left_out


def reason_to_leave_out(provider, tool, good):
    """Why a verdict says nothing about the service; none if it does."""
    return next((why for name, fits, why in NOT_OF_THE_SERVICE if name == provider and fits(tool, good)), None)
