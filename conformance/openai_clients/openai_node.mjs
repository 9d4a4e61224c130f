// OpenAI's own client for JavaScript. Streams are put together by its `chat.completions.stream`, and it runs its own tool by itself.

import OpenAI from "openai";
import { QUESTION, run } from "./harness.mjs";

const USAGE = { stream_options: { include_usage: true } };

await run((baseURL) => {
  const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0, timeout: 30_000 });
  return {
    cannot: [],

    async models() {
      const names = [];
      for await (const model of client.models.list()) names.push(model.id);
      return names;
    },

    async ask(model, stream, more = [], continuation = undefined) {
      const request = { model, messages: [{ role: "user", content: QUESTION }, ...more] };
      if (continuation) request.gateway = { continue: continuation };
      let done, last;
      if (stream) {
        const chunks = client.chat.completions.stream({ ...request, ...USAGE });
        chunks.on("chunk", (chunk) => (last = chunk));
        done = await chunks.finalChatCompletion();
      } else {
        done = last = await client.chat.completions.create(request);
      }
      const [choice] = done.choices;
      return {
        text: choice.message.content,
        reasoning: choice.message.reasoning_content,
        finish: choice.finish_reason,
        usage: [done.usage.prompt_tokens, done.usage.completion_tokens],
        gateway: last.gateway,
      };
    },

    async useTool(model, stream, headers, lookup) {
      const parameters = { type: "object", properties: { key: { type: "string" } }, required: ["key"] };
      const own = { name: "lookup", description: "Looks a key up", parameters, parse: JSON.parse, function: lookup };
      const request = { model, messages: [{ role: "user", content: QUESTION }], tools: [{ type: "function", function: own }] };
      const runner = client.chat.completions.runTools({ ...request, stream, ...(stream ? USAGE : {}) }, { headers });
      return runner.finalContent();
    },

    failure: (error) => ({ status: error.status, retry_after: error.headers?.get("retry-after") }),
  };
});
