"""The official Python SDK, first line: `mcp` 1."""

import contextlib

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

import harness


def open_target(target):
    if target["kind"] == "stdio":
        return stdio_client(StdioServerParameters(command=target["command"], args=target["args"]))
    return sse_client(target["url"]) if target["kind"] == "sse" else streamable_http_client(target["url"])


class FirstLine(harness.Abilities):
    types = types

    async def on_message(self, message):
        if isinstance(message, types.ServerNotification):
            self.notified.put(message.root)

    async def connect(self):
        return harness.era(self.version)

    async def tool_error(self):
        result = await self.client.call_tool("test_error_handling", {})
        return [result.isError, result.content[0].text]

    async def template(self):
        return (await self.client.list_resource_templates()).resourceTemplates[0].uriTemplate

    async def cancel(self):
        held_id = self.client._request_id

        async def stop(held):
            # This line of the SDK leaves it to its user to notify the server, and keeps the number of a request to itself.
            params = types.CancelledNotificationParams(requestId=held_id)
            await self.client.send_notification(types.ClientNotification(types.CancelledNotification(params=params)))
            held.cancel()

        return await harness.cancel_held(self.target["way"], self.call, stop)


async def check(target, report):
    abilities = FirstLine(target)
    async with contextlib.AsyncExitStack() as stack:
        streams = await stack.enter_async_context(open_target(target))
        session = ClientSession(
            *streams[:2],
            sampling_callback=abilities.on_sampling,
            elicitation_callback=abilities.on_elicitation,
            list_roots_callback=abilities.on_roots,
            logging_callback=abilities.on_log,
            message_handler=abilities.on_message,
        )
        abilities.client = await stack.enter_async_context(session)
        abilities.version = (await session.initialize()).protocolVersion
        await abilities.attempt_all(report)


harness.run(check)
