// The client has every route, parameter and error code of the OpenAPI document, and the gateway knows all that it sends.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { ERROR_CLASSES, GatewayClient, type JsonRpcMessage, type RequestOptions } from "mcp-tool-gateway";
import { given, startGateway, startServer } from "./harness.js";

interface Parameter {
  name: string;
  in: string;
  schema: { type: string; enum?: unknown[]; minimum?: number; examples?: unknown[] };
}
interface Operation {
  operationId: string;
  parameters?: Array<Parameter | { $ref: string }>;
  responses: Record<string, { description: string }>;
}

interface Codes {
  "x-extensible-enum": string[];
  "x-error-codes": Record<string, unknown>;
}

const document = JSON.parse(readFileSync(given("GATEWAY_OPENAPI"), "utf8")) as {
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: {
      Error: { properties: { code: Codes } };
      CompletionError: { properties: { error: { properties: { code: Codes } } } };
    };
  };
};
const ROUTES = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods)
    .filter(([, operation]) => operation.operationId)
    .map(([method, operation]) => ({ route: `${method.toUpperCase()} ${path}`, path, method: method.toUpperCase(), operation })),
);
const message: JsonRpcMessage = { jsonrpc: "2.0", id: 1, method: "ping" };
type Bag = RequestOptions & Record<string, never>;

/** How each route is reached. A new route needs a line here, and a method. */
const METHODS: Record<string, (client: GatewayClient, options: Bag) => unknown> = {
  "GET /tools": (client, options) => client.tools(options),
  "GET /tools/{provider}": (client, options) => client.getTools("openai", options),
  "GET /tools/{provider}/context": (client, options) => client.context("openai", options),
  "GET /resources": (client, options) => client.resources(options),
  "GET /resources/read": (client, options) => client.readResource("demo://x", options),
  "POST /execute": (client, options) => client.execute("openai", { name: "t", arguments: "{}" }, options),
  "POST /call_tool": (client, options) => client.callTool("s", "t", {}, options),
  "POST /mcp": (client, options) => client.mcp(message, options).next(),
  "GET /mcp": (client, options) => client.mcpListen(options).next(),
  "DELETE /mcp": (client, options) => client.mcpEnd(options),
  "GET /mcp/events": (client, options) => client.mcpEvents(options).next(),
  "POST /mcp/api": (client, options) => client.mcpSend("1", message, options),
  "POST /mcp/{group}": (client, options) => client.mcp(message, { ...options, group: "g" }).next(),
  "GET /mcp/{group}": (client, options) => client.mcpListen({ ...options, group: "g" }).next(),
  "DELETE /mcp/{group}": (client, options) => client.mcpEnd({ ...options, group: "g" }),
  "GET /mcp/{group}/events": (client, options) => client.mcpEvents({ ...options, group: "g" }).next(),
  "POST /mcp/{group}/api": (client, options) => client.mcpSend("1", message, { ...options, group: "g" }),
  "POST /route": (client, options) => client.route({ name: "t", input: {} }, options),
  "GET /registry": (client, options) => client.registry(options),
  "PUT /registry/{name}": (client, options) => client.registerTool("t", { handler: { url: "http://127.0.0.1:1" } }, options),
  "DELETE /registry/{name}": (client, options) => client.unregisterTool("t", options),
  "GET /approvals": (client, options) => client.approvals(options),
  "POST /approvals/{id}": (client, options) => client.decide("1", "deny", options),
  "POST /v1/chat/completions": (client, options) => client.chat({ messages: [] }, options),
  "GET /v1/models": (client, options) => client.models(options),
  "GET /v1/models/{id}": (client, options) => client.model("m", options),
  "GET /results/{id}": (client, options) => client.result("1", options),
  "POST /conversations": (client, options) => client.createConversation({}, options),
  "GET /conversations": (client, options) => client.conversations(options),
  "GET /conversations/{id}": (client, options) => client.conversation("1", options),
  "PATCH /conversations/{id}": (client, options) => client.renameConversation("1", "title", options),
  "DELETE /conversations/{id}": (client, options) => client.deleteConversation("1", options),
  "POST /conversations/{id}/chat": (client, options) => client.conversationChat("1", "hello", options),
  "GET /conversations/{id}/calls": (client, options) => client.conversationCalls("1", options),
  "POST /convert": (client, options) => client.convert([], options),
  "POST /transform": (client, options) => client.transform({ schema: {} }, options),
  "POST /history": (client, options) => client.history({ from: "openai", to: "gemini", messages: [] }, options),
  "POST /check": (client, options) => client.check([], options),
  "GET /providers": (client, options) => client.providers(options),
  "GET /detect": (client, options) => client.detect(options),
  "GET /providers/{name}": (client, options) => client.provider("openai", options),
  "GET /logs": (client, options) => client.logs(options),
  "GET /servers": (client, options) => client.servers(options),
  "POST /servers/{name}/connect": (client, options) => client.connectServer("s", options),
  "POST /servers/{name}/restart": (client, options) => client.restartServer("s", options),
  "POST /servers/{name}/accept": (client, options) => client.acceptServer("s", "fingerprint", options),
  "GET /health": (client, options) => client.health(options),
  "GET /livez": (client, options) => client.livez(options),
  "GET /ready": (client, options) => client.ready(options),
  "GET /readyz": (client, options) => client.readyz(options),
  "GET /metrics": (client, options) => client.metrics(options),
  "GET /metrics/prometheus": (client, options) => client.metricsText(options),
  "GET /openapi.json": (client, options) => client.openapi(options),
  "GET /": (client, options) => client.root(options),
  "GET /docs": (client, options) => client.docs(options),
};

