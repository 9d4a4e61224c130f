//! Definitions as MCP has them.
//!
//! Clients check a whole list against the schema of the protocol, and drop all of it for one member of another type in one
//! definition. So what the protocol does not allow is repaired before it is shown to them, or its tool is withheld. Both eras ask
//! for the same, except that a legacy `outputSchema` describes an object and a modern one anything.

use gateway_config::SCHEMA_SYNONYMS;
use gateway_protocol::{RawJson, RawObject};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// What became of a definition.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Conformed {
    /// The definition as it may be shown; `None` if it may be shown as it is.
    pub(super) repaired: Option<RawJson>,
    /// What was wrong with it.
    pub(super) faults: Vec<String>,
    /// Whether no client may see it, because nothing in it says how the tool is called.
    pub(super) is_withheld: bool,
    /// Whether clients of the legacy era may not see its `outputSchema`.
    pub(super) has_modern_output: bool,
}

/// Makes a definition one that clients accept.
pub(super) fn conform(definition: &RawJson) -> Conformed {
    let mut conformed = Conformed::default();
    // What is no object has no name, and is left out for that.
    let Ok(mut members) = RawObject::parse(definition) else { return conformed };
    let faults = &mut conformed.faults;
    let is_absent = members.get("inputSchema").is_none_or(|schema| schema.get() == "null");
    let mut synonyms = SCHEMA_SYNONYMS.into_iter().filter(|_| is_absent);
    // Under the name of another format it is the schema that arguments are checked against.
    if let Some(name) = synonyms.find(|name| members.get(name).is_some_and(is_object))
        && let Some(schema) = members.get(name).map(|schema| definition.part(schema))
        && members.set("inputSchema", &schema).is_ok()
    {
        members.remove(name);
        faults.push(format!("its schema is called `{name}`, and is shown as `inputSchema`"));
    }
    match input_schema(definition, members.get("inputSchema"), faults) {
        Ok(Some(schema)) => drop(members.set("inputSchema", &schema)),
        Ok(None) => {}
        Err(reason) => {
            faults.push(reason);
            conformed.is_withheld = true;
            return conformed;
        }
    }
    if let Some(schema) = members.get("outputSchema") {
        let type_of = |schema: RawJson| {
            let schema = RawObject::parse(&schema).ok()?;
            Some(schema.get("type")?.get() == "\"object\"")
        };
        conformed.has_modern_output = type_of(definition.part(schema)) != Some(true);
    }
    for (name, is_allowed) in MEMBERS {
        if members.get(name).is_some_and(|value| !is_allowed(value)) {
            members.remove(name);
            faults.push(format!("`{name}` is not of the type that MCP has for it, so it is not shown"));
        }
    }
    if let Some(annotations) = members.get("annotations").map(|value| definition.part(value))
        && let Ok(mut hints) = RawObject::parse(&annotations)
        && remove_wrong_hints(&mut hints, faults)
        && let Ok(hints) = hints.to_raw()
    {
        let _ = members.set("annotations", &hints);
    }
    conformed.repaired = (!faults.is_empty()).then(|| members.to_raw().ok()).flatten();
    conformed
}

/// The definition without its `outputSchema`.
pub(super) fn without_output_schema(definition: &RawJson) -> Option<RawJson> {
    let mut members = RawObject::parse(definition).ok()?;
    members.remove("outputSchema");
    members.to_raw().ok()
}

/// Whether a value is of the type that MCP has for it.
pub(crate) type Rule = fn(&RawValue) -> bool;

/// The members of a tool beside its name and input schema, and what they may be.
const MEMBERS: [(&str, Rule); 7] = [
    ("title", is_text),
    ("description", is_text),
    ("outputSchema", is_object),
    ("annotations", is_object),
    ("icons", is_icons),
    ("execution", is_execution),
    ("_meta", is_object),
];

