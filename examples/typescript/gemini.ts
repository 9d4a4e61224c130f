// Gemini with the tools of your MCP servers: npm install mcp-tool-gateway @google/genai; GEMINI_API_KEY.
import { GoogleGenAI, type Content, type Part } from "@google/genai";
import { GatewayClient } from "mcp-tool-gateway";

const model = process.env.GEMINI_MODEL ?? "gemini-3.8-flash";
const gateway = new GatewayClient({ baseUrl: process.env.GATEWAY_URL ?? "http://127.0.0.1:8787" });
const client = new GoogleGenAI({});
const functionDeclarations = await gateway.getTools("gemini", { model, list: true });
const config = { tools: [{ functionDeclarations }] };

async function ask(contents: Content[]): Promise<void> {
  for (;;) {
    const reply = await client.models.generateContent({ model, contents, config });
    const results = await gateway.executeReply(reply, { provider: "gemini", model });
    contents.push(reply.candidates![0]!.content!, ...results.messages);
    if (results.messages.length === 0) return console.log(reply.text);
  }
}

async function askStreamed(contents: Content[]): Promise<void> {
  for (;;) {
    const parts: Part[] = [];
    for await (const chunk of await client.models.generateContentStream({ model, contents, config })) {
      const added = chunk.candidates?.[0]?.content?.parts ?? [];
      parts.push(...added);
      process.stdout.write(added.map((part) => part.text ?? "").join(""));
    }
    const results = await gateway.executeReply({ role: "model", parts }, { provider: "gemini", model });
    contents.push({ role: "model", parts }, ...results.messages);
    if (results.messages.length === 0) return console.log();
  }
}

await ask([{ role: "user", parts: [{ text: "What is 15 plus 27?" }] }]);
await askStreamed([{ role: "user", parts: [{ text: "What is 15 plus 27?" }] }]);
