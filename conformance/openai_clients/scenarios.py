"""What the scripted models do, ability by ability, and what a client must see of it."""

# Replies of the model before the gateway stops, `loop.maxRounds`.
BOUND = 4


def call(identifier, name, **arguments):
    return {"id": identifier, "name": name, "arguments": arguments}


def reply(text=None, calls=(), **more):
    return {"reply": {"text": text, "calls": list(calls), **more}}


HELLO = "Hello, Ada! How do you do?"
THOUGHTS, ANSWER = "Two numbers, one sum.", "It is forty-two."
# Rounds of the gateway's own tools: two calls at once, then one that needs them, then the answer.
ROUNDS = [
    reply("Two sums first.", [call("a1", "add", a=15, b=27), call("a2", "add", a=1, b=2)]),
    reply("Now a product.", [call("a3", "multiply", a=42, b=3)]),
    reply("It is 126."),
]
# The caller's tool, twice at once.
OWN = [reply("Let me look.", [call("b1", "lookup", key="x"), call("b2", "lookup", key="y")]), reply("Both were found.")]
# The gateway's tools and the caller's in one reply, after a round of the gateway's own.
MIXED = [
    reply("A sum first.", [call("a0", "add", a=20, b=2)]),
    reply(
        "Four calls.",
        [
            call("a1", "add", a=1, b=2),
            call("b1", "lookup", key="x"),
            call("a2", "multiply", a=3, b=4),
            call("b2", "lookup", key="y"),
        ],
    ),
    reply("All done."),
]
RAN = [["lookup", {"key": "x"}], ["lookup", {"key": "y"}]]
# What the model must have been sent when the caller comes back: every call and every result in its place.
OWN_HISTORY = [["call", "lookup"], ["call", "lookup"], ["result", "found-x"], ["result", "found-y"]]
MIXED_HISTORY = [
    ["call", "add"],
    ["result", "22"],
    ["call", "add"],
    ["call", "lookup"],
    ["call", "multiply"],
    ["call", "lookup"],
    ["result", "3"],
    ["result", "found-x"],
    ["result", "12"],
    ["result", "found-y"],
]


class Scenario:
    """The steps of a model's script, what the client must see, and what stands in the last request that the model got."""

    def __init__(self, steps, seen, history=None, requests=None, runs=0, **model):
        self.steps, self.seen, self.history, self.runs, self.model = steps, seen, history, runs, model
        self.requests = len(steps) if requests is None else requests

    def script(self):
        return {"steps": self.steps, "strict": True}


def twice(name, scenario):
    """A scenario whole and streamed."""
    return {name: scenario, f"{name} streamed": scenario}


def usage(rounds):
    return [50 * rounds, 30 * rounds]


def failed(status, **more):
    return {"status": status, **more}


SCENARIOS = {
    "models": Scenario([], True),
    **twice("plain", Scenario([reply(HELLO)], {"text": HELLO, "finish": "stop", "usage": usage(1)})),
    **twice(
        "reasoning",
        Scenario([reply(ANSWER, reasoning=THOUGHTS, signature="c2lnbmVk")], {"text": ANSWER, "reasoning": THOUGHTS}),
    ),
    **twice(
        "gateway tools",
        Scenario(
            ROUNDS,
            {"text": "Two sums first.\n\nNow a product.\n\nIt is 126.", "finish": "stop", "usage": usage(3)},
            history=[
                ["call", "add"],
                ["call", "add"],
                ["result", "42"],
                ["result", "3"],
                ["call", "multiply"],
                ["result", "126"],
            ],
            runs=3,
        ),
    ),
    **twice("gateway member", Scenario(ROUNDS, ["add", "add", "multiply"], runs=3)),
    **twice("own tools", Scenario(OWN, {"text": "Both were found.", "ran": RAN}, history=OWN_HISTORY)),
    **twice("mixed", Scenario(MIXED, {"text": "All done.", "ran": RAN}, history=MIXED_HISTORY, runs=3)),
    **twice("bad request", Scenario([{"fault": "context-length"}], failed(400))),
    **twice("unknown model", Scenario([], failed(404), model="nobody")),
    **twice(
        "rate limited",
        Scenario([{"fault": "rate-limited-seconds", "retry_after": 7}], failed(429, retry_after="7")),
    ),
    **twice(
        "continuation",
        Scenario(
            [reply(None, [call(f"a{index}", "add", a=index, b=1)]) for index in range(BOUND)] + [reply("It is 4.")],
            {"first": "Sorry, this query requires too many steps.", "text": "It is 4."},
            history=[step for index in range(BOUND) for step in (["call", "add"], ["result", str(index + 1)])],
            runs=BOUND,
        ),
    ),
    "broken stream": Scenario([{"fault": "error-event", **reply("It begins and does not end.")}], failed(None)),
}