/// The members of annotations, and what they may be.
const HINTS: [(&str, Rule); 5] = [
    ("title", is_text),
    ("readOnlyHint", is_flag),
    ("destructiveHint", is_flag),
    ("idempotentHint", is_flag),
    ("openWorldHint", is_flag),
];

fn remove_wrong_hints(hints: &mut RawObject<'_>, faults: &mut Vec<String>) -> bool {
    let before = faults.len();
    for (name, is_allowed) in HINTS {
        if hints.get(name).is_some_and(|value| !is_allowed(value)) {
            hints.remove(name);
            faults.push(format!(
                "`annotations.{name}` is not of the type that MCP has for it, so it is not shown"
            ));
        }
    }
    faults.len() > before
}

/// The input schema, where it must be another than it came; or why there cannot be one.
fn input_schema(
    definition: &RawJson,
    schema: Option<&RawValue>,
    faults: &mut Vec<String>,
) -> Result<Option<RawJson>, String> {
    let mut anything = |fault: &str| {
        faults.push(format!("{fault}, so the tool is shown as one that takes any arguments"));
        Ok(RawJson::parse(r#"{"type":"object"}"#).ok())
    };
    let Some(schema) = schema else { return anything("it has no `inputSchema`") };
    match schema.get().as_bytes().first() {
        Some(b'{') => {}
        Some(b'n') => return anything("its `inputSchema` is null"),
        Some(b't') => return anything("its `inputSchema` is true"),
        Some(b'f') => return Err("its `inputSchema` is false: no arguments satisfy it".to_owned()),
        Some(b'[') => return Err("its `inputSchema` is a list, not an object".to_owned()),
        _ => {
            let text: String = schema.get().chars().take(60).collect();
            return Err(format!("its `inputSchema` is not an object but {text}"));
        }
    }
    let schema = definition.part(schema);
    let Ok(mut members) = RawObject::parse(&schema) else { return Ok(None) };
    let before = faults.len();
    if members.get("type").is_none_or(|given| given.get() != "\"object\"") {
        let fault = type_fault(members.get("type"))?;
        let _ = members.set("type", &RawJson::text("object"));
        faults.push(fault);
    }
    repair_properties(&schema, &mut members, faults);
    if let Some(required) = members.get("required") {
        let names: Option<Vec<Value>> = serde_json::from_str(required.get()).ok();
        let is_list = names.is_some();
        let texts: Vec<Value> = names.unwrap_or_default().into_iter().filter(Value::is_string).collect();
        let kept = RawJson::of(&texts).ok().filter(|_| is_list && !texts.is_empty());
        if serde_json::from_str::<Vec<String>>(required.get()).is_err() {
            faults.push("`inputSchema.required` is no list of names; what is none is not shown".to_owned());
            match kept {
                Some(kept) => drop(members.set("required", &kept)),
                None => drop(members.remove("required")),
            }
        }
    }
    if members.get("$schema").is_some_and(|value| !is_text(value)) {
        members.remove("$schema");
        faults.push("`inputSchema.$schema` is no text, so it is not shown".to_owned());
    }
    Ok(if faults.len() > before { members.to_raw().ok() } else { None })
}

/// What is wrong with the type of an input schema that may be shown as one of objects; or why it may not.
fn type_fault(given: Option<&RawValue>) -> Result<String, String> {
    let Some(given) = given else {
        return Ok("its `inputSchema` has no `type`, which must be \"object\"".to_owned());
    };
    let names: Vec<String> = match serde_json::from_str(given.get()) {
        Ok(Value::String(name)) => vec![name],
        Ok(Value::Array(names)) => {
            names.iter().map(|name| name.as_str().unwrap_or_default().to_owned()).collect()
        }
        _ => Vec::new(),
    };
    if !names.is_empty() && names.iter().all(|name| is_other_type(name)) {
        let names = names.join("`, `");
        return Err(format!(
            "its `inputSchema` describes type `{names}`, but arguments are always an object"
        ));
    }
    Ok(format!("the `type` of its `inputSchema` is {}, and must be \"object\"", short(given)))
}

/// Whether this is the name of another type than objects, also as programmers call it.
fn is_other_type(name: &str) -> bool {
    const OTHERS: [&str; 16] = [
        "string", "str", "text", "integer", "int", "number", "float", "double", "boolean", "bool", "array",
        "list", "tuple", "set", "null", "none",
    ];
    OTHERS.contains(&name.trim().to_ascii_lowercase().as_str())
}

/// Each property must have an object as its schema; `true` and `false` are schemas for JSON Schema only.
fn repair_properties(schema: &RawJson, members: &mut RawObject<'_>, faults: &mut Vec<String>) {
    let Some(properties) = members.get("properties") else { return };
    let text = schema.part(properties);
    let Ok(mut properties) = RawObject::parse(&text) else {
        members.remove("properties");
        return faults.push("`inputSchema.properties` is no object, so it is not shown".to_owned());
    };
    let wrong: Vec<(String, bool)> = properties
        .members()
        .iter()
        .filter(|(_, value)| !is_object(value))
        .map(|(name, value)| (name.to_string(), value.get() == "false"))
        .collect();
    for (name, is_never) in &wrong {
        let instead = if *is_never { r#"{"not":{}}"# } else { "{}" };
        if let Ok(instead) = RawJson::parse(instead) {
            let _ = properties.set(name, &instead);
        }
        faults.push(format!("the schema of its parameter `{name}` is no object"));
    }
    if !wrong.is_empty()
        && let Ok(properties) = properties.to_raw()
    {
        let _ = members.set("properties", &properties);
    }
}

fn short(value: &RawValue) -> String {
    value.get().chars().take(60).collect()
}

pub(crate) fn is_object(value: &RawValue) -> bool {
    value.get().starts_with('{')
}

pub(crate) fn is_text(value: &RawValue) -> bool {
    value.get().starts_with('"')
}

fn is_flag(value: &RawValue) -> bool {
    matches!(value.get(), "true" | "false")
}

pub(crate) fn is_icons(value: &RawValue) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Icon {
        #[expect(dead_code, reason = "only its type is checked")]
        src: String,
        mime_type: Option<Value>,
        sizes: Option<Value>,
        theme: Option<Value>,
    }
    let is_fine = |icon: &Icon| {
        icon.mime_type.as_ref().is_none_or(Value::is_string)
            && icon.theme.as_ref().is_none_or(|theme| theme == "light" || theme == "dark")
            && icon
                .sizes
                .as_ref()
                .is_none_or(|sizes| sizes.as_array().is_some_and(|sizes| sizes.iter().all(Value::is_string)))
    };
    serde_json::from_str::<Vec<Icon>>(value.get()).is_ok_and(|icons| icons.iter().all(is_fine))
}

fn is_execution(value: &RawValue) -> bool {
    let Ok(Value::Object(execution)) = serde_json::from_str(value.get()) else { return false };
    execution
        .get("taskSupport")
        .is_none_or(|support| ["forbidden", "optional", "required"].iter().any(|word| support == word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn conformed(definition: &Value) -> Conformed {
        conform(&RawJson::of(definition).unwrap())
    }

    #[track_caller]
    fn check(definition: &Value, expected: &Value, faults: usize) {
        let found = conformed(definition);
        assert!(!found.is_withheld, "{definition}: {:?}", found.faults);
        let shown: Value =
            found.repaired.as_ref().map_or_else(|| definition.clone(), |raw| raw.read().unwrap());
        assert_eq!((&shown, found.faults.len()), (expected, faults), "{definition}: {:?}", found.faults);
    }

    #[test]
    fn input_schemas_are_repaired() {
        let object = json!({"type": "object"});
        check(&json!({"name": "t"}), &json!({"name": "t", "inputSchema": object}), 1);
        let schema = json!({"type": "object", "required": ["a"]});
        for name in ["input_schema", "parameters", "paramSchema"] {
            check(&json!({"name": "t", name: schema}), &json!({"name": "t", "inputSchema": schema}), 1);
        }
        let cases = [
            (json!(null), object.clone()),
            (json!(true), object.clone()),
            (json!({}), object.clone()),
            (json!({"type": "OBJECT"}), object.clone()),
            (json!({"type": "dict"}), object.clone()),
            (json!({"type": ["object", "null"]}), object.clone()),
            (json!({"type": null}), object.clone()),
            (
                json!({"anyOf": [{"required": ["a"]}]}),
                json!({"anyOf": [{"required": ["a"]}], "type": "object"}),
            ),
            (json!({"type": "object", "properties": []}), object.clone()),
            (json!({"type": "object", "required": true}), object.clone()),
            (json!({"type": "object", "required": ["a", 1]}), json!({"type": "object", "required": ["a"]})),
            (
                json!({"type": "object", "properties": {"a": true, "b": false, "c": {"type": "string"}}}),
                json!({"type": "object", "properties": {"a": {}, "b": {"not": {}}, "c": {"type": "string"}}}),
            ),
            (json!({"type": "object", "$schema": 7}), object.clone()),
        ];
        for (schema, expected) in cases {
            let faults = if schema["properties"]["a"] == true { 2 } else { 1 };
            check(
                &json!({"name": "t", "inputSchema": schema}),
                &json!({"name": "t", "inputSchema": expected}),
                faults,
            );
        }
    }

    #[test]
    fn what_takes_no_object_is_withheld() {
        for schema in [
            json!("x"),
            json!(7),
            json!([]),
            json!(false),
            json!({"type": "string"}),
            json!({"type": ["string", "null"]}),
        ] {
            let found = conformed(&json!({"name": "t", "inputSchema": schema}));
            assert!(found.is_withheld && found.faults.len() == 1, "{schema}: {found:?}");
        }
    }

    #[test]
    fn other_members_of_a_wrong_type_are_not_shown() {
        let schema = json!({"type": "object"});
        let right = json!({
            "name": "t", "title": "T", "description": "d", "inputSchema": schema, "outputSchema": schema,
            "annotations": {"title": "T", "readOnlyHint": true, "own": 1}, "_meta": {"a": 1}, "other": null,
            "icons": [{"src": "https://h/i.png", "mimeType": "image/png", "sizes": ["48x48"], "theme": "dark"}],
            "execution": {"taskSupport": "optional"},
        });
        check(&right, &right, 0);
        for (name, wrong) in [
            ("title", json!(1)),
            ("description", json!(null)),
            ("outputSchema", json!(null)),
            ("annotations", json!([])),
            ("_meta", json!("x")),
            ("icons", json!([{"src": 1}])),
            ("icons", json!("x")),
            ("execution", json!({"taskSupport": "maybe"})),
        ] {
            let (mut given, mut expected) = (right.clone(), right.clone());
            given[name] = wrong;
            expected.as_object_mut().unwrap().shift_remove(name);
            check(&given, &expected, 1);
        }
        let mut hinted = right.clone();
        hinted["annotations"]["readOnlyHint"] = json!("yes");
        let mut expected = right;
        expected["annotations"].as_object_mut().unwrap().shift_remove("readOnlyHint");
        check(&hinted, &expected, 1);
    }

    #[test]
    fn output_schemas_of_anything_are_for_the_modern_era() {
        for (schema, is_modern) in
            [(json!({"type": "object"}), false), (json!({"type": "array"}), true), (json!({}), true)]
        {
            let definition = json!({"name": "t", "inputSchema": {"type": "object"}, "outputSchema": schema});
            let found = conformed(&definition);
            assert_eq!((found.has_modern_output, found.repaired), (is_modern, None), "{schema}");
            let without = without_output_schema(&RawJson::of(&definition).unwrap()).unwrap();
            assert_eq!(without.as_str(), r#"{"name":"t","inputSchema":{"type":"object"}}"#);
        }
    }
}
