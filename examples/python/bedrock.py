"""Bedrock's Converse with the tools of your MCP servers: pip install mcp-tool-gateway boto3; AWS credentials, AWS_REGION."""

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
        reply: Any = client.converse(modelId=MODEL, messages=messages, toolConfig=tools)
        results = gateway.execute_reply(reply, provider="bedrock", model=MODEL)["messages"]
        messages += [reply["output"]["message"], *results]
        if not results:
            return print("".join(block.get("text", "") for block in reply["output"]["message"]["content"]))


ask([{"role": "user", "content": [{"text": "What is 15 plus 27?"}]}])
