"""The terminal chat in tmux: streaming, calls, approval, resizing, pasting, Ctrl-C, pipes; and the picture of the documentation.

    run.py --bin mcp-tool-gateway --fixture gateway-fixture --model gateway-model
    run.py … --update      writes docs/images/chat.svg anew

The model is scripted and strict: it refuses a conversation that its provider would refuse. Exit status: 0 good, 1 something is not as it
should be, 2 a part does not start, 77 tmux is not there.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from programs import ROOT, Process, Unusable, conclude

from picture import cells, svg

PICTURE = ROOT / "docs/images/chat.svg"
PATIENCE = 30


class Pane:
    """A shell in a tmux of its own, and what somebody does there."""

    def __init__(self, folder, columns, rows):
        self.tmux = ["tmux", "-S", str(folder / "tmux"), "-f", "/dev/null"]
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "PS1": "$ ", "ENV": ""}
        size = ["-x", str(columns), "-y", str(rows)]
        shell = ["env", "-i", *(f"{name}={value}" for name, value in environment.items()), "TERM=screen", "sh"]
        subprocess.run([*self.tmux, "new-session", "-d", *size, "-c", str(folder), *shell], check=True)
        self.until("the shell", lambda screen: screen.startswith("$"))

    def run(self, *arguments, **options):
        return subprocess.run([*self.tmux, *arguments], check=True, capture_output=True, text=True, **options).stdout

    def screen(self, *flags):
        return self.run("capture-pane", "-p", *flags)

    def type(self, text):
        self.run("send-keys", "-l", text)

    def press(self, *keys):
        self.run("send-keys", *keys)

    def say(self, text):
        self.type(text)
        self.press("Enter")

    def paste(self, text):
        self.run("load-buffer", "-", input=text)
        # As terminals do it that mark what is pasted.
        self.run("paste-buffer", "-p", "-r")

    def resize(self, columns, rows):
        self.run("resize-window", "-x", str(columns), "-y", str(rows))

    def until(self, what, seen):
        deadline = time.monotonic() + PATIENCE
        while not seen(screen := self.screen()):
            if time.monotonic() > deadline:
                raise AssertionError(f"{what} is not on the screen:\n{screen}")
            time.sleep(0.02)
        return screen

    def shows(self, *texts):
        return self.until(" and ".join(map(repr, texts)), lambda screen: all(text in screen for text in texts))

    def prompt(self):
        """Waits until the last line is an empty prompt."""
        return self.until("the prompt", lambda screen: screen.rstrip().split("\n")[-1].rstrip() == ">")

    def question(self, amid_typing=False):
        """Waits until somebody is asked whether a call may run, and has read it: faster keys are no answer."""
        self.until("the question", lambda screen: screen.rstrip().endswith("this tool?"))
        time.sleep(1.3 if amid_typing else 0.5)

    def close(self):
        subprocess.run([*self.tmux, "kill-server"], capture_output=True)


class Chat:
    """A chat with a scripted model, in a pane."""

    def __init__(self, programs, folder, steps, columns=80, rows=24, servers=None, **config):
        self.folder, self.record = folder, folder / "record.jsonl"
        self.binary = programs.bin
        script = folder / "script.json"
        script.write_text(json.dumps({"steps": steps, "strict": True}))
        command = [programs.model, "--wire", "chat", "--script", script, "--record", self.record]
        self.model = Process(command)
        url = self.model.wait_for(r'"url":"([^"]+)"')
        fixture = {"command": str(programs.fixture), "args": ["stdio"]}
        settings = {
            "mcpServers": servers or {"demo": {"type": "builtin"}, "fixture": fixture},
            "models": {"local": {"kind": "openai", "baseUrl": url, "apiKey": "none", "model": "gpt-4.1", "retries": 0}},
            "log": False,
            "dataDirectory": str(folder / "data"),
            **config,
        }
        (folder / "config.json").write_text(json.dumps(settings))
        self.pane = Pane(folder, columns, rows)

    def command(self, *arguments):
        return shlex.join([str(self.binary), "chat", "--config", "config.json", *arguments])

    def start(self, *arguments):
        self.pane.say(self.command(*arguments))
        self.pane.prompt()
        return self.pane

    def open(self, gate):
        self.model.process.stdin.write(f"open {gate}\n")
        self.model.process.stdin.flush()

    def requests(self, count):
        """What the model was asked, once so many requests have ended."""
        deadline = time.monotonic() + PATIENCE
        while True:
            lines = self.record.read_text().splitlines() if self.record.exists() else []
            if len(lines) >= count:
                return [json.loads(line) for line in lines]
            if time.monotonic() > deadline:
                raise AssertionError(f"{len(lines)} requests have ended instead of {count}")
            time.sleep(0.01)

    def messages(self, index):
        messages = self.requests(index + 1)[index]["body"]["messages"]
        return [message for message in messages if message["role"] != "system"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.pane.close()
        self.model.__exit__()


def equal(found, expected, what):
    if found != expected:
        raise AssertionError(f"{what}: {found!r} instead of {expected!r}")


def text(words, **more):
    return {"reply": {"text": words}, **more}


def call(name, **arguments):
    return {"reply": {"calls": [{"id": f"call_{name}", "name": name, "arguments": arguments}]}}


def judge_stream(chat):
    """Text is shown as it comes."""
    pane = chat.start()
    pane.say("Count.")
    screen = pane.shows("one")
    equal("three" in screen, False, "text that has not come yet is on the screen")
    chat.open("rest")
    pane.shows("one two three.")
    pane.prompt()


def judge_calls(chat):
    """Calls are shown with arguments, time and outcome; those that need approval ask."""
    pane = chat.start()
    pane.say("Add.")
    pane.shows('→ add {"a":1,"b":2}', "✓ add (demo,", "Three.")
    for number, (key, word) in enumerate([("n", "no"), ("y", "yes"), ("a", "always")]):
        pane.prompt()
        pane.say(f"Store {number}.")
        pane.question()
        pane.press(key)
        pane.shows(f"tool? {word}", f"Done {number}.")
    pane.prompt()
    pane.say("Store once more.")
    pane.shows("Done 3.")
    results = [chat.messages(index)[-1]["content"] for index in (3, 5, 7, 9)]
    equal(["did not approve" in result for result in results], [True, False, False, False], "denied calls")
    pane.say("/tools add")
    pane.shows("Add two numbers.")


def judge_resize(chat):
    """What is typed stays whole when the window changes, also while an answer comes."""
    pane = chat.start()
    message = "The quick brown fox jumps over the lazy dog while everybody watches it from afar and wonders."
    pane.type(message)
    joined = lambda screen: "".join(re.sub(r"^[>…$] ", "", line).ljust(0) for line in screen.split("\n"))
    whole = lambda screen: joined(screen).replace(" ", "").count(message.replace(" ", "")) == 1
    for columns in (40, 25, 100, 80):
        pane.resize(columns, 24)
        pane.until(f"the message once in {columns} columns", whole)
    pane.press("Enter")
    pane.shows("Begin")
    pane.resize(50, 20)
    chat.open("rest")
    pane.shows("Begin and end.")
    pane.prompt()
    equal(chat.messages(0)[-1]["content"], message, "the message that the model got")


def judge_paste(chat):
    """Several pasted lines are one message."""
    pane = chat.start()
    pasted = "first line\nsecond line\n\tthird line"
    pane.paste(pasted)
    pane.shows("first line", "third line")
    pane.press("Enter")
    pane.shows("Read.")
    pane.prompt()
    # So are lines that somebody continues.
    for line in ('"""', "one", "", 'two', '"""'):
        pane.say(line)
    pane.shows("Read too.")
    equal([chat.messages(1)[index]["content"] for index in (0, -1)], [pasted, "one\n\ntwo"], "the messages")
    pane.prompt()
    pane.press("Up")
    pane.shows("> one")
    pane.press("C-c")
    pane.prompt()


def judge_interrupted_answer(chat):
    """Ctrl-C stops an answer, the request to the model too, and the conversation goes on."""
    pane = chat.start()
    pane.say("Tell a long story.")
    pane.shows("Once upon")
    began = time.monotonic()
    pane.press("C-c")
    chat.requests(1)
    took = time.monotonic() - began
    equal(chat.requests(1)[0]["outcome"], "aborted", "the request")
    pane.shows("stopped; the conversation goes on")
    pane.prompt()
    pane.say("Go on.")
    pane.shows("The end.")
    messages = chat.messages(1)
    equal([message["role"] for message in messages], ["user", "assistant", "user"], "roles")
    said = messages[1]["content"]
    equal((said.startswith("Once upon"), said.endswith("[interrupted by the user]")), (True, True), said)
    return f"request ended {took * 1000:.0f} ms after the key"


def judge_interrupted_call(chat):
    """Ctrl-C stops a tool that runs; its call has a result in the conversation, which the model's API demands."""
    pane = chat.start()
    pane.say("Wait a minute.")
    pane.shows('→ slow {"ms":60000}')
    began = time.monotonic()
    pane.press("C-c")
    pane.shows("stopped; the conversation goes on")
    took = time.monotonic() - began
    pane.prompt()
    pane.say("Never mind.")
    pane.shows("Fine.")
    messages = chat.messages(1)
    equal([message["role"] for message in messages], ["user", "assistant", "tool", "assistant", "user"], "roles")
    equal(messages[2]["content"].count("interrupted"), 1, "the result")
    return f"stopped {took * 1000:.0f} ms after the key"


