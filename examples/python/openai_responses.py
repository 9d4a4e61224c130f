"""OpenAI Responses with the tools of your MCP servers: pip install mcp-tool-gateway openai; OPENAI_API_KEY."""

import os
from typing import Any

from mcp_tool_gateway import GatewayClient
from openai import OpenAI

MODEL = os.environ.get("OPENAI_MODEL", "gpt-5.4-mini")
gateway = GatewayClient(os.environ.get("GATEWAY_URL", "http://127.0.0.1:8787"))
client = OpenAI()
tools = gateway.get_tools("openai-responses", model=MODEL)["tools"]


def ask(items: list[Any]) -> None:
    while True:
        reply = client.responses.create(model=MODEL, input=items, tools=tools)
        results = gateway.execute_reply(reply, provider="openai-responses", model=MODEL)["messages"]
        items += [*reply.output, *results]
        if not results:
            return print(reply.output_text)


def ask_streamed(items: list[Any]) -> None:
    while True:
        reply: Any = None
        for event in client.responses.create(model=MODEL, input=items, tools=tools, stream=True):
            if event.type == "response.output_text.delta":
                print(event.delta, end="", flush=True)
            elif event.type == "response.completed":
                reply = event.response
        results = gateway.execute_reply(reply, provider="openai-responses", model=MODEL)["messages"]
        items += [*reply.output, *results]
        if not results:
            return print()


ask([{"role": "user", "content": "What is 15 plus 27?"}])
ask_streamed([{"role": "user", "content": "What is 15 plus 27?"}])
