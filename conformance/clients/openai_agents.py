"""The OpenAI Agents SDK's MCP client; no model is needed for it."""

import logging

from agents.mcp import MCPServerSse, MCPServerStdio, MCPServerStreamableHttp

import harness

logging.disable(logging.CRITICAL)
SETTINGS = {"client_session_timeout_seconds": harness.PATIENCE}


def open_target(target):
    if target["kind"] == "stdio":
        return MCPServerStdio({"command": target["command"], "args": target["args"]}, **SETTINGS)
    kind = MCPServerSse if target["kind"] == "sse" else MCPServerStreamableHttp
    return kind({"url": target["url"]}, **SETTINGS)


class OpenAiAgents(harness.Abilities):
    def __init__(self, target):
        super().__init__(target)
        asked = {"elicitation", "sampling", "roots"}
        self.cannot = asked | {"progress", "logging", "subscribe", "complete", "list changed"}

    async def tool_names(self):
        return [tool.name for tool in await self.client.list_tools()]

    async def connect(self):
        return harness.era(self.client.session.protocol_version)

    async def cancel(self):
        if self.target["kind"] == "stdio":
            return await super().cancel()
        # Over HTTP it sends one request after the other, so somebody else has to look.
        async with open_target(self.target) as watcher:

            async def ask(tool, arguments):
                one = self.client if tool == "test_held_call" else watcher
                return (await one.call_tool(tool, arguments)).content[0].text

            return await harness.cancel_held(self.target["way"], ask)


async def check(target, report):
    abilities = OpenAiAgents(target)
    async with open_target(target) as abilities.client:
        await abilities.attempt_all(report)


harness.run(check)
