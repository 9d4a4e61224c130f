// Anthropic Messages with the tools of your MCP servers: npm install mcp-tool-gateway @anthropic-ai/sdk; ANTHROPIC_API_KEY.
import Anthropic from "@anthropic-ai/sdk";
import { GatewayClient } from "mcp-tool-gateway";

const model = process.env.ANTHROPIC_MODEL ?? "claude-sonnet-5";
const gateway = new GatewayClient({ baseUrl: process.env.GATEWAY_URL ?? "http://127.0.0.1:8787" });
const client = new Anthropic();
const { tools } = await gateway.getTools("anthropic", { model });

async function ask(messages: Anthropic.MessageParam[]): Promise<void> {
  for (;;) {
    const reply = await client.messages.create({ model, max_tokens: 1024, messages, tools });
    const results = await gateway.executeReply(reply, { provider: "anthropic", model });
    messages.push({ role: "assistant", content: reply.content }, ...results.messages);
    if (results.messages.length === 0) {
      return console.log(reply.content.map((block) => (block.type === "text" ? block.text : "")).join(""));
    }
  }
}

async function askStreamed(messages: Anthropic.MessageParam[]): Promise<void> {
  for (;;) {
    const stream = client.messages.stream({ model, max_tokens: 1024, messages, tools });
    stream.on("text", (text) => process.stdout.write(text));
    const reply = await stream.finalMessage();
    const results = await gateway.executeReply(reply, { provider: "anthropic", model });
    messages.push({ role: "assistant", content: reply.content }, ...results.messages);
    if (results.messages.length === 0) return console.log();
  }
}

await ask([{ role: "user", content: "What is 15 plus 27?" }]);
await askStreamed([{ role: "user", content: "What is 15 plus 27?" }]);
