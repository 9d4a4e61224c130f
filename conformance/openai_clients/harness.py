"""What the Python clients have in common: they try every ability with the gateway's models and print what they saw as JSON lines.

The command line has one object: `base_url` of `/v1` and `ways`, the upstream kinds. The model of an ability is called `WAY ABILITY`, as
`chat plain streamed`. A line is `{"way", "ability", "seen"}`, or with `error` instead of `seen`.
"""

import json
import sys
import traceback

TOOL = {
    "type": "function",
    "function": {
        "name": "lookup",
        "description": "Looks a key up",
        "parameters": {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]},
    },
}
QUESTION = "What is it?"
# Without it, a request that brings tools gets none of the gateway's.
MIXED = {"x-gateway-tools": "auto"}
# Abilities that need members of answers that OpenAI's API does not have.
UNKNOWN_MEMBERS = ("gateway member", "gateway member streamed", "continuation", "continuation streamed")
# For one request, in seconds.
PATIENCE = 30


def question(more=()):
    """The messages of a request."""
    return [{"role": "user", "content": QUESTION}, *more]


class Client:
    """One client. `ask` and `use_tool` return what its own objects hold once everything has arrived; what goes wrong is raised."""

    # Abilities that this client has no words for.
    cannot = ()

    def __init__(self, base_url):
        self.base_url = base_url
        # What the client's own tool was called with.
        self.ran = []

    def models(self):
        """The names of all models."""
        raise NotImplementedError

    def ask(self, model, stream, more=(), continuation=None):
        """An answer: `text`, `reasoning`, `finish`, `usage`, and `gateway`, if the client keeps what it does not know. `more` are
        messages after the question, and with `continuation` it goes on where an answer stopped."""
        raise NotImplementedError

    def use_tool(self, model, stream, headers):
        """The text of the answer after all calls of the client's own tool."""
        raise NotImplementedError

    def failure(self, error):
        """What an exception of the client says: `status`, `retry_after`."""
        raise NotImplementedError

    def lookup(self, key):
        self.ran.append(["lookup", {"key": key}])
        return f"found-{key}"

    def attempt(self, ability, model, wanted):
        """What is seen of an ability; `wanted` are the members that count."""
        name, stream = ability.removesuffix(" streamed"), ability.endswith("streamed") or ability == "broken stream"
        if name == "models":
            return model in self.models()
        if name == "gateway member":
            return [call["tool_name"] for call in self.ask(model, stream)["gateway"]["calls"]]
        if name == "continuation":
            first = self.ask(model, stream)
            more = [{"role": "assistant", "content": first["text"]}, {"role": "user", "content": "Please go on."}]
            second = self.ask(model, stream, more, first["gateway"]["continuation"])
            return {"first": first["text"], "text": second["text"]}
        if name in ("own tools", "mixed"):
            self.ran = []
            text = self.use_tool(model, stream, MIXED if name == "mixed" else {})
            # Some clients run calls at once, so that either may be first.
            return {"text": text, "ran": sorted(self.ran, key=str)}
        if name in ("plain", "reasoning", "gateway tools"):
            answer = self.ask(model, stream)
            return {key: answer[key] for key in wanted}
        try:
            answer = self.ask(model, stream)
        except Exception as error:
            said = self.failure(error)
            return {"class": type(error).__name__, **{key: said.get(key) for key in wanted}}
        raise AssertionError(f"nothing is raised: {answer}")


def run(client_class):
    """Tries everything that the command line names."""
    order = json.loads(sys.argv[1])
    for way in order["ways"]:
        client = client_class(order["base_url"])
        for ability, wanted in order["abilities"].items():
            if ability in client.cannot:
                continue
            line = {"way": way, "ability": ability}
            model = "nobody" if ability.startswith("unknown model") else f"{way} {ability}"
            try:
                line["seen"] = client.attempt(ability, model, wanted)
            except Exception as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                line["error"] = f"{type(error).__name__}: {error} ({place.name}:{place.lineno})"[:400]
            print(json.dumps(line), flush=True)
