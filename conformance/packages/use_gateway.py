"""What somebody writes first: a gateway, the tools, a call; and the engine without a gateway. Prints what it saw."""

import json
import urllib.request

from mcp_tool_gateway import Gateway

with Gateway.start({"mcpServers": {"demo": {"type": "builtin"}}}) as client:
    listed = [tool["function"]["name"] for tool in client.get_tools("openai")["tools"]]
    called = client.call_tool("demo", "add", {"a": 2, "b": 40})["structuredContent"]["result"]
    url = f"{client.url}/health"

from mcp_tool_gateway import convert

tool = {
    "name": "greet",
    "description": "Says hello",
    "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
}
converted = convert([tool], to="openai")

try:
    after = urllib.request.urlopen(url, timeout=30).status
except OSError:
    after = "nobody listens"
print(json.dumps({"listed": listed, "called": called, "converted": converted, "after": after}))
