//! Neutral conversations in the messages of each API.

use serde_json::{Value, json};

use super::codec::TranslatedTools;
use super::neutral::{Block, Message};
use super::turns::{Reply, Turn, TurnKind, turns};
use super::{Conversation, HistoryOptions, Warning};
use crate::dialect::{Dialect, MessageRules, Placement, Placements, ReasoningScope};
use crate::wire::results::arrange::placement;
use crate::wire::results::piece::{Piece, read_block};
use crate::wire::results::{IdMap, Outcome, note, render_results};
use crate::wire::{WireFormat, format};

/// Writes `messages` for `dialect`; `ids` learns the calls' ids, so that they can be read back.
pub fn to_dialect(
    messages: &[Message],
    dialect: &Dialect,
    codec: &TranslatedTools,
    ids: &mut IdMap,
    options: &HistoryOptions,
) -> (Conversation, Vec<Warning>) {
    let format = format(dialect.messages.protocol);
    let mut writer =
        Writer { dialect, format, codec, ids, options, takes_reasoning: true, warnings: Vec::new() };
    let mut conversation = format.write_history(&mut writer, messages);
    if dialect.messages.snake_case {
        for message in &mut conversation.messages {
            format.to_snake_case(message);
        }
    }
    (conversation, writer.warnings)
}

/// What all APIs' writers share.
pub(crate) struct Writer<'w> {
    dialect: &'w Dialect,
    format: &'static dyn WireFormat,
    codec: &'w TranslatedTools,
    ids: &'w mut IdMap,
    options: &'w HistoryOptions,
    /// Whether the message that is being written takes the model's reasoning back.
    pub(crate) takes_reasoning: bool,
    warnings: Vec<Warning>,
}

/// How an API writes messages that are lists of parts, with calls and results among them.
pub(crate) struct PartList {
    /// The model's role.
    pub(crate) model: &'static str,
    /// The member that holds the parts.
    pub(crate) key: &'static str,
    /// The request's own member for instructions.
    pub(crate) system: fn(&str) -> Value,
    /// What the model said.
    pub(crate) assistant: fn(&mut Writer<'_>, usize, &[Block]) -> Vec<Value>,
}

/// A block that went through the dialect's rules.
pub(crate) enum Written {
    Text(String),
    /// An image, audio or file in the API's own form.
    Media(Value),
    /// An item of the API's own, unchanged.
    Same(Value),
}

impl Writer<'_> {
    pub(crate) fn rules(&self) -> &MessageRules {
        &self.dialect.messages
    }

    pub(crate) fn warn(&mut self, message: usize, text: impl Into<String>) {
        self.warnings.push(Warning { message, text: text.into() });
    }

    /// A conversation as messages with a role, one for each result; `assistant` writes what the model said.
    pub(crate) fn message_list(
        &mut self,
        messages: &[Message],
        assistant: impl Fn(&mut Self, usize, &[Block]) -> Vec<Value>,
    ) -> Conversation {
        let turns = self.turns(messages);
        let last_question = turns.iter().rposition(|turn| matches!(turn.kind, TurnKind::User(_)));
        let mut written = Vec::new();
        for (index, turn) in turns.iter().enumerate() {
            match &turn.kind {
                TurnKind::System(blocks) => {
                    let text = self.system_text(turn.message, blocks);
                    written.push(self.format.message("system", text.into()));
                }
                TurnKind::User(blocks) => {
                    written.extend(self.format.write_user(self, turn.message, blocks));
                }
                TurnKind::Assistant(blocks) => {
                    self.takes_reasoning = match self.rules().reasoning_scope {
                        ReasoningScope::All => true,
                        ReasoningScope::Loop => last_question.is_none_or(|question| index > question),
                    };
                    written.extend(assistant(self, turn.message, blocks));
                }
                TurnKind::Results(replies) => written.extend(self.results(turn, replies)),
            }
        }
        Conversation { system: None, messages: written }
    }