def judge_typed_ahead(chat):
    """What is typed for the next message is no answer to a question that comes meanwhile, at no speed; it waits for the prompt."""
    pane = chat.start()
    pane.say("Store.")
    pane.shows("waiting for local (")
    pane.type("yes, later")
    chat.open("rest")
    pane.question()
    for letter in " on a nice day":
        pane.type(letter)
        time.sleep(0.12)
    pane.question(amid_typing=True)
    pane.press("n", "Enter")
    pane.shows("this tool? no", "Done.", "> yes, later on a nice day")
    equal("did not approve" in chat.messages(1)[-1]["content"], True, "the call is denied")


def judge_typed_across(chat):
    """Nor is what somebody begins to type once the question is there; Ctrl-C together with an answer stops the turn."""
    pane = chat.start()
    pane.say("Store.")
    pane.question()
    for letter in "what a day":
        pane.type(letter)
        time.sleep(0.12)
    pane.shows("answer with a letter and Enter")
    pane.question(amid_typing=True)
    pane.press("y", "Enter")
    pane.shows("this tool? yes", "Done.", "> what a day")
    pane.press("C-c")
    pane.prompt()
    pane.say("Store once more.")
    pane.question()
    pane.press("y", "C-c")
    pane.shows("stopped; the conversation goes on")
    pane.prompt()
    pane.say("Never mind.")
    pane.shows("Fine.")
    equal([message["content"].count("interrupted") for message in chat.messages(3) if message["role"] == "tool"], [0, 1], "the results")


