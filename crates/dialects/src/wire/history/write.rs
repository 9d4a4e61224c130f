//! Neutral conversations in the messages of each API.

use serde_json::{Value, json};

use super::codec::ArgumentCodec;
use super::neutral::{Block, Message};
use super::turns::{Reply, Turn, turns};
use super::{Conversation, HistoryOptions, Warning, origin};
use super::{write_blocks, write_chat, write_gemini, write_responses};
use crate::dialect::{Dialect, MessageRules, Placement, Placements, Protocol};
use crate::wire::results::arrange::placement;
use crate::wire::results::piece::{Piece, read_block};
use crate::wire::results::{IdMap, Outcome, media, note, render_results};

/// Writes `messages` for `dialect`; `ids` learns the calls' ids, so that they can be read back.
pub fn to_dialect(
    messages: &[Message],
    dialect: &Dialect,
    codec: &dyn ArgumentCodec,
    ids: &mut IdMap,
    options: &HistoryOptions,
) -> (Conversation, Vec<Warning>) {
    if dialect.messages.protocol == Protocol::Mcp {
        let messages = messages.iter().filter_map(|message| serde_json::to_value(message).ok()).collect();
        return (Conversation { system: None, messages }, Vec::new());
    }
    let mut warnings = Vec::new();
    let turns = turns(messages, codec, ids, &mut warnings);
    let mut writer = Writer { dialect, options, warnings };
    let conversation = match dialect.messages.protocol {
        Protocol::Chat | Protocol::Functions | Protocol::CohereChat | Protocol::OllamaChat => {
            write_chat::write(&mut writer, &turns)
        }
        Protocol::Responses => write_responses::write(&mut writer, &turns),
        Protocol::Messages | Protocol::Converse => write_blocks::write(&mut writer, &turns),
        Protocol::GenerateContent => write_gemini::write(&mut writer, &turns),
        Protocol::Mcp => Conversation::default(),
    };
    (conversation, writer.warnings)
}

/// What all APIs' writers share.
pub(super) struct Writer<'w> {
    dialect: &'w Dialect,
    options: &'w HistoryOptions,
    warnings: Vec<Warning>,
}

/// A block that went through the dialect's rules.
pub(super) enum Written {
    Text(String),
    /// An image, audio or file in the API's own form.
    Media(Value),
    /// An item of the API's own, unchanged.
    Same(Value),
}

