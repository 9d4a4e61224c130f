//! Results of calls that the model wrote as text.
//!
//! Such a call has no native message that a result could answer: providers refuse a result without its call. So its
//! result is text of the user, in the notation of the call.

use serde_json::Value;

use super::escape_xml;
use crate::dialect::{
    Dialect, EmptyStyle, ErrorStyle, MessageRules, Placement, ResourceStyle, StructuredStyle,
};
use crate::wire::calls::text::Notation;
use crate::wire::format;
use crate::wire::results::arrange::{self, Arranged};
use crate::wire::results::piece::Answer;
use crate::wire::results::{Media, Outcome, RenderedResults, ResultChange, ResultOptions};

/// Renders the results of calls that the model wrote as text, in order, as one message of the user.
///
/// ```
/// use gateway_dialects::Dialects;
/// use gateway_dialects::calls::text::Notation;
/// use gateway_dialects::results::{Outcome, ResultOptions, render_written_results};
/// use serde_json::json;
///
/// # fn main() -> Result<(), gateway_dialects::DialectError> {
/// let dialect = Dialects::builtin().get("openai-chat")?;
/// let result = json!({"content": [{"type": "text", "text": "42"}]});
/// let outcome = Outcome { call_id: None, wire_name: "add", result: &result, kept: None };
/// let rendered = render_written_results(&dialect, &[(Notation::Xml, outcome)], &ResultOptions::default());
/// let text = "<tool_result name=\"add\" status=\"success\">\n42\n</tool_result>";
/// assert_eq!(rendered.messages, [json!({"role": "user", "content": text})]);
/// # Ok(())
/// # }
/// ```
pub fn render_written_results(
    dialect: &Dialect,
    outcomes: &[(Notation, Outcome<'_>)],
    options: &ResultOptions,
) -> RenderedResults {
    if outcomes.is_empty() {
        return RenderedResults::default();
    }
    let rules = text_rules(&dialect.messages);
    let mut changes = Vec::new();
    let mut texts = Vec::new();
    let mut after = Vec::new();
    for (index, (notation, outcome)) in outcomes.iter().enumerate() {
        let answer = Answer::read(outcome.result);
        let report = |path, fate, reason| changes.push(ResultChange { result: index, path, fate, reason });
        let mut arranged = arrange::arrange(&rules, &answer, options, report, outcome.kept);
        after.append(&mut arranged.after);
        texts.push(result_text(*notation, outcome, &arranged));
    }
    let media: Vec<&Media<'_>> = after.iter().collect();
    let message = format(rules.protocol).user_message(&texts.join("\n"), &media);
    RenderedResults { messages: vec![message], changes }
}

/// The rules for results that are text of the user: all but media is text, and media are content of the user.
fn text_rules(rules: &MessageRules) -> MessageRules {
    let may_follow = |placement: Placement, is_taken: bool| match placement {
        Placement::Result | Placement::UserMessage if is_taken => Placement::UserMessage,
        Placement::Result | Placement::UserMessage | Placement::Note => Placement::Note,
    };
    let files = |placement| if placement == Placement::UserMessage { placement } else { Placement::Note };
    let mut rules = rules.clone();
    let (images, audio) = (rules.user_images, rules.user_audio);
    rules.images = may_follow(rules.images, images);
    rules.audio = may_follow(rules.audio, audio);
    rules.files = files(rules.files);
    for variant in &mut rules.variants {
        variant.images = variant.images.map(|placement| may_follow(placement, images));
        variant.audio = variant.audio.map(|placement| may_follow(placement, audio));
        variant.files = variant.files.map(files);
    }
    rules.resources = ResourceStyle::Text;
    rules.structured = StructuredStyle::Text;
    rules.errors = ErrorStyle::Prefix;
    rules.empty = EmptyStyle::Marker;
    rules
}

/// The result in the notation's template.
fn result_text(notation: Notation, outcome: &Outcome<'_>, arranged: &Arranged<'_>) -> String {
    let Some(rule) = notation.rule() else { return arranged.text() };
    let template = match (&rule.result_with_id, outcome.call_id) {
        (Some(template), Some(_)) => template,
        _ => &rule.result,
    };
    let status = if arranged.failed { "error" } else { "success" };
    let text = arranged.text();
    let values = [
        ("name", outcome.wire_name),
        ("id", outcome.call_id.unwrap_or_default()),
        ("status", status),
        ("content", &text),
    ];
    let mut out = String::with_capacity(template.len() + text.len());
    let mut rest = template.as_str();
    while let Some(start) = rest.find('{') {
        let (before, hole) = rest.split_at_checked(start).unwrap_or_default();
        out.push_str(before);
        rest = hole;
        let filled = values.iter().find_map(|(key, value)| {
            let after = rest.strip_prefix('{')?.strip_prefix(key)?;
            let (written, after) = if let Some(after) = after.strip_prefix('}') {
                ((*value).to_owned(), after)
            } else if let Some(after) = after.strip_prefix(":json}") {
                (Value::from(*value).to_string(), after)
            } else {
                (escape_xml(value), after.strip_prefix(":xml}")?)
            };
            Some((written, after))
        });
        if let Some((written, after)) = filled {
            out.push_str(&written);
            rest = after;
        } else {
            // A brace of the notation's own.
            out.push('{');
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    out.push_str(rest);
    out
}
