"""The servers of the corpus over HTTP, all in this process: they list their tools, and note what was called."""

import contextlib
import http.server
import json
import threading


class Calls:
    """The calls that reached a server, in their order."""

    def __init__(self):
        self.lock = threading.Lock()
        self.seen = []

    def add(self, server, params):
        with self.lock:
            self.seen.append((f"{server}/{params['name']}", params.get("arguments", {})))

    def take(self):
        """The calls since the last time."""
        with self.lock:
            taken, self.seen = self.seen, []
            return taken


class JsonHandler(http.server.BaseHTTPRequestHandler):
    """Reads and writes JSON, and logs nothing."""

    protocol_version = "HTTP/1.1"
    # Without this, a small answer waits for the peer's acknowledgement of its head.
    wbufsize = -1
    disable_nagle_algorithm = True

    def body(self):
        return json.loads(self.rfile.read(int(self.headers["content-length"])))

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving_corpus(tools):
    """Serves `{server: [definition]}`, each server under its own path: what the configuration says about them, and the calls."""
    calls = Calls()

    class Server(JsonHandler):
        def do_POST(self):
            message = self.body()
            if "id" not in message:
                return self.answer(202, b"")
            return self.answer(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], **self.result(message)}).encode())

        def result(self, message):
            server, method = self.path.strip("/"), message["method"]
            if method == "initialize":
                about = {"name": server, "version": "1"}
                return {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": about}}
            if method == "tools/list":
                return {"result": {"tools": tools[server]}}
            if method == "tools/call":
                calls.add(server, message["params"])
                return {"result": {"content": [{"type": "text", "text": f"{message['params']['name']} is done"}]}}
            if method == "ping":
                return {"result": {}}
            return {"error": {"code": -32601, "message": f"unknown method {method}"}}

        def do_GET(self):
            self.answer(405, b"")

        do_DELETE = do_GET

    with listening(Server) as port:
        address = f"http://127.0.0.1:{port}"
        yield {name: {"type": "streamable-http", "url": f"{address}/{name}", "connect": "eager"} for name in tools}, calls


@contextlib.contextmanager
def listening(handler):
    """A server with this handler on a free port of loopback, as long as the block runs."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
