"""The official Python SDK, first line: `mcp` 1."""

import contextlib

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

import harness


def open_target(target):
    if target["kind"] == "stdio":
        return stdio_client(StdioServerParameters(command=target["command"], args=target["args"]))
    return sse_client(target["url"]) if target["kind"] == "sse" else streamable_http_client(target["url"])


async def check(target, report):
    logged, notified = harness.Inbox(), harness.Inbox()
    answers = iter([])

    async def on_elicitation(_, params):
        answer = next(answers)
        return types.ElicitResult(action="accept", content=answer) if answer else types.ElicitResult(action="decline")

    async def on_sampling(_, params):
        content = types.TextContent(type="text", text=f"heard {params.messages[0].content.text}")
        return types.CreateMessageResult(role="assistant", content=content, model="none")

    async def on_roots(_):
        return types.ListRootsResult(roots=[types.Root(uri="file:///work", name="work")])

    async def on_log(params):
        logged.put(params.data)

    async def on_message(message):
        if isinstance(message, types.ServerNotification):
            notified.put(message.root)

    async with contextlib.AsyncExitStack() as stack:
        streams = await stack.enter_async_context(open_target(target))
        session = ClientSession(
            *streams[:2],
            sampling_callback=on_sampling,
            elicitation_callback=on_elicitation,
            list_roots_callback=on_roots,
            logging_callback=on_log,
            message_handler=on_message,
        )
        session = await stack.enter_async_context(session)
        opened = await session.initialize()

        async def call(tool, arguments=None, **more):
            return (await session.call_tool(tool, arguments or {}, **more)).content[0].text

        async def connect():
            return "legacy" if opened.protocolVersion < "2026" else "modern"

        async def list_tools():
            return sorted(tool.name for tool in (await session.list_tools()).tools)

        async def fail():
            result = await session.call_tool("test_error_handling", {})
            return [result.isError, result.content[0].text]

        async def content():
            return [block.type for block in (await session.call_tool("test_multiple_content_types", {})).content]

        async def progress():
            steps = []

            async def on_progress(done, total, message):
                steps.append([done, total, message])

            await call("test_tool_with_progress", progress_callback=on_progress)
            return steps

        async def elicit():
            nonlocal answers
            answers = iter([{"username": "ada", "email": "ada@example.org"}, None])
            return [await call("test_elicitation", {"message": "Who are you?"}) for _ in range(2)]

        async def log():
            await session.set_logging_level("info")
            await call("test_tool_with_logging")
            return (await logged.wait(3))[:3]

        async def resources():
            found = {resource.name: resource.uri for resource in (await session.list_resources()).resources}
            templates = (await session.list_resource_templates()).resourceTemplates
            read = await session.read_resource(found["static-text"])
            filled = await session.read_resource(templates[0].uriTemplate.replace("{id}", "7"))
            return [sorted(found), read.contents[0].text, filled.contents[0].text]

        async def updated(heard):
            while (note := (await notified.wait(heard + 1))[heard]).method != "notifications/resources/updated":
                heard += 1
            return note.params.uri

        async def subscribe():
            listed = (await session.list_resources()).resources
            uri = next(entry.uri for entry in listed if entry.name == "watched-resource")
            await session.subscribe_resource(uri)
            before = len(notified.messages)
            await call("test_trigger_resource_update")
            seen = await updated(before)
            return [seen == uri, (await session.read_resource(uri)).contents[0].text]

        async def is_there():
            return "test_dynamic_tool" in [tool.name for tool in (await session.list_tools()).tools]

        async def changed():
            # Servers may have become ready before, which is a change as well.
            heard = len(notified.messages)
            await call("test_trigger_tool_change")
            while True:
                heard += 1
                note = (await notified.wait(heard))[heard - 1]
                if note.method == "notifications/tools/list_changed" and await is_there():
                    return True

        async def prompts():
            names = sorted(prompt.name for prompt in (await session.list_prompts()).prompts)
            got = await session.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
            return [names, got.messages[0].content.text]

        async def complete():
            reference = types.PromptReference(type="ref/prompt", name="test_prompt_with_arguments")
            return (await session.complete(reference, {"name": "arg1", "value": "par"})).completion.values

        async def stop(held):
            # This line of the SDK leaves it to its user to tell the server, and keeps the number of a request to itself.
            params = types.CancelledNotificationParams(requestId=first)
            await session.send_notification(types.ClientNotification(types.CancelledNotification(params=params)))
            held.cancel()

        await report.attempt("connect", connect)
        await report.attempt("list", list_tools)
        await report.attempt("call", lambda: call("greet", {"name": "Ada"}))
        await report.attempt("tool error", fail)
        await report.attempt("content", content)
        await report.attempt("progress", progress)
        await report.attempt("elicitation", elicit)
        await report.attempt("sampling", lambda: call("test_sampling", {"prompt": "Hello?"}))
        await report.attempt("roots", lambda: call("test_input_required_result_list_roots"))
        await report.attempt("logging", log)
        await report.attempt("resources", resources)
        await report.attempt("subscribe", subscribe)
        await report.attempt("prompts", prompts)
        await report.attempt("complete", complete)
        await report.attempt("list changed", changed)
        first = session._request_id
        await report.attempt("cancel", lambda: harness.cancel_held(target["way"], call, stop))


harness.run(check)
