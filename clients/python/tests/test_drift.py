"""Nothing of openapi.json is missing in the clients: each route has a method, each parameter and member reaches the wire, each error code has a class."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from conftest import ROOT
from scripted import Scripted, answer

from mcp_tool_gateway import AsyncGatewayClient, GatewayClient, errors, types

DOCUMENT = json.loads((ROOT / "docs/reference/openapi.json").read_text())
OPERATIONS = {
    operation["operationId"]: (method.upper(), path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}
# The method of each operation. A new operation needs a line here, and the method that it names.
METHODS = {
    "getTools": "tools", "getToolsProvider": "get_tools", "getToolsProviderContext": "context", "getResources": "resources", "getResourcesRead": "read_resource",
    "postExecute": "execute_reply", "postCallTool": "call_tool", "postMcp": "mcp", "getMcp": "mcp_stream", "deleteMcp": "end_mcp_session", "getMcpEvents": "mcp_events",
    "postMcpApi": "mcp_send", "postMcpGroup": "mcp", "getMcpGroup": "mcp_stream", "deleteMcpGroup": "end_mcp_session", "getMcpGroupEvents": "mcp_events",
    "postMcpGroupApi": "mcp_send", "postRoute": "route", "getRegistry": "registry", "putRegistryName": "register_tool", "deleteRegistryName": "unregister_tool",
    "getApprovals": "approvals", "postApprovalsId": "decide", "postV1ChatCompletions": "chat", "getV1Models": "models", "getV1ModelsId": "model", "getResultsId": "result",
    "postConversations": "create_conversation", "getConversations": "conversations", "getConversationsId": "conversation", "patchConversationsId": "rename_conversation",
    "deleteConversationsId": "delete_conversation", "postConversationsIdChat": "send_message", "getConversationsIdCalls": "conversation_calls", "postConvert": "convert",
    "postTransform": "transform", "postHistory": "history", "postCheck": "check", "getProviders": "providers", "getDetect": "detect", "getProvidersName": "provider",
    "getLogs": "logs", "getServers": "servers", "postServersNameConnect": "connect_server", "postServersNameRestart": "restart_server",
    "postServersNameAccept": "accept_definitions", "getHealth": "health", "getLivez": "live", "getReady": "ready", "getReadyz": "readyz", "getMetrics": "metrics",
    "getMetricsPrometheus": "metrics_text", "getOpenapiJson": "openapi", "get": "start_page", "getDocs": "docs",
}  # fmt: skip
# Arguments that are not named as their parameter or member, and those that are a whole body.
ARGUMENTS = {("postExecute", "call"): "reply"}
BODIES = {"mcp": "message", "mcp_send": "message", "route": "tool_use"}
# Said by the method itself: which form is wanted, and that a log is followed.
BY_METHOD = {"Accept": "on_event", "stream": "follow", "Last-Event-ID": "last_event_id"}


def resolve(value: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in value:
        section, name = value["$ref"].split("/")[-2:]
        value = DOCUMENT["components"][section][name]
    return value


def snake(name: str) -> str:
    plain = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name.removeprefix("x-")).lower().replace("-", "_")
    return plain + "_" if plain in ("from", "continue", "timeout") else plain


def sample(schema: dict[str, Any], name: str) -> Any:
    """A value that can be found again on the wire."""
    schema = resolve(schema)
    if "enum" in schema or "const" in schema:
        return schema.get("enum", [schema.get("const")])[-1]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "array":
        return [sample(schema.get("items", {}), name)]
    if kind == "object":
        return {name: "value"}
    return {"integer": 7, "number": 7, "boolean": True}.get(str(kind), f"{name} ü/?")


def wanted(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the members of the body of an operation, with a value for each."""
    operation = OPERATIONS[name][2]
    parameters = {}
    for one in map(resolve, operation["parameters"]):
        parameters[one["name"]] = (one["in"], f"{one['name']}-value" if one["in"] == "header" else sample(one["schema"], one["name"]))
    schema = resolve(operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {}))
    return parameters, {key: sample(value, key) for key, value in schema.get("properties", {}).items()}


@pytest.mark.parametrize("name", OPERATIONS)
def test_each_operation_has_a_method_that_sends_all_of_it(name: str) -> None:
    assert name in METHODS, f"{name} is new: give both clients a method for it, and a line here"
    method, path, operation = OPERATIONS[name]
    parameters, members = wanted(name)
    given: dict[str, Any] = {}
    for key, (_, value) in parameters.items():
        if key not in BY_METHOD and not (key == "x-correlation-id" and "correlation_id" in parameters):
            given[snake(key)] = value
    if "follow" in parameters:
        given |= {"follow": True, "last_event_id": "7"}
    given |= {ARGUMENTS.get((name, key), snake(key)): value for key, value in members.items()}
    if METHODS[name] in BODIES:
        for key in members:
            given.pop(snake(key), None)
        given[BODIES[METHODS[name]]] = members or {"some": "value"}
    asked = ask(METHODS[name], given)
    assert asked.method == method
    found = urlsplit(asked.target)
    query = parse_qs(found.query)
    route = re.fullmatch(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(path)), found.path)
    assert route, f"{asked.target} instead of {path}"
    body = json.loads(asked.body) if asked.body else {}
    for key, (place, value) in parameters.items():
        if key in BY_METHOD and key != "Last-Event-ID":
            assert BY_METHOD[key] in inspect.signature(getattr(GatewayClient, METHODS[name])).parameters
        elif place == "path":
            assert unquote(route[key]) == value
        elif key.lower() == "x-correlation-id":
            assert asked.headers["x-correlation-id"]
        elif place == "header":
            assert asked.headers[key.lower()] == ("7" if key == "Last-Event-ID" else value)
        elif key not in members:
            assert query[key] == [str(one).lower() if isinstance(one, bool) else str(one) for one in (value if isinstance(value, list) else [value])], key
    for key, value in members.items():
        # A name that stands in the path need not be said again.
        assert key in route.groupdict() or body[key] == value or key == "stream", f"{key} of the body: {body}"


