"""Cohere's Chat v2 with the tools of your MCP servers, streamed: pip install mcp-tool-gateway cohere; CO_API_KEY."""

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
        said: dict[str, Any] = {"role": "assistant", "tool_plan": "", "tool_calls": []}
        for event in client.chat_stream(model=MODEL, messages=messages, tools=tools):
            delta: Any = getattr(event, "delta", None)
            if event.type == "tool-plan-delta":
                said["tool_plan"] += delta.message.tool_plan
            elif event.type == "tool-call-start":
                said["tool_calls"].append(delta.message.tool_calls)
            elif event.type == "tool-call-delta":
                said["tool_calls"][-1].function.arguments += delta.message.tool_calls.function.arguments
            elif event.type == "content-delta":
                print(delta.message.content.text or "", end="", flush=True)
        results = gateway.execute_reply(said, provider="cohere", model=MODEL)["messages"]
        if not results:
            return print()
        messages += [said, *results]


ask([{"role": "user", "content": "What is 15 plus 27?"}])
