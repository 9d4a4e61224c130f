// The engine in Node: values, text, streams, and the compatibility of models.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import * as engine from "mcp-tool-gateway/engine";

const { createMcpToolCompatibility, detectModelProvider, EngineError, StreamAssembler } = engine;

const ADD = {
  name: "add",
  description: "Adds numbers.",
  inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number", default: 2 } }, required: ["a"] },
};
const call = { type: "tool_use", id: "call_1", name: "add", input: { a: 15 } };

const refused = (code, words) => (error) => {
  assert.ok(error instanceof EngineError, String(error));
  assert.equal(error.code, code);
  assert.match(error.message, words);
  return true;
};

describe("conversion", () => {
  it("gives the same of values and of text, and changes nothing", () => {
    const given = structuredClone([ADD]);
    for (const to of ["openai", "anthropic", "gemini", "bedrock", "universal", "mcp"]) {
      const converted = engine.convert(given, { to });
      assert.equal(JSON.stringify(converted), engine.convertText(JSON.stringify(given), { to }), to);
      assert.deepEqual(given, [ADD]);
    }
    assert.equal(engine.convert(given, { model: "gpt-4o" })[0].type, "function");
    assert.equal(engine.convert(given, { to: "openai", report: true }).report[0].name, "add");
  });

  it("leaves out what cannot be converted, and says so", () => {
    const heard = [];
    const tools = [ADD, { name: "broken", inputSchema: { type: "array" } }];
    const converted = engine.convert(tools, { to: "openai", onWarning: (message) => heard.push(message) });
    assert.equal(converted.length, 1);
    assert.match(heard.join(), /^left out broken: /);
  });

  describe("of a list that was converted before", () => {
    const tool = (name) => ({ ...structuredClone(ADD), name, annotations: { title: "T" } });
    const options = { to: "gemini", onWarning() {} };
    // Three times: the first is remembered, the second kept, and the third copied from what is kept.
    const thrice = (tools, more = options) => [1, 2, 3].map(() => engine.convert(tools, more)).pop();
    const fresh = (tools, more = options) => JSON.parse(engine.convertText(JSON.stringify(tools), more));

    it("gives the same, and nothing that callers share", () => {
      const tools = [tool("kept_a"), tool("kept_b")];
      const expected = JSON.stringify(fresh(tools));
      for (let number = 0; number < 5; number += 1) {
        const converted = engine.convert(tools, options);
        assert.equal(JSON.stringify(converted), expected);
        const scratch = [converted];
        while (scratch.length > 0) {
          const container = scratch.pop();
          for (const name of Object.keys(container)) {
            if (typeof container[name] === "object" && container[name] !== null) scratch.push(container[name]);
            container[name] = "spoilt";
          }
        }
      }
    });

    it("sees every change of the list", () => {
      const changes = {
        deep: (tools) => { tools[0].inputSchema.properties.a.type = "integer"; },
        description: (tools) => { tools[1].description = "Other words."; },
        added: (tools) => { tools[1].inputSchema.properties.c = { type: "string" }; },
        removed: (tools) => { delete tools[1].inputSchema.required; },
        order: (tools) => { tools[0].inputSchema.properties = { b: { type: "number", default: 2 }, a: { type: "number" } }; },
        longer: (tools) => { tools[0].inputSchema.required.push("b"); },
        text: (tools) => { tools[0].inputSchema.properties.b.default = "2"; },
        truth: (tools) => { tools[0].inputSchema.additionalProperties = false; },
        prototype: (tools) => { tools[0].inputSchema = Object.assign(Object.create({ toJSON: () => ({ type: "object", properties: { z: {} } }) }), tools[0].inputSchema); },
        own: (tools) => { tools[0].inputSchema.toJSON = () => ({ type: "object", properties: { y: {} } }); },
        hidden: (tools) => { Object.defineProperty(tools[0].inputSchema, "toJSON", { value: () => ({ type: "object", properties: { x: {} } }) }); },
        absent: (tools) => { tools[0].inputSchema.properties.a = undefined; },
      };
      for (const [name, change] of Object.entries(changes)) {
        const tools = [tool(`changed_${name}`), tool("last")];
        thrice(tools);
        change(tools);
        for (let number = 0; number < 3; number += 1) {
          assert.equal(JSON.stringify(engine.convert(tools, options)), JSON.stringify(fresh(tools)), name);
        }
      }
    });

    it("tells options apart, and reports again what is left out", () => {
      const tools = [tool("options"), { name: "broken", inputSchema: { type: "array" } }, tool("end")];
      for (const more of [{ to: "openai" }, { to: "openai", strict: "auto" }, { to: "openai", hide: ["a"] }, { to: "anthropic", report: true }]) {
        const heard = [];
        const onWarning = (message) => heard.push(message);
        assert.deepEqual(thrice(tools, { ...more, onWarning }), fresh(tools, { ...more, onWarning() {} }));
        assert.equal(heard.length, more.report ? heard.length : 3);
      }
    });

    it("takes members that objects give a meaning to, and cycles, as before", () => {
      const tools = [JSON.parse('{"name": "proto", "inputSchema": {"type": "object", "properties": {"__proto__": {"type": "string"}}}}')];
      assert.equal(JSON.stringify(thrice(tools)), engine.convertText(JSON.stringify(tools), options));
      const cycle = { name: "cycle", inputSchema: { type: "object" } };
      cycle.inputSchema.properties = { a: cycle.inputSchema, b: cycle.inputSchema };
      for (let number = 0; number < 3; number += 1) {
        assert.throws(() => engine.convert([cycle], options), refused("VALIDATION_ERROR", /JSON/));
      }
    });

    it("keeps lists with one key apart that take turns", () => {
      const [one, other] = [[tool("turns")], [tool("turns")]];
      other[0].inputSchema.properties.a.type = "string";
      for (let number = 0; number < 8; number += 1) {
        for (const tools of [one, other]) assert.deepEqual(engine.convert(tools, options), fresh(tools));
      }
    });

    it("refuses lists whose own code throws as before", () => {
      const thrower = { get name() { throw new TypeError("no name"); } };
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      for (const tools of [[thrower], [proxy]]) {
        assert.throws(() => engine.convert(tools, options), refused("VALIDATION_ERROR", /cannot be written as JSON/));
      }
    });

    it("is bounded", () => {
      const program = `
        import { convert } from "mcp-tool-gateway/engine";
        const texts = process.argv[1] === "texts";
        const used = () => { globalThis.gc(); return process.memoryUsage().heapUsed / 2 ** 20; };
        const properties = Object.fromEntries(Array.from({ length: texts ? 10 : 2_000 }, (_, index) => ["p" + index, { type: "string" }]));
        const before = used();
        for (let number = 0; number < 300; number += 1) {
          const list = () => [{ name: "large_" + number, description: String(number).repeat(texts ? 300_000 : 1), inputSchema: { type: "object", properties } }];
          convert(list(), { to: "gemini" });
          convert(list(), { to: "gemini" });
        }
        console.log(used() - before);
      `;
      for (const what of ["texts", "values"]) {
        const args = ["--expose-gc", "--input-type=module", "-e", program, what];
        assert.ok(Number(execFileSync(process.execPath, args, { encoding: "utf8" })) < 200, what);
      }
    });
  });

  it("refuses what is no JSON, and unknown options", () => {
    const cycle = { name: "cycle" };
    cycle.inputSchema = cycle;
    for (const tools of [cycle, [1n], undefined, () => {}]) {
      assert.throws(() => engine.convert(tools, { to: "openai" }), refused("VALIDATION_ERROR", /JSON/));
    }
    assert.throws(() => engine.convert([ADD], {}), refused("VALIDATION_ERROR", /say which dialect/));
    assert.throws(() => engine.convert([ADD], { to: "nonesuch" }), refused("UNKNOWN_PROVIDER", /nonesuch/));
    assert.throws(() => engine.convert([ADD], { to: "openai", hid: ["a"] }), refused("VALIDATION_ERROR", /did you mean `hide`/));
    assert.throws(() => engine.convertText('[{"name": "a", "name": "b"}]', { to: "openai" }), refused("VALIDATION_ERROR", /repeated/));
  });

  it("survives odd texts", () => {
    for (const text of ["", "[", "nul", "[".repeat(100_000), '"\\ud800"', "1e999", "\u0000", "\ud800"]) {
      for (const work of [
        () => engine.convertText(text, { to: "openai" }),
        () => engine.checkText(text, { to: "openai" }),
        () => engine.transformText(text, { to: "openai" }),
        () => engine.parseReplyText(text),
        () => engine.renderResultsText(text, { provider: "openai" }),
        () => engine.convertHistoryText(text, { from: "openai", to: "anthropic" }),
      ]) {
        try {
          assert.equal(typeof work(), "string");
        } catch (error) {
          assert.ok(error instanceof EngineError, String(error));
        }
      }
    }
  });
});

