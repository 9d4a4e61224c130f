//! Scripted model servers, with the real wire formats of each provider, over plain HTTP.
//!
//! What it is: a server for tests of whatever calls models. A [`Script`] says what the model does request by request; the
//! server gives it in the provider's shape, whole or streamed as the request asks, in usual or unusual pieces
//! ([`Delivery`]), with faults ([`Fault`]) and, with [`ServerOptions::strict`], with the provider's refusals. It records
//! what it was asked. A test can hold an answer back ([`Gate`]) and wait for requests, chunks and aborts.
//! The binary `gateway-model` serves scripts that are JSON ([`read_script`]).
//! What it is not: a model, or a reader of what it writes. It shares no code with the engine that it judges.
//!
//! ```
//! use gateway_testkit::models::{Delivery, Fault, Gate, ModelServer, Moment, Outcome, Quirk, Reply, Script, Step, Wire};
//! use serde_json::json;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let gate = Gate::new();
//! let call = Reply::new().reasoning("Two numbers.").text("Let me add.").call("call_1", "add", json!({"a": 1, "b": 2}));
//! let server = ModelServer::start(
//!     Wire::Chat,
//!     Script::new()
//!         .fault(Fault::RateLimitedSeconds)
//!         .step(Step::reply(call).delivered(Delivery::single_bytes().with(Quirk::Crlf)))
//!         .step(Step::reply(Reply::new().text("3.")).wait(Moment::Chunk(1), &gate)),
//! )
//! .await?;
//! println!("{}/chat/completions", server.url());
//! // … the client under test sends its requests here …
//! server.arrived(2).await?;
//! gate.open();
//! assert_eq!(server.ended(2).await?.outcome, Outcome::Answered);
//! assert_eq!(server.requests().len(), 3);
//! # Ok(())
//! # }
//! ```

mod behaviour;
mod command;
mod compose;
mod connection;
mod deliver;
mod delivery;
mod errors;
mod faults;
mod file;
mod gate;
mod models_list;
mod plan;
mod record;
mod render;
mod reply;
mod script;
mod seen;
mod server;
mod strict;
mod wire;
mod words;

pub use behaviour::{Behaviour, example};
pub use command::{ModelOptions, run};
pub use delivery::{Delivery, Pieces, Quirk};
pub use faults::Fault;
pub use file::{ScriptError, ScriptFile, read_script};
pub use gate::{Gate, Moment};
pub use record::{Outcome, RecordedRequest};
pub use reply::{Arguments, Call, Finish, Part, Reply, Usage};
pub use script::{Act, Script, Step};
pub use seen::SeenTool;
pub use server::{ModelServer, ServerOptions};
pub use strict::check_history;
pub use wire::Wire;
pub use words::UnknownWord;
