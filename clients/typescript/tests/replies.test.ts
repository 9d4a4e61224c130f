// The providers' own SDKs, unmodified: tools of the gateway go in, their replies and streams come back, and the results go into the next request.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import {
  BedrockRuntimeClient,
  ConverseCommand,
  ConverseStreamCommand,
  type Message as BedrockMessage,
} from "@aws-sdk/client-bedrock-runtime";
import { type Content, GoogleGenAI } from "@google/genai";
import { Mistral } from "@mistralai/mistralai";
import type { ChatCompletionRequest as MistralRequest } from "@mistralai/mistralai/models/components/index.js";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { type Cohere, CohereClient } from "cohere-ai";
import { Ollama, type Message as OllamaMessage } from "ollama";
import OpenAI from "openai";
import { atEnd, given, startGateway, startProgram } from "./harness.js";

const { client } = await startGateway();
const QUESTION = "What is 15 plus 27?";
const folder = await mkdtemp(join(tmpdir(), "scripts-"));
atEnd(() => rm(folder, { recursive: true, force: true }));

/** A strict provider that asks for one call and then says what came of it. */
async function provider(wire: string): Promise<string> {
  const script = join(folder, `${wire}.json`);
  const call = { id: "abcDEF123", name: "add", arguments: { a: 15, b: 27 } };
  await writeFile(script, JSON.stringify({ strict: true, steps: [{ reply: { calls: [call] } }, { echo_result: true }] }));
  const { found } = await startProgram(given("GATEWAY_MODEL"), ["--wire", wire, "--script", script, "--strict"], /"url":"([^"]+)"/);
  return found;
}

const origin = (url: string) => new URL(url).origin;

/** One question, its call and the model's last words, with the SDK's object or with its stream. */
type Round = (streamed: boolean) => Promise<unknown>;

