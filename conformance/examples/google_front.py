"""What stands before Google's API over HTTP, as far as google-generativeai needs it: enums that the SDK wrote as numbers become
names, and answers end with their last bracket."""

import contextlib
import http.server
import json
import threading
import urllib.error
import urllib.request

# google.ai.generativelanguage.v1beta.Type, by its numbers.
TYPES = ("TYPE_UNSPECIFIED", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")


def named(value, key=None):
    """The value with the names of types. `properties` and `args` hold names of the tool's own."""
    if isinstance(value, list):
        return [named(item) for item in value]
    if isinstance(value, dict):
        own = key == "properties"
        return {name: item if name in ("args", "response") and not own else named_member(name, item, own) for name, item in value.items()}
    return value


def named_member(name, item, is_property):
    if name == "type" and not is_property and type(item) is int and 0 <= item < len(TYPES):
        return TYPES[item]
    return named(item, None if is_property else name)


class Front(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        keep = {name: text for name, text in self.headers.items() if name.lower().startswith(("content-type", "x-goog"))}
        request = urllib.request.Request(self.server.behind + self.path, json.dumps(named(body)).encode(), keep)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                # Nothing stands behind a list of streamed answers: the SDK's reader refuses even a line break.
                self.answer(answer.status, answer.headers["content-type"], answer.read().rstrip())
        except urllib.error.HTTPError as refusal:
            self.answer(refusal.code, refusal.headers["content-type"], refusal.read())

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def before(host):
    """The host and port that stand before a server."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Front) as server:
        server.behind = f"http://{host}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
