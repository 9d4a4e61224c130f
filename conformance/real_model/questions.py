"""What the model is asked, and what is right."""

import dataclasses


@dataclasses.dataclass
class Question:
    """One question: the calls that answer it, and what must stand in the answer, whatever its case."""

    text: str
    calls: list
    answer: list
    # Whether the calls may come in any order.
    is_unordered: bool = False

    def fault(self, calls, answer):
        """What is wrong with calls and answer, if anything is."""
        wanted, given = [list(call) for call in self.calls], [[call["tool_name"], call["arguments"]] for call in calls]
        if self.is_unordered:
            wanted, given = sorted(wanted, key=repr), sorted(given, key=repr)
        if given != wanted:
            return f"called {given}"
        if failed := [call["code"] for call in calls if "code" in call]:
            return f"failed with {failed}"
        plain = answer.lower().replace(",", "")
        if missing := [word for word in self.answer if word not in plain]:
            return f"{missing} not in the answer"
        return None


QUESTIONS = [
    Question("What is 1234 plus 4321?", [("add", {"a": 1234, "b": 4321})], ["5555"]),
    Question("Multiply 37 by 89.", [("multiply", {"a": 37, "b": 89})], ["3293"]),
    Question("What is the weather in Oslo?", [("get_weather", {"location": "Oslo"})], ["72", "sunny"]),
    Question(
        "Store the text 'blue' under the key 'colour'.",
        [("store_value", {"key": "colour", "value": "blue"})],
        ["blue", "colour"],
    ),
    Question("Use the echo tool with the text 'ping 17'.", [("echo", {"text": "ping 17"})], ["ping 17"]),
    Question(
        "What is the weather in Paris and in Rome?",
        [("get_weather", {"location": "Paris"}), ("get_weather", {"location": "Rome"})],
        ["paris", "rome", "72"],
        is_unordered=True,
    ),
    Question(
        "First add 20 and 22. Then multiply the sum by 10. What is the product?",
        [("add", {"a": 20, "b": 22}), ("multiply", {"a": 42, "b": 10})],
        ["420"],
    ),
    Question(
        "Store the value 'lighthouse' under the key 'place'. Then read the value of that key and tell me what it is.",
        [("store_value", {"key": "place", "value": "lighthouse"}), ("get_value", {"key": "place"})],
        ["lighthouse"],
    ),
]

# For what was learned from the questions above to hold elsewhere too. Frozen before any of them was asked: they show, and nothing is tuned on them.
HELD_OUT = [
    Question("How much do 918 and 77 make together?", [("add", {"a": 918, "b": 77})], ["995"]),
    Question("A crate holds 24 bottles. How many bottles are in 16 crates?", [("multiply", {"a": 24, "b": 16})], ["384"]),
    Question("Will I need an umbrella in Lima today?", [("get_weather", {"location": "Lima"})], ["sunny"]),
    Question(
        "Remember the value 'seven' for the key 'door'.",
        [("store_value", {"key": "door", "value": "seven"})],
        ["door"],
    ),
    Question("Send 'hello world' through echo and give me what comes back.", [("echo", {"text": "hello world"})], ["hello world"]),
    Question(
        "Compare the weather in Cairo with the weather in Quito.",
        [("get_weather", {"location": "Cairo"}), ("get_weather", {"location": "Quito"})],
        ["cairo", "quito", "72"],
        is_unordered=True,
    ),
    Question(
        "Take the product of 12 and 11, and add 8 to it. What comes out?",
        [("multiply", {"a": 12, "b": 11}), ("add", {"a": 132, "b": 8})],
        ["140"],
    ),
    Question(
        "Save 'oak' as the value of 'tree', then look 'tree' up and report what you find.",
        [("store_value", {"key": "tree", "value": "oak"}), ("get_value", {"key": "tree"})],
        ["oak"],
    ),
]
