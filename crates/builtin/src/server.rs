//! What all built-in servers have in common.
//!
//! They speak MCP like all others, without streams. Each answers `handle(method, params)`; what all of them answer alike
//! (the handshake of both eras, the list of tools) is in [`ServerProfile`], what they read alike in [`Params`].

use gateway_protocol::{
    Implementation, MODERN, RawJson, RawObject, RpcError, code, is_modern, meta, method, negotiate_legacy,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// How long a list stays true, in milliseconds.
const LIST_TTL_MS: u64 = 3_600_000;

/// Who a built-in server is, as clients see it.
#[derive(Debug)]
pub(crate) struct ServerProfile {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) instructions: &'static str,
    /// Whether the list of tools can change, so that clients are notified.
    pub(crate) changes: bool,
}

impl ServerProfile {
    pub(crate) fn implementation(&self) -> Implementation {
        Implementation {
            name: self.name.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            title: Some(self.title.to_owned()),
        }
    }

    /// The answer to a request that every server answers, in its era. `tools` is the array of definitions.
    pub(crate) fn answer(
        &self,
        method: &str,
        params: &Params,
        tools: impl FnOnce() -> Value,
    ) -> Result<Value, RpcError> {
        match method {
            method::INITIALIZE => Ok(json!({
                "protocolVersion": negotiate_legacy(params.legacy.as_deref().unwrap_or_default()),
                "capabilities": self.capabilities(),
                "serverInfo": self.implementation(),
                "instructions": self.instructions,
            })),
            method::DISCOVER => Ok(json!({
                "resultType": "complete",
                "supportedVersions": [MODERN],
                "capabilities": self.capabilities(),
                "instructions": self.instructions,
                "ttlMs": LIST_TTL_MS,
                "cacheScope": "public",
                "_meta": {meta::SERVER_INFO: self.implementation()},
            })),
            method::PING => Ok(json!({})),
            method::LIST_TOOLS => Ok(json!({"tools": tools(), "ttlMs": LIST_TTL_MS, "cacheScope": "public"})),
            other => Err(RpcError::new(code::METHOD_NOT_FOUND, format!("Method not found: {other}"))),
        }
    }

    fn capabilities(&self) -> Value {
        if self.changes { json!({"tools": {"listChanged": true}}) } else { json!({"tools": {}}) }
    }
}

/// The members of a request's parameters that matter to built-in servers.
#[derive(Debug, Default)]
pub(crate) struct Params {
    name: Option<String>,
    uri: Option<String>,
    arguments: Option<Value>,
    /// The version of a legacy handshake.
    legacy: Option<String>,
    /// The version of a modern request.
    modern: Option<String>,
}

impl Params {
    pub(crate) fn read(params: Option<&RawJson>) -> Result<Self, RpcError> {
        let Some(params) = params else { return Ok(Self::default()) };
        let invalid = |error: serde_json::Error| RpcError::new(code::INVALID_PARAMS, error.to_string());
        let members = RawObject::parse(params).map_err(invalid)?;
        let arguments =
            members.get("arguments").map(|arguments| serde_json::from_str(arguments.get())).transpose();
        let modern = members.get("_meta").and_then(|entries| {
            let entries: RawObject<'_> = serde_json::from_str(entries.get()).ok()?;
            text(entries.get(meta::PROTOCOL_VERSION)).filter(|version| is_modern(version))
        });
        Ok(Self {
            name: text(members.get("name")),
            uri: text(members.get("uri")),
            arguments: arguments.map_err(invalid)?,
            legacy: text(members.get("protocolVersion")),
            modern,
        })
    }

    /// The tool that is called and its arguments.
    pub(crate) fn call(&mut self) -> Result<(&str, Map<String, Value>), RpcError> {
        let invalid = |text: &str| RpcError::new(code::INVALID_PARAMS, text);
        let name = self.name.as_deref().ok_or_else(|| invalid("`name` of the tool is missing"))?;
        match self.arguments.take() {
            None | Some(Value::Null) => Ok((name, Map::new())),
            Some(Value::Object(arguments)) => Ok((name, arguments)),
            Some(_) => Err(invalid("`arguments` must be an object")),
        }
    }

    /// The resource that is read.
    pub(crate) fn uri(&self) -> Result<&str, RpcError> {
        let missing = || RpcError::new(code::INVALID_PARAMS, "`uri` of the resource is missing");
        self.uri.as_deref().ok_or_else(missing)
    }

    /// Writes a result. Modern results say that they are complete, unless they say something else.
    pub(crate) fn written(&self, mut result: Value) -> Result<RawJson, RpcError> {
        if self.modern.is_some()
            && let Value::Object(members) = &mut result
        {
            members.entry("resultType").or_insert_with(|| json!("complete"));
        }
        RawJson::of(&result).map_err(|error| RpcError::new(code::INTERNAL_ERROR, error.to_string()))
    }
}

/// The error for a tool that the server does not have.
pub(crate) fn unknown_tool(name: &str) -> RpcError {
    RpcError::new(code::INVALID_PARAMS, format!("Unknown tool: {name}"))
}

fn text(value: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(value?.get()).ok()
}

/// The schema of an object; names in `optional` are not required.
pub(crate) fn object_schema(members: &[(&str, Value)], optional: &[&str]) -> Value {
    let properties: Map<String, Value> =
        members.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    let required: Vec<&str> =
        members.iter().map(|(name, _)| *name).filter(|name| !optional.contains(name)).collect();
    json!({"type": "object", "properties": properties, "required": required})
}
