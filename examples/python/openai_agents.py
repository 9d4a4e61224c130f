"""The OpenAI Agents SDK with the tools of your MCP servers: pip install "mcp-tool-gateway[async]" openai-agents; OPENAI_API_KEY."""

import asyncio
import os
from typing import Any

from agents import Agent, FunctionTool, Runner, set_default_openai_api
from agents.tool_context import ToolContext
from mcp_tool_gateway import AsyncGatewayClient
from openai.types.responses import ResponseTextDeltaEvent

MODEL = os.environ.get("OPENAI_MODEL", "gpt-5.4-mini")
gateway = AsyncGatewayClient(os.environ.get("GATEWAY_URL", "http://127.0.0.1:8787"))
set_default_openai_api("chat_completions")  # any server has it; without this line the SDK uses Responses


async def run_call(context: ToolContext[Any], arguments: str) -> str:
    function = {"name": context.tool_name, "arguments": arguments}
    call = {"id": context.tool_call_id, "type": "function", "function": function}
    answer = await gateway.execute_reply([call], provider="openai", model=MODEL)
    return str(answer["messages"][0]["content"])


async def main() -> None:
    listed = [tool["function"] for tool in (await gateway.get_tools("openai", model=MODEL))["tools"]]
    tools: list[Any] = [
        FunctionTool(each["name"], each.get("description", ""), each["parameters"], run_call, strict_json_schema=False) for each in listed
    ]
    agent = Agent(name="Assistant", model=MODEL, tools=tools)
    print((await Runner.run(agent, "What is 15 plus 27?")).final_output)
    async for event in Runner.run_streamed(agent, "What is 15 plus 27?").stream_events():
        if event.type == "raw_response_event" and isinstance(event.data, ResponseTextDeltaEvent):
            print(event.data.delta, end="", flush=True)
    print()


asyncio.run(main())
