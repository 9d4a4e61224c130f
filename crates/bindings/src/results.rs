//! Results of tools → messages to append to the conversation.

use std::collections::HashMap;

use gateway_dialects::results::{Outcome, ResultOptions, read_result, render_results};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::engine::dialects;
use crate::error::EngineError;
use crate::read::check_unrepeated;
use crate::settings::Settings;

/// One result, and the call that it answers.
struct Answered {
    id: Option<String>,
    name: String,
    result: Value,
}

impl Answered {
    fn of(
        index: usize,
        result: Value,
        mut member: impl FnMut(&str) -> Option<Value>,
    ) -> Result<Self, EngineError> {
        let mut text = |key: &str| match member(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            // An answer under another id would belong to a call that nobody made.
            Some(_) => Err(misshapen(index)),
        };
        // Where the model knows the tool by another name, its results go by that name.
        let (wire_name, name) = (text("wireName")?, text("name")?);
        let name = wire_name.or(name).ok_or_else(|| misshapen(index))?;
        Ok(Self { id: text("id")?, name, result })
    }
}

/// Renders `[{"id", "name", "result"}]`, in which a result is one of MCP, or a text.
pub(crate) fn render(results: Value, settings: Settings) -> Result<Value, EngineError> {
    let Value::Array(results) = results else {
        return Err(EngineError::invalid("the results must be a list of {\"id\", \"name\", \"result\"}"));
    };
    let answered = results.into_iter().enumerate().map(|(index, row)| {
        let Value::Object(mut row) = row else { return Err(misshapen(index)) };
        let result = row.remove("result").ok_or_else(|| misshapen(index))?;
        Answered::of(index, result, |key| row.remove(key))
    });
    written(answered.collect::<Result<Vec<_>, _>>()?, settings)
}

/// The same out of a text, where results keep the digits of their numbers.
pub(crate) fn render_text(text: &str, settings: Settings) -> Result<Value, EngineError> {
    check_unrepeated(text)?;
    let rows: Vec<HashMap<String, &RawValue>> =
        serde_json::from_str(text).map_err(|error| EngineError::no_json("the results", &error))?;
    let answered = rows.into_iter().enumerate().map(|(index, row)| {
        let result = row.get("result").ok_or_else(|| misshapen(index))?;
        let result = read_result(result.get()).value;
        Answered::of(index, result, |key| gateway_dialects::from_slice(row.get(key)?.get().as_bytes()).ok())
    });
    written(answered.collect::<Result<Vec<_>, _>>()?, settings)
}

fn written(mut answered: Vec<Answered>, mut settings: Settings) -> Result<Value, EngineError> {
    let choice = settings.choice()?;
    let limit = settings.number("maxCharacters")?;
    settings.end()?;
    if choice.is_empty() {
        return Err(EngineError::invalid("say whose messages: name the `provider` or the `model`"));
    }
    let dialect = dialects().choose(choice.name.as_deref(), choice.model.as_deref(), &choice.compat())?;
    for one in &mut answered {
        if let Value::String(text) = &mut one.result {
            one.result = json!({"content": [{"type": "text", "text": std::mem::take(text)}]});
        }
    }
    let outcomes: Vec<Outcome<'_>> = answered
        .iter()
        .map(|one| Outcome {
            call_id: one.id.as_deref(),
            wire_name: &one.name,
            result: &one.result,
            kept: None,
        })
        .collect();
    let mut options = ResultOptions::default();
    options.max_characters = limit;
    options.model = choice.model;
    Ok(render_results(&dialect, &outcomes, &options).messages.into())
}

fn misshapen(index: usize) -> EngineError {
    EngineError::invalid(format!(
        "result {index} is no {{\"id\", \"name\", \"result\"}}: give the call's id and name as strings, and what the tool returned"
    ))
}
