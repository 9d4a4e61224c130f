"""FastMCP's client, in either era."""

import warnings

import mcp_types as types
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport

import harness

warnings.simplefilter("ignore")


def open_target(target):
    if target["kind"] == "stdio":
        return StdioTransport(command=target["command"], args=target["args"], keep_alive=False)
    return SSETransport(target["url"]) if target["kind"] == "sse" else StreamableHttpTransport(target["url"])


async def check(target, report):
    is_modern = target["era"] == "modern"
    logged, notified = harness.Inbox(), harness.Inbox()
    answers = iter([])

    async def on_elicitation(message, kind, params, context):
        answer = next(answers)
        return ElicitResult(action="accept", content=answer) if answer else ElicitResult(action="decline")

    async def on_sampling(messages, params, context):
        return f"heard {messages[0].content.text}"

    async def on_log(message):
        logged.put(message.data)

    async def on_message(message):
        if getattr(message, "method", "").startswith("notifications/"):
            notified.put(message)

    client = Client(
        open_target(target),
        mode="auto" if is_modern else "legacy",
        roots=[types.Root(uri="file:///work", name="work")],
        sampling_handler=on_sampling,
        elicitation_handler=on_elicitation,
        log_handler=on_log,
        message_handler=on_message,
    )
    async with client:

        async def call(tool, arguments=None, **more):
            return (await client.call_tool(tool, arguments or {}, **more)).content[0].text

        async def connect():
            return "modern" if client.session.protocol_version >= "2026" else "legacy"

        async def list_tools():
            return sorted(tool.name for tool in await client.list_tools())

        async def fail():
            result = await client.call_tool("test_error_handling", {}, raise_on_error=False)
            return [result.is_error, result.content[0].text]

        async def content():
            return [block.type for block in (await client.call_tool("test_multiple_content_types", {})).content]

        async def progress():
            steps = []

            async def on_progress(done, total, message):
                steps.append([done, total, message])

            await call("test_tool_with_progress", progress_handler=on_progress)
            return steps

        async def elicit():
            nonlocal answers
            answers = iter([{"username": "ada", "email": "ada@example.org"}, None])
            return [await call("test_elicitation", {"message": "Who are you?"}) for _ in range(2)]

        async def log():
            if is_modern:
                await call("test_tool_with_logging", meta={"io.modelcontextprotocol/logLevel": "info"})
            else:
                await client.set_logging_level("info")
                await call("test_tool_with_logging")
            return (await logged.wait(3))[:3]

        async def resources():
            found = {resource.name: resource.uri for resource in await client.list_resources()}
            templates = await client.list_resource_templates()
            filled = templates[0].uri_template.replace("{id}", "7")
            read = [(await client.read_resource(uri))[0].text for uri in (found["static-text"], filled)]
            return [sorted(found), *read]

        async def updated(heard):
            while (note := (await notified.wait(heard + 1))[heard]).method != "notifications/resources/updated":
                heard += 1
            return note.params.uri

        async def subscribe():
            uri = next(entry.uri for entry in await client.list_resources() if entry.name == "watched-resource")
            before = len(notified.messages)
            await client.session.subscribe_resource(uri)
            await call("test_trigger_resource_update")
            seen = await updated(before)
            return [seen == uri, (await client.read_resource(uri))[0].text]

        async def is_there():
            return "test_dynamic_tool" in [tool.name for tool in await client.list_tools()]

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
            names = sorted(prompt.name for prompt in await client.list_prompts())
            got = await client.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
            return [names, got.messages[0].content.text]

        async def complete():
            reference = types.PromptReference(name="test_prompt_with_arguments")
            return (await client.complete(reference, {"name": "arg1", "value": "par"})).values

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
        if not is_modern:
            await report.attempt("subscribe", subscribe)
        await report.attempt("prompts", prompts)
        await report.attempt("complete", complete)
        if not is_modern:
            await report.attempt("list changed", changed)
        await report.attempt("cancel", lambda: harness.cancel_held(target["way"], call))


harness.run(check)
