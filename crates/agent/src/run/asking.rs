//! Asking a model: the right dialect, careful where the API dislikes a schema, another model where one gives no answer.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use gateway_dialects::Dialect;
use gateway_dialects::calls::text::{Notations, OfferedTools};
use gateway_dialects::calls::{Reply, TextScan};
use gateway_dialects::history::TranslatedTools;
use gateway_dialects::requests::ToolChoice;
use gateway_dialects::stream::{Outcome, StreamEvent, StreamOptions, StreamedCall, TextStream};

use super::reader::{WithReader, definition};
use super::request::AgentRequest;
use super::shown::READ_RESULT;
use super::{Event, Events};
use crate::chat_dialect::chat_dialect;
use crate::error::{AgentError, ModelError, ModelFailure};
use crate::history::History;
use crate::model::{Answer, Ask, Model};
use crate::screening::Screen;
use crate::toolbox::{Offer, Toolbox};

/// Who is asked, and with which tools.
pub(super) struct Asking<'a> {
    models: &'a [Arc<dyn Model>],
    tools: &'a dyn Toolbox,
    screen: Option<&'a Arc<Screen>>,
    /// Which of the models is asked.
    current: usize,
    /// Whether its careful dialect is in use.
    is_careful: bool,
    /// What it was offered, and in which dialect. The same for all rounds, so that caches of prompts hold.
    offered: Option<(Arc<Dialect>, Arc<Offer>)>,
    /// Whether the model is offered the tool that reads long results, behind all others.
    has_reader: bool,
    ignored: Vec<String>,
    /// The reply that is being read, as far as it came.
    reply: Reply,
    /// What the operator should know.
    pub(super) notices: Vec<String>,
}

impl<'a> Asking<'a> {
    pub(super) fn new(
        models: &'a [Arc<dyn Model>],
        tools: &'a dyn Toolbox,
        screen: Option<&'a Arc<Screen>>,
    ) -> Self {
        Self {
            models,
            tools,
            screen,
            current: 0,
            is_careful: false,
            offered: None,
            has_reader: false,
            ignored: Vec::new(),
            reply: Reply::default(),
            notices: Vec::new(),
        }
    }

    /// What the model was offered.
    pub(super) fn offer(&self) -> Option<Arc<Offer>> {
        self.offered.as_ref().map(|(_, offer)| Arc::clone(offer))
    }

    /// Offers the tool that reads long results from now on.
    pub(super) fn offer_reader(&mut self) {
        self.has_reader = true;
    }

    /// Whether a call of this name is of that tool. A tool of the same name that was offered before it comes first, ours or the caller's.
    pub(super) fn is_reader(&self, name: &str) -> bool {
        let is_taken = || {
            let offer = self.offered.as_ref().map(|(_, offer)| offer);
            offer.is_some_and(|offer| offer.offered.is_offered(name) || !self.tools.owns(offer, name))
        };
        self.has_reader && name == READ_RESULT && !is_taken()
    }

    /// What has come of a reply that is not waited for any longer.
    pub(super) fn take_unfinished(&mut self) -> Reply {
        std::mem::take(&mut self.reply)
    }

    /// Reports an answer that is nothing but a call of an offered tool, where calls in the text are not read because nobody said that this
    /// model writes any.
    pub(super) fn note_unread_call(&mut self, text: &str) {
        let (Some(model), Some((_, offer))) = (self.models.get(self.current), &self.offered) else { return };
        let notations = model.unread_notations();
        if notations.is_empty() || offer.list.is_none() {
            return;
        }
        if let Some(tool) = only_call(text, notations, Arc::clone(&offer.offered)) {
            let name = model.name();
            let notice = format!(
                "the answer of model `{name}` looks like a call of `{tool}`, which was not made; if the model writes its calls as \
                 text, set `models.{name}.text` to \"auto\""
            );
            tracing::warn!(model = name, tool, "An answer looks like a call, which was not made.");
            self.notices.push(notice);
        }
    }

    /// In which notations the model writes calls as text.
    pub(super) fn notations(&self) -> Notations {
        self.models.get(self.current).map_or(Notations::NONE, |model| model.notations())
    }

    pub(super) fn dialect(&self) -> &Dialect {
        match (&self.offered, self.models.get(self.current)) {
            (Some((dialect, _)), _) => dialect,
            (None, Some(model)) => model.dialect(),
            // Where no model can be asked, nothing is written in it.
            (None, None) => chat_dialect(),
        }
    }

