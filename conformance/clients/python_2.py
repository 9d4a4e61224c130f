"""The official Python SDK, second line: `mcp` 2, in either era."""

import warnings

import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client

import harness

warnings.simplefilter("ignore")


def open_target(target):
    if target["kind"] == "stdio":
        return StdioServerParameters(command=target["command"], args=target["args"])
    return sse_client(target["url"]) if target["kind"] == "sse" else target["url"]


async def check(target, report):
    is_modern = target["era"] == "modern"
    logged, notified = harness.Inbox(), harness.Inbox()
    answers = iter([])

    async def on_elicitation(_, params):
        answer = next(answers)
        return types.ElicitResult(action="accept", content=answer) if answer else types.ElicitResult(action="decline")

    async def on_sampling(_, params):
        text = f"heard {params.messages[0].content.text}"
        return types.CreateMessageResult(role="assistant", content=types.TextContent(text=text), model="none")

    async def on_roots(_):
        return types.ListRootsResult(roots=[types.Root(uri="file:///work", name="work")])

    async def on_log(params):
        logged.put(params.data)

    async def on_message(message):
        if getattr(message, "method", "").startswith("notifications/"):
            notified.put(message)

    client = Client(
        open_target(target),
        mode="auto" if is_modern else "legacy",
        sampling_callback=on_sampling,
        elicitation_callback=on_elicitation,
        list_roots_callback=on_roots,
        logging_callback=on_log,
        log_level="info",
        message_handler=on_message,
    )
    async with client:

        async def call(tool, arguments=None, **more):
            result = await client.call_tool(tool, arguments or {}, **more)
            return result.content[0].text

        async def connect():
            return "modern" if client.protocol_version >= "2026" else "legacy"

        async def list_tools():
            return sorted(tool.name for tool in (await client.list_tools()).tools)

        async def fail():
            result = await client.call_tool("test_error_handling", {})
            return [result.is_error, result.content[0].text]

        async def content():
            result = await client.call_tool("test_multiple_content_types", {})
            return [block.type for block in result.content]

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
            if not is_modern:
                await client.set_logging_level("info")
            await call("test_tool_with_logging")
            return (await logged.wait(3))[:3]

        async def resources():
            found = {resource.name: resource.uri for resource in (await client.list_resources()).resources}
            templates = (await client.list_resource_templates()).resource_templates
            read = await client.read_resource(found["static-text"])
            filled = templates[0].uri_template.replace("{id}", "7")
            return [sorted(found), read.contents[0].text, (await client.read_resource(filled)).contents[0].text]

        async def updated(heard):
            while (note := (await notified.wait(heard + 1))[heard]).method != "notifications/resources/updated":
                heard += 1
            return note.params.uri

        async def subscribe():
            listed = (await client.list_resources()).resources
            uri = next(entry.uri for entry in listed if entry.name == "watched-resource")
            if is_modern:
                async with client.listen(resource_subscriptions=[uri]) as events:
                    await call("test_trigger_resource_update")
                    async for event in events:
                        seen = event.uri
                        break
            else:
                before = len(notified.messages)
                await client.subscribe_resource(uri)
                await call("test_trigger_resource_update")
                seen = await updated(before)
            return [seen == uri, (await client.read_resource(uri, cache_mode="bypass")).contents[0].text]

        async def is_there():
            return "test_dynamic_tool" in [tool.name for tool in (await client.list_tools(cache_mode="refresh")).tools]

        async def changed():
            if is_modern:
                async with client.listen(tools_list_changed=True) as events:
                    await call("test_trigger_tool_change")
                    async for _ in events:
                        if await is_there():
                            return True
            # Servers may have become ready before, which is a change as well.
            heard = len(notified.messages)
            await call("test_trigger_tool_change")
            while True:
                heard += 1
                note = (await notified.wait(heard))[heard - 1]
                if note.method == "notifications/tools/list_changed" and await is_there():
                    return True

        async def prompts():
            names = sorted(prompt.name for prompt in (await client.list_prompts()).prompts)
            got = await client.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
            return [names, got.messages[0].content.text]

        async def complete():
            reference = types.PromptReference(name="test_prompt_with_arguments")
            return (await client.complete(reference, {"name": "arg1", "value": "par"})).completion.values

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
        await report.attempt("cancel", lambda: harness.cancel_held(target["way"], call))


harness.run(check)