describe("calls, results, histories", () => {
  const message = { role: "assistant", tool_calls: [{ id: "call_1", type: "function", function: { name: "add", arguments: '{"a": "15"}' } }] };

  it("reads calls, and decodes and validates them with their tools", () => {
    assert.deepEqual(engine.parseCalls(message), [{ ...call, input: { a: "15" } }]);
    assert.equal(engine.parseCalls(message, { tools: [ADD] })[0].error.issues[0].path, "/a");
    assert.deepEqual(engine.parseCalls(message, { tools: [ADD], coerce: true })[0].input, { a: 15 });
  });

  it("writes results", () => {
    const expected = [{ role: "tool", tool_call_id: "call_1", content: "42" }];
    assert.deepEqual(engine.renderResults([{ ...call, result: "42" }], { provider: "openai" }), expected);
  });

  it("moves conversations", () => {
    const moved = engine.convertHistory([{ role: "user", content: "Hello" }], { from: "openai", to: "gemini" });
    assert.deepEqual(moved, { messages: [{ role: "user", parts: [{ text: "Hello" }] }], warnings: [] });
  });

  it("lints and transforms", () => {
    const report = engine.check([{ name: "add", inputSchema: { type: "object" } }], { to: ["gemini"] });
    assert.ok(report.findings.some((finding) => finding.rule === "description-missing"));
    const closed = [{ name: "add", inputSchema: { type: "object", properties: { a: { type: "number" } }, required: ["a"], additionalProperties: false } }];
    const tokens = (strict) => engine.check(closed, { to: "openai", strict }).dialects[0].tokens.after;
    assert.ok(tokens("auto") > tokens("as-named"));
    const schema = engine.transform({ type: "string", format: "uri", minLength: 5 }, { to: "universal" });
    assert.deepEqual(schema, { type: "string", description: '{"format":"uri","minLength":5}' });
  });
});

