"""A proxy on loopback that keeps what it passes on: what the gateway really sends to a model, and what comes back."""

import contextlib
import http.client
import http.server
import json
import threading

# A model that says nothing for so long, in seconds, hangs.
PATIENCE = 600


class Recorder(http.server.BaseHTTPRequestHandler):
    """Passes requests on to `server.upstream`, a port, and keeps them with their answers in `server.exchanges`."""

    def do_GET(self):
        self.forward(None)

    def do_POST(self):
        self.forward(self.rfile.read(int(self.headers.get("content-length", 0))))

    def forward(self, body):
        self.close_connection = True
        try:
            self.pass_on(body)
        except (OSError, http.client.HTTPException):
            # One of both is gone. The other sees that the connection ends.
            pass

    def pass_on(self, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.upstream, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request(self.command, self.path, body, {"content-type": "application/json"})
            answer = connection.getresponse()
            self.send_response(answer.status)
            self.send_header("content-type", answer.headers.get("content-type", "application/json"))
            self.send_header("connection", "close")
            self.end_headers()
            pieces = []
            while piece := answer.read1():
                pieces.append(piece)
                self.wfile.write(piece)
                self.wfile.flush()
        if body:
            self.server.exchanges.append((json.loads(body), b"".join(pieces).decode()))

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def recording(upstream):
    """A recorder before the server on that port: its own port, and the list of exchanges that it fills."""
    recorder = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    recorder.upstream, recorder.exchanges = upstream, []
    threading.Thread(target=recorder.serve_forever, daemon=True).start()
    try:
        yield recorder.server_address[1], recorder.exchanges
    finally:
        recorder.shutdown()
        recorder.server_close()
