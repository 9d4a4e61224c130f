"""OpenAI's own client for Python. Streams are put together by its `chat.completions.stream`."""

import json

import openai

import harness


class OpenAI(harness.Client):
    def __init__(self, base_url):
        super().__init__(base_url)
        self.client = openai.OpenAI(base_url=base_url, api_key="none", max_retries=0, timeout=harness.PATIENCE)

    def models(self):
        return [model.id for model in self.client.models.list()]

    def complete(self, stream, **request):
        if not stream:
            return self.client.chat.completions.create(**request)
        with self.client.chat.completions.stream(**request, stream_options={"include_usage": True}) as events:
            self.chunks = [event.chunk for event in events if event.type == "chunk"]
            return events.get_final_completion()

    def ask(self, model, stream, more=(), continuation=None):
        extra = {"extra_body": {"gateway": {"continue": continuation}}} if continuation else {}
        done = self.complete(stream, model=model, messages=harness.question(more), **extra)
        [choice] = done.choices
        # The last chunk is the one with the usage; what the client puts together has no members that it does not know.
        extra = self.chunks[-1].model_extra if stream else done.model_extra
        return {
            "text": choice.message.content,
            "reasoning": (choice.message.model_extra or {}).get("reasoning_content"),
            "finish": choice.finish_reason,
            "usage": [done.usage.prompt_tokens, done.usage.completion_tokens],
            "gateway": (extra or {}).get("gateway"),
        }

    def use_tool(self, model, stream, headers):
        messages = harness.question()
        while True:
            request = {"model": model, "messages": messages, "tools": [harness.TOOL], "extra_headers": headers}
            message = self.complete(stream, **request).choices[0].message
            if not message.tool_calls:
                return message.content
            messages.append(message)
            for call in message.tool_calls:
                assert call.function.name == "lookup", call
                result = self.lookup(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})

    def failure(self, error):
        response = getattr(error, "response", None)
        return {
            "status": getattr(error, "status_code", None),
            "retry_after": response.headers.get("retry-after") if response is not None else None,
        }


harness.run(OpenAI)
