"""Ollama with the tools of your MCP servers: pip install mcp-tool-gateway ollama; OLLAMA_HOST where it is not this machine."""

import os
from typing import Any

import ollama
from mcp_tool_gateway import GatewayClient

MODEL = os.environ.get("OLLAMA_MODEL", "qwen3:8b")
gateway = GatewayClient(os.environ.get("GATEWAY_URL", "http://127.0.0.1:8787"))
tools = gateway.get_tools("ollama", model=MODEL)["tools"]


def ask(messages: list[Any]) -> None:
    while True:
        reply = ollama.chat(model=MODEL, messages=messages, tools=tools)
        results = gateway.execute_reply(reply, provider="ollama", model=MODEL)["messages"]
        messages += [reply.message, *results]
        if not results:
            return print(reply.message.content)


def ask_streamed(messages: list[Any]) -> None:
    while True:
        said: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": []}
        for chunk in ollama.chat(model=MODEL, messages=messages, tools=tools, stream=True):
            said["content"] += chunk.message.content or ""
            said["tool_calls"] += chunk.message.tool_calls or []
            print(chunk.message.content or "", end="", flush=True)
        results = gateway.execute_reply(said, provider="ollama", model=MODEL)["messages"]
        messages += [said, *results]
        if not results:
            return print()


ask([{"role": "user", "content": "What is 15 plus 27?"}])
ask_streamed([{"role": "user", "content": "What is 15 plus 27?"}])
