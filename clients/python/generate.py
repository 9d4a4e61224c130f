#!/usr/bin/env python3
"""Writes what follows from other files, so that nothing is kept twice:

    src/mcp_tool_gateway/types.py         the bodies of docs/reference/openapi.json as TypedDicts, and the options of each operation
    src/mcp_tool_gateway/_operations.py   the operations of openapi.json as data
    src/mcp_tool_gateway/client.py        async_client.py without `await`; so _core.py of _async_core.py

    generate.py           writes them
    generate.py --check   says which are not current, and exits with 1 if any
"""

from __future__ import annotations

import argparse
import json
import keyword
import pathlib
import re
import sys
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
OPENAPI = HERE.parent.parent / "docs/reference/openapi.json"
PACKAGE = HERE / "src/mcp_tool_gateway"
NOTE = "Written by generate.py; change that, or what it reads."
SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
# Options of every method, which concern the client and not the route.
COMMON = ("timeout", "deadline", "correlation_id", "headers")
# What the methods have as arguments of their own; paths and required members of bodies are so everywhere.
ARGUMENTS = {
    "getTools": ("server",),
    "getToolsProvider": ("server",),
    "getToolsProviderContext": ("server",),
    "getLogs": ("server", "since", "limit", "follow", "stream", "last_event_id"),
    "getDetect": ("model", "provider"),
    "getResources": ("server",),
    "getResourcesRead": ("uri", "server"),
    "postExecute": ("provider", "call", "server"),
    "postCallTool": ("server", "tool", "arguments"),
    "postConvert": ("to", "tools"),
    "postTransform": ("to",),
    "postConversations": ("title",),
    "postConversationsIdChat": ("stream",),
    "postV1ChatCompletions": ("stream",),
    **{name + end: ("jsonrpc", "id", "method", "params", "result", "error") for name in ("postMcp", "postMcpGroup") for end in ("", "Api")},
}


def snake(name: str) -> str:
    """`maxTokens`, `x-gateway-tools` and `If-Match` as names of Python."""
    plain = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name.removeprefix("x-")).lower().replace("-", "_")
    return plain + "_" if keyword.iskeyword(plain) else plain


class Schemas:
    """Schemas as annotations; what has members gets a TypedDict of its own."""

    def __init__(self, named: dict[str, Any]) -> None:
        self.named = named
        self.classes: list[str] = []
        for name, schema in named.items():
            self.declare(name, schema)

    def declare(self, name: str, schema: dict[str, Any]) -> None:
        if schema.get("properties"):
            self.declare_class(name, schema)
        else:
            self.classes.append(f"{name}: TypeAlias = {json.dumps(self.annotation(schema, name))}\n")

    def declare_class(self, name: str, schema: dict[str, Any]) -> None:
        required = schema.get("required", [])
        members = {}
        for key, value in schema["properties"].items():
            annotation = self.annotation(value, name + key[:1].upper() + key[1:])
            members[key] = annotation if key in required else f"NotRequired[{annotation}]"
        if all(key.isidentifier() and not keyword.iskeyword(key) for key in members):
            lines = "".join(f"    {key}: {annotation}\n" for key, annotation in members.items())
            self.classes.append(f"class {name}(TypedDict):\n{lines}")
        else:
            lines = "".join(f"        {json.dumps(key)}: {json.dumps(annotation)},\n" for key, annotation in members.items())
            self.classes.append(f'{name} = TypedDict(\n    "{name}",\n    {{\n{lines}    }},\n)\n')

    def annotation(self, schema: dict[str, Any], name: str) -> str:
        if "$ref" in schema:
            return str(schema["$ref"].rsplit("/", 1)[1])
        if "const" in schema:
            return f"Literal[{schema['const']!r}]"
        if "enum" in schema:
            return f"Literal[{', '.join(map(repr, schema['enum']))}]"
        if schema.get("properties"):
            self.declare_class(name, schema)
            return name
        if "anyOf" in schema:
            return self.union([self.annotation(one, name + "Kind" + str(index)) for index, one in enumerate(schema["anyOf"], 1)])
        kinds = schema.get("type", [])
        return self.union([self.of_kind(kind, schema, name) for kind in ([kinds] if isinstance(kinds, str) else kinds)])

    def of_kind(self, kind: str, schema: dict[str, Any], name: str) -> str:
        if kind == "array":
            return f"List[{self.annotation(schema.get('items', {}), name + 'Item')}]"
        if kind == "object":
            values = schema.get("additionalProperties")
            return f"Dict[str, {self.annotation(values, name + 'Value') if isinstance(values, dict) else 'Any'}]"
        return SCALARS[kind]

    @staticmethod
    def union(parts: list[str]) -> str:
        parts = list(dict.fromkeys(parts))
        if not parts or "Any" in parts:
            return "Any"
        return parts[0] if len(parts) == 1 else f"Union[{', '.join(parts)}]"