describe("streams", () => {
  const deltas = [
    { content: "Hé" }, { content: "llo" },
    { tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "add", arguments: "" } }] },
    { tool_calls: [{ index: 0, function: { arguments: '{"a": 15}' } }] },
  ];
  const chunks = [...deltas.map((delta) => ({ choices: [{ index: 0, delta }] })), { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] }];
  const bytes = new TextEncoder().encode(chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("") + "data: [DONE]\n\n");

  for (const size of [1, 7, 100_000]) {
    it(`are cut anywhere: ${size}`, () => {
      const assembler = new StreamAssembler({ tools: [ADD] });
      const events = [];
      for (let at = 0; at < bytes.length; at += size) events.push(...assembler.push(bytes.subarray(at, at + size)));
      events.push(...assembler.finish());
      assert.equal(events.filter(({ type }) => type === "text").map(({ text }) => text).join(""), "Héllo");
      assert.deepEqual(assembler.calls, [call]);
      assert.throws(() => assembler.push(bytes), refused("VALIDATION_ERROR", /over/));
    });
  }

  it("come as chunks, and as asynchronous iterables", async () => {
    const assembler = new StreamAssembler();
    for (const chunk of chunks) assembler.pushChunk(chunk);
    assembler.finish();
    assert.deepEqual(assembler.calls, [call]);
    async function* body() { yield bytes; }
    const calls = [];
    for await (const event of engine.streamEvents(body())) if (event.type === "call") calls.push(event.call);
    assert.deepEqual(calls, [call]);
  });
});

