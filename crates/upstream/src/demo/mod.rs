//! The built-in demo server: five small tools, in process, so that the first command works without any server.
//!
//! It answers in both eras. It has no clock, no I/O and no task; its only state is a small store of texts with bounds.

mod store;
mod tools;

use gateway_protocol::{
    Implementation, MODERN, RawJson, RawObject, RpcError, code, is_modern, meta, method, negotiate_legacy,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use store::Store;

/// How long a list stays true, in milliseconds: it never changes.
const LIST_TTL_MS: u64 = 3_600_000;

/// An MCP server with `add`, `multiply`, `get_weather`, `store_value` and `get_value`.
#[derive(Debug, Default)]
pub struct DemoServer {
    store: Store,
}

impl DemoServer {
    /// A server with nothing stored.
    pub fn new() -> Self {
        Self::default()
    }

    /// Who it is.
    pub fn implementation() -> Implementation {
        Implementation {
            name: "demo".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            title: Some("Built-in demo".to_owned()),
        }
    }

    /// Answers one request. Notifications need no answer and are not for this function.
    pub fn handle(&self, method: &str, params: Option<&RawJson>) -> Result<RawJson, RpcError> {
        let params = Params::read(params)?;
        let result = match method {
            method::INITIALIZE => initialize(&params),
            method::DISCOVER => discover(),
            method::PING => json!({}),
            method::LIST_TOOLS => {
                json!({"tools": tools::definitions(), "ttlMs": LIST_TTL_MS, "cacheScope": "public"})
            }
            method::CALL_TOOL => self.call(&params)?,
            other => {
                return Err(RpcError::new(code::METHOD_NOT_FOUND, format!("Method not found: {other}")));
            }
        };
        RawJson::of(&params.in_its_era(result))
            .map_err(|error| RpcError::new(code::INTERNAL_ERROR, error.to_string()))
    }

    fn call(&self, params: &Params) -> Result<Value, RpcError> {
        let invalid = |text: String| RpcError::new(code::INVALID_PARAMS, text);
        let Some(name) = params.name.as_deref() else {
            return Err(invalid("`name` of the tool is missing".to_owned()));
        };
        let empty = Map::new();
        let arguments = match &params.arguments {
            None | Some(Value::Null) => &empty,
            Some(Value::Object(arguments)) => arguments,
            Some(_) => return Err(invalid("`arguments` must be an object".to_owned())),
        };
        let outcome = tools::call(name, arguments, &self.store)
            .ok_or_else(|| invalid(format!("Unknown tool: {name}")))?;
        Ok(match outcome {
            Ok(answer) => json!({
                "content": [{"type": "text", "text": answer.to_string()}],
                "structuredContent": answer,
            }),
            Err(text) => json!({"content": [{"type": "text", "text": text}], "isError": true}),
        })
    }
}

/// The members of the parameters that matter here.
#[derive(Default)]
struct Params {
    name: Option<String>,
    arguments: Option<Value>,
    /// The version of a legacy handshake.
    legacy: Option<String>,
    /// The version of a modern request.
    modern: Option<String>,
}

impl Params {
    fn read(params: Option<&RawJson>) -> Result<Self, RpcError> {
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
            arguments: arguments.map_err(invalid)?,
            legacy: text(members.get("protocolVersion")),
            modern,
        })
    }

    /// Modern results say that they are complete.
    fn in_its_era(&self, mut result: Value) -> Value {
        if self.modern.is_some()
            && let Value::Object(members) = &mut result
        {
            members.entry("resultType").or_insert_with(|| json!("complete"));
        }
        result
    }
}

fn text(value: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(value?.get()).ok()
}

const INSTRUCTIONS: &str = "Small tools for trying things out: arithmetic, a made-up weather report, and a store of \
                            texts that lasts as long as the process.";

fn initialize(params: &Params) -> Value {
    json!({
        "protocolVersion": negotiate_legacy(params.legacy.as_deref().unwrap_or_default()),
        "capabilities": {"tools": {}},
        "serverInfo": DemoServer::implementation(),
        "instructions": INSTRUCTIONS,
    })
}

fn discover() -> Value {
    json!({
        "resultType": "complete",
        "supportedVersions": [MODERN],
        "capabilities": {"tools": {}},
        "instructions": INSTRUCTIONS,
        "ttlMs": LIST_TTL_MS,
        "cacheScope": "public",
        "_meta": {meta::SERVER_INFO: DemoServer::implementation()},
    })
}
