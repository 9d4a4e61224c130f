// The AI SDK with the tools of your MCP servers: npm install mcp-tool-gateway ai @ai-sdk/openai; OPENAI_API_KEY.
import { openai } from "@ai-sdk/openai";
import { generateText, jsonSchema, stepCountIs, streamText, tool, type ToolSet } from "ai";
import { GatewayClient } from "mcp-tool-gateway";

const name = process.env.OPENAI_MODEL ?? "gpt-5.4-mini";
const gateway = new GatewayClient({ baseUrl: process.env.GATEWAY_URL ?? "http://127.0.0.1:8787" });
const tools: ToolSet = {};
for (const { function: listed } of (await gateway.getTools("openai", { model: name })).tools) {
  tools[listed.name] = tool({
    description: listed.description,
    inputSchema: jsonSchema(listed.parameters),
    execute: (input, { toolCallId: id }) => run(id, listed.name, input),
  });
}

async function run(id: string, name: string, input: unknown): Promise<unknown> {
  const call = { id, type: "function", function: { name, arguments: JSON.stringify(input) } };
  const { messages } = await gateway.executeReply([call], { provider: "openai", model: name });
  return messages[0]?.content;
}

const request = { model: openai.chat(name), tools, stopWhen: stepCountIs(10), prompt: "What is 15 plus 27?" };
console.log((await generateText(request)).text);
for await (const text of streamText(request).textStream) process.stdout.write(text);
console.log();
