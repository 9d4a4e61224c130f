"""OpenAI Chat Completions with the tools of your MCP servers: pip install mcp-tool-gateway openai; OPENAI_API_KEY."""

import os
from typing import Any

from mcp_tool_gateway import GatewayClient
from openai import OpenAI
from openai.lib.streaming.chat import ChatCompletionStreamState

MODEL = os.environ.get("OPENAI_MODEL", "gpt-5.4-mini")
gateway = GatewayClient(os.environ.get("GATEWAY_URL", "http://127.0.0.1:8787"))
client = OpenAI()
tools = gateway.get_tools("openai", model=MODEL)["tools"]


def ask(messages: list[Any]) -> None:
    while True:
        reply = client.chat.completions.create(model=MODEL, messages=messages, tools=tools)
        results = gateway.execute_reply(reply, provider="openai", model=MODEL)["messages"]
        messages += [reply.choices[0].message, *results]
        if not results:
            return print(reply.choices[0].message.content)


def ask_streamed(messages: list[Any]) -> None:
    while True:
        state = ChatCompletionStreamState()
        for chunk in client.chat.completions.create(model=MODEL, messages=messages, tools=tools, stream=True):
            state.handle_chunk(chunk)
            print("".join(choice.delta.content or "" for choice in chunk.choices), end="", flush=True)
        reply = state.get_final_completion()
        results = gateway.execute_reply(reply, provider="openai", model=MODEL)["messages"]
        messages += [reply.choices[0].message, *results]
        if not results:
            return print()


ask([{"role": "user", "content": "What is 15 plus 27?"}])
ask_streamed([{"role": "user", "content": "What is 15 plus 27?"}])
