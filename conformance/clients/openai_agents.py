"""The OpenAI Agents SDK's MCP client; no model is needed for it."""

import logging

from agents.mcp import MCPServerSse, MCPServerStdio, MCPServerStreamableHttp

import harness

logging.disable(logging.CRITICAL)
SETTINGS = {"client_session_timeout_seconds": harness.PATIENCE}


def open_target(target):
    if target["kind"] == "stdio":
        return MCPServerStdio({"command": target["command"], "args": target["args"]}, **SETTINGS)
    kind = MCPServerSse if target["kind"] == "sse" else MCPServerStreamableHttp
    return kind({"url": target["url"]}, **SETTINGS)


async def check(target, report):
    async with open_target(target) as server:

        async def call(tool, arguments=None):
            return (await server.call_tool(tool, arguments or {})).content[0].text

        async def connect():
            return "modern" if server.session.protocol_version >= "2026" else "legacy"

        async def list_tools():
            return sorted(tool.name for tool in await server.list_tools())

        async def fail():
            result = await server.call_tool("test_error_handling", {})
            return [result.is_error, result.content[0].text]

        async def content():
            return [block.type for block in (await server.call_tool("test_multiple_content_types", {})).content]

        async def resources():
            found = {resource.name: resource.uri for resource in (await server.list_resources()).resources}
            templates = (await server.list_resource_templates()).resource_templates
            filled = templates[0].uri_template.replace("{id}", "7")
            read = [(await server.read_resource(uri)).contents[0].text for uri in (found["static-text"], filled)]
            return [sorted(found), *read]

        async def prompts():
            names = sorted(prompt.name for prompt in (await server.list_prompts()).prompts)
            got = await server.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
            return [names, got.messages[0].content.text]

        async def cancel():
            if target["kind"] == "stdio":
                return await harness.cancel_held(target["way"], call)
            # Over HTTP it sends one request after the other, so somebody else has to look.
            async with open_target(target) as watcher:

                async def ask(tool, arguments):
                    one = server if tool == "test_held_call" else watcher
                    return (await one.call_tool(tool, arguments)).content[0].text

                return await harness.cancel_held(target["way"], ask)

        await report.attempt("connect", connect)
        await report.attempt("list", list_tools)
        await report.attempt("call", lambda: call("greet", {"name": "Ada"}))
        await report.attempt("tool error", fail)
        await report.attempt("content", content)
        await report.attempt("resources", resources)
        await report.attempt("prompts", prompts)
        await report.attempt("cancel", cancel)


harness.run(check)