impl Writer<'_> {
    pub(super) fn rules(&self) -> &MessageRules {
        &self.dialect.messages
    }

    pub(super) fn warn(&mut self, message: usize, text: impl Into<String>) {
        self.warnings.push(Warning { message, text: text.into() });
    }

    /// A block in a user or system message; `None` when the API has no place for it.
    pub(super) fn user_block(&mut self, message: usize, block: &Block, number: usize) -> Option<Written> {
        let rules = &self.dialect.messages;
        let files = rules.placements(self.options.results.model.as_deref()).files;
        let place = |taken| if taken { Placement::Result } else { Placement::Note };
        let places = Placements { images: place(rules.user_images), audio: place(rules.user_audio), files };
        self.block(message, block, number, places)
    }

    /// A block of the model's that is neither call nor reasoning.
    pub(super) fn assistant_block(
        &mut self,
        message: usize,
        block: &Block,
        media: Placement,
    ) -> Option<Written> {
        self.block(message, block, 0, Placements { images: media, audio: media, files: media })
    }

    fn block(&mut self, message: usize, block: &Block, number: usize, places: Placements) -> Option<Written> {
        match block {
            Block::Text(text) if text.text.trim().is_empty() => None,
            Block::Text(text) => Some(Written::Text(text.text.clone())),
            Block::Thinking(_) => {
                self.warn(message, "reasoning has no place here and is left out");
                None
            }
            Block::Opaque(opaque) if opaque.origin == origin(self.rules().protocol) => {
                Some(Written::Same(opaque.payload.clone()))
            }
            Block::Opaque(opaque) => {
                self.warn(message, format!("a block of `{}` is left out", opaque.origin));
                None
            }
            Block::Image(_)
            | Block::Audio(_)
            | Block::Resource(_)
            | Block::ToolUse(_)
            | Block::ToolResult(_)
            | Block::Other(_) => {
                let value = serde_json::to_value(block).ok()?;
                Some(self.piece(message, read_block(&value), number, places))
            }
        }
    }

    fn piece(&mut self, message: usize, piece: Piece<'_>, number: usize, places: Placements) -> Written {
        match piece {
            Piece::Text(text) => Written::Text(text.into_owned()),
            Piece::Document { uri, text } => Written::Text(note::document(uri, text)),
            Piece::Note(line) => {
                self.warn(message, "an unknown block is sent as text");
                Written::Text(line)
            }
            Piece::Media(medium) => match placement(self.rules(), places, &medium) {
                Ok(Placement::Result | Placement::UserMessage) => {
                    Written::Media(media::part(self.rules().protocol, &medium, number))
                }
                Ok(Placement::Note) => {
                    self.warn(message, format!("no place for {}: a note stands for it", medium.kind.name()));
                    Written::Text(note::media(&medium, None))
                }
                Err(reason) => {
                    self.warn(message, format!("{reason}: a note stands for it"));
                    Written::Text(note::media(&medium, None))
                }
            },
        }
    }

    /// The messages of a turn's results.
    pub(super) fn results(&mut self, turn: &Turn, replies: &[Reply]) -> Vec<Value> {
        let outcomes: Vec<Outcome<'_>> = replies
            .iter()
            .map(|reply| Outcome {
                call_id: Some(&reply.id),
                wire_name: &reply.name,
                result: &reply.result,
                kept: None,
            })
            .collect();
        let rendered = render_results(self.dialect, &outcomes, &self.options.results);
        for change in rendered.changes {
            self.warn(turn.message, format!("result {}: {}", change.result, change.reason));
        }
        rendered.messages
    }

    /// All texts of a system message.
    pub(super) fn system_text(&mut self, message: usize, blocks: &[Block]) -> String {
        let mut texts = Vec::new();
        for block in blocks {
            match self.assistant_block(message, block, Placement::Note) {
                Some(Written::Text(text)) => texts.push(text),
                Some(Written::Media(_) | Written::Same(_)) => {
                    self.warn(message, "a system message takes text only");
                }
                None => {}
            }
        }
        texts.join("\n\n")
    }

    /// Collects what systems say, for an API that keeps it apart.
    pub(super) fn collect_system(
        &mut self,
        message: usize,
        blocks: &[Block],
        system: &mut Vec<String>,
        begun: bool,
    ) {
        if begun {
            self.warn(message, "a system message in mid-conversation is moved to the front");
        }
        let text = self.system_text(message, blocks);
        if !text.is_empty() {
            system.push(text);
        }
    }
}

/// Appends a message, or its content to the last one where roles must alternate.
pub(super) fn append(
    rules: &MessageRules,
    messages: &mut Vec<Value>,
    role: &str,
    key: &str,
    content: Vec<Value>,
) {
    if content.is_empty() {
        return;
    }
    if rules.alternate
        && let Some(last) =
            messages.last_mut().filter(|last| last.get("role").is_some_and(|given| given == role))
        && let Some(Value::Array(list)) = last.get_mut(key)
    {
        list.extend(content);
        return;
    }
    messages.push(json!({"role": role, key: content}));
}

/// Takes the list under `key` out of messages that were rendered for results.
pub(super) fn contents(rendered: Vec<Value>, key: &str) -> Vec<Value> {
    rendered
        .into_iter()
        .flat_map(|mut message| match message.get_mut(key).map(Value::take) {
            Some(Value::Array(list)) => list,
            Some(_) | None => Vec::new(),
        })
        .collect()
}
