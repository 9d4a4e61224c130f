// Measures in one process, one round for each library in turn: JavaScript's converters of tool schemas and ours.
// Called by run.py with the corpus, the rounds and the compiled engine; writes one JSON line for each figure.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import {
  AnthropicSchemaCompatLayer, applyCompatLayer, GoogleSchemaCompatLayer, OpenAIReasoningSchemaCompatLayer, OpenAISchemaCompatLayer,
} from "@mastra/schema-compat";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { jsonSchema } from "ai";

const [corpus, rounds, compiled] = process.argv.slice(2);
const engine = await import(pathToFileURL(compiled).href);
const lists = JSON.parse(readFileSync(corpus, "utf8"));
const tools = lists.flat();
const texts = lists.map((list) => JSON.stringify(list));
const quiet = { onWarning() {} };

const layers = {
  "Mastra, OpenAI": ["openai-compat", new OpenAISchemaCompatLayer({ provider: "openai", modelId: "gpt-3.5-turbo", supportsStructuredOutputs: false })],
  "Mastra, OpenAI reasoning": ["openai-reasoning", new OpenAIReasoningSchemaCompatLayer({ provider: "openai", modelId: "o3-mini", supportsStructuredOutputs: true })],
  "Mastra, Google": ["google-compat", new GoogleSchemaCompatLayer({ provider: "google", modelId: "gemini-2.5-flash", supportsStructuredOutputs: true })],
  "Mastra, Anthropic": ["anthropic-compat", new AnthropicSchemaCompatLayer({ provider: "anthropic", modelId: "claude-3-5-haiku", supportsStructuredOutputs: true })],
};

const others = {};
for (const [name, [dialect, layer]] of Object.entries(layers)) {
  others[name] = [dialect, (tool) => {
    const schema = structuredClone(tool.inputSchema);
    return layer.processToJSONSchema ? layer.processToJSONSchema(jsonSchema(schema)) : applyCompatLayer({ schema: jsonSchema(schema), compatLayers: [layer], mode: "jsonSchema" });
  }];
}
// A whole request of the AI SDK's provider, whose tools are converted where the request is written; it is sent nowhere.
const google = createGoogleGenerativeAI({ apiKey: "none", fetch: () => Promise.reject(new Error("not sent")) })("gemini-2.5-flash");
const prompt = [{ role: "user", content: [{ type: "text", text: "Hello" }] }];
async function request(list) {
  const tools = list.map(({ name, description, inputSchema }) => ({ type: "function", name, description, inputSchema }));
  let reason;
  await google.doGenerate({ prompt, tools }).catch((error) => { reason = error; });
  if (!String(reason?.message).includes("not sent")) throw reason;
}

const figures = new Map();
async function note(name, dialect, form, work) {
  const began = process.cpuUsage();
  const done = await work();
  const { user, system } = process.cpuUsage(began);
  const rate = done / ((user + system) / 1e6);
  const key = JSON.stringify({ name, dialect, form });
  figures.set(key, [...(figures.get(key) ?? []), rate]);
}

// As a program does that converts its own tools for every request.
const ten = "object, each list ten times in a row";
const tenTimes = (all) => all.flatMap((list) => Array(10).fill(list));

async function each(convert, given = tools) {
  let done = 0;
  for (const tool of given) {
    try { await convert(tool); done += 1; } catch { /* refused: counts for nothing */ }
  }
  return done;
}

// From text to text, as a program does it that reads and writes JSON.
async function eachText(convert) {
  let done = 0;
  for (const text of texts) {
    const converted = [];
    for (const tool of JSON.parse(text)) {
      try { converted.push(await convert(tool)); } catch { /* refused */ }
    }
    JSON.stringify(converted);
    done += converted.length;
  }
  return done;
}

const dialects = [...new Set([...Object.values(others).map(([dialect]) => dialect), "gemini"])];
for (let round = 0; round < Number(rounds); round += 1) {
  for (const [name, [dialect, convert]] of Object.entries(others)) {
    await note(name, dialect, "object", () => each(convert));
    await note(name, dialect, "text", () => eachText(convert));
    await note(name, dialect, ten, () => each(convert, tenTimes(lists).flat()));
  }
  await note("AI SDK, Google (a list a request)", "(schemas as they are)", "object", async () => { for (const list of lists) await request(list); return tools.length; });
  // Lists that nobody has converted before: the engine keeps what it is given again.
  const renamed = (tool) => ({ ...tool, name: `${tool.name}_${round}` });
  const fresh = lists.map((list) => [...list.slice(0, -1), renamed(list.at(-1))]);
  const last = lists.map((list) => [renamed(list[0]), ...list.slice(1)]);
  const alone = tools.map((tool) => [renamed(tool)]);
  for (const to of dialects) {
    const converted = (all) => { for (const list of all) engine.convert(list, { to, ...quiet }); return tools.length; };
    await note("ours, a list a call, first", to, "object", () => converted(fresh));
    await note("ours, a list a call", to, ten, () => 10 * converted(tenTimes(last)));
    await note("ours, a tool a call, first", to, "object", () => converted(alone));
    converted(lists);
    converted(lists);
    await note("ours, a list a call, again", to, "object", () => converted(lists));
    await note("ours, a list a call", to, "text", () => { for (const text of texts) engine.convertText(text, { to, ...quiet }); return tools.length; });
    await note("JSON.stringify and parse alone", to, "object", () => { for (const list of lists) JSON.parse(JSON.stringify(list)); return tools.length; });
  }
}
const median = (all) => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)];
for (const [key, rates] of figures) console.log(JSON.stringify({ ...JSON.parse(key), rate: median(rates) }));