def resolve(document: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in value:
        section, name = value["$ref"].split("/")[-2:]
        value = document["components"][section][name]
    return value


def operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What the client has to know of each operation: names of Python to names on the wire, by where they stand."""
    found = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            places: dict[str, Any] = {"path": {}, "query": {}, "header": {}, "body": {}}
            schemas = {}
            for parameter in operation["parameters"]:
                parameter = resolve(document, parameter)
                name = snake(parameter["name"])
                # Which form is accepted is a matter of the method, and an id of its own goes with every request.
                if parameter["in"] != "header" or name not in ("accept", "correlation_id"):
                    places[parameter["in"]][name] = parameter["name"]
                    schemas[name] = parameter["schema"]
            body = resolve(document, operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {}))
            for wire, schema in body.get("properties", {}).items():
                # A member that is called like an option of the client has an underscore, as those called like a keyword.
                name = snake(wire) + ("_" if wire in COMMON else "")
                places["body"][name] = wire
                schemas[name] = schema
            name = operation["operationId"]
            arguments = {*places["path"], *map(snake, body.get("required", [])), *ARGUMENTS.get(name, ()), *COMMON}
            found[name] = {"method": method.upper(), "template": path, **places, "schemas": schemas, "arguments": arguments}
    return found


def options_class(name: str, operation: dict[str, Any], schemas: Schemas) -> str:
    members = {}
    for place in ("query", "header", "body"):
        for key in operation[place]:
            members[key] = schemas.annotation(operation["schemas"][key], name + key.title().replace("_", ""))
    lines = "".join(f"    {key}: {annotation}\n" for key, annotation in members.items() if key not in operation["arguments"])
    return f"class {name}(CallOptions, total=False):\n{lines or '    pass' + chr(10)}"


def write_types(document: dict[str, Any]) -> str:
    schemas = Schemas(document["components"]["schemas"])
    options = [
        options_class(name[0].upper() + name[1:] + "Options", operation, schemas)
        for name, operation in operations(document).items()
    ]
    head = f'''"""The bodies of the gateway's routes, and the options of each operation. {NOTE}"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Literal, Mapping, TypedDict, Union

if TYPE_CHECKING:
    from typing_extensions import NotRequired, TypeAlias
else:
    # For programs that ask for the hints of these types.
    from ._hints import NotRequired, TypeAlias
'''
    common = '''class CallOptions(TypedDict, total=False):
    timeout: Union[float, None]
    deadline: Union[float, None]
    correlation_id: Union[str, None]
    headers: Mapping[str, str]
'''
    return "\n\n".join([head, *schemas.classes, common, *options])


def write_operations(document: dict[str, Any]) -> str:
    lines = []
    for name, operation in operations(document).items():
        names = {place: operation[place] for place in ("path", "query", "header", "body")}
        places = "".join(f"        {place}={json.dumps(value)},\n" for place, value in names.items() if value)
        start = f'    "{name}": Operation(\n        method="{operation["method"]}",\n        template="{operation["template"]}",\n'
        lines.append(f"{start}{places}    ),\n")
    return f'''"""The operations of the gateway as data. {NOTE}"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping


@dataclass(frozen=True)
class Operation:
    """One method of one route: names of Python to names on the wire, by where they stand."""

    method: str
    template: str
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    header: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_keyed(self) -> bool:
        """Whether the gateway runs it once under an `Idempotency-Key`, however often it is sent."""
        return "idempotency_key" in self.header


OPERATIONS: Mapping[str, Operation] = {{
{"".join(lines)}}}
'''


def inner(text: str, start: int) -> int:
    """The index after the bracket that closes the one at `start`."""
    depth = 0
    for index in range(start, len(text)):
        depth += {"[": 1, "]": -1}.get(text[index], 0)
        if depth == 0:
            return index + 1
    raise ValueError(f"generate.py: a bracket is not closed: {text[start : start + 40]}")


def without_await(source: str) -> str:
    """The module of the asynchronous client as that of the synchronous one."""
    while (at := source.find("Awaitable[")) >= 0:
        end = inner(source, at + len("Awaitable"))
        source = source[:at] + source[at + len("Awaitable[") : end - 1] + source[end:]
    for old, new in (
        (r"^from typing import Awaitable\n", ""),
        (r"^import asyncio\n", ""),
        (r"\basync (def|with|for)\b", r"\1"),
        (r"\bawait ", ""),
        (r"\bAsync(?=(?:Gateway|McpTool|MCPTool|Core|Transport|Stream|Iterator|Generator)\w*)", ""),
        (r"__a(enter|exit|iter|next)__", r"__\1__"),
        (r"\baclosing\b", "closing"),
        (r"\bStopAsyncIteration\b", "StopIteration"),
        (r"\baclose\b", "close"),
        (r"\bof_async_source\b", "of_source"),
        (r"\b_httpx\b", "_http"),
        (r"\b_async_core\b", "_core"),
        (r"\basyncio\.sleep\b", "time.sleep"),
        (r"\basynchronous\b", "synchronous"),
        (r"^(\"\"\".*?)\"\"\"$", rf'\1 {NOTE.replace("that", "async_client.py")}"""'),
    ):
        count = 1 if old.startswith('^(\\"') else 0
        source = re.sub(old, new, source, count=count, flags=re.M)
    return source


def outputs() -> dict[pathlib.Path, str]:
    document = json.loads(OPENAPI.read_text())
    return {
        PACKAGE / "types.py": write_types(document),
        PACKAGE / "_operations.py": write_operations(document),
        PACKAGE / "_core.py": without_await((PACKAGE / "_async_core.py").read_text()),
        PACKAGE / "client.py": without_await((PACKAGE / "async_client.py").read_text()),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes the generated modules of the Python client.")
    parser.add_argument("--check", action="store_true", help="only say which are not current")
    check = parser.parse_args().check
    stale = [path for path, text in outputs().items() if not path.exists() or path.read_text() != text]
    for path in stale:
        print(f"generate.py: {path.relative_to(HERE)} is not current" if check else f"wrote {path.relative_to(HERE)}")
        if not check:
            path.write_text(outputs()[path])
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