def judge_blank_lines(chat):
    """Blank lines of an answer are shown, wherever it was cut."""
    pane = chat.start()
    pane.say("Show code.")
    pane.prompt()
    screen = [line.rstrip() for line in pane.screen().split("\n")]
    begin = screen.index("one.")
    equal(screen[begin : begin + 5], ["one.", "", "two.", "", "    code"], "the answer")


def judge_escapes(chat):
    """What a model or a server sends does not act on the terminal."""
    pane = chat.start()
    pane.say("Attack.")
    pane.shows("Begin \\u{1b}[2J\\u{1b}]0;title\\u{7} end \\u{202e}.", '"location":"\\u{202e}!"')
    pane.prompt()


def judge_leaving(chat):
    """Ctrl-C at the prompt says how to leave, Ctrl-D leaves; the terminal is as before, and no process is left."""
    pane = chat.start()
    pane.press("C-c")
    pane.shows("Ctrl-D or /quit leaves")
    pane.type("x")
    pane.press("C-d", "BSpace", "C-d")
    pane.until("the shell", lambda screen: screen.rstrip().split("\n")[-1].startswith("$"))
    pane.say("clear; echo modes: $(stty -a | tr ' ;' '\\n\\n' | grep -xE -- '-?(icanon|echo|isig|icrnl)' | sort) end")
    screen = pane.until("the modes", lambda screen: re.search(r"^modes:.* end$", screen, re.M))
    equal(re.search(r"^modes: (.*) end$", screen, re.M)[1], "echo icanon icrnl isig", "the terminal")
    left = subprocess.run(["pgrep", "-f", str(chat.folder)], capture_output=True, text=True).stdout.split()
    own = {str(chat.model.process.pid), str(os.getpid())}
    names = [pathlib.Path(f"/proc/{pid}/comm").read_text().strip() for pid in left if pid not in own and pathlib.Path(f"/proc/{pid}/comm").exists()]
    equal([name for name in names if name.startswith(("mcp-tool", "gateway-f"))], [], "processes that are left")


