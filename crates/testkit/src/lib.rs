//! Fixture MCP servers and scripted model servers, well- and ill-behaved, for tests.
//!
//! What it is: the binary `gateway-fixture`, an MCP server over stdio, Streamable HTTP and HTTP+SSE in both eras, whose
//! tools and faults make a client's promises testable; and the helpers with which a test starts it, kills it and inspects
//! what it left behind. With `--serve everything` the same binary is a well-behaved server that offers everything that the
//! official conformance suite requires. The module [`hostile`] and the binary `gateway-attack` attack the gateway; the module
//! [`models`] plays models for whoever calls them.
//! What it is not: part of the product. Only tests and benchmarks use it.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use gateway_testkit::{Fault, Fixture, SpokenEra};
//!
//! let (command, arguments) = Fixture::stdio().era(SpokenEra::Legacy).mode(Fault::NoisyStderr).command()?;
//! let mut server = Fixture::http().mode_with(Fault::CrashEvery, 3).start().await?;
//! println!("{command:?} {arguments:?} {}", server.url());
//! server.kill().await?;
//! server.restart().await?; // on the same port
//! # Ok(())
//! # }
//! ```

mod catalogue;
mod definitions;
mod everything;
mod exchange;
mod files;
mod fixture;
pub mod hostile;
mod http;
mod job;
mod lifecycle;
mod lock;
mod message;
pub mod models;
mod modes;
mod notify;
mod options;
mod process;
mod respond;
mod run;
mod server;
mod session;
mod stdio;
mod stdout;
mod stream;
mod subscribers;
mod tools;

pub use definitions::LOSSLESS_RESULT;
pub use fixture::{Fixture, FixtureError, RunningFixture, attack_path, fixture_path, model_path};
pub use modes::{Fault, Mode, UnknownMode};
pub use options::{AnswerKind, Options, Serves, SpokenEra, Transport};
pub use process::{
    TimedOut, children_of, count_lines, count_lines_with, eventually, eventually_blocking, is_alive, pause,
};
pub use run::run;
