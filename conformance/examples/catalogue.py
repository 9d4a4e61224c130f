"""The examples: what each needs to run, and how its SDK is pointed at another server."""

import dataclasses
import pathlib
import subprocess

from programs import pinned_packages

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FOLDER = ROOT / "examples"


@dataclasses.dataclass(frozen=True)
class Example:
    """One program below examples/, the home that it runs in, the packages whose versions are shown, the wire format of its provider, and the
    variables of its SDK; `URL` and `HOST` in them stand for the provider's server."""

    file: str
    home: str
    packages: tuple
    wire: str
    environment: dict
    # How often it asks.
    questions: int = 2
    # With which words the strict server refuses it in the end, where it has to.
    refusal: str = ""
    # The variables with a base URL and with a model's name, where the API is OpenAI's.
    openai: tuple = ()

    @property
    def path(self):
        return FOLDER / self.file

    @property
    def is_given(self):
        """Whether its text is not ours to change: one call, fixed addresses, and a request that is refused in the end."""
        return bool(self.refusal)

    def lines(self):
        return len(self.path.read_text().splitlines())


OPENAI = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": "URL"}
# Traces would go to OpenAI itself, wherever the model is.
UNTRACED = {"OPENAI_AGENTS_DISABLE_TRACING": "1"}
SET_BY = ("OPENAI_BASE_URL", "OPENAI_MODEL")
GEMINI = {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": "http://HOST"}
AWS = {
    "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "URL",
    "AWS_ACCESS_KEY_ID": "none",
    "AWS_SECRET_ACCESS_KEY": "none",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
}
COHERE = {"CO_API_KEY": "none", "CO_API_URL": "http://HOST"}
OLD_GEMINI = {"GOOGLE_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": "http://HOST"}
ANTHROPIC = {"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": "http://HOST"}

EXAMPLES = [
    Example("python/openai_chat.py", "sdks", ("openai",), "chat", OPENAI, openai=SET_BY),
    Example("python/openai_responses.py", "sdks", ("openai",), "responses", OPENAI, openai=SET_BY),
    Example("python/gemini.py", "sdks", ("google-genai",), "generate-content", GEMINI),
    Example("python/gemini_legacy.py", "legacy", ("google-generativeai",), "generate-content", OLD_GEMINI),
    # Its second request begins with the call, without the question, and its text is not ours to change.
    Example(
        "python/gemini_legacy_short.py",
        "legacy",
        ("google-generativeai",),
        "generate-content",
        OLD_GEMINI,
        questions=1,
        refusal="function call turn comes immediately after a user turn",
    ),
    Example("python/anthropic_messages.py", "sdks", ("anthropic",), "messages", ANTHROPIC),
    Example("python/xai.py", "sdks", ("xai-sdk",), "xai", {"XAI_API_KEY": "none", "XAI_API_HOST": "HOST"}),
    Example("python/mistral.py", "sdks", ("mistralai",), "mistral", {"MISTRAL_API_KEY": "none", "MISTRAL_BASE_URL": "http://HOST"}),
    Example("python/cohere_v2.py", "sdks", ("cohere",), "cohere", COHERE, questions=1),
    Example("python/cohere_v2_streamed.py", "sdks", ("cohere",), "cohere", COHERE, questions=1),
    Example("python/bedrock.py", "sdks", ("boto3",), "converse", AWS, questions=1),
    Example("python/bedrock_streamed.py", "sdks", ("boto3",), "converse", AWS, questions=1),
    Example("python/ollama_chat.py", "sdks", ("ollama",), "ollama", {"OLLAMA_HOST": "http://HOST"}),
    Example("python/langchain_openai_chat.py", "sdks", ("langchain-openai", "langchain-core"), "chat", OPENAI, openai=SET_BY),
    Example("python/openai_agents.py", "sdks", ("openai-agents",), "chat", OPENAI | UNTRACED, openai=SET_BY),
    Example("typescript/ai_sdk.ts", "node", ("ai", "@ai-sdk/openai"), "chat", OPENAI, openai=SET_BY),
    Example("typescript/openai_chat.ts", "node", ("openai",), "chat", OPENAI, openai=SET_BY),
    Example("typescript/anthropic_messages.ts", "node", ("@anthropic-ai/sdk",), "messages", ANTHROPIC),
    Example("typescript/gemini.ts", "node", ("@google/genai",), "generate-content", GEMINI),
    Example("curl/openai_chat.sh", "", (), "chat", OPENAI, questions=1, openai=SET_BY),
    Example("curl/openai_chat_streamed.sh", "", (), "chat", OPENAI, questions=1, openai=SET_BY),
]


def pins(home):
    """The versions that a home is made of, by package."""
    return pinned_packages(HERE / ("package.json" if home == "node" else f"requirements-{home}.txt"))


def pinned(example):
    """The versions that an example runs with, as its home has them."""
    if not example.home:
        said = subprocess.run(["curl", "--version"], capture_output=True, text=True).stdout.split()
        return {"curl": said[1] if len(said) > 1 else "none"}
    versions = pins(example.home)
    return {name: versions[name] for name in example.packages}
