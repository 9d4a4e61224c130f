#![doc = include_str!("../README.md")]

pub mod arguments;
pub mod check;
pub mod context;
pub mod dialect;
mod document;
mod json;
mod limits;
mod lower;
mod names;
mod options;
mod plan;
mod report;
pub mod schema;
mod text;
mod tokens;
mod tool;
mod transform;
mod translate;
mod wire;
mod work;

pub use dialect::{Dialect, DialectError, Dialects, Protocol};
pub use document::{
    DocumentError, GivenTool, JSON_DEPTH, ToolDocument, ToolOrigin, ToolSource, UnreadTool, holds_tools,
};
pub use json::{Json, from_slice};
pub use names::legal_names;
pub use options::{Budget, Defaults, EmptyRequired, Growth, Open, Options, Strict};
pub use plan::{Plan, PlanError};
pub use report::{Change, Changes, Fate};
pub use tokens::{Tokens, estimate as estimate_tokens};
pub use tool::{input_schema, schema_pointer, with_input_schema};
pub use transform::{LoneSchema, TransformedSchema};
pub use translate::{StrictRoom, ToolTranslation, Translation, Translator};
pub use wire::{calls, history, request as requests, results, stream};
pub use work::{TooMuchWork, Work};
