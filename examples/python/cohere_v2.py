"""Cohere's Chat v2 with the tools of your MCP servers: pip install mcp-tool-gateway cohere; CO_API_KEY."""

import os
from typing import Any

import cohere
from mcp_tool_gateway import GatewayClient

MODEL = os.environ.get("COHERE_MODEL", "command-a-plus-05-2026")
gateway = GatewayClient(os.environ.get("GATEWAY_URL", "http://127.0.0.1:8787"))
client = cohere.ClientV2()
tools = gateway.get_tools("cohere", model=MODEL)["tools"]


def ask(messages: list[Any]) -> None:
    while True:
        reply = client.chat(model=MODEL, messages=messages, tools=tools)
        results = gateway.execute_reply(reply, provider="cohere", model=MODEL)["messages"]
        messages += [reply.message, *results]
        if not results:
            return print("".join(item.text for item in reply.message.content or [] if item.type == "text"))


ask([{"role": "user", "content": "What is 15 plus 27?"}])
