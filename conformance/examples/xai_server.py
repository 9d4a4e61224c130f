"""A scripted model behind xAI's gRPC API, for programs with xai-sdk. The other providers' servers are `gateway-model`.

    xai_server.py --script FILE [--strict] [--record FILE] [--port 0]

Scripts are those of `gateway-model`, of which it knows `reply`, `echo_result`, `call_tool`, `call_tool_once`, and the faults below. Prints one line
of JSON with its `url` and `port`; ends when standard input closes. Needs xai-sdk, whose messages it speaks, and jsonschema.
"""

import argparse
import concurrent.futures
import json
import pathlib
import sys
import threading

import grpc
from google.protobuf import json_format
from xai_sdk.proto import chat_pb2, chat_pb2_grpc, sample_pb2

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "oracles"))
import check as tools_oracle  # noqa: E402
import check_messages as messages_oracle  # noqa: E402
import rules  # noqa: E402
import sdk_oracles  # noqa: E402

MOST_TOOLS = 200
CREATED = 1_754_000_000
FAULTS = {
    "rate-limited": (grpc.StatusCode.RESOURCE_EXHAUSTED, "Too many requests for your team. Please try again later."),
    "server-error": (grpc.StatusCode.INTERNAL, "Internal server error"),
    "unavailable": (grpc.StatusCode.UNAVAILABLE, "The service is currently unavailable."),
    "unauthorized": (grpc.StatusCode.UNAUTHENTICATED, "Incorrect API key provided: xa***. You can obtain an API key from https://console.x.ai."),
    "unknown-model": (grpc.StatusCode.NOT_FOUND, "The model does not exist or your team does not have access to it."),
}
FINISH = {
    "stop": sample_pb2.FinishReason.REASON_STOP,
    "calls": sample_pb2.FinishReason.REASON_TOOL_CALLS,
    "length": sample_pb2.FinishReason.REASON_MAX_LEN,
}
ROLES = {
    chat_pb2.ROLE_USER: "user",
    chat_pb2.ROLE_ASSISTANT: "assistant",
    chat_pb2.ROLE_SYSTEM: "system",
    chat_pb2.ROLE_DEVELOPER: "developer",
    chat_pb2.ROLE_TOOL: "tool",
}
STEP_MEMBERS = {"reply", "fault", "echo_result", "call_tool", "call_tool_once"}
REPLY_MEMBERS = {"text", "reasoning", "calls", "usage", "finish"}


class Refused(Exception):
    """A request that xAI would refuse, or a fault of the script."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def invalid(message):
    return Refused(grpc.StatusCode.INVALID_ARGUMENT, message)


# ------------------------------------------------------------------ strictness
def as_chat(message):
    """A message as Chat Completions have it, which the oracle reads."""
    role = ROLES.get(message.role)
    if role is None:
        raise invalid(f"the message has the role {chat_pb2.MessageRole.Name(message.role)}, which is not one that a conversation can have")
    chat = {"role": role, "content": "".join(part.text for part in message.content)}
    if message.tool_calls:
        function = lambda call: {"name": call.function.name, "arguments": call.function.arguments}
        chat["tool_calls"] = [{"id": call.id, "type": "function", "function": function(call)} for call in message.tool_calls]
    if role == "tool":
        chat["tool_call_id"] = message.tool_call_id
    return chat


def check_tool(index, tool):
    """What the oracle of the profile `xai` checks: Chat Completions' rules for a function, whose schema is text here."""
    if tool.WhichOneof("tool") != "function":
        return
    function = tool.function
    try:
        schema = json.loads(function.parameters)
    except ValueError as error:
        raise invalid(f"tools[{index}].function.parameters: invalid JSON: {error}") from error
    found = [*rules.name_rule(function.name, tools_oracle.OAI_NAME), *rules.openai_loose(schema), *sdk_oracles.metaschema(schema)]
    for level, path, message in found:
        if level == "error":
            raise invalid(f"tools[{index}].function {function.name!r}: {path}: {message}")