describe("compatibility", () => {
  const schema = { type: "string", format: "email", minLength: 5 };

  it("detects models from ids and runtimes", () => {
    const o3 = { provider: "openai", modelId: "o3-mini", supportsStructuredOutputs: true, isReasoningModel: true, layer: "openai-reasoning" };
    for (const runtime of [
      "o3-mini",
      { modelProvider: "openai", model: "o3-mini" },
      { provider: "openai", modelId: "o3-mini" },
      { model: { provider: "openai", modelId: "o3-mini" } },
      { getSetting: (name) => ({ MODEL_PROVIDER: "openai", MODEL: "o3-mini" })[name] },
    ]) assert.deepEqual(detectModelProvider(runtime), o3);
    assert.equal(detectModelProvider({ modelProvider: "openai", model: "gpt-4" }).provider, "openai");
    for (const nothing of [null, undefined, {}, "", { model: 5 }]) assert.equal(detectModelProvider(nothing).provider, "unknown");
  });

  it("is null where schemas need no change", () => {
    for (const model of ["gpt-4o", "grok-4", "nonesuch", null, {}]) assert.equal(createMcpToolCompatibility(model), null);
  });

  it("says constraints as each family reads them", () => {
    const transformed = (model, given = schema) => createMcpToolCompatibility(model).transformToolSchema(given);
    assert.deepEqual(transformed("o3-mini"), { type: "string", description: "IMPORTANT: must be a valid email address, minimum 5 characters" });
    assert.match(transformed("gemini-2.5-flash").description, /^Constraints: .*text must be at least 5 characters long/);
    assert.match(transformed("gpt-3.5-turbo").description, /\{"format":"email","minLength":5\}/);
    const closed = { type: "object", properties: { a: { type: "string", minLength: 1 } }, additionalProperties: false };
    const anthropic = transformed("claude-3", closed);
    assert.equal("additionalProperties" in anthropic, false);
    assert.deepEqual(anthropic.properties, closed.properties);
    assert.ok(createMcpToolCompatibility("o3-mini").shouldApply());
    assert.deepEqual(schema, { type: "string", format: "email", minLength: 5 });
  });

  it("lets a class that extends it say for which models, and which keywords become words", () => {
    class NewProvider extends engine.McpToolCompatibility {
      shouldApply() {
        return this.modelInfo.provider === "newprovider";
      }
      getUnsupportedStringProperties() {
        return ["format", "pattern"];
      }
      getUnsupportedNumberProperties() {
        return ["minimum"];
      }
      getUnsupportedArrayProperties() {
        return ["uniqueItems"];
      }
      getUnsupportedObjectProperties() {
        return ["additionalProperties"];
      }
    }
    const text = { type: "string", format: "email", minLength: 5, description: "Whom to ask." };
    const given = {
      type: "object",
      properties: { format: text, n: { type: ["integer", "null"], minimum: 1 }, all: { type: "array", uniqueItems: true, items: { anyOf: [text, true] } } },
      additionalProperties: false,
    };
    const before = structuredClone(given);
    const said = { type: "string", minLength: 5, description: 'Whom to ask.\n{"format":"email"}' };
    const of = (provider, layer) => new NewProvider({ ...detectModelProvider("nonesuch"), provider, ...(layer && { layer }) });
    assert.deepEqual(of("newprovider").transformToolSchema(given), {
      type: "object",
      description: '{"additionalProperties":false}',
      properties: {
        format: said,
        n: { type: ["integer", "null"], description: '{"minimum":1}' },
        all: { type: "array", description: '{"uniqueItems":true}', items: { anyOf: [said, true] } },
      },
    });
    assert.deepEqual(given, before);
    assert.equal(of("another", "openai-reasoning").transformToolSchema(given), given);
    const both = of("newprovider", "anthropic").transformToolSchema(given);
    assert.deepEqual([both.properties.format, both.additionalProperties], [said, undefined]);
  });

  it("gives back what is no schema or cannot be transformed", (context) => {
    const warned = context.mock.method(console, "warn", () => {});
    const compatibility = createMcpToolCompatibility("o3-mini");
    for (const given of [true, "text", null, undefined, [1]]) assert.equal(compatibility.transformToolSchema(given), given);
    const cycle = { type: "object" };
    cycle.properties = { cycle };
    assert.equal(compatibility.transformToolSchema(cycle), cycle);
    assert.equal(warned.mock.callCount(), 1);
  });
});

const gateway = process.env["MCP_TOOL_GATEWAY_BIN"];
const corpus = process.env["MCP_TOOL_GATEWAY_CORPUS"];

describe("parity with the command line", { skip: !(gateway && corpus) && "no gateway or no corpus is named" }, () => {
  for (const to of ["openai", "openai-responses-strict", "anthropic", "gemini", "bedrock", "argo", "universal"]) {
    it(to, () => {
      const read = (name) => JSON.parse(readFileSync(join(corpus, name), "utf8"));
      const all = readdirSync(corpus).filter((name) => name.endsWith(".json")).sort().flatMap((name) => read(name).tools ?? []);
      const step = Math.max(1, Math.floor(all.length / 300));
      const tools = all.filter((_, index) => index % step === 0).slice(0, 300);
      assert.equal(tools.length, 300);
      const folder = mkdtempSync(join(tmpdir(), "parity-"));
      try {
        const file = join(folder, "tools.json");
        writeFileSync(file, JSON.stringify(tools));
        let written;
        try {
          written = execFileSync(gateway, ["convert", "--to", to, file], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], maxBuffer: 1 << 28 });
        } catch (left) {
          // Findings have a status of their own; the list is there all the same.
          written = left.stdout;
        }
        assert.equal(`${engine.convertText(JSON.stringify(tools), { to, onWarning() {} })}\n`, written);
      } finally {
        rmSync(folder, { recursive: true });
      }
    });
  }
});
