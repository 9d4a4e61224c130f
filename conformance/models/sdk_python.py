"""Reads the answers of local provider servers through one provider's own Python SDK, as it is published.

    sdk_python.py SDK URL   asks twice for each way (whole, streamed): a question, then the result of the call that came; prints what the SDK's own
                            objects hold, a line of JSON for each way. A refusal is asked for last: its class and status.

The server's script says what comes; run.py compares.
"""

import json
import sys

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}
ABOUT = "Adds two numbers"
QUESTION = "What is 15 + 27?"
# Refused by every provider that names tools.
BAD_NAME = "a b"


def tool(name="add", **more):
    return {"type": "function", "function": {"name": name, "description": ABOUT, "parameters": SCHEMA, **more}}


def call(ident, name, arguments):
    return {"id": ident, "name": name, "arguments": json.loads(arguments) if isinstance(arguments, str) else dict(arguments)}


class OpenAiChat:
    def __init__(self, url):
        import openai

        self.client = openai.OpenAI(base_url=url, api_key="k", max_retries=0)

    def ask(self, messages, stream, name="add"):
        options = {"model": "gpt-4o", "messages": messages, "tools": [tool(name)]}
        if not stream:
            return self.client.chat.completions.create(**options).choices[0].message
        with self.client.chat.completions.stream(**options) as events:
            return events.get_final_completion().choices[0].message

    def first(self, stream):
        self.messages = [{"role": "user", "content": QUESTION}]
        message = self.ask(self.messages, stream)
        self.messages.append(message.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True))
        for one in self.messages[-1]["tool_calls"]:
            one["function"].pop("parsed_arguments", None)
        return message.content, [call(one.id, one.function.name, one.function.arguments) for one in message.tool_calls]

    def second(self, calls, stream):
        self.messages += [{"role": "tool", "tool_call_id": one["id"], "content": "42"} for one in calls]
        return self.ask(self.messages, stream).content

    def refused(self):
        self.ask([{"role": "user", "content": QUESTION}], False, BAD_NAME)


class OpenAiResponses:
    def __init__(self, url):
        import openai

        self.client = openai.OpenAI(base_url=url, api_key="k", max_retries=0)

    def ask(self, items, stream, name="add"):
        function = {"type": "function", "name": name, "description": ABOUT, "parameters": SCHEMA, "strict": False}
        options = {"model": "gpt-5", "input": items, "tools": [function]}
        if not stream:
            return self.client.responses.create(**options)
        with self.client.responses.stream(**options) as events:
            return events.get_final_response()

    def first(self, stream):
        self.items = [{"role": "user", "content": QUESTION}]
        response = self.ask(self.items, stream)
        self.items += [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in response.output]
        for item in self.items:
            for part in item["content"] if isinstance(item.get("content"), list) else []:
                part.pop("parsed", None)
        calls = [item for item in response.output if item.type == "function_call"]
        return response.output_text, [call(item.call_id, item.name, item.arguments) for item in calls]

    def second(self, calls, stream):
        self.items += [{"type": "function_call_output", "call_id": one["id"], "output": "42"} for one in calls]
        return self.ask(self.items, stream).output_text

    def refused(self):
        self.ask([{"role": "user", "content": QUESTION}], False, BAD_NAME)


class Anthropic:
    def __init__(self, url):
        import anthropic

        self.client = anthropic.Anthropic(base_url=url.removesuffix("/v1"), api_key="k", max_retries=0)

    def ask(self, messages, stream, name="add"):
        tools = [{"name": name, "description": ABOUT, "input_schema": SCHEMA}]
        options = {"model": "claude-sonnet-4-5", "max_tokens": 500, "messages": messages, "tools": tools}
        if not stream:
            return self.client.messages.create(**options)
        with self.client.messages.stream(**options) as events:
            return events.get_final_message()

    def first(self, stream):
        self.messages = [{"role": "user", "content": QUESTION}]
        message = self.ask(self.messages, stream)
        text = "".join(block.text for block in message.content if block.type == "text")
        keep = {"text": {"type", "text"}, "tool_use": {"type", "id", "name", "input"}}
        self.messages.append({"role": "assistant", "content": [block.model_dump(include=keep[block.type]) for block in message.content]})
        return text, [call(block.id, block.name, block.input) for block in message.content if block.type == "tool_use"]

    def second(self, calls, stream):
        results = [{"type": "tool_result", "tool_use_id": one["id"], "content": "42"} for one in calls]
        self.messages.append({"role": "user", "content": results})
        return self.ask(self.messages, stream).content[0].text

    def refused(self):
        self.ask([{"role": "user", "content": QUESTION}], False, BAD_NAME)