def check(request):
    """Refuses what xAI would refuse."""
    if not request.model:
        raise invalid("the request needs a model")
    if len(request.tools) > MOST_TOOLS:
        raise invalid(f"Maximum number of tools is {MOST_TOOLS}, got {len(request.tools)}")
    for index, tool in enumerate(request.tools):
        check_tool(index, tool)
    names = [tool.function.name for tool in request.tools if tool.WhichOneof("tool") == "function"]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise invalid(f"duplicate tool name {repeated[0]!r}")
    messages = [as_chat(message) for message in request.messages]
    if not messages:
        raise invalid("the request needs at least one message")
    for index, message in enumerate(messages):
        for call in message.get("tool_calls", []):
            for _, path, problem in messages_oracle.json_object_string(call["function"]["arguments"], f"messages[{index}].tool_calls"):
                raise invalid(f"{path}: {problem}")
        if message["role"] == "tool" and not message["content"]:
            raise invalid(f"messages[{index}]: a tool message needs content")
    # A conversation that ends with a call is a warning to the oracle, since more may follow; here nothing does.
    for level, path, problem in messages_oracle.chat_pairs(messages):
        if level == "error" or path == "end":
            raise invalid(f"messages{path}: {problem}")


# ------------------------------------------------------------------ what the script says
def example(schema):
    """A value that a schema accepts, as far as a simple reader can tell."""
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: example(properties[name]) for name in schema.get("required") or properties}
    if kind == "array":
        return [example(schema.get("items", {"type": "string"}))] * max(1, schema.get("minItems", 1))
    return {"string": "text", "integer": schema.get("minimum", 1), "number": schema.get("minimum", 1), "boolean": True}.get(kind)


def last_result(request):
    """The text of the result that the conversation ends with; none if it ends otherwise."""
    last = request.messages[-1] if request.messages else None
    if last is None or last.role != chat_pb2.ROLE_TOOL:
        return None
    return "".join(part.text for part in last.content)


def behave(step, request, number):
    """The reply of a step."""
    if "reply" in step:
        return step["reply"]
    if step.get("echo_result"):
        return {"text": last_result(request) or "There is no result."}
    result = last_result(request)
    if "call_tool_once" in step and result is not None:
        return {"text": result}
    wanted = step.get("call_tool_once") or step["call_tool"]
    tool = next((tool.function for tool in request.tools if wanted in tool.function.name), None)
    if tool is None:
        return {"text": f"No tool is called {wanted}."}
    return {"calls": [{"id": f"call{number:05}", "name": tool.name, "arguments": example(json.loads(tool.parameters))}]}


def read_script(path):
    script = json.loads(path.read_text())
    for step in [*script.get("steps", []), *([script["last"]] if "last" in script else [])]:
        known = STEP_MEMBERS & set(step)
        if len(known) != 1 or set(step) - STEP_MEMBERS or set(step.get("reply", {})) - REPLY_MEMBERS:
            sys.exit(f"xai_server.py: the step {json.dumps(step)} is not one of {sorted(STEP_MEMBERS)}, with a reply of {sorted(REPLY_MEMBERS)}")
        if step.get("fault", "server-error") not in FAULTS:
            sys.exit(f"xai_server.py: no fault is called `{step['fault']}`; there are {', '.join(FAULTS)}")
    return script


# ------------------------------------------------------------------ the API
def call_of(call):
    arguments = call.get("arguments", {})
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return chat_pb2.ToolCall(
        id=call.get("id", ""),
        type=chat_pb2.TOOL_CALL_TYPE_CLIENT_SIDE_TOOL,
        status=chat_pb2.TOOL_CALL_STATUS_COMPLETED,
        function=chat_pb2.FunctionCall(name=call["name"], arguments=text),
    )


def finish_of(reply):
    word = reply.get("finish", "calls" if reply.get("calls") else "stop")
    if word not in FINISH:
        raise Refused(grpc.StatusCode.INTERNAL, f"the script's finish is {word!r}; there are {', '.join(FINISH)}")
    return FINISH[word]


def fill(answer, request, reply, number):
    """What whole answers and the last chunk have in common."""
    usage = {"input": 50, "output": 30, "reasoning": 0, "cached": 0, **reply.get("usage", {})}
    answer.usage.prompt_tokens = usage["input"]
    answer.usage.completion_tokens = usage["output"]
    answer.usage.reasoning_tokens = usage["reasoning"]
    answer.usage.cached_prompt_text_tokens = usage["cached"]
    answer.usage.prompt_text_tokens = usage["input"]
    answer.usage.total_tokens = usage["input"] + usage["output"]
    return name(answer, request, number)


