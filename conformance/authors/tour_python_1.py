"""The official Python SDK, first line: lists the tools of a server and makes calls. Prints what it saw as one line of JSON.

    tour_python_1.py '{"command": …, "args": …} or {"url": …}, with "calls": [[tool, arguments], …]'
"""

import asyncio
import contextlib
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


async def tour(target):
    if "url" in target:
        way = streamable_http_client(target["url"])
    else:
        way = stdio_client(StdioServerParameters(command=target["command"], args=target["args"], env=target["env"]))
    async with contextlib.AsyncExitStack() as stack:
        streams = await stack.enter_async_context(way)
        session = await stack.enter_async_context(ClientSession(*streams[:2]))
        opened = await session.initialize()
        tools = (await session.list_tools()).tools
        seen = {"server": opened.serverInfo.name, "tools": [tool.model_dump(mode="json") for tool in tools], "results": []}
        for name, arguments in target["calls"]:
            try:
                seen["results"].append((await session.call_tool(name, arguments)).model_dump(mode="json"))
            except Exception as error:
                seen["results"].append(str(error))
    print(json.dumps(seen))


asyncio.run(tour(json.loads(sys.argv[1])))
