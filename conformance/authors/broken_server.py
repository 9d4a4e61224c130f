"""Servers that are broken in one way each, over stdio or HTTP, to see what `check` says of them.

    broken_server.py MODE           over stdio
    broken_server.py MODE --http    over HTTP, on a free port that is printed
"""

import http.server
import json
import sys

TOOLS = {
    "good": [
        {
            "name": "get_weather",
            "description": "Current weather of a city",
            "inputSchema": {
                "type": "object",
                "properties": {"city": {"type": "string", "description": "The city's name"}},
                "required": ["city"],
            },
        }
    ],
    "bad": [{"name": "text", "description": "Arguments that are text", "inputSchema": {"type": "string"}}],
    "empty": [],
    "odd": [7],
}
OPENED = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "broken", "version": "1"}}
SAID = {"html": "<html><body>Hello</body></html>", "error-500": "something broke", "error-401": "who are you?"}


def answer(mode, message):
    """The answer to a message as text, or None."""
    if "id" not in message:
        return None
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "initialize":
        answer["result"] = OPENED
    elif message["method"] == "tools/list" and mode == "list-refused":
        answer["error"] = {"code": -32603, "message": "the database is gone"}
    elif message["method"] == "tools/list" and mode == "list-malformed":
        answer["result"] = {"tools": {"name": "x"}}
    elif message["method"] == "tools/list":
        answer["result"] = {"tools": TOOLS[mode]}
    else:
        answer["error"] = {"code": -32601, "message": "no such method"}
    return json.dumps(answer)


def over_stdio(mode):
    if mode == "exits":
        print("cannot read config.toml", file=sys.stderr)
        sys.exit(3)
    for line in sys.stdin:
        message = json.loads(line)
        if mode == "garbage":
            print("Server ready!", flush=True)
        elif mode == "dies-listing" and message["method"] == "tools/list":
            print("out of tools", file=sys.stderr, flush=True)
            sys.exit(4)
        elif mode != "silent" and (text := answer(mode, message)):
            print(text, flush=True)


class Handler(http.server.BaseHTTPRequestHandler):
    mode = ""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.mode in SAID:
            status = int(self.mode.partition("-")[2] or 200)
            self.reply(status, "text/html" if self.mode == "html" else "text/plain", SAID[self.mode])
        elif text := answer(self.mode, json.loads(body)):
            self.reply(200, "application/json", text)
        else:
            self.reply(202, "text/plain", "")

    def do_GET(self):
        self.reply(405, "text/plain", "")

    def reply(self, status, kind, text):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


def over_http(mode):
    Handler.mode = mode
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"listening on http://127.0.0.1:{server.server_address[1]}/mcp", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    (over_http if "--http" in sys.argv else over_stdio)(sys.argv[1])
