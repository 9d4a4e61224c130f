"""Gemini by google-generativeai, streamed: pip install mcp-tool-gateway google-generativeai; GOOGLE_API_KEY."""

import os
from typing import Any

import google.generativeai as genai
from mcp_tool_gateway import GatewayClient

MODEL = os.environ.get("GEMINI_MODEL", "gemini-2.5-flash")
gateway = GatewayClient(os.environ.get("GATEWAY_URL", "http://127.0.0.1:8787"))
if url := os.environ.get("GOOGLE_GEMINI_BASE_URL"):  # a server of your own; this SDK reads no variable for it
    genai.configure(transport="rest", client_options={"api_endpoint": url})
model = genai.GenerativeModel(MODEL, tools=gateway.get_tools("gemini-legacy", model=MODEL))


def ask(contents: list[Any]) -> None:
    while True:
        reply = model.generate_content(contents)
        results = gateway.execute_reply(reply, provider="gemini-legacy", model=MODEL)["messages"]
        contents += [reply.candidates[0].content, *results]
        if not results:
            return print(reply.text)


def ask_streamed(contents: list[Any]) -> None:
    while True:
        reply = model.generate_content(contents, stream=True)
        for chunk in reply:
            print("".join(part.text for part in chunk.parts), end="", flush=True)
        results = gateway.execute_reply(reply, provider="gemini-legacy", model=MODEL)["messages"]
        contents += [reply.candidates[0].content, *results]  # the SDK has joined the chunks
        if not results:
            return print()


ask([{"role": "user", "parts": ["What is 15 plus 27?"]}])
ask_streamed([{"role": "user", "parts": ["What is 15 plus 27?"]}])
