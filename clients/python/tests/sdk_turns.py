"""One turn with each SDK: how it asks, what of its objects goes to the gateway, and how it gets the results."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

PROMPT = "Add 15 and 27, and 1 and 2."


@dataclass(frozen=True)
class Sdk:
    """`ask(client, tools, messages)` gives a reply, `stream` and `astream` streams; `calls` the calls in a reply, `after` the messages after the first turn."""

    provider: str
    client: Callable[[str], Any]
    first: Callable[[], list[Any]]
    ask: Callable[[Any, Any, list[Any]], Any]
    calls: Callable[[Any], list[Any]]
    message: Callable[[Any], list[Any]]
    text: Callable[[Any], str]
    streams: dict[str, Callable[[Any, Any, list[Any]], Any]]
    astreams: dict[str, Callable[[str, Any, list[Any]], AsyncIterator[Any]]]


def user() -> list[Any]:
    return [{"role": "user", "content": PROMPT}]


def openai_chat() -> Sdk:
    import openai

    def helper(client: Any, tools: Any, messages: list[Any]) -> Any:
        with client.chat.completions.stream(model="m", messages=messages, **tools) as stream:
            yield from stream

    async def several(url: str, tools: Any, messages: list[Any]) -> AsyncIterator[Any]:
        async with openai.AsyncOpenAI(base_url=url + "/v1", api_key="none") as client:
            async for chunk in await client.chat.completions.create(model="m", messages=messages, stream=True, **tools):
                yield chunk

    return Sdk(
        "openai",
        lambda url: openai.OpenAI(base_url=url + "/v1", api_key="none"),
        user,
        lambda client, tools, messages: client.chat.completions.create(model="m", messages=messages, **tools),
        lambda reply: reply.choices[0].message.tool_calls,
        lambda reply: [reply.choices[0].message],
        lambda reply: reply.choices[0].message.content,
        {
            "chunks": lambda client, tools, messages: client.chat.completions.create(model="m", messages=messages, stream=True, **tools),
            "helper": helper,
        },
        {"chunks": several},
    )


def openai_responses() -> Sdk:
    import openai

    async def several(url: str, tools: Any, messages: list[Any]) -> AsyncIterator[Any]:
        async with openai.AsyncOpenAI(base_url=url + "/v1", api_key="none") as client:
            async for event in await client.responses.create(model="m", input=messages, stream=True, **tools):
                yield event

    return Sdk(
        "openai-responses",
        lambda url: openai.OpenAI(base_url=url + "/v1", api_key="none"),
        user,
        lambda client, tools, messages: client.responses.create(model="m", input=messages, **tools),
        lambda reply: list(reply.output),
        lambda reply: list(reply.output),
        lambda reply: reply.output_text,
        {"events": lambda client, tools, messages: client.responses.create(model="m", input=messages, stream=True, **tools)},
        {"events": several},
    )


def anthropic_messages() -> Sdk:
    import anthropic

    def helper(client: Any, tools: Any, messages: list[Any]) -> Any:
        with client.messages.stream(model="m", max_tokens=9, messages=messages, **tools) as stream:
            yield from stream

    async def several(url: str, tools: Any, messages: list[Any]) -> AsyncIterator[Any]:
        async with anthropic.AsyncAnthropic(base_url=url, api_key="none") as client:
            async for event in await client.messages.create(model="m", max_tokens=9, messages=messages, stream=True, **tools):
                yield event

    return Sdk(
        "anthropic",
        lambda url: anthropic.Anthropic(base_url=url, api_key="none"),
        user,
        lambda client, tools, messages: client.messages.create(model="m", max_tokens=9, messages=messages, **tools),
        lambda reply: list(reply.content),
        lambda reply: [{"role": "assistant", "content": reply.content}],
        lambda reply: reply.content[0].text,
        {
            "events": lambda client, tools, messages: client.messages.create(model="m", max_tokens=9, messages=messages, stream=True, **tools),
            "helper": helper,
        },
        {"events": several},
    )


def google_genai() -> Sdk:
    from google import genai

    def connect(url: str) -> Any:
        return genai.Client(api_key="none", http_options={"base_url": url})

    async def several(url: str, tools: Any, messages: list[Any]) -> AsyncIterator[Any]:
        # A client that nobody holds closes its connections.
        client = connect(url)
        async for chunk in await client.aio.models.generate_content_stream(model="m", contents=messages, config={"tools": [tools]}):
            yield chunk

    return Sdk(
        "gemini",
        connect,
        lambda: [{"role": "user", "parts": [{"text": PROMPT}]}],
        lambda client, tools, messages: client.models.generate_content(model="m", contents=messages, config={"tools": [tools]}),
        lambda reply: reply.function_calls,
        lambda reply: [reply.candidates[0].content],
        lambda reply: reply.text,
        {"chunks": lambda client, tools, messages: client.models.generate_content_stream(model="m", contents=messages, config={"tools": [tools]})},
        {"chunks": several},
    )


def mistral() -> Sdk:
    from mistralai.client import Mistral

    async def several(url: str, tools: Any, messages: list[Any]) -> AsyncIterator[Any]:
        client = Mistral(api_key="none", server_url=url)
        async for event in await client.chat.stream_async(model="mistral", messages=messages, **tools):
            yield event

    return Sdk(
        "mistral",
        lambda url: Mistral(api_key="none", server_url=url),
        user,
        lambda client, tools, messages: client.chat.complete(model="mistral", messages=messages, **tools),
        lambda reply: reply.choices[0].message.tool_calls,
        lambda reply: [reply.choices[0].message],
        lambda reply: reply.choices[0].message.content,
        {"events": lambda client, tools, messages: client.chat.stream(model="mistral", messages=messages, **tools)},
        {"events": several},
    )


def cohere_chat() -> Sdk:
    import cohere

    async def several(url: str, tools: Any, messages: list[Any]) -> AsyncIterator[Any]:
        async for event in cohere.AsyncClientV2(api_key="none", base_url=url).chat_stream(model="m", messages=messages, **tools):
            yield event

    return Sdk(
        "cohere",
        lambda url: cohere.ClientV2(api_key="none", base_url=url),
        user,
        lambda client, tools, messages: client.chat(model="m", messages=messages, **tools),
        lambda reply: reply.message.tool_calls,
        lambda reply: [reply.message],
        lambda reply: reply.message.content[0].text,
        {"events": lambda client, tools, messages: client.chat_stream(model="m", messages=messages, **tools)},
        {"events": several},
    )


def ollama_chat() -> Sdk:
    import ollama

    async def several(url: str, tools: Any, messages: list[Any]) -> AsyncIterator[Any]:
        async for chunk in await ollama.AsyncClient(host=url).chat(model="m", messages=messages, stream=True, **tools):
            yield chunk

    return Sdk(
        "ollama",
        lambda url: ollama.Client(host=url),
        user,
        lambda client, tools, messages: client.chat(model="m", messages=messages, **tools),
        lambda reply: list(reply.message.tool_calls),
        lambda reply: [reply.message],
        lambda reply: reply.message.content,
        {"chunks": lambda client, tools, messages: client.chat(model="m", messages=messages, stream=True, **tools)},
        {"chunks": several},
    )


def bedrock() -> Sdk:
    import boto3

    def connect(url: str) -> Any:
        return boto3.client("bedrock-runtime", endpoint_url=url, region_name="us-east-1", aws_access_key_id="nobody", aws_secret_access_key="nothing")

    return Sdk(
        "bedrock",
        connect,
        lambda: [{"role": "user", "content": [{"text": PROMPT}]}],
        lambda client, tools, messages: client.converse(modelId="m", messages=messages, toolConfig=tools),
        lambda reply: [block["toolUse"] for block in reply["output"]["message"]["content"] if "toolUse" in block],
        lambda reply: [reply["output"]["message"]],
        lambda reply: reply["output"]["message"]["content"][0]["text"],
        {
            "reply": lambda client, tools, messages: client.converse_stream(modelId="m", messages=messages, toolConfig=tools),
            "stream": lambda client, tools, messages: client.converse_stream(modelId="m", messages=messages, toolConfig=tools)["stream"],
        },
        {},
    )


SDKS: dict[str, Callable[[], Sdk]] = {
    "openai": openai_chat,
    "openai responses": openai_responses,
    "anthropic": anthropic_messages,
    "google-genai": google_genai,
    "mistralai": mistral,
    "cohere": cohere_chat,
    "ollama": ollama_chat,
    "boto3": bedrock,
}
