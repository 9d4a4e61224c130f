"""What a user writes first: the gateway, a call by a model's own object, and the engine in process. Prints what it saw as JSON."""

import json
import sys

from mcp_tool_gateway import Gateway, convert

with Gateway.start(sys.argv[1]) as client:
    listed = client.get_tools("openai")
    called = client.call_tool("demo", "calculate", {"operation": "add", "a": 2, "b": 40})
print(json.dumps({"listed": listed, "called": called, "converted": convert("openai", json.load(open(sys.argv[2])))}, default=str))
