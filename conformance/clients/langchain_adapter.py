"""LangChain's adapter: tools, prompts and resources as its own objects, with a session for each call."""

import harness
from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient
from mcp import types


def connection(target):
    if target["kind"] == "stdio":
        return {"transport": "stdio", "command": target["command"], "args": target["args"]}
    return {"transport": "sse" if target["kind"] == "sse" else "streamable_http", "url": target["url"]}


class LangChain(harness.Abilities):
    types = types

    def __init__(self, target):
        super().__init__(target)
        self.cannot = {"sampling", "roots", "subscribe", "complete", "list changed"}
        if target["kind"] != "http":
            self.cannot.add("cancel")
        self.steps = []
        self.tools = {}

    async def on_elicitation(self, _, params, context):
        if "word" in params.requestedSchema["properties"]:
            return types.ElicitResult(action="accept", content={"word": "open"})
        return self.answer(types.ElicitResult)

    async def on_log(self, params, context):
        self.logged.put(params.data)

    async def on_progress(self, done, total, message, context):
        self.steps.append([done, total, message])

    async def message(self, tool, arguments=None):
        request = {"type": "tool_call", "id": "1", "name": tool, "args": arguments or {}}
        return await self.tools[tool].ainvoke(request)

    async def call(self, tool, arguments=None):
        return (await self.message(tool, arguments)).content[0]["text"]

    async def connect(self):
        return harness.era((await self.client.get_server_info(server_name="up"))["up"].protocolVersion)

    async def tool_names(self):
        return list(self.tools)

    async def tool_error(self):
        failed = await self.message("test_error_handling")
        return [failed.status == "error", failed.content[0]["text"]]

    async def content(self):
        # A resource with text becomes a text here.
        kinds = [block["type"] for block in (await self.message("test_multiple_content_types")).content]
        return ["resource" if (kind, place) == ("text", 2) else kind for place, kind in enumerate(kinds)]

    async def progress(self):
        self.steps.clear()
        await self.call("test_tool_with_progress")
        return self.steps

    async def call_and_log(self):
        await self.call("test_tool_with_logging")

    async def resources(self):
        found = {str(blob.metadata["uri"]): blob for blob in await self.client.get_resources("up")}
        filled = await self.client.get_resources("up", uris="test://template/7/data")
        names = {uri.rpartition("//")[2]: blob for uri, blob in found.items()}
        return [sorted(names), names["static-text"].as_string(), filled[0].as_string()]

    async def prompts(self):
        wanted = {"arg1": "a", "arg2": "b"}
        return (await self.client.get_prompt("up", "test_prompt_with_arguments", arguments=wanted))[0].content


async def check(target, report):
    abilities = LangChain(target)
    callbacks = Callbacks(
        on_elicitation=abilities.on_elicitation,
        on_logging_message=abilities.on_log,
        on_progress=abilities.on_progress,
    )
    abilities.client = MultiServerMCPClient({"up": connection(target)}, callbacks=callbacks)
    abilities.tools = {tool.name: tool for tool in await abilities.client.get_tools()}
    await abilities.attempt_all(report)


harness.run(check)
