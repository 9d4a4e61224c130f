"""Gemini with the tools of your MCP servers, by google-genai: pip install mcp-tool-gateway google-genai; GEMINI_API_KEY."""

import os
from typing import Any

from google import genai
from google.genai import types
from mcp_tool_gateway import GatewayClient

MODEL = os.environ.get("GEMINI_MODEL", "gemini-3.8-flash")
gateway = GatewayClient(os.environ.get("GATEWAY_URL", "http://127.0.0.1:8787"))
client = genai.Client()
config = types.GenerateContentConfig(tools=[gateway.get_tools("gemini", model=MODEL)])


def ask(contents: list[Any]) -> None:
    while True:
        reply = client.models.generate_content(model=MODEL, contents=contents, config=config)
        results = gateway.execute_reply(reply, provider="gemini", model=MODEL)["messages"]
        contents += [*(candidate.content for candidate in reply.candidates or []), *results]
        if not results:
            return print(reply.text)


def ask_streamed(contents: list[Any]) -> None:
    while True:
        parts: list[types.Part] = []
        for chunk in client.models.generate_content_stream(model=MODEL, contents=contents, config=config):
            parts += chunk.parts or []
            print("".join(part.text or "" for part in chunk.parts or []), end="", flush=True)
        said = types.Content(role="model", parts=parts)
        results = gateway.execute_reply(said, provider="gemini", model=MODEL)["messages"]
        contents += [said, *results]
        if not results:
            return print()


ask([{"role": "user", "parts": [{"text": "What is 15 plus 27?"}]}])
ask_streamed([{"role": "user", "parts": [{"text": "What is 15 plus 27?"}]}])
