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
