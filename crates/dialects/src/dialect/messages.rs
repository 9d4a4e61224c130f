//! How calls and results travel in a dialect.

use gateway_notation::pattern;
use serde::{Deserialize, Serialize};

use super::Protocol;
use super::notations::{Notations, TextCalls};
use super::rules::yes;

/// How calls and results travel.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct MessageRules {
    /// Which API carries them.
    pub protocol: Protocol,
    /// Where an image of a result goes.
    #[serde(default)]
    pub images: Placement,
    /// Image types that are taken; empty: any.
    #[serde(default)]
    pub image_types: Vec<String>,
    /// Whether an image may be named by its address instead of sent.
    #[serde(default)]
    pub image_urls: bool,
    /// Whether a user message may hold images.
    #[serde(default = "yes")]
    pub user_images: bool,
    /// Where audio of a result goes.
    #[serde(default)]
    pub audio: Placement,
    /// Whether a user message may hold audio.
    #[serde(default)]
    pub user_audio: bool,
    /// Where a binary resource of a result goes, besides images and audio.
    #[serde(default)]
    pub files: Placement,
    /// File types that are taken; empty: any.
    #[serde(default)]
    pub file_types: Vec<String>,
    /// Models for which media go other ways; the first that matches counts.
    #[serde(default)]
    pub variants: Vec<MediaVariant>,
    /// How the text of an embedded resource is sent.
    #[serde(default)]
    pub resources: ResourceStyle,
    /// How a failed call is marked.
    #[serde(default)]
    pub errors: ErrorStyle,
    /// What stands for a result without content.
    #[serde(default)]
    pub empty: EmptyStyle,
    /// How `structuredContent` is sent.
    #[serde(default)]
    pub structured: StructuredStyle,
    /// The member of a result message that names the tool; absent: none does.
    pub tool_name_field: Option<String>,
    /// Whether calls and results carry ids.
    #[serde(default = "yes")]
    pub call_ids: bool,
    /// What the content of an assistant message is when it only calls tools.
    #[serde(default)]
    pub silent_content: SilentContent,
    /// Whether messages of one role must be one message.
    #[serde(default)]
    pub alternate: bool,
    /// Whether the members of messages are written in snake case, which some packages take only.
    #[serde(default)]
    pub snake_case: bool,
    /// The member of an assistant message that takes the model's reasoning back; absent: it goes nowhere.
    pub reasoning_field: Option<String>,
    /// Which assistant messages take it.
    #[serde(default)]
    pub reasoning_scope: ReasoningScope,
    /// The member of a call, as a path with dots, that takes the signature of its reasoning back.
    pub call_signature_field: Option<String>,
    /// The signature of a call that came without one, where one must be given.
    pub foreign_signature: Option<String>,
    /// In which notation its models write calls as text; a model's own rule stands above it.
    #[serde(default)]
    pub text_calls: TextCalls,
    /// The notations that its models are known to write where nobody parses them; a model id adds those of its family. They
    /// turn nothing on by themselves: `/execute` does not read them.
    #[serde(default, skip_serializing_if = "Notations::is_empty")]
    pub notations: Notations,
}

impl MessageRules {
    /// What an agent reads in the text of this dialect's models, if its configuration says `asked`: without a word, what
    /// the data turns on or knows of the model, and nothing for models of which it knows nothing.
    pub fn written_notations(&self, asked: Option<TextCalls>) -> Notations {
        let usual = || match self.text_calls {
            TextCalls::Off => TextCalls::from(self.notations),
            on => on,
        };
        asked.unwrap_or_else(usual).notations(self.notations)
    }

    /// Where images, audio and files of a result go for `model`.
    pub fn placements(&self, model: Option<&str>) -> Placements {
        let own = Placements { images: self.images, audio: self.audio, files: self.files };
        let Some(model) = model else { return own };
        let model = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
        self.variants
            .iter()
            .find(|variant| variant.models.iter().any(|wanted| pattern::matches(wanted, &model)))
            .map_or(own, |variant| Placements {
                images: variant.images.unwrap_or(own.images),
                audio: variant.audio.unwrap_or(own.audio),
                files: variant.files.unwrap_or(own.files),
            })
    }
}

/// Where the media of a result go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Placements {
    /// Images.
    pub images: Placement,
    /// Audio.
    pub audio: Placement,
    /// Other binary resources.
    pub files: Placement,
}

/// Where one kind of media goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Placement {
    /// Into the result.
    Result,
    /// Into user content that follows all results of the turn.
    UserMessage,
    /// Nowhere: a line of text says what there was.
    #[default]
    Note,
}

/// Other placements for some models.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct MediaVariant {
    /// Model ids, lower case, without a vendor's prefix; with the wildcards `*` and `?`.
    pub models: Vec<String>,
    /// Where images go.
    pub images: Option<Placement>,
    /// Where audio goes.
    pub audio: Option<Placement>,
    /// Where files go.
    pub files: Option<Placement>,
}

/// How the text of an embedded resource is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ResourceStyle {
    /// As text below a line with the address.
    #[default]
    Text,
    /// As a document of the provider's own.
    Document,
}

/// How a failed call is marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ErrorStyle {
    /// By the first word of the text.
    #[default]
    Prefix,
    /// By a member of the result.
    Flag,
    /// By the key under which the text stands.
    Key,
}

/// What stands for a result without content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EmptyStyle {
    /// A few words that say so.
    #[default]
    Marker,
    /// Nothing: the member is left out, unless the call failed.
    Omit,
    /// The empty text.
    Text,
}

/// How `structuredContent` is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StructuredStyle {
    /// As JSON text.
    #[default]
    Text,
    /// As an object, where it is one.
    Object,
    /// As the data of a document, where it is an object.
    Document,
}

/// What the content of an assistant message is when it only calls tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SilentContent {
    /// `null`
    #[default]
    Null,
    /// `""`
    Text,
    /// The member is left out.
    Omit,
}

/// Which assistant messages take the model's reasoning back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ReasoningScope {
    /// All.
    #[default]
    All,
    /// Those after the last message of the user.
    Loop,
}