    pub(super) fn codec(&self) -> &TranslatedTools {
        static NONE: std::sync::LazyLock<TranslatedTools> =
            std::sync::LazyLock::new(TranslatedTools::default);
        self.offered.as_ref().map_or(&NONE, |(_, offer)| &offer.codec)
    }

    /// Notes who answered, and what was ignored.
    pub(super) fn name(&self, model: &mut String, ignored: &mut Vec<String>) {
        if let Some(current) = self.models.get(self.current) {
            current.name().clone_into(model);
        }
        ignored.clone_from(&self.ignored);
    }

    /// Asks for one reply, and passes it on as it comes.
    pub(super) async fn ask(
        &mut self,
        history: &History,
        nudge: Option<&str>,
        request: &AgentRequest,
        is_first: bool,
        mut events: Events<'_>,
    ) -> Result<Reply, AgentError> {
        // A forced choice counts for the first round only: else no model could ever answer.
        let choice = match &request.tool_choice {
            forced if forced.is_forced() && !is_first => &ToolChoice::Auto,
            other => other,
        };
        let history = match nudge {
            Some(nudge) => Cow::Owned(history.nudged(nudge)),
            None => Cow::Borrowed(history),
        };
        loop {
            // Boxed, so that a stream that waits for the next chunk does not hold room for the beginning.
            let failure = match Box::pin(self.begin(&history, request, choice)).await {
                Ok(answer) => match self.read(answer, &mut events).await {
                    Ok(reply) => return Ok(reply),
                    Err(Broken::Untouched(error)) => error,
                    Err(Broken::Begun(error)) => return Err(error),
                },
                Err(AgentError::Model(error)) => error,
                Err(other) => return Err(other),
            };
            if !self.adapt(&failure) {
                return Err(failure.into());
            }
        }
    }

    async fn begin(
        &mut self,
        history: &History,
        request: &AgentRequest,
        choice: &ToolChoice,
    ) -> Result<Answer, AgentError> {
        let Some(model) = self.models.get(self.current) else {
            return Err(no_model());
        };
        let careful = if self.is_careful { model.careful_dialect() } else { None };
        let dialect = careful.unwrap_or_else(|| Arc::clone(model.dialect()));
        let offer = match &self.offered {
            Some((offered_in, offer)) if Arc::ptr_eq(offered_in, &dialect) => Arc::clone(offer),
            Some(_) | None => {
                let questions = history.questions();
                let offer = self.tools.offer_to(model.name(), &dialect, &questions).await;
                let offer = Arc::new(offer.map_err(AgentError::Tools)?);
                let new = offer.notices.iter().filter(|notice| !self.notices.contains(notice));
                let new: Vec<String> = new.cloned().collect();
                self.notices.extend(new);
                self.offered = Some((Arc::clone(&dialect), Arc::clone(&offer)));
                offer
            }
        };
        let conversation = history.render(&dialect, &offer.codec, Some(model.name()));
        let notations = model.notations();
        let text = if notations.is_empty() || offer.list.is_none() {
            TextScan::Off
        } else {
            let offered = Arc::clone(&offer.offered);
            let has_reader = self.is_reader(READ_RESULT);
            TextScan::AtEnd(notations, if has_reader { Arc::new(WithReader(offered)) } else { offered })
        };
        let with_reader =
            if self.is_reader(READ_RESULT) { appended(offer.list.as_ref(), &dialect) } else { None };
        let ask = Ask {
            conversation: &conversation,
            tools: with_reader.as_ref().or(offer.list.as_ref()),
            tool_choice: choice,
            settings: &request.settings,
            stream: request.stream,
            text,
            offered: Some(offer.offered.as_ref()),
            calls_so_far: history.count_calls(),
        };
        let mut answer = model.ask(ask).await?;
        if let Some(screen) = self.screen {
            answer.events = screen.answers(answer.events);
        }
        self.ignored.clone_from(&answer.ignored);
        Ok(answer)
    }

