//! What a model says in one turn, in no provider's shape.

use serde_json::Value;

/// One turn of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// In the order in which the model says them.
    pub parts: Vec<Part>,
    /// Why the turn ends; by itself `Calls` where there are calls, else `Stop`.
    pub finish: Option<Finish>,
    /// What it cost.
    pub usage: Usage,
}

/// A part of a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Thoughts, with the signature that some providers want back.
    Reasoning {
        /// What was thought.
        text: String,
        /// What proves it.
        signature: Option<String>,
    },
    /// Text.
    Text(String),
    /// A call of a tool.
    Call(Call),
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Its id, if the server gives one.
    pub id: Option<String>,
    /// The tool.
    pub name: String,
    /// What it is called with.
    pub arguments: Arguments,
    /// Gemini's `thoughtSignature`.
    pub signature: Option<String>,
}

/// Arguments of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Arguments {
    /// JSON.
    Json(Value),
    /// A text that need not be JSON. Wires with objects instead of text send it as a JSON string, unless it is JSON.
    Text(String),
}

impl Arguments {
    /// As text, in which most wires have them.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Json(value) => value.to_string(),
            Self::Text(text) => text.clone(),
        }
    }

    /// As JSON, in which the others have them.
    pub(crate) fn json(&self) -> Value {
        match self {
            Self::Json(value) => value.clone(),
            Self::Text(text) => serde_json::from_str(text).unwrap_or_else(|_| text.clone().into()),
        }
    }
}

/// Why a turn ends. Each wire has its own word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model is done.
    Stop,
    /// It waits for results.
    Calls,
    /// It reached the limit of tokens.
    Length,
    /// It was stopped because of its content.
    ContentFilter,
    /// A word of the provider, as it is.
    Other(String),
}

/// Tokens of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the request.
    pub input: u64,
    /// Those of them that were cached.
    pub cached: u64,
    /// Tokens of the reply.
    pub output: u64,
    /// Those of them that are thoughts.
    pub reasoning: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self { input: 50, cached: 0, output: 30, reasoning: 0 }
    }
}

impl Usage {
    pub(crate) fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl Reply {
    /// A reply that says nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds text.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.part(Part::Text(text.into()))
    }

    /// Adds thoughts without a signature.
    #[must_use]
    pub fn reasoning(self, text: impl Into<String>) -> Self {
        self.part(Part::Reasoning { text: text.into(), signature: None })
    }

    /// Adds a call.
    #[must_use]
    pub fn call(self, id: impl Into<String>, name: impl Into<String>, arguments: Value) -> Self {
        let (id, name) = (Some(id.into()), name.into());
        self.part(Part::Call(Call { id, name, arguments: Arguments::Json(arguments), signature: None }))
    }

    /// Adds a call whose arguments are this text, JSON or not.
    #[must_use]
    pub fn call_with_text(
        self,
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        let (id, name) = (Some(id.into()), name.into());
        let arguments = Arguments::Text(arguments.into());
        self.part(Part::Call(Call { id, name, arguments, signature: None }))
    }

    /// Adds a part.
    #[must_use]
    pub fn part(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    /// Signs the last part, if it is one that can be signed.
    #[must_use]
    pub fn signature(mut self, text: impl Into<String>) -> Self {
        match self.parts.last_mut() {
            Some(Part::Reasoning { signature, .. } | Part::Call(Call { signature, .. })) => {
                *signature = Some(text.into());
            }
            Some(Part::Text(_)) | None => {}
        }
        self
    }

    /// Says why the turn ends.
    #[must_use]
    pub fn finish(mut self, finish: Finish) -> Self {
        self.finish = Some(finish);
        self
    }

    /// Says what the turn cost.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    pub(crate) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            Part::Text(_) | Part::Reasoning { .. } => None,
        })
    }

    /// All text in one.
    pub(crate) fn whole_text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Call(_) | Part::Reasoning { .. } => None,
        });
        texts.collect()
    }

    /// All thoughts in one.
    pub(crate) fn whole_reasoning(&self) -> String {
        let thoughts = self.parts.iter().filter_map(|part| match part {
            Part::Reasoning { text, .. } => Some(text.as_str()),
            Part::Call(_) | Part::Text(_) => None,
        });
        thoughts.collect()
    }

    pub(crate) fn finish_reason(&self) -> Finish {
        let by_itself = if self.calls().next().is_some() { Finish::Calls } else { Finish::Stop };
        self.finish.clone().unwrap_or(by_itself)
    }
}
