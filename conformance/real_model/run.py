"""A real model before the gateway: it chooses tools, fills their arguments in, and answers from their results.

    run.py --bin mcp-tool-gateway [--fixture gateway-fixture] [--cache FOLDER] [--transcripts FOLDER]

Installs the model server and the models into the cache folder, once. Exit status: 0 good, 1 below a target, 2 wrong usage or a part that
does not start, 77 if the packages cannot be had, so that nothing was judged.
"""

import argparse
import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import kit
from install import NotRun, install
from programs import ROOT, Process, conclude, find_fixture, serving, wait_until_ready
from questions import HELD_OUT, QUESTIONS
from recorder import recording

# Questions that must be answered right, of eight: with calls as text, and with calls that the model server reads itself.
TEXT, NATIVE = 6, 7
# How much of a round's prompt the next round must find in the model server's cache.
CACHED = 0.95
# Many tools: how many there are, how many may be sent, their estimated tokens, and how far an estimate may be off.
MANY, MOST, TOKENS, SLACK = 300, 8, 1000, 1.2
# Seconds for the first answer with many tools.
FIRST = 60
CONTEXT = 8192
# No question needs more than three; a model that goes in circles need not do so for long.
ROUNDS = 5
SETTINGS = {"temperature": 0, "seed": 7, "max_tokens": 256}
SKIPPED = 77


@contextlib.contextmanager
def serving_model(cache, model, template=None):
    """A model server, with another template where one is named: a recorder's port before it, and the exchanges."""
    command = [cache / "venv/bin/python", HERE / "model_server.py", cache / model, str(CONTEXT)]
    if template:
        command.append(HERE / template)
    with Process(command, stderr=subprocess.DEVNULL, own_group=True) as server:
        with recording(int(server.wait_for(r"listening on http://127\.0\.0\.1:(\d+)"))) as recorder:
            yield recorder


@contextlib.contextmanager
def serving_gateway(arguments, model, servers):
    """The gateway with one model, `local`, and these servers: its port."""
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "config.json"
        config.write_text(json.dumps({"mcpServers": servers, "models": {"local": model}, "loop": {"maxRounds": ROUNDS}}))
        with serving(arguments.bin, config, pathlib.Path(folder) / "data") as (_, port):
            wait_until_ready(port)
            yield port


def model_at(port, name, **more):
    return {"baseUrl": f"http://127.0.0.1:{port}/v1", "model": name, "timeout": "10m", **more}


def few_servers(fixture):
    """Seven tools, none of whose names clash."""
    return {
        "demo": {"type": "builtin"},
        "fixture": {"command": str(fixture), "args": ["stdio"], "tools": ["echo", "count"]},
    }