    /// Reads a reply to its end.
    async fn read(&mut self, answer: Answer, events: &mut Events<'_>) -> Result<Reply, Broken> {
        self.reply = Reply::default();
        let mut stream = answer.events;
        let mut has_begun = false;
        while let Some(event) = stream.next().await {
            let event = match event {
                // Models that think aloud leave empty lines behind their thoughts.
                Ok(StreamEvent::Text(text))
                    if self.reply.text.is_empty() && !self.reply.reasoning.is_empty() =>
                {
                    match text.trim_start() {
                        "" => continue,
                        rest => StreamEvent::Text(rest.to_owned()),
                    }
                }
                Ok(event) => event,
                Err(error) if has_begun => return Err(Broken::Begun(error.into())),
                Err(error) => return Err(Broken::Untouched(error)),
            };
            let shown = match &event {
                StreamEvent::Text(text) => Some(Event::Text(text.clone())),
                StreamEvent::Reasoning(text) => Some(Event::Reasoning(text.clone())),
                _ => None,
            };
            if let Some(shown) = shown {
                has_begun = true;
                events.emit(shown).await.map_err(Broken::Begun)?;
            }
            if let Err(error) = self.reply.take(event) {
                let failure = ModelFailure::Malformed(error.to_string());
                let error = ModelError { model: self.model_name(), kind: None, failure };
                return Err(if has_begun { Broken::Begun(error.into()) } else { Broken::Untouched(error) });
            }
        }
        self.reply.name_notation();
        Ok(self.take_unfinished())
    }

    /// Whether another attempt may do better: with careful tools, or with the next model.
    fn adapt(&mut self, error: &ModelError) -> bool {
        let Some(model) = self.models.get(self.current) else { return false };
        if !self.is_careful && model.careful_dialect().is_some() && self.blames_tools(&error.failure) {
            tracing::warn!(%error, "The model's API refused the tools; they are sent more carefully.");
            self.notices.push(format!("{error}; asked again with tools written more carefully"));
            self.is_careful = true;
            return true;
        }
        let next = self.models.get(self.current + 1);
        // A key or a name that this API does not know says nothing about the next one.
        let is_closed = matches!(error.failure, ModelFailure::Status { status: 401 | 403 | 404, .. });
        let is_lost =
            error.failure.is_passing() || is_closed || matches!(error.failure, ModelFailure::Malformed(_));
        if let (true, Some(next)) = (is_lost, next) {
            tracing::warn!(%error, next = next.name(), "The next model is asked.");
            self.notices.push(format!("{error}; model `{}` was asked", next.name()));
            self.current += 1;
            self.is_careful = false;
            // It may take more tools, or fewer.
            self.offered = None;
            return true;
        }
        false
    }

    /// Whether an API refuses a request because of a tool or of its schema.
    fn blames_tools(&self, failure: &ModelFailure) -> bool {
        let ModelFailure::Status { status: 400 | 422, message, .. } = failure else { return false };
        let Some((_, offer)) = &self.offered else { return false };
        offer.list.is_some() && names_tools(message, |name| offer.offered.is_offered(name))
    }

    fn model_name(&self) -> String {
        self.models.get(self.current).map(|model| model.name().to_owned()).unwrap_or_default()
    }
}

/// Whether an API's words are about a tool or its schema. A tool may be called like a common word, so that its name counts only if it is
/// quoted, follows a word for tools, or is no word of a language.
fn names_tools(message: &str, is_offered: impl Fn(&str) -> bool) -> bool {
    const PLACES: [&str; 7] = [
        "tools[",
        "tools.",
        "function_declarations",
        "functiondeclarations",
        "$ref",
        "tool definition",
        "functions[",
    ];
    // Answers have schemas too.
    const OTHER_SCHEMAS: [&str; 5] =
        ["response_format", "text.format", "response_schema", "responseschema", "response_json_schema"];
    const BEFORE_NAMES: [&str; 6] = ["tool", "tools", "function", "functions", "name", "named"];
    let lower = message.to_lowercase();
    if PLACES.iter().any(|place| lower.contains(place)) {
        return true;
    }
    // Settings of a request are parameters too.
    let is_about_tools = || lower.contains("tool") || lower.contains("function");
    if lower
        .match_indices("parameters")
        .any(|(at, word)| is_in_path(&lower, at, word.len()) || is_about_tools())
    {
        return true;
    }
    if lower.contains("schema") && !OTHER_SCHEMAS.iter().any(|other| lower.contains(other)) {
        return true;
    }
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
    let (mut before, mut end) = ("", 0);
    for word in message.split(|letter| !is_of_name(letter)) {
        let start = end;
        end = start + word.len() + message.get(start + word.len()..).map_or(0, next_length);
        let name = word.trim_end_matches('.');
        if name.is_empty() {
            continue;
        }
        let quote = message.get(..start).and_then(|text| text.chars().next_back());
        let is_quoted = quote.is_some_and(|quote| {
            matches!(quote, '\'' | '"' | '`')
                && message.get(start + name.len()..).is_some_and(|rest| rest.starts_with(quote))
        });
        let is_technical = || name.chars().skip(1).any(|letter| !letter.is_ascii_lowercase());
        let follows = || BEFORE_NAMES.contains(&before.to_lowercase().as_str());
        if is_offered(name) && (is_quoted || is_technical() || follows()) {
            return true;
        }
        before = name;
    }
    false
}

