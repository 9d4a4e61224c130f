"""LangChain's adapter: tools, prompts and resources as its own objects, with a session for each call."""

import harness
from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient
from mcp import types


def connection(target):
    if target["kind"] == "stdio":
        return {"transport": "stdio", "command": target["command"], "args": target["args"]}
    return {"transport": "sse" if target["kind"] == "sse" else "streamable_http", "url": target["url"]}


async def check(target, report):
    logged, steps = harness.Inbox(), []
    answers = iter([])

    async def on_elicitation(_, params, context):
        if "word" in params.requestedSchema["properties"]:
            return types.ElicitResult(action="accept", content={"word": "open"})
        answer = next(answers)
        return types.ElicitResult(action="accept", content=answer) if answer else types.ElicitResult(action="decline")

    async def on_log(params, context):
        logged.put(params.data)

    async def on_progress(done, total, message, context):
        steps.append([done, total, message])

    callbacks = Callbacks(on_elicitation=on_elicitation, on_logging_message=on_log, on_progress=on_progress)
    client = MultiServerMCPClient({"up": connection(target)}, callbacks=callbacks)
    tools = {tool.name: tool for tool in await client.get_tools()}

    async def message(tool, arguments=None):
        return await tools[tool].ainvoke({"type": "tool_call", "id": "1", "name": tool, "args": arguments or {}})

    async def call(tool, arguments=None):
        return (await message(tool, arguments)).content[0]["text"]

    async def connect():
        opened = (await client.get_server_info(server_name="up"))["up"]
        return "legacy" if opened.protocolVersion < "2026" else "modern"

    async def list_tools():
        return sorted(tools)

    async def fail():
        failed = await message("test_error_handling")
        return [failed.status == "error", failed.content[0]["text"]]

    async def content():
        # A resource with text becomes a text here.
        kinds = [block["type"] for block in (await message("test_multiple_content_types")).content]
        return ["resource" if (kind, place) == ("text", 2) else kind for place, kind in enumerate(kinds)]

    async def progress():
        steps.clear()
        await call("test_tool_with_progress")
        return steps

    async def elicit():
        nonlocal answers
        answers = iter([{"username": "ada", "email": "ada@example.org"}, None])
        return [await call("test_elicitation", {"message": "Who are you?"}) for _ in range(2)]

    async def log():
        await call("test_tool_with_logging")
        return (await logged.wait(3))[:3]

    async def resources():
        found = {str(blob.metadata["uri"]): blob for blob in await client.get_resources("up")}
        filled = await client.get_resources("up", uris="test://template/7/data")
        names = {uri.rpartition("//")[2]: blob for uri, blob in found.items()}
        return [sorted(names), names["static-text"].as_string(), filled[0].as_string()]

    await report.attempt("connect", connect)
    await report.attempt("list", list_tools)
    await report.attempt("call", lambda: call("greet", {"name": "Ada"}))
    await report.attempt("tool error", fail)
    await report.attempt("content", content)
    await report.attempt("progress", progress)
    await report.attempt("elicitation", elicit)
    await report.attempt("logging", log)
    await report.attempt("resources", resources)

    async def prompts():
        got = await client.get_prompt("up", "test_prompt_with_arguments", arguments={"arg1": "a", "arg2": "b"})
        return got[0].content

    await report.attempt("prompts", prompts)
    if target["kind"] == "http":
        await report.attempt("cancel", lambda: harness.cancel_held(target["way"], call))


harness.run(check)
