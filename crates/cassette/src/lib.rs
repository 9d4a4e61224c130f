//! Recorded sessions of MCP servers.
//!
//! **What it is.** A [`Cassette`] is what one server and its clients said to each other, as readable JSON. A [`Recorder`]
//! makes one of the messages that pass it; a [`Player`] is the server side of a session that answers from one. Ids of
//! requests, progress tokens and subscription ids are not in a cassette: they are those of whoever asks.
//!
//! **What it is not.** A transport: it has no I/O, no async and no clock. It does not know what a secret is either, so the
//! recorder is given the function that finds them.
//!
//! ```
//! use std::sync::Arc;
//!
//! use gateway_cassette::{Cassette, Channel, Output, Player, Recorder, Tape};
//! use gateway_protocol::{Incoming, parse_message};
//!
//! let read = |text: &'static str| parse_message(text.as_bytes().into());
//! let mut recorder = Recorder::new(Box::new(|_| None));
//! recorder.client(0, &read(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"}}"#)?);
//! recorder.server(0, &Channel::Shared, &read(r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#)?);
//! let cassette = Cassette::parse(&recorder.cassette("example", "stdio").to_text()?)?;
//!
//! let mut player = Player::new(Arc::new(Tape::from(cassette)));
//! let Incoming::Request(request) = read(r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"add"}}"#)?
//! else { return Ok(()) };
//! let answers: Vec<Output> = player.request(0, &request);
//! assert_eq!(answers[0].text, br#"{"jsonrpc":"2.0","id":"x","result":{"content":[]}}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod canonical;
mod cassette;
mod draft;
mod error;
mod json_text;
mod matching;
mod player;
mod protocol_ids;
mod recorder;
mod secrets;

pub use cassette::{Cassette, Entry, FORMAT, Recorded, Reply, Sent, ServerMessage};
pub use draft::{Changes, Draft};
pub use error::CassetteError;
pub use player::{Output, Player, Tape, Target};
pub use recorder::{Channel, Recorder, Redact, Redacted};

/// What stands in a cassette where a secret was.
pub use matching::REDACTED;