/// Whether a word is a step of a path such as `tools.0.parameters.properties`.
fn is_in_path(text: &str, at: usize, length: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let mut after = text.get(at + length..).unwrap_or_default().chars();
    let mut goes_on = || match after.next() {
        Some('[') => true,
        Some('.' | '/') => after.next().is_some_and(char::is_alphanumeric),
        Some(_) | None => false,
    };
    before.ends_with(['.', '/', ']']) || goes_on()
}

/// Bytes of the first character.
fn next_length(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

/// The tool that a text calls, if the text is one call in one of these notations, of an offered tool that takes the arguments.
fn only_call(text: &str, notations: Notations, offered: Arc<dyn OfferedTools>) -> Option<String> {
    /// Bytes that are looked at together. Most answers show in the first of them that they are prose.
    const PIECE: usize = 256;
    /// Longer answers are not looked at.
    const LONGEST: usize = 16 << 10;
    if text.len() > LONGEST {
        return None;
    }
    let mut options = StreamOptions::default();
    options.text = TextScan::AtEnd(notations, offered);
    let mut stream = TextStream::new(options);
    let (mut rest, mut calls) = (text, Vec::new());
    loop {
        let (piece, after) = rest.split_at_checked(rest.floor_char_boundary(PIECE))?;
        let events = if piece.is_empty() { stream.finish() } else { stream.push(piece) };
        for event in events {
            match event {
                StreamEvent::Text(text) if text.trim().is_empty() => {}
                StreamEvent::Call(StreamedCall { call, outcome: Outcome::Complete }) => calls.push(call.name),
                StreamEvent::Source(_) | StreamEvent::Reasoning(_) => {}
                _ => return None,
            }
        }
        if piece.is_empty() {
            break;
        }
        rest = after;
    }
    (calls.len() == 1).then(|| calls.pop()).flatten()
}

/// A list of tools with the one that reads long results behind it: caches of prompts hold for what was there before.
fn appended(list: Option<&Bytes>, dialect: &Arc<Dialect>) -> Option<Bytes> {
    let definition = definition(dialect)?;
    let mut whole = list.and_then(|list| list.strip_suffix(b"]")).unwrap_or(b"[").to_vec();
    if whole.len() > 1 {
        whole.push(b',');
    }
    whole.extend_from_slice(definition.as_bytes());
    whole.push(b']');
    Some(whole.into())
}

/// How a reply broke off.
enum Broken {
    /// Before anything of it was passed on.
    Untouched(ModelError),
    /// After that, or because nobody listens.
    Begun(AgentError),
}

fn no_model() -> AgentError {
    let failure = ModelFailure::Request("there is no model to ask".to_owned());
    ModelError { model: String::new(), kind: None, failure }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tools_count_only_where_tools_are_meant() {
        let is_offered = |name: &str| ["add", "search", "get_time", "Read"].contains(&name);
        for (message, expected) in [
            ("Invalid schema for function 'add': In context=(), array schema missing items.", true),
            ("invalid tool call name: add", true),
            ("function add is not supported.", true),
            ("The tool `search` is refused", true),
            ("\"search\" cannot be used", true),
            ("get_time cannot be used.", true),
            ("tools.0.custom.name: String should match pattern", true),
            ("Please add a user message.", false),
            ("Read the manual.", false),
            ("The search of your subscription is over: add credits", false),
            ("Add credits to search again", false),
            ("Invalid schema for response_format 'answer': 'required' is missing", false),
            ("Invalid schema for response_format 'add'", true),
            ("Unsupported value: 'temperature' does not support 0.5 with this model.", false),
            ("added, searching, é add's", false),
            ("Invalid parameters: max_tokens is too large", false),
            ("Invalid parameters. Read the manual.", false),
            ("Unsupported parameters", false),
            ("request.parameters.properties: unknown keyword", true),
            ("Invalid parameters for the function: additionalProperties", true),
            ("('body', 'tools', 0, 'function', 'parameters'): not an object", true),
        ] {
            assert_eq!(names_tools(message, is_offered), expected, "{message}");
        }
    }
}
