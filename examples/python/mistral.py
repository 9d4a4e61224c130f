"""Mistral with the tools of your MCP servers: pip install mcp-tool-gateway mistralai; MISTRAL_API_KEY."""

import os
from typing import Any

from mcp_tool_gateway import GatewayClient
from mistralai.client import Mistral

MODEL = os.environ.get("MISTRAL_MODEL", "mistral-large-latest")
gateway = GatewayClient(os.environ.get("GATEWAY_URL", "http://127.0.0.1:8787"))
client = Mistral(api_key=os.environ["MISTRAL_API_KEY"], server_url=os.environ.get("MISTRAL_BASE_URL"))
tools = gateway.get_tools("mistral", model=MODEL)["tools"]


def ask(messages: list[Any]) -> None:
    while True:
        said: Any = client.chat.complete(model=MODEL, messages=messages, tools=tools).choices[0].message
        results = gateway.execute_reply(said, provider="mistral", model=MODEL)["messages"]
        messages += [said, *results]
        if not results:
            return print(said.content)


def ask_streamed(messages: list[Any]) -> None:
    while True:
        said: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": []}
        for event in client.chat.stream(model=MODEL, messages=messages, tools=tools):
            delta: Any = event.data.choices[0].delta
            said["tool_calls"] += delta.tool_calls or []  # Mistral sends calls whole
            said["content"] += delta.content or ""
            print(delta.content or "", end="", flush=True)
        results = gateway.execute_reply(said, provider="mistral", model=MODEL)["messages"]
        messages += [said, *results]
        if not results:
            return print()


ask([{"role": "user", "content": "What is 15 plus 27?"}])
ask_streamed([{"role": "user", "content": "What is 15 plus 27?"}])
