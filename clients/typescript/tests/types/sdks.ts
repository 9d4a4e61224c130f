// Compiled, never run: what the client gives fits the types of the providers' own SDKs as it is.
import type Anthropic from "@anthropic-ai/sdk";
import type { ContentBlock, Message as BedrockMessage, Tool as BedrockTool, ToolConfiguration } from "@aws-sdk/client-bedrock-runtime";
import type { Content, FunctionDeclaration, GenerateContentConfig } from "@google/genai";
import type { ChatCompletionRequest as MistralRequest } from "@mistralai/mistralai/models/components/index.js";
import type { Cohere } from "cohere-ai";
import type { Message as OllamaMessage, Tool as OllamaTool } from "ollama";
import type OpenAI from "openai";
import { GatewayClient } from "mcp-tool-gateway";

const client = new GatewayClient();

export async function tools(): Promise<unknown[]> {
  const chat: OpenAI.Chat.Completions.ChatCompletionTool[] = (await client.getTools("openai")).tools;
  const strict: OpenAI.Chat.Completions.ChatCompletionCreateParams["tools"] = (await client.getTools("openai-chat-strict")).tools;
  const responses: OpenAI.Responses.Tool[] = (await client.getTools("openai-responses", { server: "demo" })).tools;
  const functions: OpenAI.Chat.Completions.ChatCompletionCreateParams["functions"] = (await client.getTools("openai-functions"))
    .functions;
  const anthropic: Anthropic.Messages.ToolUnion[] = (await client.getTools("anthropic", "demo")).tools;
  const gemini: FunctionDeclaration[] = (await client.getTools("gemini")).function_declarations;
  const config: GenerateContentConfig = { tools: [{ functionDeclarations: await client.getTools("gemini-json", { list: true }) }] };
  const mistral: MistralRequest["tools"] = (await client.getTools("mistral")).tools;
  const cohere: Cohere.ToolV2[] = (await client.getTools("cohere")).tools;
  const bedrock: BedrockTool[] = (await client.getTools("bedrock")).tools;
  const toolConfig: ToolConfiguration = await client.getTools("bedrock", { model: "amazon.nova-pro-v1:0" });
  const ollama: OllamaTool[] = (await client.getTools("ollama")).tools;
  const xai: OpenAI.Chat.Completions.ChatCompletionTool[] = (await client.getTools("xai")).tools;
  return [chat, strict, responses, functions, anthropic, gemini, config, mistral, cohere, bedrock, toolConfig, ollama, xai];
}

export async function messages(): Promise<unknown[]> {
  const chat: OpenAI.Chat.Completions.ChatCompletionMessageParam[] = (await client.executeReply({}, { provider: "openai" })).messages;
  const responses: OpenAI.Responses.ResponseInputItem[] = (await client.executeReply({}, { provider: "openai-responses" })).messages;
  const anthropic: Anthropic.Messages.MessageParam[] = (await client.executeReply({}, { provider: "anthropic" })).messages;
  const gemini: Content[] = (await client.executeReply({}, { provider: "gemini" })).messages;
  const mistral: MistralRequest["messages"] = (await client.executeReply({}, { provider: "mistral" })).messages;
  const cohere: Cohere.ChatMessageV2[] = (await client.executeReply({}, { provider: "cohere" })).messages;
  const bedrock: BedrockMessage[] = (await client.executeReply({}, { provider: "bedrock" })).messages;
  const blocks: ContentBlock[] = bedrock.flatMap((message) => message.content ?? []);
  const ollama: OllamaMessage[] = (await client.executeReply({}, { provider: "ollama" })).messages;
  // Without a provider the messages fit wherever the reply came from.
  const any: OpenAI.Chat.Completions.ChatCompletionMessageParam[] = (await client.executeReply({})).messages;
  return [chat, responses, anthropic, gemini, mistral, cohere, bedrock, blocks, ollama, any];
}
