//! The fixture over stdin and stdout.

use std::io::{self, BufRead as _};
use std::sync::Arc;

use bytes::Bytes;
use gateway_protocol::{RawJson, RpcError, code, write_error};
use tokio_util::sync::CancellationToken;

use crate::exchange::Exchange;
use crate::job::{Frame, Job, Reply};
use crate::lifecycle::era_of;
use crate::message::Message;
use crate::notify::{Outbox, Subscription};
use crate::respond::Taken;
use crate::server::Server;
use crate::session::Session;
use crate::stdout::Stdout;

/// Serves until stdin ends. Blocks: requests without waiting are read, answered and written by this thread, and all answers
/// to requests that were read together are written together.
pub(crate) fn serve(server: &Arc<Server>, runtime: &tokio::runtime::Handle) -> io::Result<()> {
    let stdout = Arc::new(Stdout::default());
    let session = Arc::new(Session::new(String::new(), Some(Outbox::Stdout(Arc::clone(&stdout)))));
    server.subscribers.add_session(&session);
    let mut input = io::BufReader::with_capacity(64 * 1024, io::stdin().lock());
    let mut line = Vec::new();
    let mut out = Vec::with_capacity(64 * 1024);
    let related = Some(Outbox::Stdout(Arc::clone(&stdout)));
    let mut exchange = Exchange { session: Some(session), related, ..Exchange::default() };
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
                async move { write_reply(job.run(&server, CancellationToken::new()).await, &stdout) },
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

/// Writes the frames of a reply to stdout and exits if the reply says so.
fn write_reply(reply: Reply, stdout: &Stdout) {
    for frame in reply.frames {
        match frame {
            Frame::Message(text) => stdout.write_line(&text),
            Frame::Noise(text) => stdout.write(text.as_bytes()),
            Frame::Endless(head) => stdout.write_for_ever(&head),
        }
    }
    if let Some(code) = reply.exit {
        std::process::exit(code);
    }
}
