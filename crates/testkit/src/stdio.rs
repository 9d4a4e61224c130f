//! The fixture over stdin and stdout.

use std::io::{self, BufRead as _, Write as _};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use gateway_protocol::{RawJson, RpcError, code, write_error};
use tokio_util::sync::CancellationToken;

use crate::job::{Job, give_on_stdout};
use crate::lifecycle::{SpeaksNow, era_of};
use crate::message::Message;
use crate::notify::{Outbox, Subscription, lock};
use crate::server::{Exchange, Server, Taken};
use crate::session::Session;

/// Stdout, written in whole lines.
#[derive(Debug, Default)]
pub(crate) struct Stdout(Mutex<()>);

impl Stdout {
    pub(crate) fn write(&self, text: &[u8]) {
        let _turn = lock(&self.0);
        write_out(text);
    }

    pub(crate) fn write_line(&self, text: &[u8]) {
        let mut line = Vec::with_capacity(text.len() + 1);
        line.extend_from_slice(text);
        line.push(b'\n');
        self.write(&line);
    }

    /// Writes a line that never ends; never returns.
    pub(crate) fn write_for_ever(&self, head: &[u8]) {
        // No other line may end this one.
        let _turn = lock(&self.0);
        let filler = vec![b'x'; 64 * 1024];
        write_out(head);
        loop {
            write_out(&filler);
        }
    }
}

fn write_out(text: &[u8]) {
    let mut stdout = io::stdout().lock();
    if stdout.write_all(text).and_then(|()| stdout.flush()).is_err() {
        // The pipe is closed: the client has left.
        std::process::exit(0);
    }
}

/// Serves until stdin ends. Blocks: requests without waiting are read, answered and written by this thread, and all answers
/// to requests that were read together are written together.
pub(crate) fn serve(server: &Arc<Server>, runtime: &tokio::runtime::Handle) -> io::Result<()> {
    let stdout = Arc::new(Stdout::default());
    let session = Arc::new(Session::new(String::new(), Some(Outbox::Stdout(Arc::clone(&stdout)))));
    server.add_session(&session);
    let mut input = io::BufReader::with_capacity(64 * 1024, io::stdin().lock());
    let mut line = Vec::new();
    let mut out = Vec::with_capacity(64 * 1024);
    let mut exchange = Exchange {
        era: SpeaksNow::Legacy,
        session: Some(session),
        related: Some(Outbox::Stdout(Arc::clone(&stdout))),
        mirrored: Vec::new(),
        behind: None,
    };
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let text = line.trim_ascii();
        if !text.is_empty() {
            take_line(server, runtime, &stdout, &mut exchange, text, &mut out);
        }
        if !out.is_empty() && !input.buffer().contains(&b'\n') {
            stdout.write(&out);
            out.clear();
        }
    }
}

fn take_line(
    server: &Arc<Server>,
    runtime: &tokio::runtime::Handle,
    stdout: &Arc<Stdout>,
    exchange: &mut Exchange,
    text: &[u8],
    out: &mut Vec<u8>,
) {
    if server.wire_log.is_on() {
        server.wire_log.append(&format!(r#"{{"message":{}}}"#, String::from_utf8_lossy(text)));
    }
    let message = match Message::parse(text) {
        Ok(message) => message,
        Err(error) => {
            write_error(out, &RawJson::null(), &RpcError::new(code::PARSE_ERROR, error.to_string()));
            out.push(b'\n');
            return;
        }
    };
    exchange.era = era_of(server.options.era, &message, None);
    match server.take(&message, exchange, out) {
        Taken::Answered(_) => out.push(b'\n'),
        Taken::Accepted | Taken::Ignored => {}
        Taken::Later => {
            let job = Job { text: Bytes::copy_from_slice(text), exchange: exchange.clone() };
            let (server, stdout) = (Arc::clone(server), Arc::clone(stdout));
            let tasks = server.tasks.clone();
            tasks.spawn_on(
                async move { give_on_stdout(job.run(&server, CancellationToken::new()).await, &stdout) },
                runtime,
            );
        }
        Taken::Listen => {
            let _runtime = runtime.enter();
            let outbox = Outbox::Stdout(Arc::clone(stdout));
            server.subscribe(Subscription::from_message(server.options.serve, &message, outbox));
        }
    }
}
