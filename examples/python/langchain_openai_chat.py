"""LangChain with the tools of your MCP servers: pip install mcp-tool-gateway langchain-openai; OPENAI_API_KEY."""

import os
from typing import Any

from langchain_core.messages import AIMessageChunk, convert_to_openai_messages
from langchain_openai import ChatOpenAI
from mcp_tool_gateway import GatewayClient

MODEL = os.environ.get("OPENAI_MODEL", "gpt-5.4-mini")
gateway = GatewayClient(os.environ.get("GATEWAY_URL", "http://127.0.0.1:8787"))
model = ChatOpenAI(model=MODEL).bind_tools(gateway.get_tools("openai", model=MODEL)["tools"])


def ask(messages: list[Any]) -> None:
    while True:
        reply = model.invoke(messages)
        call = convert_to_openai_messages(reply)
        results = gateway.execute_reply(call, provider="openai", model=MODEL)["messages"]
        messages += [reply, *results]
        if not results:
            return print(reply.text)


def ask_streamed(messages: list[Any]) -> None:
    while True:
        reply: Any = AIMessageChunk(content="")
        for chunk in model.stream(messages):
            reply += chunk
            print(chunk.text, end="", flush=True)
        call = convert_to_openai_messages(reply)
        results = gateway.execute_reply(call, provider="openai", model=MODEL)["messages"]
        messages += [reply, *results]
        if not results:
            return print()


ask([{"role": "user", "content": "What is 15 plus 27?"}])
ask_streamed([{"role": "user", "content": "What is 15 plus 27?"}])
