//! `replay`: a cassette as a server.

mod http;
mod stdio;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;
use gateway_cassette::{Cassette, Tape};

use crate::Outcome;
use crate::input::read_text;
use crate::runtime::block_on_threads;

/// Be the server that `record` has recorded, on standard input and output or over HTTP.
#[derive(Debug, Args)]
#[command(
    after_help = "A request that was not recorded gets an error that names the nearest one and what differs.\n\nExamples:\n  \
                  mcp-tool-gateway replay session.json\n  \
                  mcp-tool-gateway replay session.json --http --port 9000"
)]
pub(crate) struct Replay {
    /// Serve over Streamable HTTP, on loopback
    #[arg(long)]
    http: bool,
    /// The port to listen on; 0 takes a free one
    #[arg(long, value_name = "N", default_value = "0", requires = "http")]
    port: u16,
    /// The cassette
    #[arg(value_name = "CASSETTE.json")]
    cassette: PathBuf,
}

impl Replay {
    pub(crate) fn run(&self) -> Result<Outcome> {
        let (name, text) = read_text(Some(&self.cassette))?;
        let cassette = Cassette::parse(&text).with_context(|| name)?;
        let tape = Arc::new(Tape::from(cassette));
        if self.http {
            block_on_threads(None, http::serve(tape, self.port))
        } else {
            block_on_threads(None, stdio::serve(tape))
        }
    }
}
