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
