//! The description of the HTTP face: one table of routes, the OpenAPI document made from it, and a page that shows it.

mod document;
mod find;
mod history;
mod mcp;
mod page;
mod parts;
mod registry;
mod route;
mod table;
mod tools;
mod transform;

pub use document::document;
pub(crate) use find::{Found, find};
pub(crate) use page::{json, page};
pub(crate) use route::{Access, Action, Load, Route, Verb};
pub(crate) use table::ROUTES;
