"""The interface of the class `MCPToOpenAIConverter`, by its own unit tests and by what its users rely on."""

from __future__ import annotations

import copy
import logging
from typing import Any

import pytest

pytest.importorskip("mcp_tool_gateway._engine", reason="the native part is not built")

from mcp_tool_gateway.converter import MCPToOpenAIConverter
from mcp_tool_gateway.engine import EngineError


def tool(properties: dict[str, Any], name: str = "test_tool", **schema: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": "A test tool",
        "inputSchema": {"type": "object", "properties": properties, **schema},
    }


def parameters(given: dict[str, Any]) -> Any:
    return MCPToOpenAIConverter.convert_tool(given)["function"]["parameters"]


def test_a_basic_tool() -> None:
    assert MCPToOpenAIConverter.convert_tool(tool({"param1": {"type": "string"}})) == {
        "type": "function",
        "function": {
            "name": "test_tool",
            "description": "A test tool",
            "parameters": {"type": "object", "properties": {"param1": {"type": "string"}}},
        },
    }


def test_the_example_of_the_specification() -> None:
    given = {
        "name": "build_model",
        "description": "Build a metabolic model from genome annotation",
        "inputSchema": {
            "type": "object",
            "properties": {
                "model_id": {"type": "string", "description": "Unique identifier with .gf suffix"},
                "template": {"type": "string", "description": "Template name", "default": "auto"},
            },
            "required": ["model_id"],
        },
    }
    converted = MCPToOpenAIConverter.convert_tool(given)
    assert converted == {
        "type": "function",
        "function": {
            "name": "build_model",
            "description": "Build a metabolic model from genome annotation",
            "parameters": {
                "type": "object",
                "properties": {
                    "model_id": {"type": "string", "description": "Unique identifier with .gf suffix"},
                    "template": {"type": "string", "description": "Template name"},
                },
                "required": ["model_id"],
            },
        },
    }
    assert MCPToOpenAIConverter.validate_conversion(converted)


def test_defaults_are_removed() -> None:
    assert parameters(tool({"param1": {"type": "string", "default": "value"}}))["properties"]["param1"] == {"type": "string"}


def test_enums_are_kept() -> None:
    assert parameters(tool({"choice": {"type": "string", "enum": ["a", "b", "c"]}}))["properties"]["choice"]["enum"] == ["a", "b", "c"]


def test_the_original_is_not_modified() -> None:
    given = tool({"param1": {"type": "string", "default": "value"}})
    before = copy.deepcopy(given)
    converted = parameters(given)
    assert given == before
    assert "default" not in converted["properties"]["param1"]
    converted["properties"]["param1"]["type"] = "number"
    assert given == before, "the copy shares nothing with the original"


def test_all_tools_in_order() -> None:
    given = [tool({}, "tool1"), tool({}, "tool2")]
    assert [one["function"]["name"] for one in MCPToOpenAIConverter.convert_all_tools(given)] == ["tool1", "tool2"]
    assert MCPToOpenAIConverter.convert_all_tools([]) == []


def test_nested_objects() -> None:
    options = {"type": "object", "properties": {"nested_param": {"type": "string", "default": "nested_value"}}}
    assert parameters(tool({"options": options}))["properties"]["options"]["properties"]["nested_param"] == {"type": "string"}


def test_a_tool_without_parameters_stays_as_it_is() -> None:
    assert parameters(tool({}, "list_models")) == {"type": "object", "properties": {}}


PLAIN = {"type": "string", "default": "x"}
POSITIONS = {
    "the root": {"type": "object", "properties": {}, "default": {}},
    "an item": {"properties": {"a": {"type": "array", "items": PLAIN}}},
    "arrays of arrays": {"properties": {"a": {"type": "array", "items": {"type": "array", "items": PLAIN}}}},
    "an object without a type": {"properties": {"a": {"properties": {"b": PLAIN}}}},
    "an object that may be null": {"properties": {"a": {"type": ["object", "null"], "properties": {"b": PLAIN}}}},
    "additional properties": {"properties": {}, "additionalProperties": PLAIN},
    "a member of a union": {"properties": {"a": {"anyOf": [PLAIN, {"type": "null"}]}}},
    "a union in a property": {"properties": {"a": {"oneOf": [{"type": "object", "properties": {"b": PLAIN}}]}}},
    "a definition": {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": PLAIN}},
    "a tuple": {"properties": {"a": {"type": "array", "prefixItems": [PLAIN]}}},
}


def positions_of_defaults(value: Any) -> int:
    if isinstance(value, dict):
        return ("default" in value) + sum(positions_of_defaults(inner) for inner in value.values())
    return sum(map(positions_of_defaults, value)) if isinstance(value, list) else 0


@pytest.mark.parametrize("place", POSITIONS)
def test_no_position_keeps_its_default(place: str) -> None:
    schema = {"type": "object", **copy.deepcopy(POSITIONS[place])}
    assert positions_of_defaults(schema) == 1
    converted = parameters({"name": "t", "description": "d", "inputSchema": schema})
    assert positions_of_defaults(converted) == 0
    MCPToOpenAIConverter._remove_defaults(schema)
    assert positions_of_defaults(schema) == 0


def test_a_property_named_default_and_data_stay() -> None:
    properties: dict[str, Any] = {"default": {"type": "string"}, "b": {"enum": [{"default": 1}]}, "c": True}
    converted = parameters(tool(copy.deepcopy(properties)))
    assert converted["properties"] == properties
    schema = {"type": "object", "properties": copy.deepcopy(properties)}
    MCPToOpenAIConverter._remove_defaults(schema)
    assert schema["properties"] == properties


def test_remove_defaults_mutates_and_survives_a_cycle() -> None:
    inner: dict[str, Any] = {"type": "string", "default": "value"}
    schema: dict[str, Any] = {"type": "object", "properties": {"param1": inner}}
    schema["properties"]["again"] = schema
    assert MCPToOpenAIConverter._remove_defaults(schema) is None
    assert inner == {"type": "string"}


def test_one_broken_tool_keeps_none_of_the_others_out(caplog: pytest.LogCaptureFixture) -> None:
    broken = {"name": "broken", "description": "d", "inputSchema": {"type": "array"}}
    with caplog.at_level(logging.WARNING, "mcp_tool_gateway"):
        converted = MCPToOpenAIConverter.convert_all_tools([tool({}, "a"), broken, tool({}, "b")])
    assert [one["function"]["name"] for one in converted] == ["a", "b"]
    assert "broken" in caplog.text
    with pytest.raises(EngineError, match="broken") as raised:
        MCPToOpenAIConverter.convert_tool(broken)
    assert raised.value.code == "CONVERSION_ERROR"


def valid() -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": "a",
            "description": "d",
            "parameters": {"type": "object", "properties": {"b": {}}, "required": ["b"]},
        },
    }


def test_validation() -> None:
    assert MCPToOpenAIConverter.validate_conversion(valid())
    for path, value in [
        (("type",), None),
        (("function",), None),
        (("function", "name"), None),
        (("function", "description"), None),
        (("function", "parameters"), None),
        (("function", "parameters", "type"), "array"),
        (("function", "parameters", "properties"), None),
        (("function", "parameters", "required"), ["b", "c"]),
    ]:
        given = valid()
        inside: Any = given
        for step in path[:-1]:
            inside = inside[step]
        if value is None:
            del inside[path[-1]]
        else:
            inside[path[-1]] = value
        assert not MCPToOpenAIConverter.validate_conversion(given), path
