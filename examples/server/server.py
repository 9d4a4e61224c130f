"""An MCP server with two tools that work with every provider: plain names, one object of arguments, everything described."""

from typing import Annotated, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

server = MCPServer("parcels", version="1.0")
RATES = {"letter": 1.2, "parcel": 4.5}
SENT = {"A-1": "delivered", "A-2": "on the way"}


@server.tool()
def quote_postage(
    kind: Annotated[Literal["letter", "parcel"], Field(description="What is sent")],
    grams: Annotated[int, Field(description="Its weight in grams", ge=1, le=20000)],
) -> float:
    """Quote the postage of a letter or parcel in euros"""
    return round(RATES[kind] * (1 + grams // 1000), 2)


@server.tool()
def track_parcel(number: Annotated[str, Field(description="The number on the receipt, such as A-1")]) -> str:
    """Find out where a parcel is"""
    if number not in SENT:
        raise ToolError(f"no parcel has the number {number}")
    return SENT[number]


if __name__ == "__main__":
    server.run()
