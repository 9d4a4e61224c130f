//! Resources, templates and prompts as MCP has them. Clients drop a whole list of all servers for one member of another type,
//! so what the protocol does not allow is left out of the entries that they are shown.

use gateway_protocol::{ListKind, RawJson, RawObject};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::catalogue::{Rule, is_icons, is_object, is_text};

/// The members of an entry beside what it is known by, and what they may be.
fn members(kind: ListKind) -> &'static [(&'static str, Rule)] {
    match kind {
        ListKind::Tools => &[],
        ListKind::Resources | ListKind::ResourceTemplates => &[
            ("title", is_text),
            ("description", is_text),
            ("mimeType", is_text),
            ("size", is_number),
            ("annotations", is_annotations),
            ("icons", is_icons),
            ("_meta", is_object),
        ],
        ListKind::Prompts => &[
            ("title", is_text),
            ("description", is_text),
            ("arguments", is_arguments),
            ("icons", is_icons),
            ("_meta", is_object),
        ],
    }
}

/// The entry as clients may see it, and what was wrong with it; `None` if it may be shown as it is.
pub(super) fn conform(kind: ListKind, entry: &RawJson) -> Option<(RawJson, Vec<String>)> {
    let mut object = RawObject::parse(entry).ok()?;
    let mut faults = Vec::new();
    let mut is_changed = false;
    // What resources and templates are known by is not their name, which they need all the same.
    let known_by = match kind {
        ListKind::Tools | ListKind::Prompts => None,
        ListKind::Resources => Some("uri"),
        ListKind::ResourceTemplates => Some("uriTemplate"),
    };
    if let Some(known_by) = known_by.filter(|_| !object.get("name").is_some_and(is_text)) {
        let name = object.get(known_by).filter(|value| is_text(value)).map(|value| entry.part(value))?;
        object.set("name", &name).ok()?;
        faults.push(format!("`name` is not a text, so it is shown by its `{known_by}`"));
    }
    for (name, is_allowed) in members(kind) {
        // Null for what is absent is common, and only some clients refuse it.
        if object.get(name).is_some_and(|value| value.get() == "null") {
            object.remove(name);
            is_changed = true;
        } else if object.get(name).is_some_and(|value| !is_allowed(value)) {
            object.remove(name);
            faults.push(format!("`{name}` is not of the type that MCP has for it, so it is not shown"));
        }
    }
    if faults.is_empty() && !is_changed {
        return None;
    }
    Some((object.to_raw().ok()?, faults))
}

fn is_number(value: &RawValue) -> bool {
    value.get().starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

fn is_annotations(value: &RawValue) -> bool {
    let Ok(Value::Object(annotations)) = serde_json::from_str(value.get()) else { return false };
    let is_role = |role: &Value| role == "user" || role == "assistant";
    let audience = annotations.get("audience");
    audience.is_none_or(|roles| roles.as_array().is_some_and(|roles| roles.iter().all(is_role)))
        && annotations.get("lastModified").is_none_or(Value::is_string)
        && annotations
            .get("priority")
            .is_none_or(|priority| priority.as_f64().is_some_and(|priority| (0.0..=1.0).contains(&priority)))
}

fn is_arguments(value: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct Argument {
        #[expect(dead_code, reason = "only its type is checked")]
        name: String,
        title: Option<Value>,
        description: Option<Value>,
        required: Option<Value>,
    }
    let is_fine = |argument: &Argument| {
        argument.title.as_ref().is_none_or(Value::is_string)
            && argument.description.as_ref().is_none_or(Value::is_string)
            && argument.required.as_ref().is_none_or(Value::is_boolean)
    };
    serde_json::from_str::<Vec<Argument>>(value.get()).is_ok_and(|arguments| arguments.iter().all(is_fine))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: ListKind, entry: &str, shown: Option<&str>) {
        let entry = RawJson::parse(entry.to_owned()).unwrap();
        let conformed = conform(kind, &entry);
        assert_eq!(conformed.as_ref().map(|(shown, _)| shown.as_str()), shown);
        let faults = conformed.map_or(0, |(_, faults)| faults.len());
        assert_eq!(faults > 0, shown.is_some() && !entry.as_str().contains("\"title\":null"));
    }

    #[test]
    fn what_mcp_does_not_allow_is_not_shown() {
        let resource = |entry: &str, shown: Option<&str>| check(ListKind::Resources, entry, shown);
        resource(r#"{"uri":"a://1","name":"a","size":3,"x":[1],"annotations":{"priority":0.5}}"#, None);
        resource(r#"{"uri":"a://1"}"#, Some(r#"{"uri":"a://1","name":"a://1"}"#));
        resource(r#"{"uri":"a://1","name":null}"#, Some(r#"{"uri":"a://1","name":"a://1"}"#));
        resource(r#"{"uri":"a://1","name":"a","title":null}"#, Some(r#"{"uri":"a://1","name":"a"}"#));
        resource(r#"{"uri":"a://1","name":"a","mimeType":5}"#, Some(r#"{"uri":"a://1","name":"a"}"#));
        resource(
            r#"{"uri":"a://1","name":"a","annotations":{"audience":["all"]},"size":"big"}"#,
            Some(r#"{"uri":"a://1","name":"a"}"#),
        );
        check(
            ListKind::ResourceTemplates,
            r#"{"uriTemplate":"a://{x}"}"#,
            Some(r#"{"uriTemplate":"a://{x}","name":"a://{x}"}"#),
        );
        let prompt = |entry: &str, shown: Option<&str>| check(ListKind::Prompts, entry, shown);
        prompt(r#"{"name":"p","arguments":[{"name":"a","required":true}]}"#, None);
        prompt(r#"{"name":"p","arguments":"x"}"#, Some(r#"{"name":"p"}"#));
        prompt(r#"{"name":"p","arguments":[{"name":"a","required":"yes"}]}"#, Some(r#"{"name":"p"}"#));
        // Without what it is known by, it is left out elsewhere.
        resource(r#"{"name":7}"#, None);
    }
}