def name(answer, request, number):
    answer.id = f"00000000-0000-4000-8000-{number:012}"
    answer.model = request.model
    answer.system_fingerprint = "fp_1"
    answer.created.FromSeconds(CREATED)
    return answer


class Chat(chat_pb2_grpc.ChatServicer):
    """xAI's chat service. One request at a time takes a step."""

    def __init__(self, script, strict, record):
        self.steps = list(script.get("steps", []))
        self.last = script.get("last")
        self.key = script.get("key")
        self.models = script.get("models", [])
        self.strict = strict or script.get("strict", False)
        self.record = record
        self.number = 0
        self.lock = threading.Lock()

    def take(self, request, context):
        """The reply to a request, and its number."""
        with self.lock:
            self.number += 1
            number = self.number
            if self.record:
                headers = {key: value for key, value in context.invocation_metadata() if isinstance(value, str)}
                body = json_format.MessageToDict(request, preserving_proto_field_name=True)
                with self.record.open("a") as file:
                    print(json.dumps({"index": number - 1, "headers": headers, "body": body}), file=file)
            keys = dict(context.invocation_metadata()).get("authorization", "")
            if not keys.startswith("Bearer ") or self.key not in (None, keys.removeprefix("Bearer ")):
                raise Refused(*FAULTS["unauthorized"])
            if self.models and request.model not in self.models:
                raise Refused(*FAULTS["unknown-model"])
            if self.strict:
                check(request)
            step = self.steps.pop(0) if self.steps else self.last
        if step is None:
            raise Refused(grpc.StatusCode.INTERNAL, "script is over")
        if "fault" in step:
            raise Refused(*FAULTS[step["fault"]])
        return behave(step, request, number), number

    def GetCompletion(self, request, context):
        try:
            reply, number = self.take(request, context)
            output = chat_pb2.CompletionOutput(finish_reason=finish_of(reply))
        except Refused as refused:
            return context.abort(refused.code, str(refused))
        message = output.message
        message.role = chat_pb2.ROLE_ASSISTANT
        message.content = reply.get("text", "")
        message.reasoning_content = reply.get("reasoning", "")
        message.tool_calls.extend(call_of(call) for call in reply.get("calls", []))
        return fill(chat_pb2.GetChatCompletionResponse(outputs=[output]), request, reply, number)

    def GetCompletionChunk(self, request, context):
        try:
            reply, number = self.take(request, context)
            finish = finish_of(reply)
        except Refused as refused:
            context.abort(refused.code, str(refused))
        deltas = [{"reasoning_content": word} for word in pieces(reply.get("reasoning", ""))]
        deltas += [{"content": word} for word in pieces(reply.get("text", ""))]
        # Calls are not cut.
        deltas += [{"tool_calls": [call_of(call)]} for call in reply.get("calls", [])]
        for delta in deltas:
            output = chat_pb2.CompletionOutputChunk(delta=chat_pb2.Delta(role=chat_pb2.ROLE_ASSISTANT, **delta))
            yield name(chat_pb2.GetChatCompletionChunk(outputs=[output]), request, number)
        end = chat_pb2.CompletionOutputChunk(finish_reason=finish, delta=chat_pb2.Delta(role=chat_pb2.ROLE_ASSISTANT))
        yield fill(chat_pb2.GetChatCompletionChunk(outputs=[end]), request, reply, number)


def pieces(text):
    """A word at a time."""
    words = text.split(" ")
    return [word + " " for word in words[:-1]] + [words[-1]] if text else []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--script", type=pathlib.Path, required=True)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--record", type=pathlib.Path)
    parser.add_argument("--port", type=int, default=0)
    arguments = parser.parse_args()
    service = Chat(read_script(arguments.script), arguments.strict, arguments.record)
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
    chat_pb2_grpc.add_ChatServicer_to_server(service, server)
    port = server.add_insecure_port(f"127.0.0.1:{arguments.port}")
    server.start()
    print(json.dumps({"url": f"127.0.0.1:{port}", "port": port}), flush=True)
    sys.stdin.read()
    server.stop(0)


if __name__ == "__main__":
    main()
