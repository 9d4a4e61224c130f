"""A model that knows which tool it wants, and gets it only by what it is offered.

It follows the schemas: a tool that is offered is called. Where it is not, but the tools of search are, it searches with the user's words, then for more
with the same words, then it reads the names of the servers and of the tools of the one that it takes for the right one; it describes what it found, and
calls it. Where nothing helps, it says so. Everything that it knows is in the request.
"""

import contextlib
import json
import re

from corpus_servers import JsonHandler, listening

# How many tools the second search asks for; the first takes what it is given.
MORE = 20
CANNOT = "I have no tool for this."


class Search:
    """The tools of search among those that are offered, by the parameters that they take."""

    def __init__(self, tools):
        parameters = {tool["name"]: set(tool["parameters"].get("properties", {})) for tool in tools}
        named = lambda base, wanted: next((n for n, p in parameters.items() if n.startswith(base) and p == wanted), None)
        self.search = named("search_tools", {"query", "limit"})
        self.describe = named("describe_tool", {"name"})
        self.call = named("call_tool", {"name", "arguments"})


def turns(messages):
    """The calls of a conversation with their results: (name, arguments, text)."""
    results = {m["tool_call_id"]: text_of(m["content"]) for m in messages if m["role"] == "tool"}
    for message in messages:
        for call in message.get("tool_calls") or []:
            function = call["function"]
            yield function["name"], json.loads(function["arguments"]), results.get(call["id"], "")


def text_of(content):
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def next_move(task, names, tools, messages):
    """The next call as (name, arguments), or the answer as a text. `names` has what each wanted tool is called here."""
    offered, search = {tool["name"] for tool in tools}, Search(tools)
    steps = iter(task["step"])
    step, searches, is_described, last = next(steps), [], False, ""
    for name, arguments, result in turns(messages):
        wanted = names[step["tool"]]
        if name == search.search:
            searches.append(result)
        elif name == search.describe:
            is_described = True
        elif name == wanted or (name == search.call and arguments.get("name") == wanted):
            step, searches, is_described, last = next(steps, None), [], False, result
            if step is None:
                return f"Done: {last}"
    wanted = names[step["tool"]]
    if wanted in offered:
        return wanted, step["arguments"]
    if not search.search:
        return CANNOT
    if any(mentions(result, wanted) for result in searches):
        if not is_described:
            return search.describe, {"name": wanted}
        return search.call, {"name": wanted, "arguments": step["arguments"]}
    query, server = step.get("part", task["ask"]), step["tool"].split("/")[0]
    if len(searches) == 3 and not mentions(searches[-1], server):
        return CANNOT
    asked = [{"query": query}, {"query": query, "limit": MORE}, {"query": ""}, {"query": server}][len(searches):]
    return (search.search, asked[0]) if asked else CANNOT


def mentions(text, name):
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def tokens(value):
    """The gateway's own estimate: four bytes each."""
    return -(-len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()) // 4)


class Round:
    """What one request to the model held."""

    def __init__(self, request):
        self.names = [tool["function"]["name"] for tool in request.get("tools", [])]
        self.tokens = tokens(request.get("tools", [])) + tokens(request["messages"])


@contextlib.contextmanager
def serving_model(tasks, names):
    """Serves the model as Chat Completions: its port, and the rounds that it was asked, which the caller takes away."""
    by_question = {task["ask"]: task for task in tasks}
    rounds = []

    class Model(JsonHandler):
        def do_POST(self):
            request = self.body()
            rounds.append(Round(request))
            messages = request["messages"]
            task = by_question[next(text_of(m["content"]) for m in messages if m["role"] == "user")]
            tools = [tool["function"] for tool in request.get("tools", [])]
            move = next_move(task, names, tools, messages)
            message = {"role": "assistant", "content": move}
            if not isinstance(move, str):
                function = {"name": move[0], "arguments": json.dumps(move[1])}
                call = {"id": f"call_{len(messages)}", "type": "function", "function": function}
                message = {"role": "assistant", "content": None, "tool_calls": [call]}
            reason = "stop" if isinstance(move, str) else "tool_calls"
            choice = {"index": 0, "message": message, "finish_reason": reason}
            usage = {"prompt_tokens": rounds[-1].tokens, "completion_tokens": 1, "total_tokens": rounds[-1].tokens + 1}
            body = {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}
            self.answer(200, json.dumps(body).encode())

    with listening(Model) as port:
        yield port, rounds
