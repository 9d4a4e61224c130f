// OpenAI Chat Completions with the tools of your MCP servers: npm install mcp-tool-gateway openai; OPENAI_API_KEY.
import { GatewayClient } from "mcp-tool-gateway";
import OpenAI from "openai";

const model = process.env.OPENAI_MODEL ?? "gpt-5.4-mini";
const gateway = new GatewayClient({ baseUrl: process.env.GATEWAY_URL ?? "http://127.0.0.1:8787" });
const client = new OpenAI();
const { tools } = await gateway.getTools("openai", { model });

async function ask(messages: OpenAI.ChatCompletionMessageParam[]): Promise<void> {
  for (;;) {
    const reply = await client.chat.completions.create({ model, messages, tools });
    const results = await gateway.executeReply(reply, { provider: "openai", model });
    messages.push(reply.choices[0]!.message, ...results.messages);
    if (results.messages.length === 0) return console.log(reply.choices[0]!.message.content);
  }
}

async function askStreamed(messages: OpenAI.ChatCompletionMessageParam[]): Promise<void> {
  for (;;) {
    const stream = client.chat.completions.stream({ model, messages, tools });
    for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? "");
    const reply = await stream.finalChatCompletion();
    const results = await gateway.executeReply(reply, { provider: "openai", model });
    messages.push(reply.choices[0]!.message, ...results.messages);
    if (results.messages.length === 0) return console.log();
  }
}

await ask([{ role: "user", content: "What is 15 plus 27?" }]);
await askStreamed([{ role: "user", content: "What is 15 plus 27?" }]);