def judge_pipe(chat):
    """Through a pipe only answers are on standard output."""
    command = [chat.binary, "chat", "--config", chat.folder / "config.json"]
    done = subprocess.run(command, input="Add.\nThanks.\n", capture_output=True, text=True, timeout=PATIENCE, cwd=chat.folder)
    equal((done.returncode, done.stdout), (0, "Three.\nWelcome.\n"), f"the pipe ({done.stderr})")
    equal([done.stderr.count(mark) for mark in ("→ add", "✓ add")], [1, 1], "calls on standard error")


def judge_picture(chat, update):
    """The picture of the documentation is what this version shows."""
    pane = chat.start()
    pane.say("What is 15 plus 27, and how is the weather in Oslo?")
    pane.shows("42", "sunny")
    pane.prompt()
    pane.say("Remember the sum.")
    pane.question()
    pane.press("y")
    pane.shows("remembered")
    pane.prompt()
    lines = [shortened(line) for line in cells(pane.screen("-e").rstrip())]
    # The command without the folders of this machine.
    first = next(index for index, line in enumerate(lines) if "with " in "".join(letter for letter, _ in line))
    lines = [[(letter, (None, False, False)) for letter in "$ mcp-tool-gateway chat"], *lines[first:]]
    drawn = svg(lines, COLUMNS, "mcp-tool-gateway chat: two calls, an approval, and the answers")
    if update:
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_text(drawn)
    equal(PICTURE.read_text() == drawn if PICTURE.exists() else False, True, f"{PICTURE.relative_to(ROOT)} is the picture (--update writes it)")


COLUMNS = 92


def shortened(line):
    """A line with the same time in every run, and as much of a long one as every run shows."""
    written = "".join(letter for letter, _ in line)
    if found := re.search(r"\((\w+), (\d+) ms", written):
        begin, end = found.span(2)
        line = [*line[:begin], ("2", line[begin][1]), *line[end:]]
    if len(line) > COLUMNS - 6:
        line = [*line[: COLUMNS - 7], ("…", line[COLUMNS - 7][1])]
    return line


def story(*pieces, gate_before):
    return {"reply": {"text": "".join(pieces)}, "gates": [{"before": {"chunk": gate_before}, "name": "rest"}]}


