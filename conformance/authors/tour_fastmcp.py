"""FastMCP's client, in the era that the server speaks; what it is given and what it prints is as in tour_python_1.py."""

import asyncio
import json
import sys
import warnings

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

warnings.simplefilter("ignore")


def plain(value):
    return value.model_dump(mode="json", by_alias=True) if hasattr(value, "model_dump") else value


async def tour(target):
    if "url" in target:
        way = StreamableHttpTransport(target["url"])
    else:
        way = StdioTransport(command=target["command"], args=target["args"], env=target["env"], keep_alive=False)
    async with Client(way, mode="auto") as client:
        tools = [tool.model_dump(mode="json") for tool in await client.list_tools()]
        seen = {"era": client.session.protocol_version, "tools": tools, "results": []}
        for name, arguments in target["calls"]:
            try:
                result = await client.call_tool(name, arguments, raise_on_error=False)
                blocks = [plain(block) for block in result.content]
                seen["results"].append([blocks, result.structured_content, result.is_error])
            except Exception as error:
                seen["results"].append(str(error))
    print(json.dumps(seen))


asyncio.run(tour(json.loads(sys.argv[1])))
