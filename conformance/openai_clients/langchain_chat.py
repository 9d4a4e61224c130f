"""LangChain's `ChatOpenAI`. Streams are put together by adding their chunks."""

import functools
import operator

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

import harness


class LangChain(harness.Client):
    # It lists no models, and drops members of answers that OpenAI's API does not have.
    cannot = ("models", "reasoning", "reasoning streamed", *harness.UNKNOWN_MEMBERS)

    def chat(self, model, headers=None):
        more = {"max_retries": 0, "timeout": harness.PATIENCE, "stream_usage": True}
        return ChatOpenAI(model=model, base_url=self.base_url, api_key="none", default_headers=headers, **more)

    @staticmethod
    def invoke(chat, stream, messages):
        return functools.reduce(operator.add, chat.stream(messages)) if stream else chat.invoke(messages)

    def ask(self, model, stream, more=(), continuation=None):
        message = self.invoke(self.chat(model), stream, [HumanMessage(harness.QUESTION)])
        usage = message.usage_metadata
        return {
            "text": message.content,
            "finish": message.response_metadata["finish_reason"],
            "usage": [usage["input_tokens"], usage["output_tokens"]],
        }

    def use_tool(self, model, stream, headers):
        @tool
        def lookup(key: str) -> str:
            """Looks a key up"""
            return self.lookup(key)

        chat = self.chat(model, headers).bind_tools([lookup])
        messages = [HumanMessage(harness.QUESTION)]
        while True:
            message = self.invoke(chat, stream, messages)
            if not message.tool_calls:
                return message.content
            messages.append(message)
            for call in message.tool_calls:
                answer = lookup.invoke(call)
                assert isinstance(answer, ToolMessage), answer
                messages.append(answer)

    def failure(self, error):
        response = getattr(error, "response", None)
        return {
            "status": getattr(error, "status_code", None),
            "retry_after": response.headers.get("retry-after") if response is not None else None,
        }


harness.run(LangChain)
