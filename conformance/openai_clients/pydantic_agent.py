"""pydantic-ai: its agent runs its own tool by itself, and puts streams together."""

import openai
from pydantic_ai import Agent, ThinkingPart
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import harness


class PydanticAi(harness.Client):
    # It lists no models, and keeps nothing that OpenAI's API does not have.
    cannot = ("models", *harness.UNKNOWN_MEMBERS)

    def agent(self, model):
        client = openai.AsyncOpenAI(base_url=self.base_url, api_key="none", max_retries=0, timeout=harness.PATIENCE)
        return Agent(OpenAIChatModel(model, provider=OpenAIProvider(openai_client=client)), retries=0)

    @staticmethod
    def run(agent, stream, **settings):
        async def watch(_, events):
            async for _ in events:
                pass

        # Its `run_stream` takes the first text for the answer, also where calls follow it.
        handler = {"event_stream_handler": watch} if stream else {}
        return agent.run_sync(harness.QUESTION, model_settings=settings, **handler)

    def ask(self, model, stream, more=(), continuation=None):
        result = self.run(self.agent(model), stream)
        answer = result.all_messages()[-1]
        thoughts = [part.content for part in answer.parts if isinstance(part, ThinkingPart)]
        return {
            "text": answer.text,
            "reasoning": "".join(thoughts) or None,
            "finish": answer.finish_reason,
            "usage": [answer.usage.input_tokens, answer.usage.output_tokens],
        }

    def use_tool(self, model, stream, headers):
        agent = self.agent(model)
        agent.tool_plain(self.lookup_tool())
        return self.run(agent, stream, extra_headers=headers).all_messages()[-1].text

    def lookup_tool(self):
        def lookup(key: str) -> str:
            """Looks a key up"""
            return self.lookup(key)

        return lookup

    def failure(self, error):
        cause = error.__cause__
        response = getattr(cause, "response", None)
        return {
            "status": getattr(error, "status_code", None),
            "retry_after": response.headers.get("retry-after") if response is not None else None,
        }


harness.run(PydanticAi)