class GoogleGenAi:
    def __init__(self, url):
        from google import genai

        self.types = genai.types
        self.client = genai.Client(api_key="k", http_options=genai.types.HttpOptions(base_url=url.removesuffix("/v1beta")))

    def ask(self, contents, stream, name="add"):
        types = self.types
        function = types.FunctionDeclaration(name=name, description=ABOUT, parameters_json_schema=SCHEMA)
        config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[function])])
        options = {"model": "gemini-3-pro", "contents": contents, "config": config}
        if not stream:
            return self.client.models.generate_content(**options).candidates[0].content.parts
        chunks = self.client.models.generate_content_stream(**options)
        return [part for chunk in chunks for part in chunk.candidates[0].content.parts]

    def first(self, stream):
        types = self.types
        self.contents = [types.Content(role="user", parts=[types.Part(text=QUESTION)])]
        parts = [part for part in self.ask(self.contents, stream) if part.text or part.function_call]
        self.contents.append(types.Content(role="model", parts=parts))
        calls = [part.function_call for part in parts if part.function_call]
        return "".join(part.text or "" for part in parts), [call(one.id, one.name, one.args) for one in calls]

    def second(self, calls, stream):
        types = self.types
        answers = [types.FunctionResponse(id=one["id"], name=one["name"], response={"output": "42"}) for one in calls]
        self.contents.append(types.Content(role="user", parts=[types.Part(function_response=one) for one in answers]))
        return "".join(part.text or "" for part in self.ask(self.contents, stream))

    def refused(self):
        self.ask(QUESTION, False, BAD_NAME)


class GoogleGenerativeAi:
    """The predecessor, whose messages are protobufs; it knows neither signatures nor ids of calls."""

    def __init__(self, url):
        import google.generativeai as genai

        self.genai = genai
        genai.configure(api_key="k", transport="rest", client_options={"api_endpoint": url.removesuffix("/v1beta")})

    def model(self, name="add"):
        numbers = {key: {"type": "integer"} for key in ("a", "b")}
        function = {"name": name, "description": ABOUT, "parameters": {"type": "object", "properties": numbers, "required": ["a", "b"]}}
        return self.genai.GenerativeModel("gemini-2.5-flash", tools=[{"function_declarations": [function]}])

    def send(self, content, stream):
        response = self.chat.send_message(content, stream=stream)
        response.resolve()
        return response.candidates[0].content.parts

    def first(self, stream):
        self.chat = self.model().start_chat()
        parts = self.send(QUESTION, stream)
        calls = [part.function_call for part in parts if "function_call" in part]
        whole = lambda args: {key: int(number) for key, number in args.items()}
        return "".join(part.text for part in parts), [call("", one.name, whole(one.args)) for one in calls]

    def second(self, calls, stream):
        answers = [{"function_response": {"name": one["name"], "response": {"output": "42"}}} for one in calls]
        return "".join(part.text for part in self.send({"role": "user", "parts": answers}, stream))

    def refused(self):
        self.model(BAD_NAME).generate_content(QUESTION)


class Mistral:
    def __init__(self, url):
        from mistralai.client import Mistral as Client

        self.client = Client(server_url=url, api_key="k")

    def ask(self, messages, stream, name="add"):
        options = {"model": "mistral-large-latest", "messages": messages, "tools": [tool(name)]}
        if not stream:
            message = self.client.chat.complete(**options).choices[0].message
            return message.content or "", message.tool_calls or []
        text, calls = "", []
        for event in self.client.chat.stream(**options):
            delta = event.data.choices[0].delta
            text += delta.content or ""
            calls += delta.tool_calls or []
        return text, calls

    def first(self, stream):
        self.messages = [{"role": "user", "content": QUESTION}]
        text, calls = self.ask(self.messages, stream)
        self.messages.append({"role": "assistant", "content": text, "tool_calls": calls})
        return text, [call(one.id, one.function.name, one.function.arguments) for one in calls]

    def second(self, calls, stream):
        self.messages += [{"role": "tool", "tool_call_id": one["id"], "name": one["name"], "content": "42"} for one in calls]
        return self.ask(self.messages, stream)[0]

    def refused(self):
        self.ask([{"role": "user", "content": QUESTION}], False, BAD_NAME)


