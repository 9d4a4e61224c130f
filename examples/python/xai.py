"""xAI with the tools of your MCP servers: pip install mcp-tool-gateway xai-sdk; XAI_API_KEY."""

import os
from typing import Any

from mcp_tool_gateway import GatewayClient
from xai_sdk import Client
from xai_sdk.chat import tool, tool_result, user

MODEL = os.environ.get("XAI_MODEL", "grok-4.3")
HOST = os.environ.get("XAI_API_HOST", "api.x.ai")
gateway = GatewayClient(os.environ.get("GATEWAY_URL", "http://127.0.0.1:8787"))
client = Client(api_host=HOST, use_insecure_channel=HOST.startswith("127.0.0.1"))
tools = [tool(**each["function"]) for each in gateway.get_tools("xai", model=MODEL)["tools"]]


def run_calls(chat: Any, reply: Any) -> bool:
    """Appends the reply and the results of its calls; whether there were any."""
    results = gateway.execute_reply(reply, provider="xai", model=MODEL)["messages"]
    chat.append(reply)
    for result in results:
        chat.append(tool_result(result["content"], tool_call_id=result["tool_call_id"]))
    return bool(results)


chat = client.chat.create(model=MODEL, messages=[user("What is 15 plus 27?")], tools=tools)
while run_calls(chat, reply := chat.sample()):
    pass
print(reply.content)

chat = client.chat.create(model=MODEL, messages=[user("What is 15 plus 27?")], tools=tools)
calls = True
while calls:
    for reply, chunk in chat.stream():
        print(chunk.content, end="", flush=True)
    calls = run_calls(chat, reply)
print()
