"""A client for the official suite, made of the gateway's own commands: what `tools` and `call` send is what the gateway sends to servers.

    run.py --client 'python3.11 conformance/protocol/cli_client.py target/release/mcp-tool-gateway'

The suite adds the URL and names the scenario in the environment; README.md says what each scenario wants.
"""

import json
import os
import subprocess
import sys


class Gateway:
    def __init__(self, binary, url):
        self.binary, self.url, self.failed = binary, url, False

    def run(self, *arguments):
        done = subprocess.run([self.binary, *arguments], stdout=subprocess.PIPE, text=True)
        print(done.stdout)
        self.failed |= done.returncode != 0
        return done.stdout

    def tools(self):
        said = self.run("tools", self.url, "--json")
        return {tool["name"]: tool["inputSchema"] for tool in json.loads(said or '{"tools": []}')["tools"]}

    def call(self, tool, arguments):
        # The suite sends what its own schemas do not allow, such as null for a boolean.
        self.run("call", self.url, tool, json.dumps(arguments), "--no-validate")


def play(scenario, context, gateway):
    match scenario:
        case "initialize" | "request-metadata" | "json-schema-ref-no-deref":
            gateway.tools()
        case "tools_call":
            gateway.call("add_numbers", {"a": 2, "b": 3})
        case "elicitation-sep1034-client-defaults":
            gateway.call("test_client_elicitation_defaults", {})
        case "sse-retry":
            gateway.call("test_reconnection", {})
        case "json-schema-2020-12-preservation":
            gateway.call("json_schema_echo", {"schema": gateway.tools()["json_schema_2020_12_tool"]})
        case "http-standard-headers":
            for tool in gateway.tools():
                gateway.call(tool, {})
        case "http-custom-headers":
            for call in context["toolCalls"]:
                gateway.call(call["name"], call["arguments"])
        case "http-invalid-tool-headers":
            for tool, schema in gateway.tools().items():
                gateway.call(tool, {name: "x" for name in schema.get("required", [])})
        case "sep-2322-client-request-state":
            for tool in ("echo_state", "unrelated", "no_state", "no_result_type"):
                gateway.call(f"test_mrtr_{tool}", {})
        case _:
            gateway.call("test-tool", {})


def main():
    if len(sys.argv) != 3 or "MCP_CONFORMANCE_SCENARIO" not in os.environ:
        sys.exit("usage: cli_client.py GATEWAY URL, started by the suite")
    gateway = Gateway(*sys.argv[1:])
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    play(os.environ["MCP_CONFORMANCE_SCENARIO"], context, gateway)
    sys.exit(1 if gateway.failed else 0)


if __name__ == "__main__":
    main()