class Cohere:
    def __init__(self, url):
        import cohere

        self.client = cohere.ClientV2(base_url=url, api_key="k")

    def ask(self, messages, stream, **more):
        options = {"model": "command-a-03-2025", "messages": messages, "tools": [tool(**more)]}
        if not stream:
            message = self.client.chat(**options).message
            text = message.tool_plan or "".join(block.text for block in message.content or [])
            return text, [call(one.id, one.function.name, one.function.arguments) for one in message.tool_calls or []]
        text, calls = "", {}
        for event in self.client.chat_stream(**options):
            said = getattr(event, "delta", None) and getattr(event.delta, "message", None)
            if event.type == "tool-plan-delta":
                text += said.tool_plan
            elif event.type == "content-delta":
                text += said.content.text
            elif event.type == "tool-call-start":
                calls[event.index] = [said.tool_calls.id, said.tool_calls.function.name, ""]
            elif event.type == "tool-call-delta":
                calls[event.index][2] += said.tool_calls.function.arguments
        return text, [call(*one) for one in calls.values()]

    def first(self, stream):
        self.messages = [{"role": "user", "content": QUESTION}]
        text, calls = self.ask(self.messages, stream)
        function = lambda one: {"name": one["name"], "arguments": json.dumps(one["arguments"])}
        again = [{"id": one["id"], "type": "function", "function": function(one)} for one in calls]
        self.messages.append({"role": "assistant", "tool_plan": text, "tool_calls": again})
        return text, calls

    def second(self, calls, stream):
        document = [{"type": "document", "document": {"data": {"sum": "42"}}}]
        self.messages += [{"role": "tool", "tool_call_id": one["id"], "content": document} for one in calls]
        return json.loads(self.ask(self.messages, stream)[0])["sum"]

    def refused(self):
        self.ask([{"role": "user", "content": QUESTION}], False, strict=True)


class Bedrock:
    MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"

    def __init__(self, url):
        import boto3
        from botocore.config import Config

        keys = {"aws_access_key_id": "AKID", "aws_secret_access_key": "secret", "region_name": "us-east-1"}
        settings = Config(retries={"total_max_attempts": 1})
        self.client = boto3.client("bedrock-runtime", endpoint_url=url, config=settings, **keys)

    def ask(self, messages, stream, schema=SCHEMA):
        spec = {"name": "add", "description": ABOUT, "inputSchema": {"json": schema}}
        options = {"modelId": self.MODEL, "messages": messages, "toolConfig": {"tools": [{"toolSpec": spec}]}}
        if not stream:
            return self.client.converse(**options)["output"]["message"]["content"]
        blocks = {}
        for event in self.client.converse_stream(**options)["stream"]:
            if "contentBlockStart" in event:
                blocks[event["contentBlockStart"]["contentBlockIndex"]] = dict(event["contentBlockStart"]["start"]["toolUse"], input="")
            elif "contentBlockDelta" in event:
                index, delta = event["contentBlockDelta"]["contentBlockIndex"], event["contentBlockDelta"]["delta"]
                if "toolUse" in delta:
                    blocks[index]["input"] += delta["toolUse"]["input"]
                else:
                    blocks[index] = blocks.get(index, "") + delta["text"]
        whole = lambda block: {"toolUse": dict(block, input=json.loads(block["input"]))}
        return [{"text": block} if isinstance(block, str) else whole(block) for block in blocks.values()]

    def first(self, stream):
        self.messages = [{"role": "user", "content": [{"text": QUESTION}]}]
        blocks = self.ask(self.messages, stream)
        self.messages.append({"role": "assistant", "content": blocks})
        uses = [block["toolUse"] for block in blocks if "toolUse" in block]
        return "".join(block.get("text", "") for block in blocks), [call(use["toolUseId"], use["name"], use["input"]) for use in uses]

    def second(self, calls, stream):
        results = [{"toolResult": {"toolUseId": one["id"], "content": [{"text": "42"}]}} for one in calls]
        self.messages.append({"role": "user", "content": results})
        return self.ask(self.messages, stream)[0]["text"]

    def refused(self):
        # Names are checked before anything is sent; a schema is not.
        self.ask([{"role": "user", "content": [{"text": QUESTION}]}], False, {"type": "string"})


