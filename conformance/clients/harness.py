"""What the Python clients have in common: they are given targets, try every ability, and print what they saw as JSON lines.

A target is an object: `way` (its name), `kind` (`http`, `sse` or `stdio`), `url` or `command` and `args`, `era` (`legacy` or `modern`).
A line is `{"way", "ability", "seen"}`, or with `error` instead of `seen`. An ability that a client has no words for gets no line.
"""

import asyncio
import json
import sys
import traceback

# For one ability; nothing here takes a second.
PATIENCE = 30


class Report:
    """The abilities of one target, in order."""

    def __init__(self, way):
        self.way = way

    async def attempt(self, ability, work):
        """Awaits `work()`; what it returns was seen."""
        try:
            async with asyncio.timeout(PATIENCE):
                self.say(ability, seen=await work())
        except Exception as error:
            self.say(ability, error=describe(error))

    def say(self, ability, **more):
        print(json.dumps({"way": self.way, "ability": ability, **more}), flush=True)


def describe(error):
    """All that is known, in one line: groups of exceptions say nothing by themselves."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(describe(inner) for inner in error.exceptions)
    return " ".join("".join(traceback.format_exception_only(error)).split())[:400]


class Inbox:
    """Messages that came unasked; whoever waits for some waits for the event, not for time to pass."""

    def __init__(self):
        self.messages = []
        self.came = asyncio.Event()

    def put(self, message):
        self.messages.append(message)
        self.came.set()

    async def wait(self, count):
        while len(self.messages) < count:
            self.came.clear()
            await self.came.wait()
        return list(self.messages)


class Abilities:
    """The abilities of one client, as the official SDK words them; a program says what it words in another way.

    `client` is set by the program, before anything is attempted. `types` is the module of the SDK's types.
    """

    types = None
    # How a call names the receiver of its progress.
    progress_word = "progress_callback"

    def __init__(self, target):
        self.target = target
        self.is_modern = target["era"] == "modern"
        self.client = None
        # Abilities that this client has no words for.
        self.cannot = set()
        self.logged, self.notified = Inbox(), Inbox()
        self.answers = iter([])

    async def attempt_all(self, report):
        abilities = {
            "connect": self.connect,
            "list": self.list,
            "call": lambda: self.call("greet", {"name": "Ada"}),
            "tool error": self.tool_error,
            "content": self.content,
            "progress": self.progress,
            "elicitation": self.elicitation,
            "sampling": lambda: self.call("test_sampling", {"prompt": "Hello?"}),
            "roots": lambda: self.call("test_input_required_result_list_roots"),
            "logging": self.logging,
            "resources": self.resources,
            "subscribe": self.subscribe,
            "prompts": self.prompts,
            "complete": self.complete,
            "list changed": self.list_changed,
            "cancel": self.cancel,
        }
        for ability, work in abilities.items():
            if ability not in self.cannot:
                await report.attempt(ability, work)

    # What the server may ask for, and its notifications.

    async def on_elicitation(self, _, params):
        return self.answer(self.types.ElicitResult)

    async def on_sampling(self, _, params):
        content = self.types.TextContent(type="text", text=f"heard {params.messages[0].content.text}")
        return self.types.CreateMessageResult(role="assistant", content=content, model="none")

    async def on_roots(self, _):
        return self.types.ListRootsResult(roots=[self.types.Root(uri="file:///work", name="work")])

    async def on_log(self, params):
        self.logged.put(params.data)

    async def on_message(self, message):
        if getattr(message, "method", "").startswith("notifications/"):
            self.notified.put(message)

    def answer(self, result):
        """The next answer to a form: a result of that type."""
        content = next(self.answers)
        return result(action="accept", content=content) if content else result(action="decline")

    # Requests.

    async def call(self, tool, arguments=None, **more):
        return (await self.client.call_tool(tool, arguments or {}, **more)).content[0].text

    async def tool_names(self, **more):
        return [tool.name for tool in (await self.client.list_tools(**more)).tools]

    async def tool_names_again(self):
        """As they are now, whatever the client remembers."""
        return await self.tool_names()

    async def resource_uris(self):
        return {resource.name: resource.uri for resource in (await self.client.list_resources()).resources}

    async def template(self):
        return (await self.client.list_resource_templates()).resource_templates[0].uri_template

    async def read(self, uri, **more):
        return (await self.client.read_resource(uri, **more)).contents[0].text

    async def read_again(self, uri):
        """As it is now, whatever the client remembers."""
        return await self.read(uri)

    async def prompt_names(self):
        return [prompt.name for prompt in (await self.client.list_prompts()).prompts]

    # Abilities.

    async def connect(self):
        return era(self.client.protocol_version)

    async def list(self):
        return sorted(await self.tool_names())

    async def tool_error(self):
        result = await self.client.call_tool("test_error_handling", {})
        return [result.is_error, result.content[0].text]

    async def content(self):
        return [block.type for block in (await self.client.call_tool("test_multiple_content_types", {})).content]

    async def progress(self):
        steps = []

        async def on_progress(done, total, message):
            steps.append([done, total, message])

        await self.call("test_tool_with_progress", **{self.progress_word: on_progress})
        return steps

    async def elicitation(self):
        self.answers = iter([{"username": "ada", "email": "ada@example.org"}, None])
        return [await self.call("test_elicitation", {"message": "Who are you?"}) for _ in range(2)]

    async def logging(self):
        await self.call_and_log()
        return (await self.logged.wait(3))[:3]

    async def call_and_log(self):
        if not self.is_modern:
            await self.client.set_logging_level("info")
        await self.call("test_tool_with_logging")

    async def resources(self):
        found = await self.resource_uris()
        filled = (await self.template()).replace("{id}", "7")
        return [sorted(found), await self.read(found["static-text"]), await self.read(filled)]

    async def subscribe(self):
        uri = (await self.resource_uris())["watched-resource"]
        told = await self.told_of_update(uri)
        return [told == uri, await self.read_again(uri)]

    async def told_of_update(self, uri):
        """The address that the server names when the watched resource changes."""
        heard = len(self.notified.messages)
        await self.subscribe_to(uri)
        await self.call("test_trigger_resource_update")
        while (note := (await self.notified.wait(heard + 1))[heard]).method != "notifications/resources/updated":
            heard += 1
        return note.params.uri

    async def subscribe_to(self, uri):
        await self.client.subscribe_resource(uri)

    async def prompts(self):
        got = await self.client.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
        return [sorted(await self.prompt_names()), got.messages[0].content.text]

    async def complete(self):
        reference = self.types.PromptReference(type="ref/prompt", name="test_prompt_with_arguments")
        return (await self.client.complete(reference, {"name": "arg1", "value": "par"})).completion.values

    async def list_changed(self):
        # Servers may have become ready before, which is a change as well.
        heard = len(self.notified.messages)
        await self.call("test_trigger_tool_change")
        while True:
            heard += 1
            note = (await self.notified.wait(heard))[heard - 1]
            if note.method == "notifications/tools/list_changed" and await self.is_changed():
                return True

    async def is_changed(self):
        return "test_dynamic_tool" in await self.tool_names_again()

    async def cancel(self):
        return await cancel_held(self.target["way"], self.call)


def era(version):
    """The era of a version of the protocol."""
    return "modern" if version >= "2026" else "legacy"


async def cancel_held(label, call, stop=None):
    """Cancels a call that the server holds, and asks the server whether it knows.

    `call(tool, arguments)` gives the text of the result. A call is given up by cancelling its task, unless `stop(task)` does it.
    """
    held = asyncio.create_task(call("test_held_call", {"label": label}))
    # It must be sent before anything else is.
    await asyncio.sleep(0)
    await call("test_await_held_call", {"label": label, "state": "begun"})
    if stop:
        await stop(held)
    else:
        held.cancel()
    await asyncio.wait([held])
    told = await call("test_await_held_call", {"label": label, "state": "cancelled"})
    return told.removeprefix(f"{label} ")


def run(check):
    """Runs `check(target, report)` for every target of the command line."""

    async def all_targets():
        for target in json.loads(sys.argv[1]):
            report = Report(target["way"])
            try:
                # A client that hangs while it connects or leaves must not keep the others from their turn.
                async with asyncio.timeout(4 * PATIENCE):
                    await check(target, report)
            except Exception as error:
                report.say("connect", error=describe(error))

    asyncio.run(all_targets())