def ask(port, text, stream):
    """The whole answer of the gateway to a question."""
    body = {"model": "local", "messages": [{"role": "user", "content": text}], "stream": stream, **SETTINGS}
    if stream:
        body["stream_options"] = {"include_usage": True}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/chat/completions", json.dumps(body).encode())
    request.add_header("content-type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=600) as answer:
            return read_stream(answer) if stream else json.load(answer)
    except urllib.error.HTTPError as refusal:
        return json.load(refusal)


def read_stream(lines):
    """What a stream of chunks says, as one answer."""
    whole = {"choices": [{"message": {"content": ""}}]}
    for line in lines:
        # Between the chunks stand empty lines, and comments that keep the connection open.
        if not line.startswith(b"data: {"):
            continue
        chunk = json.loads(line.removeprefix(b"data: "))
        whole.update({key: chunk[key] for key in ("usage", "gateway", "error") if key in chunk})
        for choice in chunk.get("choices", []):
            whole["choices"][0]["message"]["content"] += choice["delta"].get("content") or ""
    return whole


class Outcome:
    """What came of a question."""

    def __init__(self, question, answer, seconds):
        self.seconds = seconds
        gateway = answer.get("gateway", {})
        self.rounds, self.calls = gateway.get("rounds", []), gateway.get("calls", [])
        if "error" in answer:
            self.text, self.fault = "", f"error {json.dumps(answer['error'])}"
        else:
            self.text = answer["choices"][0]["message"]["content"] or ""
            self.fault = question.fault(self.calls, self.text)

    def cached(self):
        """For each round after the first, how much of the prompt before it was found in the cache."""
        prompts = [usage["prompt_tokens"] for usage in self.rounds]
        found = [usage["prompt_tokens_details"]["cached_tokens"] for usage in self.rounds]
        return [later / max(before, 1) for before, later in zip(prompts, found[1:])]

    def line(self):
        calls = ", ".join(f"{call['tool_name']} {json.dumps(call['arguments'])}" for call in self.calls)
        tokens = [f"{usage['prompt_tokens']}+{usage['completion_tokens']}" for usage in self.rounds]
        cached = "/".join(f"{share:.0%}" for share in self.cached())
        verdict = "good" if self.fault is None else f"WRONG: {self.fault}"
        return f"{calls or 'no call'} | {self.text!r} | {self.seconds:.1f} s, tokens {' '.join(tokens)}, cached {cached or '-'} | {verdict}"


def ask_all(arguments, name, port, stream=False):
    """Asks all questions; prints a line for each."""
    outcomes = []
    for number, question in enumerate(HELD_OUT if arguments.held_out else QUESTIONS, 1):
        begun = time.monotonic()
        outcome = Outcome(question, ask(port, question.text, stream), time.monotonic() - begun)
        print(f"{name} {number}: {outcome.line()}", flush=True)
        outcomes.append(outcome)
    return outcomes


def keep(arguments, name, exchanges):
    """Writes what was said between gateway and model, for a reader."""
    if arguments.transcripts:
        folder = pathlib.Path(arguments.transcripts)
        folder.mkdir(parents=True, exist_ok=True)
        said = [{"request": request, "answer": answer} for request, answer in exchanges]
        (folder / f"{name}.json").write_text(json.dumps(said, indent=1, ensure_ascii=False))


def judge_questions(name, outcomes, target):
    """What is said of the eight questions, and whether it is enough."""
    right = sum(outcome.fault is None for outcome in outcomes)
    shares = [share for outcome in outcomes for share in outcome.cached()]
    least = min(shares, default=0)
    said = f"{name} {right} of {len(outcomes)} right (at least {target}), {least:.0%} cached (at least {CACHED:.0%})"
    return said, right >= target and least >= CACHED


def judge_text(arguments, port, _):
    """The template as it was shipped: the model writes its calls as text, and the server reads none of them."""
    model = model_at(port, "qwen2.5-coder-1.5b-instruct")
    with serving_gateway(arguments, model, few_servers(arguments.fixture)) as gateway:
        return judge_questions("text", ask_all(arguments, "text", gateway), TEXT)


def judge_native(arguments, port, _):
    """A template whose calls the server reads, streamed."""
    model = model_at(port, "qwen2.5-coder-1.5b-instruct", text="off")
    with serving_gateway(arguments, model, few_servers(arguments.fixture)) as gateway:
        return judge_questions("native", ask_all(arguments, "native", gateway, stream=True), NATIVE)


def judge_many(arguments, port, exchanges):
    """The first question with hundreds of tools, of which few are sent."""
    named = {tool["name"]: tool for _, tool in kit.corpus(kit.data_dir(arguments.data))}
    tools = list(named.values())[:: max(1, len(named) // MANY)][:MANY]
    question = QUESTIONS[0]
    model = model_at(port, "qwen2.5-coder-1.5b-instruct", tools={"max": MOST, "maxTokens": TOKENS})
    with tempfile.TemporaryDirectory() as folder:
        listed = pathlib.Path(folder) / "tools.json"
        listed.write_text(json.dumps(tools))
        # First, so that the right tool does not win by standing first.
        corpus = {"command": sys.executable, "args": [str(HERE.parent / "lists_server.py"), str(listed)], "connect": "eager"}
        servers = {"corpus": corpus, "demo": {"type": "builtin"}}
        with serving_gateway(arguments, model, servers) as gateway:
            begun = time.monotonic()
            answer = ask(gateway, question.text, False)
            outcome = Outcome(question, answer, time.monotonic() - begun)
    print(f"many: {outcome.line()}")
    sent = exchanges[0][0].get("tools", []) if exchanges else []
    tokens = count_tokens(port, json.dumps(sent, ensure_ascii=False, separators=(",", ":")))
    names = [tool["function"]["name"] for tool in sent]
    print(f"many: of {len(tools)} tools and the demo's, {len(sent)} with {tokens} tokens were sent: {', '.join(names)}")
    said = f"many {len(sent)} tools (at most {MOST}), {tokens} tokens (about {TOKENS}), {outcome.seconds:.0f} s (at most {FIRST})"
    is_small = len(sent) <= MOST and tokens <= TOKENS * SLACK
    is_right = outcome.fault is None and outcome.seconds <= FIRST
    return f"{said}, {'right' if outcome.fault is None else 'WRONG'}", bool(sent) and is_small and is_right


def count_tokens(port, text):
    """The tokens of a text, by the model's own vocabulary."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/tokenize", json.dumps({"content": text}).encode())
    with urllib.request.urlopen(request, timeout=60) as answer:
        return len(json.load(answer)["tokens"])


def judge_prompt(arguments, port, exchanges):
    """A model without calls of its own, asked in two steps. It is small: what counts is that each reply is what was asked for, and each
    question answered."""
    model = model_at(port, "smollm2-135m-instruct", toolUse="prompt")
    with serving_gateway(arguments, model, few_servers(arguments.fixture)) as gateway:
        outcomes = ask_all(arguments, "prompt", gateway)
    replies = [is_well_formed(request, answer) for request, answer in exchanges]
    answered = sum(bool(outcome.text) for outcome in outcomes)
    ran = sum(any("code" not in call for call in outcome.calls) for outcome in outcomes)
    right = sum(outcome.fault is None for outcome in outcomes)
    said = f"prompt {sum(replies)} of {len(replies)} replies well-formed (all), {answered} of {len(outcomes)} questions answered (all)"
    is_good = bool(replies) and all(replies) and answered == ran == len(outcomes)
    return f"{said}, {ran} ran a tool (all), {right} right", is_good


def is_well_formed(request, answer):
    """Whether a reply is what it was asked to be: an object with exactly the wanted members, or some text."""
    try:
        text = json.loads(answer)["choices"][0]["message"]["content"]
        wanted = request.get("response_format")
        if wanted is None:
            return bool(text.strip())
        return list(json.loads(text)) == wanted["json_schema"]["schema"]["required"]
    except (KeyError, TypeError, ValueError):
        return False


# By name: the check, its model, and the template where it is not the one in the model's file.
CHECKS = {
    "text": (judge_text, "qwen.gguf", None),
    "native": (judge_native, "qwen.gguf", "native.jinja"),
    "many": (judge_many, "qwen.gguf", None),
    "prompt": (judge_prompt, "smollm2.gguf", None),
}

def judge(arguments):
    """Whether anything is wrong."""
    cache = pathlib.Path(arguments.cache).resolve()
    try:
        install(cache)
    except NotRun as reason:
        print(f"real-model: NOT RUN: {reason}")
        sys.exit(SKIPPED)
    if arguments.install_only:
        return False
    arguments.fixture = find_fixture(arguments.fixture)
    verdicts, missing = [], []
    for name, (check, model, template) in CHECKS.items():
        if name not in arguments.only.split(","):
            missing.append(name)
            continue
        with serving_model(cache, model, template) as (port, exchanges):
            try:
                verdicts.append(check(arguments, port, exchanges))
            finally:
                keep(arguments, name, exchanges)
    failed = [said for said, is_good in verdicts if not is_good]
    for said in failed:
        print(f"FAILED: {said}")
    said = "; ".join(said for said, _ in verdicts)
    left_out = f" ({', '.join(missing)})" if missing else ""
    print(f"real-model: {said}; {len(verdicts) - len(failed)} good, {len(failed)} failed, {len(missing)} not run{left_out}")
    return bool(failed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", help="the gateway", required="--install-only" not in sys.argv)
    parser.add_argument("--fixture", help="the fixture; built where it is not given")
    parser.add_argument("--install-only", action="store_true", help="fill the cache folder and judge nothing")
    parser.add_argument("--cache", default=str(ROOT / "target/real-model"))
    parser.add_argument("--data", help="folder with corpus/ (default: ../shared, else target/data)")
    checks = ",".join(CHECKS)
    parser.add_argument("--only", default=checks, metavar="CHECKS", help=f"comma-separated checks (default: {checks})")
    parser.add_argument("--held-out", action="store_true", help="ask the questions that nothing was tuned on")
    parser.add_argument("--transcripts", help="folder for what gateway and model said to each other")
    conclude(judge, parser)


if __name__ == "__main__":
    main()