class Ollama:
    def __init__(self, url):
        import ollama

        self.client = ollama.Client(host=url)

    def ask(self, messages, stream):
        answer = self.client.chat(model="llama3.2", messages=messages, tools=[tool()], stream=stream)
        text, calls = "", []
        for part in answer if stream else [answer]:
            text += part.message.content or ""
            calls += part.message.tool_calls or []
        return text, calls

    def first(self, stream):
        self.messages = [{"role": "user", "content": QUESTION}]
        text, calls = self.ask(self.messages, stream)
        self.messages.append({"role": "assistant", "content": text, "tool_calls": calls})
        return text, [call("", one.function.name, one.function.arguments) for one in calls]

    def second(self, calls, stream):
        self.messages += [{"role": "tool", "tool_name": one["name"], "content": "42"} for one in calls]
        return self.ask(self.messages, stream)[0]

    def refused(self):
        # Its own types refuse what is wrong in a schema; the order of a conversation is nobody's business but the server's.
        self.ask([{"role": "tool", "tool_name": "add", "content": "42"}], False)


class Xai:
    def __init__(self, url):
        import xai_sdk
        from xai_sdk.chat import tool as function
        from xai_sdk.chat import tool_result, user

        self.client = xai_sdk.Client(api_key="k", api_host=url, use_insecure_channel=True)
        self.function, self.tool_result, self.user = function, tool_result, user

    def start(self, name="add"):
        chat = self.client.chat.create(model="grok-4", tools=[self.function(name, ABOUT, SCHEMA)])
        return chat.append(self.user(QUESTION))

    def ask(self, stream):
        if not stream:
            return self.chat.sample()
        for response, _ in self.chat.stream():
            pass
        return response

    def first(self, stream):
        self.chat = self.start()
        response = self.ask(stream)
        self.chat.append(response)
        return response.content, [call(one.id, one.function.name, one.function.arguments) for one in response.tool_calls]

    def second(self, calls, stream):
        for one in calls:
            self.chat.append(self.tool_result("42", tool_call_id=one["id"]))
        return self.ask(stream).content

    def refused(self):
        self.start(BAD_NAME).sample()


SDKS = {
    "openai chat": OpenAiChat,
    "openai responses": OpenAiResponses,
    "anthropic": Anthropic,
    "google-genai": GoogleGenAi,
    "google-generativeai": GoogleGenerativeAi,
    "mistralai": Mistral,
    "cohere": Cohere,
    "boto3": Bedrock,
    "ollama": Ollama,
    "xai-sdk": Xai,
}


def status_of(error):
    """What the SDK calls the status of a refusal."""
    for read in (
        lambda: error.status_code,
        lambda: error.response["Error"]["Code"],
        lambda: error.code().name,
        lambda: error.code,
    ):
        try:
            return str(read())
        except (AttributeError, KeyError, TypeError):
            continue
    return ""


def main():
    sdk = SDKS[sys.argv[1]](sys.argv[2])
    for way in ("whole", "streamed"):
        text, calls = sdk.first(way == "streamed")
        answer = sdk.second(calls, way == "streamed")
        print(json.dumps({"way": way, "text": text, "calls": calls, "answer": answer}), flush=True)
    try:
        sdk.refused()
        refusal = {"class": "", "status": "", "message": "nothing was refused"}
    except Exception as error:
        refusal = {"class": type(error).__name__, "status": status_of(error), "message": str(error)}
    print(json.dumps({"way": "refused", **refusal}), flush=True)


if __name__ == "__main__":
    main()
