"""Anthropic Messages with the tools of your MCP servers: pip install mcp-tool-gateway anthropic; ANTHROPIC_API_KEY."""

import os
from typing import Any

from anthropic import Anthropic
from mcp_tool_gateway import GatewayClient

MODEL = os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-5")
gateway = GatewayClient(os.environ.get("GATEWAY_URL", "http://127.0.0.1:8787"))
client = Anthropic()
tools = gateway.get_tools("anthropic", model=MODEL)["tools"]


def ask(messages: list[Any]) -> None:
    while True:
        reply = client.messages.create(model=MODEL, max_tokens=1024, messages=messages, tools=tools)
        results = gateway.execute_reply(reply, provider="anthropic", model=MODEL)["messages"]
        messages += [{"role": "assistant", "content": reply.content}, *results]
        if not results:
            return print("".join(block.text for block in reply.content if block.type == "text"))


def ask_streamed(messages: list[Any]) -> None:
    while True:
        with client.messages.stream(model=MODEL, max_tokens=1024, messages=messages, tools=tools) as stream:
            for text in stream.text_stream:
                print(text, end="", flush=True)
            reply = stream.get_final_message()
        results = gateway.execute_reply(reply, provider="anthropic", model=MODEL)["messages"]
        messages += [{"role": "assistant", "content": reply.content}, *results]
        if not results:
            return print()


ask([{"role": "user", "content": "What is 15 plus 27?"}])
ask_streamed([{"role": "user", "content": "What is 15 plus 27?"}])
