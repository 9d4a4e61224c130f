//! The description of the HTTP face: one table of routes, and the OpenAPI document made from it.

#[cfg(feature = "agent")]
mod agent;
mod codes;
#[cfg(feature = "agent")]
mod conversations;
mod document;
mod find;
mod known;
mod mcp;
mod parts;
mod registry;
mod route;
mod table;
mod tools;

pub use document::document;
pub(crate) use find::{Found, find, path_parameter, route_of};
pub(crate) use route::{Access, Action, Load, Route, Verb};
pub(crate) use table::ROUTES;
