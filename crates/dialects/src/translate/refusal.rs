//! Why a tool is left out, in words.

use serde_json::Value;

use crate::lower::Excess;
use crate::options::Options;
use crate::schema::repair::type_alias;
use crate::schema::{Members as _, TypeSet};

/// How the reason begins where a schema is larger than the budget.
pub(super) const UNBOUNDED: &str = "MCP_TOOL_SCHEMA_UNBOUNDED";

/// Why a schema cannot describe arguments at all.
pub(super) fn unusable_root(schema: &Value) -> Option<String> {
    match schema {
        Value::Object(map) => match map.member("type") {
            Some(Value::String(name))
                if TypeSet::named(name) != Some(TypeSet::OBJECT)
                    && type_alias(name).is_some_and(|name| name != "object") =>
            {
                Some(format!("the input schema describes type `{name}`, but arguments are always an object"))
            }
            Some(Value::Array(names)) if !names.is_empty() && !names.iter().any(|name| name == "object") => {
                Some("the input schema allows no object, but arguments are always an object".to_owned())
            }
            _ => None,
        },
        Value::Bool(_) => Some("the input schema is `false`: no arguments satisfy it".to_owned()),
        Value::Array(_) => Some("the input schema is a list, not an object".to_owned()),
        other => {
            let text: String = other.to_string().chars().take(60).collect();
            Some(format!("the input schema is not an object but {text}"))
        }
    }
}

impl Excess {
    pub(super) fn reason(self, options: &Options) -> String {
        let budget = &options.budget;
        let reason = match self {
            Self::Depth => format!("the schema is nested more than {} levels deep", budget.depth),
            Self::Nodes => format!("the schema has more than {} nodes", budget.nodes),
            Self::Keys => "too many ways lead to keys that must travel under other names".to_owned(),
            Self::Report => "the report on the schema would be too long".to_owned(),
            Self::Bytes => format!("the schema has more than {} bytes", budget.bytes),
        };
        format!("{UNBOUNDED}: {reason}")
    }
}
