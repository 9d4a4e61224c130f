//! The wire formats that a model server speaks.

use super::words::words;

words! {
    /// A wire format.
    Wire, "wire":
    /// `OpenAI` Chat Completions.
    Chat = "chat";
    /// Chat Completions with `functions` and `function_call`, as they were before tools.
    Functions = "functions";
    /// Chat Completions at the paths of Azure and DIAL, with the header `api-key`.
    Dial = "dial";
    /// `OpenAI` Responses.
    Responses = "responses";
    /// Ollama's own API, and its Chat Completions beside it.
    Ollama = "ollama";
    /// Anthropic Messages.
    Messages = "messages";
    /// Gemini's `generateContent`.
    GenerateContent = "generate-content";
    /// Chat Completions of Argo, which refuses `default` in schemas when it is strict.
    Argo = "argo";
    /// Mistral's Chat Completions.
    Mistral = "mistral";
    /// Cohere's chat API, version 2.
    Cohere = "cohere";
    /// Converse and `ConverseStream` of Amazon Bedrock.
    Converse = "converse";
}

impl Wire {
    /// The wires that the gateway's agent speaks; the others are for programs with the providers' own SDKs.
    pub const OF_AGENT: &[Self] = &[
        Self::Chat,
        Self::Functions,
        Self::Dial,
        Self::Responses,
        Self::Ollama,
        Self::Messages,
        Self::GenerateContent,
        Self::Argo,
    ];

    /// The path of the base URL: what clients of this kind are configured with.
    pub(crate) fn base_path(self) -> &'static str {
        match self {
            Self::Chat | Self::Functions | Self::Responses | Self::Messages | Self::Argo => "/v1",
            Self::GenerateContent => "/v1beta",
            // SDKs of these add the version by themselves, or there is none.
            Self::Dial | Self::Ollama | Self::Mistral | Self::Cohere | Self::Converse => "",
        }
    }

    /// The model that a script is about unless it names others.
    pub fn usual_model(self) -> &'static str {
        match self {
            Self::Chat | Self::Dial => "gpt-4o",
            Self::Functions => "gpt-3.5-turbo",
            Self::Responses => "gpt-5",
            Self::Ollama => "llama3.2",
            Self::Messages => "claude-sonnet-4-5",
            Self::GenerateContent => "gemini-3-pro",
            Self::Argo => "argo:gpt-4o",
            Self::Mistral => "mistral-large-latest",
            Self::Cohere => "command-a-03-2025",
            Self::Converse => "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        }
    }
}

/// What a path of a server is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// A turn of the model, in this wire format: Ollama's server has two.
    Turn { form: Form, streamed: Streamed },
    /// The list of models.
    Models,
    /// Nothing.
    Unknown,
}

/// The shapes of requests and answers. Several wires share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Chat,
    Functions,
    Responses,
    Ollama,
    Messages,
    GenerateContent,
    Mistral,
    Cohere,
    Converse,
}

/// Who says whether an answer is streamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Streamed {
    /// The member `stream`; this where it is absent.
    ByBody { default: bool },
    /// The path.
    ByPath(bool),
}

impl Wire {
    /// What a request is for. Any prefix is accepted, since people put gateways in front of providers.
    pub(crate) fn route(self, method: &str, path: &str) -> Route {
        let by_body = |form, default| Route::Turn { form, streamed: Streamed::ByBody { default } };
        let by_path = |form, streamed| Route::Turn { form, streamed: Streamed::ByPath(streamed) };
        match (method, self) {
            ("GET", Self::Ollama) if path.ends_with("/api/tags") => Route::Models,
            ("GET", Self::Converse) if path.ends_with("/foundation-models") => Route::Models,
            ("GET", _) if path.ends_with("/models") || path.ends_with("/deployments") => Route::Models,
            ("POST", Self::Chat | Self::Argo | Self::Ollama) if path.ends_with("/chat/completions") => {
                by_body(Form::Chat, false)
            }
            ("POST", Self::Dial)
                if path.ends_with("/chat/completions") && path.contains("/openai/deployments/") =>
            {
                by_body(Form::Chat, false)
            }
            ("POST", Self::Functions) if path.ends_with("/chat/completions") => {
                by_body(Form::Functions, false)
            }
            ("POST", Self::Responses) if path.ends_with("/responses") => by_body(Form::Responses, false),
            ("POST", Self::Ollama) if path.ends_with("/api/chat") => by_body(Form::Ollama, true),
            ("POST", Self::Messages) if path.ends_with("/messages") => by_body(Form::Messages, false),
            ("POST", Self::Mistral) if path.ends_with("/v1/chat/completions") => {
                by_body(Form::Mistral, false)
            }
            ("POST", Self::Cohere) if path.ends_with("/v2/chat") => by_body(Form::Cohere, false),
            ("POST", Self::GenerateContent) if path.ends_with(":generateContent") => {
                by_path(Form::GenerateContent, false)
            }
            ("POST", Self::GenerateContent) if path.ends_with(":streamGenerateContent") => {
                by_path(Form::GenerateContent, true)
            }
            ("POST", Self::Converse) if path.contains("/model/") && path.ends_with("/converse") => {
                by_path(Form::Converse, false)
            }
            ("POST", Self::Converse) if path.contains("/model/") && path.ends_with("/converse-stream") => {
                by_path(Form::Converse, true)
            }
            _ => Route::Unknown,
        }
    }
}

impl Wire {
    /// The form of what belongs to no turn.
    pub(crate) fn usual_form(self) -> Form {
        match self {
            Self::Chat | Self::Dial | Self::Argo => Form::Chat,
            Self::Functions => Form::Functions,
            Self::Responses => Form::Responses,
            Self::Ollama => Form::Ollama,
            Self::Messages => Form::Messages,
            Self::GenerateContent => Form::GenerateContent,
            Self::Mistral => Form::Mistral,
            Self::Cohere => Form::Cohere,
            Self::Converse => Form::Converse,
        }
    }
}
