"""A client for the official suite, made of the gateway's own commands: what they send is what the gateway sends to servers.

`tools` and `call` have nobody to ask. Where the server asks its user, `mcp` is in between, and this program answers.

    run.py --client 'python3.11 conformance/protocol/cli_client.py target/release/mcp-tool-gateway'

The suite adds the URL and names the scenario in the environment; README.md says what each scenario wants.
"""

import json
import os
import subprocess
import sys
import tempfile


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


class Asked:
    """A caller of `mcp-tool-gateway mcp` that answers what it is asked."""

    def __init__(self, binary, url, answer, between=None):
        """`answer` makes the content from a question; `between` is a call that is made first while another one waits."""
        self.answer, self.between = answer, between
        self.folder = tempfile.TemporaryDirectory()
        config = os.path.join(self.folder.name, "gateway.json")
        with open(config, "w") as file:
            json.dump({"mcpServers": {"suite": {"url": url}}, "dataDir": self.folder.name}, file)
        self.gateway = subprocess.Popen([binary, "mcp", "--config", config], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ids, self.results = 0, {}
        self.wait(self.request("initialize", {
            "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "suite", "version": "1"}}))
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.gateway.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.gateway.stdin.flush()

    def request(self, method, params):
        self.ids += 1
        self.send({"id": self.ids, "method": method, "params": params})
        return self.ids

    def wait(self, wanted):
        while wanted not in self.results:
            message = json.loads(self.gateway.stdout.readline())
            if message.get("method") == "elicitation/create":
                if self.between:
                    call, self.between = self.between, None
                    self.call(call)
                content = self.answer(message["params"])
                self.send({"id": message["id"], "result": {"action": "accept", "content": content}})
            elif "method" not in message:
                print(message)
                self.results[message["id"]] = message
        return self.results.pop(wanted)

    def call(self, tool):
        return self.wait(self.request("tools/call", {"name": tool, "arguments": {}}))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.gateway.stdin.close()
        self.gateway.wait(20)
        self.folder.cleanup()


def defaults(question):
    fields = question["requestedSchema"]["properties"]
    return {name: field["default"] for name, field in fields.items() if "default" in field}


def play(scenario, context, gateway):
    match scenario:
        case "initialize" | "request-metadata" | "json-schema-ref-no-deref":
            gateway.tools()
        case "tools_call":
            gateway.call("add_numbers", {"a": 2, "b": 3})
        case "elicitation-sep1034-client-defaults":
            with Asked(gateway.binary, gateway.url, defaults) as caller:
                caller.call("test_client_elicitation_defaults")
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
            confirmed = lambda _: {"confirmed": True}
            with Asked(gateway.binary, gateway.url, confirmed, between="test_mrtr_unrelated") as caller:
                for tool in ("echo_state", "no_state", "no_result_type"):
                    caller.call(f"test_mrtr_{tool}")
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
