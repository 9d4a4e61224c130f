"""LiteLLM's client. Streams are put together by its `stream_chunk_builder`."""

import json
import os

# It would fetch its table of prices.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm

import harness

litellm.telemetry = False
litellm.suppress_debug_info = True


class LiteLlm(harness.Client):
    # What a stream has that OpenAI's API does not have is dropped.
    cannot = ("models", "gateway member streamed", "continuation streamed")

    def complete(self, stream, model, **request):
        common = {"api_base": self.base_url, "api_key": "none", "max_retries": 0, "num_retries": 0, "timeout": harness.PATIENCE}
        if not stream:
            return litellm.completion(f"openai/{model}", **common, **request)
        request |= {"stream": True, "stream_options": {"include_usage": True}}
        chunks = list(litellm.completion(f"openai/{model}", **common, **request))
        return litellm.stream_chunk_builder(chunks, messages=request["messages"])

    def ask(self, model, stream, more=(), continuation=None):
        extra = {"extra_body": {"gateway": {"continue": continuation}}} if continuation else {}
        done = self.complete(stream, model, messages=harness.question(more), **extra)
        [choice] = done.choices
        return {
            "text": choice.message.content,
            "reasoning": getattr(choice.message, "reasoning_content", None),
            "finish": choice.finish_reason,
            "usage": [done.usage.prompt_tokens, done.usage.completion_tokens],
            "gateway": getattr(done, "gateway", None),
        }

    def use_tool(self, model, stream, headers):
        messages = harness.question()
        while True:
            request = {"messages": messages, "tools": [harness.TOOL], "extra_headers": headers}
            message = self.complete(stream, model, **request).choices[0].message
            if not message.tool_calls:
                return message.content
            messages.append(message)
            for call in message.tool_calls:
                assert call.function.name == "lookup", call
                result = self.lookup(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})

    def failure(self, error):
        response = getattr(error, "response", None)
        headers = getattr(error, "litellm_response_headers", None) or getattr(response, "headers", None) or {}
        return {"status": getattr(error, "status_code", None), "retry_after": headers.get("retry-after")}


harness.run(LiteLlm)