/** Parameters that a method takes as an argument of its own, or that belong to another method. */
const ELSEWHERE: Record<string, string[]> = {
  "POST /execute": ["provider", "server", "model", "input", "text"],
  "POST /call_tool": ["input"],
  "GET /resources/read": ["uri"],
  "GET /logs": ["follow", "stream"],
};
/** Values that are certainly another than the default, where the schema alone does not say one. */
const VALUES: Record<string, unknown> = { sessionId: "1", uri: "demo://x", limit: 7, "If-Match": '"3"', "Idempotency-Key": "k" };

function parametersOf(operation: Operation): Parameter[] {
  return (operation.parameters ?? []).filter((one): one is Parameter => "name" in one && one.in !== "path");
}

function optionOf(parameter: Parameter): string {
  if (parameter.in === "query") return parameter.name;
  const words = parameter.name.toLowerCase().replace(/^x-/, "").split("-");
  return words.map((word, index) => (index ? word[0]?.toUpperCase() + word.slice(1) : word)).join("");
}

function valueOf(parameter: Parameter): unknown {
  const { type, enum: values, minimum } = parameter.schema;
  if (parameter.name in VALUES) return VALUES[parameter.name];
  if (values) return values.at(-1);
  if (type === "boolean") return true;
  if (type === "integer") return (minimum ?? 0) + 7;
  return type === "array" ? ["a", "b&c"] : "some text";
}

/** Waits for what a method gives; that the server has no such thing is no matter. */
async function outcome(work: unknown): Promise<void> {
  await Promise.resolve(work).catch(() => {});
}

