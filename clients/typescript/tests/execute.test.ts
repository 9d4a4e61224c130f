// What `execute` gives for calls, for lists of them, and for replies in pieces.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayClient, type ToolResult } from "mcp-tool-gateway";
import { startGateway } from "./harness.js";

const { url } = await startGateway({ mcpServers: { default: { type: "builtin" } } });
const client = new GatewayClient({ baseUrl: url });

describe("execute", () => {
  it("gives a list for a list of calls", async () => {
    const args = { a: 15, b: 27 };
    const text = JSON.stringify(args);
    const calls: Record<string, object> = {
      openai: { id: "c1", type: "function", function: { name: "add", arguments: text } },
      "openai-responses": { type: "function_call", call_id: "c1", name: "add", arguments: text },
      anthropic: { type: "tool_use", id: "c1", name: "add", input: args },
      gemini: { name: "add", args },
      "vertex-json": { functionCall: { name: "add", args } },
      bedrock: { toolUse: { toolUseId: "c1", name: "add", input: args } },
      ollama: { function: { name: "add", arguments: args } },
      mistral: { id: "c1", function: { name: "add", arguments: text } },
      mcp: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "add", arguments: args } },
    };
    for (const [provider, call] of Object.entries(calls)) {
      for (const several of [[], [call], [call, call]]) {
        const results = await client.execute<ToolResult[]>(provider, several, "default");
        assert.deepEqual(results.map((result) => result.structuredContent.result), several.map(() => 42), provider);
      }
      assert.equal((await client.execute(provider, call, "default")).structuredContent.result, 42);
    }
    // What surrounds calls is not one of them.
    const content = [{ type: "text", text: "adding" }, calls["anthropic"]];
    assert.equal((await client.execute<ToolResult[]>("anthropic", content, "default")).length, 1);
  });

  it("gives the result of a reply in pieces", async () => {
    const args = { a: 15, b: 27 };
    const called = { id: "c1", type: "function", function: { name: "add", arguments: JSON.stringify(args) } };
    const delta = { tool_calls: [{ index: 0, ...called }] };
    const parts = [{ functionCall: { name: "add", args } }];
    const pieces: Array<[string, object[]]> = [
      ["openai", [{ role: "assistant", content: "", tool_calls: [called] }]],
      ["openai", [{ choices: [{ index: 0, delta, finish_reason: "tool_calls" }] }]],
      ["gemini", [{ candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }] }]],
      ["gemini", [{ role: "model", parts }]],
      ["ollama", [{ model: "m", message: { role: "assistant", content: "", tool_calls: [{ function: { name: "add", arguments: args } }] }, done: true }]],
      [
        "anthropic",
        [
          { type: "content_block_start", index: 0, content_block: { type: "tool_use", id: "c1", name: "add", input: {} } },
          { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: JSON.stringify(args) } },
          { type: "content_block_stop", index: 0 },
          { type: "message_stop" },
        ],
      ],
    ];
    for (const [provider, chunks] of pieces) {
      const stream = (async function* () {
        yield* chunks;
      })();
      for (const given of [chunks, stream]) {
        assert.equal((await client.execute(provider, given, "default")).structuredContent.result, 42, provider);
      }
    }
  });
});
