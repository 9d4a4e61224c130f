"""Can the judge fail? Runs it with a stand-in for the gateway that passes everything on, and with one that loses something.

    selftest.py [--cache FOLDER] [--fixture PATH]
"""

import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
ONLY = "ping,tools-call-simple-text,tools-call-image,server-session-lifecycle"


def stand_in(arguments):
    """Speaks like `serve` and passes bytes on to the configured server. `lose` in the configuration: requests with this text get no answer;
    `alter`: this text in answers becomes another one."""
    config = json.loads(pathlib.Path(arguments[arguments.index("--config") + 1]).read_text())
    port = int(config["mcpServers"]["everything"]["url"].rsplit(":", 1)[1].split("/")[0])
    lose = config.get("lose", "").encode()
    before, after = (text.encode() for text in config.get("alter", ["", ""]))
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)

    def serve(caller):
        request = caller.recv(65536)
        if request.startswith(b"GET /ready"):
            caller.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        elif not (lose and lose in request):
            server = socket.create_connection(("127.0.0.1", port))
            server.sendall(request)
            threading.Thread(target=pump, args=(caller, server, b"", b""), daemon=True).start()
            pump(server, caller, before, after)
        caller.close()

    while True:
        caller, _ = listener.accept()
        threading.Thread(target=serve, args=(caller,), daemon=True).start()


def pump(source, sink, before, after):
    try:
        while piece := source.recv(65536):
            sink.sendall(piece.replace(before, after) if before else piece)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def judge(folder, settings, *more):
    """The exit status of the judge and what it printed."""
    gateway = folder / "gateway"
    gateway.write_text(f"#!/bin/sh\nexec {sys.executable} {HERE / 'selftest.py'} stand-in \"$@\"\n")
    gateway.chmod(0o755)
    (folder / "settings.json").write_text(json.dumps(settings))
    command = [sys.executable, HERE / "run.py", "--bin", gateway, "--settings", folder / "settings.json", "--only", ONLY]
    done = subprocess.run([*command, *more, *sys.argv[1:]], stdout=subprocess.PIPE, text=True, timeout=600)
    return done.returncode, done.stdout


def main():
    failures = []

    def check(what, told, wanted, *texts):
        status, said = told
        good = status == wanted and all(text in said for text in texts)
        print(f"{what}: {'good' if good else f'status {status}, wanted {wanted} and {texts}'}")
        if not good:
            failures.append(said)

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        check("what passes everything on passes", judge(folder, {}), 0, "http: 6 of 6 scenarios")
        lost = judge(folder, {"lose": "test_simple_text"})
        check("a lost call fails its scenario", lost, 1, "FAILED: tools-call-simple-text at 2025-11-25, http")
        check("and no other", lost, 1, "http: 4 of 6 scenarios", "direct: 6 of 6 scenarios")
        altered = judge(folder, {"alter": ["image/png", "image/pn\\\""]})
        check("an answer that is no JSON fails", altered, 1, "FAILED: tools-call-image at 2026-07-28, http")
        # Without a session there is no lifecycle to check, which the suite takes for no failure.
        hidden = judge(folder, {"alter": ["mcp-session-id", "mcp-nobody-idx"]}, "--requirements", "2025-11-25")
        check("what is not offered any more is no success", hidden, 1, "FAILED: server-session-lifecycle", "nothing was there to check")
        idle = [sys.executable, HERE / "run.py", "--client", "true", "--only", "initialize", *sys.argv[1:]]
        done = subprocess.run(idle, stdout=subprocess.PIPE, text=True, timeout=600)
        check("a client that does nothing fails", (done.returncode, done.stdout), 1, "FAILED: initialize")
        absent = subprocess.run([sys.executable, HERE / "run.py", "--bin", "true", "--only", "ping", *sys.argv[1:]], stdout=subprocess.PIPE)
        check("a gateway that does not start is no judgement", (absent.returncode, ""), 2)
    for said in failures:
        print(said)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["stand-in"]:
        stand_in(sys.argv)
    else:
        main()