const ROUNDS: Record<string, Round> = {
  "openai, Chat Completions": async (streamed) => {
    const openai = new OpenAI({ baseURL: await provider("chat"), apiKey: "none" });
    const { tools } = await client.getTools("openai");
    const messages: OpenAI.Chat.Completions.ChatCompletionMessageParam[] = [{ role: "user", content: QUESTION }];
    const request = { model: "gpt-4o", messages, tools };
    if (streamed) {
      const stream = openai.chat.completions.stream({ ...request, stream: true });
      const answer = await client.executeReply(stream, { provider: "openai" });
      messages.push((await stream.finalMessage()) as OpenAI.Chat.Completions.ChatCompletionMessageParam, ...answer.messages);
    } else {
      const reply = await openai.chat.completions.create(request);
      messages.push(reply.choices[0]!.message, ...(await client.executeReply(reply)).messages);
    }
    return (await openai.chat.completions.create(request)).choices[0]?.message.content;
  },

  "openai, Responses": async (streamed) => {
    const openai = new OpenAI({ baseURL: await provider("responses"), apiKey: "none" });
    const { tools } = await client.getTools("openai-responses");
    const input: OpenAI.Responses.ResponseInputItem[] = [{ role: "user", content: QUESTION }];
    const request = { model: "gpt-5", input, tools };
    if (streamed) {
      const stream = openai.responses.stream(request);
      const { messages } = await client.executeReply(stream, { provider: "openai-responses" });
      input.push(...((await stream.finalResponse()).output as OpenAI.Responses.ResponseInputItem[]), ...messages);
    } else {
      const reply = await openai.responses.create(request);
      const { messages } = await client.executeReply(reply, { provider: "openai-responses" });
      input.push(...(reply.output as OpenAI.Responses.ResponseInputItem[]), ...messages);
    }
    return (await openai.responses.create(request)).output_text;
  },

  anthropic: async (streamed) => {
    const anthropic = new Anthropic({ baseURL: origin(await provider("messages")), apiKey: "none" });
    const { tools } = await client.getTools("anthropic");
    const messages: Anthropic.Messages.MessageParam[] = [{ role: "user", content: QUESTION }];
    const request = { model: "claude-opus-4-6", max_tokens: 1000, messages, tools };
    if (streamed) {
      const stream = anthropic.messages.stream(request);
      const answer = await client.executeReply(stream, { provider: "anthropic" });
      messages.push({ role: "assistant", content: (await stream.finalMessage()).content }, ...answer.messages);
    } else {
      const reply = await anthropic.messages.create(request);
      const answer = await client.executeReply(reply, { provider: "anthropic" });
      messages.push({ role: "assistant", content: reply.content }, ...answer.messages);
    }
    const last = await anthropic.messages.create(request);
    return last.content[0]?.type === "text" ? last.content[0].text : undefined;
  },

  "@google/genai": async (streamed) => {
    const genai = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: origin(await provider("generate-content")) } });
    const tools = [{ functionDeclarations: await client.getTools("gemini", { list: true }) }];
    const contents: Content[] = [{ role: "user", parts: [{ text: QUESTION }] }];
    const request = { model: "gemini-2.5-flash", contents, config: { tools } };
    if (streamed) {
      const chunks: Array<{ candidates?: Array<{ content?: Content }> }> = [];
      const stream = await genai.models.generateContentStream(request);
      const kept = (async function* () {
        for await (const chunk of stream) {
          chunks.push(chunk);
          yield chunk;
        }
      })();
      const answer = await client.executeReply(kept, { provider: "gemini" });
      const parts = chunks.flatMap((chunk) => chunk.candidates?.[0]?.content?.parts ?? []);
      contents.push({ role: "model", parts }, ...answer.messages);
    } else {
      const reply = await genai.models.generateContent(request);
      contents.push(reply.candidates![0]!.content!, ...(await client.executeReply(reply, { provider: "gemini" })).messages);
    }
    return (await genai.models.generateContent(request)).text;
  },

  "@mistralai/mistralai": async (streamed) => {
    const mistral = new Mistral({ serverURL: origin(await provider("mistral")), apiKey: "none" });
    const { tools } = await client.getTools("mistral");
    const messages: MistralRequest["messages"] = [{ role: "user", content: QUESTION }];
    const request = { model: "mistral-large-latest", messages, tools };
    if (streamed) {
      const { messages: results } = await client.executeReply(mistral.chat.stream(request), { provider: "mistral" });
      const call = { id: "abcDEF123", type: "function" as const, function: { name: "add", arguments: '{"a":15,"b":27}' } };
      messages.push({ role: "assistant", content: "", toolCalls: [call] }, ...results);
    } else {
      const reply = await mistral.chat.complete(request);
      const answer = await client.executeReply(reply, { provider: "mistral" });
      messages.push({ ...reply.choices[0]!.message!, role: "assistant" }, ...answer.messages);
    }
    return (await mistral.chat.complete(request)).choices[0]?.message?.content;
  },

  "cohere-ai": async (streamed) => {
    const { v2: cohere } = new CohereClient({ environment: origin(await provider("cohere")), token: "none" });
    const { tools } = await client.getTools("cohere");
    const messages: Cohere.ChatMessageV2[] = [{ role: "user", content: QUESTION }];
    const request = { model: "command-a-03-2025", messages, tools };
    if (streamed) {
      const { messages: results } = await client.executeReply(cohere.chatStream(request), { provider: "cohere" });
      const call = { id: "abcDEF123", type: "function" as const, function: { name: "add", arguments: '{"a":15,"b":27}' } };
      messages.push({ role: "assistant", toolCalls: [call] }, ...results);
    } else {
      const reply = await cohere.chat(request);
      const answer = await client.executeReply(reply, { provider: "cohere" });
      messages.push({ role: "assistant", toolCalls: reply.message.toolCalls, toolPlan: reply.message.toolPlan }, ...answer.messages);
    }
    const last = (await cohere.chat(request)).message.content?.[0];
    return last?.type === "text" ? last.text : undefined;
  },

  "@aws-sdk/client-bedrock-runtime": async (streamed) => {
    const credentials = { accessKeyId: "none", secretAccessKey: "none" };
    // Its own handler speaks HTTP/2 only.
    const requestHandler = new NodeHttpHandler();
    const bedrock = new BedrockRuntimeClient({ region: "us-east-1", endpoint: await provider("converse"), credentials, requestHandler });
    const toolConfig = await client.getTools("bedrock");
    const messages: BedrockMessage[] = [{ role: "user", content: [{ text: QUESTION }] }];
    const request = { modelId: "amazon.nova-pro-v1:0", messages, toolConfig };
    if (streamed) {
      const reply = await bedrock.send(new ConverseStreamCommand(request));
      const { messages: results } = await client.executeReply(reply, { provider: "bedrock" });
      const toolUse = { toolUseId: "abcDEF123", name: "add", input: { a: 15, b: 27 } };
      messages.push({ role: "assistant", content: [{ toolUse }] }, ...results);
    } else {
      const reply = await bedrock.send(new ConverseCommand(request));
      messages.push(reply.output!.message!, ...(await client.executeReply(reply, { provider: "bedrock" })).messages);
    }
    const last = await bedrock.send(new ConverseCommand(request));
    return last.output?.message?.content?.[0]?.text;
  },

  ollama: async (streamed) => {
    const ollama = new Ollama({ host: origin(await provider("ollama")) });
    const { tools } = await client.getTools("ollama");
    const messages: OllamaMessage[] = [{ role: "user", content: QUESTION }];
    const request = { model: "llama3.1", messages, tools };
    if (streamed) {
      const { messages: results } = await client.executeReply(ollama.chat({ ...request, stream: true }), { provider: "ollama" });
      const call = { function: { name: "add", arguments: { a: 15, b: 27 } } };
      messages.push({ role: "assistant", content: "", tool_calls: [call] }, ...results);
    } else {
      const reply = await ollama.chat(request);
      messages.push(reply.message, ...(await client.executeReply(reply, { provider: "ollama" })).messages);
    }
    return (await ollama.chat(request)).message.content;
  },
};

for (const [sdk, round] of Object.entries(ROUNDS)) {
  describe(sdk, () => {
    it("takes tools, and results of its reply", async () => assert.match(String(await round(false)), /"result":42\b/));
    it("takes results of its stream", async () => assert.match(String(await round(true)), /"result":42\b/));
  });
}
