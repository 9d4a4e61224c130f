//! Questions to clients.

use serde_json::{Value, json};

/// One request to a client.
#[derive(Clone, Debug)]
pub(super) struct Question {
    /// The key of its answer.
    pub(super) key: &'static str,
    pub(super) method: &'static str,
    pub(super) params: Value,
}

impl Question {
    /// Asks the user to fill in a form.
    pub(super) fn form(key: &'static str, message: impl Into<String>, schema: &Value) -> Self {
        let message: String = message.into();
        let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
        Self { key, method: "elicitation/create", params }
    }

    /// Asks the user for one value.
    pub(super) fn field(key: &'static str, message: &str, field: &str, kind: &str) -> Self {
        let schema = json!({"type": "object", "properties": {field: {"type": kind}}, "required": [field]});
        Self::form(key, message, &schema)
    }

    /// Asks the client's model.
    pub(super) fn model(key: &'static str, prompt: &str, tokens: u32) -> Self {
        let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
        let params = json!({"messages": [message], "maxTokens": tokens});
        Self { key, method: "sampling/createMessage", params }
    }

    /// Asks for the client's roots.
    pub(super) fn roots(key: &'static str) -> Self {
        Self { key, method: "roots/list", params: json!({}) }
    }

    /// The capability that a client needs to answer.
    pub(super) fn capability(&self) -> &'static str {
        match self.method {
            "elicitation/create" => "elicitation",
            "roots/list" => "roots",
            _ => "sampling",
        }
    }

    pub(super) fn to_request(&self) -> Value {
        json!({"method": self.method, "params": self.params})
    }
}

/// A form with a default for every primitive type (SEP-1034).
pub(super) fn defaults() -> Question {
    let schema = json!({"type": "object", "properties": {
        "name": {"type": "string", "description": "User name", "default": "John Doe"},
        "age": {"type": "integer", "description": "User age", "default": 30},
        "score": {"type": "number", "description": "User score", "default": 95.5},
        "status": {
            "type": "string", "description": "User status",
            "enum": ["active", "inactive", "pending"], "default": "active"
        },
        "verified": {"type": "boolean", "description": "Verification status", "default": true},
    }, "required": []});
    Question::form("defaults", "Please review and update the form fields with defaults", &schema)
}

/// A form with every kind of choice (SEP-1330).
pub(super) fn choices() -> Question {
    let titled = |word: &str| -> Vec<Value> {
        ["First", "Second", "Third"]
            .iter()
            .enumerate()
            .map(|(index, title)| json!({"const": format!("value{}", index + 1), "title": format!("{title} {word}")}))
            .collect()
    };
    let options = ["option1", "option2", "option3"];
    let schema = json!({"type": "object", "properties": {
        "untitledSingle": {"type": "string", "description": "Select one option", "enum": options},
        "titledSingle": {
            "type": "string", "description": "Select one option with titles", "oneOf": titled("Option")
        },
        "legacyEnum": {
            "type": "string", "description": "Select one option (legacy)",
            "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]
        },
        "untitledMulti": {
            "type": "array", "description": "Select multiple options", "minItems": 1, "maxItems": 3,
            "items": {"type": "string", "enum": options}
        },
        "titledMulti": {
            "type": "array", "description": "Select multiple options with titles", "minItems": 1, "maxItems": 3,
            "items": {"anyOf": titled("Choice")}
        },
    }, "required": []});
    Question::form("choices", "Please select options from the enum fields", &schema)
}
