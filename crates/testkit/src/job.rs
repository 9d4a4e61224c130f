//! Requests that take time or have faults.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gateway_protocol::method;
use tokio_util::sync::CancellationToken;

use crate::exchange::{Called, Exchange};
use crate::message::Message;
use crate::modes::{Fault, Modes};
use crate::notify::Outbox;
use crate::respond::{begin_answer, end_answer};
use crate::server::Server;
use crate::tools::{Exit, Structured, write_result};

/// A request that is not answered at once.
#[derive(Debug)]
pub(crate) struct Job {
    /// The whole message.
    pub(crate) text: Bytes,
    pub(crate) exchange: Exchange,
}

/// The outcome of a job.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    /// Messages and other texts, in order.
    pub(crate) frames: Vec<Frame>,
    /// The HTTP status; 200 by default.
    pub(crate) status: Option<u16>,
    /// The exit status of the process afterwards, if it is to exit.
    pub(crate) exit: Option<i32>,
    /// The faults of the request, for those that only a transport can produce.
    pub(crate) faults: Modes,
}

/// A part of the output.
#[derive(Debug)]
pub(crate) enum Frame {
    /// One message, or its faulty replacement.
    Message(Vec<u8>),
    /// Lines between messages, only on stdio.
    Noise(&'static str),
    /// A message that begins like this and never ends.
    Endless(Vec<u8>),
}

impl Reply {
    /// Sends the messages, and exits if the reply says so.
    pub(crate) async fn send(self, outbox: &Outbox) {
        for frame in self.frames {
            if let Frame::Message(text) = frame {
                outbox.send(&text);
            }
        }
        outbox.finish();
        if let Some(code) = self.exit {
            // The answer needs a moment to reach the wire.
            tokio::time::sleep(Duration::from_millis(50)).await;
            std::process::exit(code);
        }
    }
}

impl Job {
    /// Works until it is done or `cancelled`, by a notification or through the token.
    pub(crate) async fn run(self, server: &Arc<Server>, cancelled: CancellationToken) -> Reply {
        let Ok(message) = Message::parse(&self.text) else { return Reply::default() };
        server.begin(&self.exchange, message.id_text(), &cancelled);
        let reply = self.attempt(server, &message, &cancelled).await;
        server.end(&self.exchange, message.id_text());
        reply
    }

