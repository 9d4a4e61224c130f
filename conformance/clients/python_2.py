"""The official Python SDK, second line: `mcp` 2, in either era."""

import warnings

import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client

import harness

warnings.simplefilter("ignore")


def open_target(target):
    if target["kind"] == "stdio":
        return StdioServerParameters(command=target["command"], args=target["args"])
    return sse_client(target["url"]) if target["kind"] == "sse" else target["url"]


class SecondLine(harness.Abilities):
    types = types

    async def tool_names_again(self):
        return await self.tool_names(cache_mode="refresh")

    async def read_again(self, uri):
        return await self.read(uri, cache_mode="bypass")

    async def told_of_update(self, uri):
        if not self.is_modern:
            return await super().told_of_update(uri)
        async with self.client.listen(resource_subscriptions=[uri]) as events:
            await self.call("test_trigger_resource_update")
            async for event in events:
                return event.uri

    async def list_changed(self):
        if not self.is_modern:
            return await super().list_changed()
        async with self.client.listen(tools_list_changed=True) as events:
            await self.call("test_trigger_tool_change")
            async for _ in events:
                if await self.is_changed():
                    return True


async def check(target, report):
    abilities = SecondLine(target)
    abilities.client = Client(
        open_target(target),
        mode="auto" if abilities.is_modern else "legacy",
        sampling_callback=abilities.on_sampling,
        elicitation_callback=abilities.on_elicitation,
        list_roots_callback=abilities.on_roots,
        logging_callback=abilities.on_log,
        log_level="info",
        message_handler=abilities.on_message,
    )
    async with abilities.client:
        await abilities.attempt_all(report)


harness.run(check)
