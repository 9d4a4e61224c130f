"""Bedrock's ConverseStream with the tools of your MCP servers: pip install mcp-tool-gateway boto3; AWS credentials, AWS_REGION."""

import json
import os
from typing import Any

import boto3
from mcp_tool_gateway import GatewayClient

MODEL = os.environ.get("BEDROCK_MODEL", "us.anthropic.claude-sonnet-4-5-20250929-v1:0")
gateway = GatewayClient(os.environ.get("GATEWAY_URL", "http://127.0.0.1:8787"))
client = boto3.client("bedrock-runtime")
tools: Any = gateway.get_tools("bedrock", model=MODEL)


def ask(messages: list[Any]) -> None:
    while True:
        blocks: list[Any] = []
        stream: Any = client.converse_stream(modelId=MODEL, messages=messages, toolConfig=tools)["stream"]
        for event in stream:
            delta = event.get("contentBlockDelta", {}).get("delta", {})
            if "contentBlockStart" in event:
                blocks.append({"toolUse": {**event["contentBlockStart"]["start"]["toolUse"], "input": ""}})
            elif "toolUse" in delta:
                blocks[-1]["toolUse"]["input"] += delta["toolUse"]["input"]
            elif "text" in delta:
                blocks += [] if blocks and "text" in blocks[-1] else [{"text": ""}]
                blocks[-1]["text"] += delta["text"]
                print(delta["text"], end="", flush=True)
        for block in blocks:
            if "toolUse" in block:
                block["toolUse"]["input"] = json.loads(block["toolUse"]["input"] or "{}")
        results = gateway.execute_reply(blocks, provider="bedrock", model=MODEL)["messages"]
        messages += [{"role": "assistant", "content": blocks}, *results]
        if not results:
            return print()


ask([{"role": "user", "content": [{"text": "What is 15 plus 27?"}]}])