    async fn attempt(
        &self,
        server: &Arc<Server>,
        message: &Message<'_>,
        cancelled: &CancellationToken,
    ) -> Reply {
        let modes = &server.modes;
        let is_list = message.method() == method::LIST_TOOLS;
        let is_opening = matches!(message.method(), method::INITIALIZE | method::DISCOVER);
        if modes.has(Fault::SilentList) && is_list {
            cancelled.cancelled().await;
            return Reply::default();
        }
        if modes.has(Fault::CrashAtInitialize) && is_opening && server.fault_happens() {
            return Reply { exit: Some(1), ..Reply::default() };
        }
        if let Some(bytes) = modes.get(Fault::NoisyStderr).filter(|_| message.method() == method::CALL_TOOL) {
            make_noise(bytes);
        }
        let faults = server.faults_of(message).filtered(|mode| Some(mode.fault) != self.exchange.behind);
        if faults.has(Fault::CrashBeforeCall) {
            return Reply { exit: Some(1), ..Reply::default() };
        }
        if faults.has(Fault::HttpStatus) || faults.has(Fault::Redirect) {
            return Reply { faults, ..Reply::default() };
        }
        if let Some(ms) = faults.get(Fault::Slow).or_else(|| faults.get(Fault::OutOfOrder)) {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
        let Some(mut reply) = self.produce(server, message, cancelled).await else {
            return Reply::default();
        };
        if faults.has(Fault::CrashDuringCall) || faults.has(Fault::CrashEvery) {
            return Reply { exit: Some(1), ..Reply::default() };
        }
        if faults.has(Fault::NeverAnswers) {
            cancelled.cancelled().await;
            server.counter.append(&format!("cancelled {}", message.id_text()));
            return Reply::default();
        }
        if faults.has(Fault::CrashAfterCall) || modes.has(Fault::CrashAfterList) && is_list {
            reply.exit = Some(1);
        }
        if modes.has(Fault::UnknownFields) {
            for frame in &mut reply.frames {
                add_unknown_fields(frame);
            }
        }
        if modes.has(Fault::StdoutNoise) {
            reply.frames.insert(0, Frame::Noise("Debug: handling a request\n\n{not json}\n"));
        }
        self.distort(message, &faults, &mut reply);
        reply.faults = faults;
        if is_list {
            server.storm_if_due();
        }
        reply
    }

    /// The correct answer; `None` if a cancelled request gets none.
    async fn produce(
        &self,
        server: &Server,
        message: &Message<'_>,
        cancelled: &CancellationToken,
    ) -> Option<Reply> {
        let mut reply = Reply::default();
        let mut out = Vec::new();
        begin_answer(&mut out, message.id_text());
        let era = self.exchange.era;
        let error = match server.respond(message, &self.exchange, &mut out) {
            Ok(Called::Done) => None,
            Ok(Called::Slow) if let Some(asked) = server.asked(message, &self.exchange) => {
                let worked = asked.work(cancelled).await?;
                worked.map(|result| out.extend_from_slice(result.to_string().as_bytes())).err()
            }
            Ok(Called::Slow) if message.name() == Some("exit") => {
                let exit: Exit = serde_json::from_str(message.arguments()).unwrap_or_default();
                reply.exit = Some(exit.code());
                if !exit.is_after_answer() {
                    return Some(reply);
                }
                write_result(&mut out, era, r#"{"exits":true}"#, Structured::None);
                None
            }
            Ok(Called::Slow) => {
                let related = self.exchange.related.as_ref();
                let text = server.work_slowly(message, related, cancelled).await?;
                write_result(&mut out, era, &text, Structured::None);
                None
            }
            Err(error) => Some(error),
        };
        reply.status = Some(end_answer(&mut out, 0, message, era, error));
        reply.frames.push(Frame::Message(out));
        Some(reply)
    }

    /// Applies the faults to the answer.
    fn distort(&self, message: &Message<'_>, faults: &Modes, reply: &mut Reply) {
        let id = message.id_text();
        let quoted = format!("\"{}\"", id.trim_matches('"'));
        let whole = |text: String| vec![Frame::Message(text.into_bytes())];
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        if faults.has(Fault::IdAsText)
            && let Some(Frame::Message(answer)) = reply.frames.last_mut()
            && let Some(result) = answer.strip_prefix(format!(r#"{{"jsonrpc":"2.0","id":{id}"#).as_bytes())
        {
            let mut text = format!(r#"{{"jsonrpc":"2.0","id":{quoted}"#).into_bytes();
            text.extend_from_slice(result);
            *answer = text;
        }
        if let Some(bytes) = faults.get(Fault::HugeResult) {
            let mut out = Vec::new();
            begin_answer(&mut out, id);
            write_result(&mut out, self.exchange.era, &"x".repeat(size(bytes)), Structured::None);
            out.push(b'}');
            reply.frames = vec![Frame::Message(out)];
        }
        if let Some(bytes) = faults.get(Fault::LongLine) {
            let filler = "x".repeat(size(bytes));
            reply.frames = whole(format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{filler}"}}]}}}}"#
            ));
        }
        if let Some(bytes) = faults.get(Fault::LongLineTail) {
            let filler = "x".repeat(size(bytes));
            reply.frames = whole(format!(
                r#"{{"jsonrpc":"2.0","result":{{"content":[{{"type":"text","text":"{filler}"}}]}},"id":{id}}}"#
            ));
        }
        if faults.has(Fault::WrongJson) {
            reply.frames = whole(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[}}"#));
        }
        if faults.has(Fault::WrongShape) {
            reply.frames = whole(format!(r#"{{"jsonrpc":"2.0","id":{id}}}"#));
        }
        if faults.has(Fault::WrongResult) {
            reply.frames = whole(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"done"}}"#));
        }
        if faults.has(Fault::EndlessLine) {
            let head =
                format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":""#);
            reply.frames = vec![Frame::Endless(head.into_bytes())];
        }
        if faults.has(Fault::UnknownIds) {
            let stray = br#"{"jsonrpc":"2.0","id":987654321,"result":{"content":[]}}"#;
            reply.frames.insert(0, Frame::Message(stray.to_vec()));
        }
        if faults.has(Fault::DuplicateAnswers)
            && let Some(Frame::Message(answer)) = reply.frames.last()
        {
            let again = Frame::Message(answer.clone());
            reply.frames.push(again);
        }
    }
}

/// Writes this many bytes to stderr, in lines.
pub(crate) fn make_noise(bytes: u64) {
    const LINE: &[u8] = b"gateway-fixture: this line says nothing, and there are many more of its kind ...\n";
    let lines = bytes / LINE.len() as u64 + 1;
    let block = LINE.repeat(64);
    let mut stderr = std::io::stderr().lock();
    for _ in 0..lines.div_ceil(64) {
        if stderr.write_all(&block).is_err() {
            return;
        }
    }
}

fn add_unknown_fields(frame: &mut Frame) {
    if let Frame::Message(text) = frame
        && let Ok(answer) = std::str::from_utf8(text)
    {
        let answer = answer.replacen("{\"jsonrpc\"", "{\"x-envelope\":[null],\"jsonrpc\"", 1).replacen(
            "\"result\":{\"",
            "\"result\":{\"x-unknown\":{\"deep\":[1.50,1e400]},\"",
            1,
        );
        *text = answer.into_bytes();
    }
}
