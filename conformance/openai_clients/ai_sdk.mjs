// The AI SDK, with its provider for compatible APIs or with the one for OpenAI. It runs its own tool by itself.

import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, isStepCount, jsonSchema, streamText, tool } from "ai";
import { QUESTION, UNKNOWN_MEMBERS, run } from "./harness.mjs";

const isOpenAi = process.argv[3] === "openai";

await run((baseURL) => {
  const provider = isOpenAi
    ? createOpenAI({ baseURL, apiKey: "none" })
    : createOpenAICompatible({ name: "gateway", baseURL, apiKey: "none", includeUsage: true });
  const chat = (model) => (isOpenAi ? provider.chat(model) : provider.chatModel(model));

  /** The result, once all of a stream has arrived. */
  async function generate(stream, settings) {
    const common = { prompt: QUESTION, maxRetries: 0, ...settings };
    if (!stream) return generateText(common);
    let failure;
    const result = streamText({ ...common, onError: ({ error }) => (failure = error) });
    await result.consumeStream();
    if (failure) throw failure;
    return result;
  }

  return {
    // It lists no models, and keeps nothing that OpenAI's API does not have; the provider for OpenAI has no reasoning here either.
    cannot: ["models", ...UNKNOWN_MEMBERS, ...(isOpenAi ? ["reasoning", "reasoning streamed"] : [])],

    async ask(model, stream) {
      const result = await generate(stream, { model: chat(model) });
      const usage = await result.usage;
      return {
        text: await result.text,
        reasoning: await result.reasoningText,
        finish: await result.finishReason,
        usage: [usage.inputTokens, usage.outputTokens],
      };
    },

    async useTool(model, stream, headers, lookup) {
      const schema = { type: "object", properties: { key: { type: "string" } }, required: ["key"], additionalProperties: false };
      const own = tool({ description: "Looks a key up", inputSchema: jsonSchema(schema), execute: async (input) => lookup(input) });
      const result = await generate(stream, { model: chat(model), tools: { lookup: own }, headers, stopWhen: isStepCount(5) });
      return result.text;
    },

    failure: (error) => ({ status: error.statusCode, retry_after: error.responseHeaders?.["retry-after"] }),
  };
});