def chunks(*pieces):
    """A streamed answer that is cut exactly so."""
    frames = [{"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]} for piece in pieces]
    frames.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    body = "".join(f"data: {json.dumps(frame)}\n\n" for frame in frames) + "data: [DONE]\n\n"
    return {"raw": {"status": 200, "content_type": "text/event-stream", "body": body}}


def scenarios(update):
    store = call("store_value", key="sum", value="42")
    ask = {"approval": {"tools": {"demo/store_value": "ask"}}}
    two = {"reply": {"calls": [
        {"id": "call_1", "name": "add", "arguments": {"a": 15, "b": 27}},
        {"id": "call_2", "name": "get_weather", "arguments": {"location": "Oslo"}},
    ]}}
    answers = [step for number in range(4) for step in (store, text(f"Done {number}."))]
    demo = {"demo": {"type": "builtin"}}
    return [
        ("stream", judge_stream, {"steps": [story("one two three.", gate_before=2)]}),
        ("calls", judge_calls, {"steps": [call("add", a=1, b=2), text("Three."), *answers], **ask, "rows": 60, "servers": demo}),
        ("resize", judge_resize, {"steps": [story("Begin and end.", gate_before=3)]}),
        ("paste", judge_paste, {"steps": [text("Read."), text("Read too.")]}),
        ("interrupted answer", judge_interrupted_answer, {"steps": [story("Once upon a time there was a tool.", gate_before=5), text("The end.")]}),
        ("interrupted call", judge_interrupted_call, {"steps": [call("slow", ms=60000), text("Fine.")]}),
        ("typed ahead", judge_typed_ahead, {
            "steps": [{**store, "gates": [{"before": "headers", "name": "rest"}]}, text("Done.")], "servers": demo, **ask,
        }),
        ("typed across", judge_typed_across, {"steps": [store, text("Done."), store, text("Fine.")], "servers": demo, **ask}),
        ("blank lines", judge_blank_lines, {"steps": [chunks("one.\n", "\n", "two.\n", "\n    code\n")]}),
        ("escapes", judge_escapes, {
            "steps": [call("get_weather", location="\u202e!"), text("Begin \x1b[2J\x1b]0;title\x07 end \u202e.")], "columns": 100, "servers": demo,
        }),
        ("leaving", judge_leaving, {"steps": [text("Hello.")]}),
        ("pipe", judge_pipe, {"steps": [call("add", a=1, b=2), text("Three."), text("Welcome.")], "servers": demo}),
        ("picture", lambda chat: judge_picture(chat, update), {
            "steps": [two, text("15 plus 27 is 42, and in Oslo it is sunny."), store, text("I have remembered that the sum is 42.")],
            "columns": COLUMNS, "rows": 30, "servers": demo, **ask,
        }),
    ]


def judge(arguments):
    if not shutil.which("tmux"):
        print("NOT RUN: tmux is not there, and the package source has none")
        sys.exit(77)
    failed = 0
    for name, check, settings in scenarios(arguments.update):
        if arguments.only and name != arguments.only:
            continue
        with contextlib.ExitStack() as stack:
            # The paths of sockets are short.
            folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chat-")))
            chat = stack.enter_context(Chat(arguments, folder, **settings))
            try:
                note = check(chat)
                print(f"good: {name}{f' ({note})' if note else ''}")
            except AssertionError as fault:
                failed += 1
                print(f"BAD: {name}: {fault}\n--- screen\n{chat.pane.screen()}---")
    return failed


def built(name):
    return ROOT / "target/debug" / name


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    resolved = lambda path: pathlib.Path(path).resolve()
    parser.add_argument("--bin", type=resolved, default=built("mcp-tool-gateway"))
    parser.add_argument("--fixture", type=resolved, default=built("gateway-fixture"))
    parser.add_argument("--model", type=resolved, default=built("gateway-model"))
    parser.add_argument("--only", help="one scenario")
    parser.add_argument("--update", action="store_true", help="write the picture")
    conclude(judge, parser)
