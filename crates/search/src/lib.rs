//! Finding tools by words, without asking anybody: a ranked index over one list of tools.
//!
//! What it is: pure. An index is built from definitions and then only read. What it is not: it knows nothing of meaning
//! beyond a table of everyday synonyms, and nothing of callers: whoever may not see a tool must not have it in the list.
//!
//! Ranking is BM25F: a word counts more the rarer it is among the tools, and more in a name than in a description; long
//! texts gain nothing by being long. Words of the query that the list does not have are tried as beginnings of names and
//! as slips of the hand. Tools that answer more of the query stand before those that answer a part of it well. Equal
//! tools stand in the order of their names, so that the same query gives the same bytes. Where even the best tool answers
//! too little of the query, the answer says so: a list that looks right is worse than none.
//!
//! ```
//! use gateway_protocol::RawJson;
//! use gateway_search::{ToolEntry, ToolIndex};
//!
//! # fn main() -> Result<(), serde_json::Error> {
//! let read = RawJson::parse(r#"{"name": "read_file", "description": "Reads a file"}"#)?;
//! let send = RawJson::parse(r#"{"name": "send_mail", "description": "Sends a message"}"#)?;
//! let entry = |name, definition| ToolEntry { name, server: "demo", definition };
//! let index = ToolIndex::build(&[entry("read_file", &read), entry("send_mail", &send)]);
//! let found = index.search("open a document", 5);
//! assert_eq!(found.hits.first().map(|hit| hit.position), Some(0));
//! assert!(found.fit_well);
//! assert!(!index.search("order a pizza", 5).fit_well);
//! # Ok(())
//! # }
//! ```

mod fields;
mod forms;
mod index;
mod meta;
mod sentences;
mod synonyms;
mod vocabulary;
mod words;

pub use fields::ToolEntry;
pub use index::{ToolHit, ToolHits, ToolIndex};
pub use meta::{
    Beside, MetaTool, MetaTools, SearchArguments, TokenCost, describe_result, search_result, server_result,
    servers_result,
};