def ask(method: str, given: dict[str, Any]) -> Any:
    """The request that a method sends; what it makes of the answer is not the matter here."""
    given.pop("correlation_id", None) if method != "logs" else None
    with Scripted(answer({"error": "enough", "code": "VALIDATION_ERROR"}, 400)) as server, GatewayClient(server.url) as client:
        bound = getattr(client, method)
        with pytest.raises(errors.ValidationError):
            outcome = bound(**given)
            next(outcome) if hasattr(outcome, "__next__") else None
    return server.asked[0]


SCHEMAS = DOCUMENT["components"]["schemas"]
CODES = SCHEMAS["Error"]["properties"]["code"]
# Those of `/v1`, some of which are words of the whole gateway.
COMPLETION_CODES = SCHEMAS["CompletionError"]["properties"]["error"]["properties"]["code"]


def test_each_error_code_has_a_class() -> None:
    named = re.findall(r"`code`: (\w+(?:, \w+)*)", json.dumps(DOCUMENT))
    codes = {code for group in named for code in group.split(", ")}
    for listed in (CODES, COMPLETION_CODES):
        codes |= {*listed["x-extensible-enum"], *listed["x-error-codes"]}
    assert codes - errors.CLASSES.keys() == set(), "codes without a class in errors.py"
    assert errors.CLASSES.keys() - codes == set(), "classes of codes that no gateway sends"


def test_each_code_of_the_gateway_has_a_class_of_its_own() -> None:
    """Those of `/v1` may share it: an application asks what to do, and not which of two causes it was."""
    classes = [errors.CLASSES[code] for code in CODES["x-extensible-enum"]]
    assert len(set(classes)) == len(classes)


def test_the_client_for_typescript_has_the_same_classes() -> None:
    source = (ROOT / "clients/typescript/src/errors.ts").read_text()
    rows = source.partition("export const ERROR_CLASSES = {")[2].partition("}")[0]
    assert dict(re.findall(r"^  (\w+): (\w+),$", rows, re.M)) == {code: kind.__name__ for code, kind in errors.CLASSES.items()}


@pytest.mark.parametrize("code", errors.CLASSES)
def test_a_code_is_raised_as_its_class(code: str) -> None:
    flat = {"error": "why", "code": code, "correlationId": "c-1", "later": {"field": 1}}
    nested = {"error": {"message": "why", "type": "t", "param": None, "code": code}, "correlationId": "c-1"}
    for body in (flat, nested):
        with Scripted(answer(body, 400)) as server, GatewayClient(server.url) as client, pytest.raises(errors.GatewayHttpError, match="^Gateway HTTP 400: why$") as caught:
            client.health()
        error = caught.value
        assert type(error) is errors.CLASSES[code]
        assert (error.code, error.status, error.correlation_id, error.body) == (code, 400, "c-1", body)


def test_a_code_of_a_newer_gateway_is_kept() -> None:
    with Scripted(answer({"error": "why", "code": "BRAND_NEW"}, 418)) as server, GatewayClient(server.url) as client:
        with pytest.raises(errors.GatewayHttpError, match="^Gateway HTTP 418: why$") as caught:
            client.health()
    assert (type(caught.value), caught.value.code) == (errors.GatewayHttpError, "BRAND_NEW")


def test_unknown_members_are_kept() -> None:
    with Scripted(answer({"ok": True, "later": [1]})) as server, GatewayClient(server.url) as client:
        assert client.health() == {"ok": True, "later": [1]}


def test_the_clients_have_the_same_methods() -> None:
    public = lambda kind: {name for name in dir(kind) if not name.startswith("_")} - {"close", "aclose"}
    assert public(GatewayClient) == public(AsyncGatewayClient)
    for name in public(GatewayClient):
        here, there = (inspect.signature(getattr(kind, name)).parameters for kind in (GatewayClient, AsyncGatewayClient))
        assert list(here) == list(there), name


def test_each_schema_has_a_type() -> None:
    missing = [name for name in DOCUMENT["components"]["schemas"] if not hasattr(types, name)]
    assert missing == []


def test_generated_modules_are_current() -> None:
    run = subprocess.run([sys.executable, str(ROOT / "clients/python/generate.py"), "--check"], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, ""), run.stdout + run.stderr


def test_the_document_is_that_of_the_gateway(client: GatewayClient) -> None:
    """Otherwise all of this is about another gateway than the one that is tested with."""
    served = client.openapi()
    missing = [path for path in served["paths"] if path not in DOCUMENT["paths"]]
    assert missing == []
