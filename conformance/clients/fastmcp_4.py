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


class FastMcp(harness.Abilities):
    """The lists themselves, not the results that they come in."""

    types = types
    progress_word = "progress_handler"

    async def on_elicitation(self, message, kind, params, context):
        return self.answer(ElicitResult)

    async def on_sampling(self, messages, params, context):
        return f"heard {messages[0].content.text}"

    async def tool_names(self):
        return [tool.name for tool in await self.client.list_tools()]

    async def resource_uris(self):
        return {resource.name: resource.uri for resource in await self.client.list_resources()}

    async def template(self):
        return (await self.client.list_resource_templates())[0].uri_template

    async def read(self, uri):
        return (await self.client.read_resource(uri))[0].text

    async def prompt_names(self):
        return [prompt.name for prompt in await self.client.list_prompts()]

    async def connect(self):
        return harness.era(self.client.session.protocol_version)

    async def tool_error(self):
        result = await self.client.call_tool("test_error_handling", {}, raise_on_error=False)
        return [result.is_error, result.content[0].text]

    async def call_and_log(self):
        if self.is_modern:
            await self.call("test_tool_with_logging", meta={"io.modelcontextprotocol/logLevel": "info"})
        else:
            await super().call_and_log()

    async def subscribe_to(self, uri):
        await self.client.session.subscribe_resource(uri)

    async def complete(self):
        reference = types.PromptReference(name="test_prompt_with_arguments")
        return (await self.client.complete(reference, {"name": "arg1", "value": "par"})).values


async def check(target, report):
    abilities = FastMcp(target)
    if abilities.is_modern:
        abilities.cannot = {"subscribe", "list changed"}
    abilities.client = Client(
        open_target(target),
        mode="auto" if abilities.is_modern else "legacy",
        roots=[types.Root(uri="file:///work", name="work")],
        sampling_handler=abilities.on_sampling,
        elicitation_handler=abilities.on_elicitation,
        log_handler=abilities.on_log,
        message_handler=abilities.on_message,
    )
    async with abilities.client:
        await abilities.attempt_all(report)


harness.run(check)
