"""Cases of the oracle for xAI, sent to its server as the SDK's own messages: a line of JSON for each, with both verdicts.

    xai_cases.py HOST:PORT

Runs where the SDKs are: the oracle's profile `xai` asks those of OpenAI and xAI.
"""

import json
import pathlib
import sys

import grpc
from xai_sdk.proto import chat_pb2, chat_pb2_grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "oracles"))
import check as tools_oracle  # noqa: E402
import check_messages as messages_oracle  # noqa: E402
import selftest as oracle  # noqa: E402

ROLES = {"user": "ROLE_USER", "assistant": "ROLE_ASSISTANT", "system": "ROLE_SYSTEM", "tool": "ROLE_TOOL"}
ASK = [{"role": "user", "content": "weather?"}]


class Inexpressible(Exception):
    """The messages of gRPC have no place for it, so that no program can send it."""


def members(value, known):
    if not isinstance(value, dict) or set(value) - set(known):
        raise Inexpressible
    return value


def text(value):
    if not isinstance(value, str):
        raise Inexpressible
    return value


def tool_of(tool):
    function = members(members(tool, ("type", "function"))["function"], ("name", "description", "parameters", "strict"))
    if function.get("parameters") is None:
        raise Inexpressible
    schema = json.dumps(function["parameters"])
    fields = {"name": text(function.get("name", "")), "description": function.get("description", ""), "strict": bool(function.get("strict"))}
    return chat_pb2.Tool(function=chat_pb2.Function(parameters=schema, **fields))


def call_of(call):
    function = members(call, ("id", "type", "function"))["function"]
    fields = {"name": text(function["name"]), "arguments": text(function["arguments"])}
    return chat_pb2.ToolCall(id=text(call["id"]), function=chat_pb2.FunctionCall(**fields))


def message_of(message):
    members(message, ("role", "content", "tool_calls", "tool_call_id"))
    fields = {"role": ROLES[message["role"]], "tool_calls": [call_of(call) for call in message.get("tool_calls") or []]}
    if message.get("content") is not None:
        fields["content"] = [chat_pb2.Content(text=text(message["content"]))]
    if "tool_call_id" in message:
        fields["tool_call_id"] = text(message["tool_call_id"])
    return chat_pb2.Message(**fields)


def cases():
    """What it is, the tools, the messages."""
    for provider, good, bads in oracle.TOOLS:
        if provider in ("openai-chat", "xai"):
            for index, tool in enumerate([good, *(bad for bad, *_ in bads)]):
                yield f"{provider} tool {index}", [tool], ASK
    for label, build, _ in oracle.MATRIX:
        yield label, [oracle.tool_for("openai-chat", build("openai-chat"))], ASK
    for provider, *lists in oracle.LISTS:
        if provider in ("openai-chat", "xai"):
            for index, tools in enumerate(lists):
                yield f"{provider} list {index}", tools, ASK
    for number, (provider, kind, good, bads) in enumerate(oracle.MESSAGES):
        if kind == "request" and provider in ("openai-chat", "dial", "groq"):
            for index, messages in enumerate([good, *(bad for bad, *_ in bads)]):
                yield f"conversation {number} {index}", [], messages


def main():
    stub = chat_pb2_grpc.ChatStub(grpc.insecure_channel(sys.argv[1]))
    for label, tools, messages in cases():
        rows = tools_oracle.check("xai", tools) + messages_oracle.check("xai", "request", messages)
        try:
            request = chat_pb2.GetCompletionsRequest(
                model="grok-4", tools=[tool_of(tool) for tool in tools], messages=[message_of(message) for message in messages]
            )
        except (Inexpressible, KeyError):
            continue
        said = ""
        try:
            stub.GetCompletion(request, metadata=(("authorization", "Bearer k"),), timeout=30)
        except grpc.RpcError as error:
            said = f"{error.code().name}: {error.details()}"
        verdict = all(row["valid"] for row in rows)
        print(json.dumps({"label": label, "good": verdict, "accepted": not said, "said": said}), flush=True)


if __name__ == "__main__":
    main()
