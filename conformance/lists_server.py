#!/usr/bin/env python3
"""An MCP server over stdio that lists the tools of a file and runs none of them, whatever it answers: lists_server.py FILE"""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    tools = json.load(file)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "initialize":
        about = {"name": "lists", "version": "1"}
        answer["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": about}
    elif message["method"] == "tools/list":
        answer["result"] = {"tools": tools}
    elif message["method"] == "tools/call":
        answer["result"] = {"content": [{"type": "text", "text": f"{message['params']['name']} is done"}]}
    elif message["method"] == "ping":
        answer["result"] = {}
    else:
        answer["error"] = {"code": -32601, "message": f"unknown method {message['method']}"}
    print(json.dumps(answer), flush=True)