describe("routes", () => {
  it("have a method each, and no method has another", () => {
    assert.deepEqual(Object.keys(METHODS).sort(), ROUTES.map(({ route }) => route).sort());
  });

  for (const { route, path, method, operation } of ROUTES) {
    it(`${route} gets all parameters of the document`, async () => {
      const { url: baseUrl, requests } = await startServer((_, response) => response.writeHead(404).end());
      const sent: Array<RequestInit | undefined> = [];
      const client = new GatewayClient({ baseUrl, fetch: (input, init) => (sent.push(init), fetch(input, init)) });
      const parameters = parametersOf(operation).filter((one) => one.name !== "Accept");
      const options = Object.fromEntries(parameters.map((one) => [optionOf(one), valueOf(one)]));
      await outcome(METHODS[route]?.(client, options as Bag));
      const request = requests[0];
      const url = new URL(request?.url ?? "", baseUrl);
      assert.equal(request?.method, method);
      assert.match(url.pathname, new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}$`));
      const body = JSON.parse(String(sent[0]?.body ?? "{}")) as Record<string, unknown>;
      for (const parameter of parameters) {
        const value = [valueOf(parameter)].flat().map(String);
        if (ELSEWHERE[route]?.includes(parameter.name) && route !== "GET /resources/read") {
          // What makes a stream of the log belongs to `followLogs`.
          if (route === "GET /logs") continue;
          assert.ok(parameter.name in body && !url.searchParams.has(parameter.name), parameter.name);
          continue;
        }
        const got: unknown[] = parameter.in === "query" ? url.searchParams.getAll(parameter.name) : [request.headers[parameter.name.toLowerCase()]];
        assert.deepEqual(got, value, `${parameter.in} ${parameter.name}`);
      }
    });
  }
});

describe("the gateway", async () => {
  const gateway = await startGateway();

  it("knows every parameter that the client sends", async () => {
    for (const { route, operation } of ROUTES) {
      let unknown: string | null | undefined;
      const parameters = parametersOf(operation).filter((one) => one.in === "query");
      const options = Object.fromEntries(parameters.map((one) => [optionOf(one), valueOf(one)]));
      const controller = new AbortController();
      const onResponse = (info: { headers: Headers }) => {
        unknown = info.headers.get("x-parameters-unknown");
        controller.abort();
      };
      const limits = { signal: controller.signal, maxRetries: 0, timeoutMs: 20_000 };
      await outcome(METHODS[route]?.(gateway.client, { ...options, ...limits, onResponse } as unknown as Bag));
      assert.equal(unknown, null, `${route}: ${unknown}`);
    }
  });

  it("serves the document that the client was made from", async () => {
    const served = (await gateway.client.openapi()) as unknown as typeof document;
    assert.deepEqual(Object.keys(served.paths).sort(), Object.keys(document.paths).sort());
  });
});

describe("error codes", () => {
  it("of the document have a class each", () => {
    const { Error: ours, CompletionError: completions } = document.components.schemas;
    const named = ROUTES.flatMap(({ operation }) => Object.values(operation.responses)).flatMap(
      ({ description }) => /`code`: (\w+(?:, \w+)*)/.exec(description)?.[1]?.split(", ") ?? [],
    );
    const listed = [ours.properties.code, completions.properties.error.properties.code].flatMap((codes) => [
      ...codes["x-extensible-enum"],
      ...Object.keys(codes["x-error-codes"]),
    ]);
    const codes = [...new Set([...listed, ...named])];
    for (const code of codes) assert.ok(code in ERROR_CLASSES, `${code} has no class`);
    assert.deepEqual(Object.keys(ERROR_CLASSES).sort(), codes.sort());
  });

  it("have classes of their own names, which Python's client has too", () => {
    const others: Record<string, string> = {
      TIMEOUT: "CallTimeoutError",
      CONNECTION_ERROR: "ConnectionFailedError",
      NOT_FOUND: "RouteNotFoundError",
      context_length_exceeded: "ContextLengthError",
      model_timeout: "CallTimeoutError",
      model_unreachable: "ModelError",
      empty_answer: "ModelError",
      store_unavailable: "StoreError",
    };
    for (const [code, type] of Object.entries(ERROR_CLASSES)) {
      const words = code.toLowerCase().replace(/_error$/, "").split("_");
      const usual = `${words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join("")}Error`;
      assert.equal(type.name, others[code] ?? usual);
    }
  });
});