    /// A conversation as messages that are lists of parts, with the instructions apart.
    pub(crate) fn part_list(&mut self, messages: &[Message], list: &PartList) -> Conversation {
        let mut system = Vec::new();
        let mut written = Vec::new();
        for turn in self.turns(messages) {
            let (role, parts) = match &turn.kind {
                TurnKind::System(blocks) => {
                    if !written.is_empty() {
                        self.warn(turn.message, "a system message in mid-conversation is moved to the front");
                    }
                    system.push(self.system_text(turn.message, blocks));
                    continue;
                }
                TurnKind::User(blocks) => {
                    let parts = self.user_blocks(turn.message, blocks);
                    ("user", parts.into_iter().map(|part| self.part(part)).collect())
                }
                TurnKind::Assistant(blocks) => (list.model, (list.assistant)(self, turn.message, blocks)),
                TurnKind::Results(replies) => ("user", contents(self.results(&turn, replies), list.key)),
            };
            append(self.rules(), &mut written, role, list.key, parts);
        }
        system.retain(|text| !text.is_empty());
        let system = (!system.is_empty()).then(|| (list.system)(&system.join("\n\n")));
        Conversation { system, messages: written }
    }

    fn turns(&mut self, messages: &[Message]) -> Vec<Turn> {
        turns(messages, self.codec, self.ids, &mut self.warnings)
    }

    /// A block as a member of a content list.
    pub(crate) fn part(&self, written: Written) -> Value {
        match written {
            Written::Text(text) => self.format.text_part(&text),
            Written::Media(value) | Written::Same(value) => value,
        }
    }

    /// The blocks of a user's message, without those that the API has no room for.
    pub(crate) fn user_blocks(&mut self, message: usize, blocks: &[Block]) -> Vec<Written> {
        let rules = &self.dialect.messages;
        let files = rules.placements(self.options.results.model.as_deref()).files;
        let placed = |taken| if taken { Placement::Result } else { Placement::Note };
        let placements =
            Placements { images: placed(rules.user_images), audio: placed(rules.user_audio), files };
        let mut written = Vec::with_capacity(blocks.len());
        let mut number = 0;
        for block in blocks {
            written.extend(self.block(message, block, number, placements));
            number += usize::from(matches!(block, Block::Resource(_)));
        }
        written
    }

    /// A block of the model's that is neither call nor reasoning.
    pub(crate) fn assistant_block(
        &mut self,
        message: usize,
        block: &Block,
        media: Placement,
    ) -> Option<Written> {
        self.block(message, block, 0, Placements { images: media, audio: media, files: media })
    }

    fn block(
        &mut self,
        message: usize,
        block: &Block,
        number: usize,
        placements: Placements,
    ) -> Option<Written> {
        match block {
            Block::Text(text) if text.text.trim().is_empty() => None,
            Block::Text(text) => Some(Written::Text(text.text.clone())),
            Block::Thinking(_) => {
                self.warn(message, "reasoning has no place here and is left out");
                None
            }
            Block::Opaque(opaque) if opaque.origin == self.rules().protocol.name() => {
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
                Some(self.piece(message, read_block(&value), number, placements))
            }
        }
    }

    fn piece(&mut self, message: usize, piece: Piece<'_>, number: usize, placements: Placements) -> Written {
        match piece {
            Piece::Text(text) => Written::Text(text.into_owned()),
            Piece::Document { uri, text } => Written::Text(note::document(uri, text)),
            Piece::Note(line) => {
                self.warn(message, "an unknown block is sent as text");
                Written::Text(line)
            }
            Piece::Media(medium) => match placement(self.rules(), placements, &medium) {
                Ok(Placement::Result | Placement::UserMessage | Placement::Note) => {
                    Written::Media(self.format.media_part(&medium, number))
                }
                Err(reason) => {
                    self.warn(message, format!("{reason}: a note stands for it"));
                    Written::Text(note::media(&medium, None))
                }
            },
        }
    }

    /// The messages of a turn's results.
    fn results(&mut self, turn: &Turn, replies: &[Reply]) -> Vec<Value> {
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
    fn system_text(&mut self, message: usize, blocks: &[Block]) -> String {
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
}

/// Appends a message, or its content to the last one where roles must alternate.
fn append(rules: &MessageRules, messages: &mut Vec<Value>, role: &str, key: &str, content: Vec<Value>) {
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
fn contents(rendered: Vec<Value>, key: &str) -> Vec<Value> {
    rendered
        .into_iter()
        .flat_map(|mut message| match message.get_mut(key).map(Value::take) {
            Some(Value::Array(list)) => list,
            Some(_) | None => Vec::new(),
        })
        .collect()
}
