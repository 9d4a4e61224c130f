//! Taking one message: it is answered at once if that is possible.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use gateway_protocol::{RawJson, RpcError, code, method, write_error};

use crate::catalogue::ListState;
use crate::exchange::{CallResult, Called, Exchange, SpeaksNow};
use crate::lifecycle;
use crate::message::Message;
use crate::modes::Fault;
use crate::server::Server;

/// The outcome of a message.
#[derive(Debug)]
pub(crate) enum Taken {
    /// The answer was appended; with its HTTP status.
    Answered(u16),
    /// It needs no answer.
    Accepted,
    /// The answer takes time or has a fault: run the job.
    Later,
    /// It asks for notifications.
    Listen,
    /// It is never answered.
    Ignored,
}

impl Server {
    /// Takes one message. An answer that is known at once is appended to `out`.
    pub(crate) fn take(&self, message: &Message<'_>, exchange: &Exchange, out: &mut Vec<u8>) -> Taken {
        if message.method.is_none() {
            if let Some(session) = &exchange.session {
                session.answered(message.id_text(), message.answer());
            }
            return Taken::Accepted;
        }
        if message.id.is_none() {
            self.notice(message, exchange);
            return Taken::Accepted;
        }
        let is_opening = message.method() == method::INITIALIZE;
        let is_open = exchange.session.as_ref().is_some_and(|session| session.is_open());
        if self.modes.has(Fault::Silent)
            || self.modes.has(Fault::SilentBeforeInitialize) && !is_open && !is_opening
        {
            return Taken::Ignored;
        }
        if is_opening && let Some(session) = &exchange.session {
            session.opened();
        }
        if exchange.era == SpeaksNow::Modern
            && let Err(error) = lifecycle::check_modern(message)
        {
            append_error(out, message, &error);
            return Taken::Answered(400);
        }
        if message.method() == method::LISTEN && exchange.era == SpeaksNow::Modern {
            return Taken::Listen;
        }
        if !self.modes.is_empty() {
            return Taken::Later;
        }
        let start = out.len();
        begin_answer(out, message.id_text());
        let error = match self.respond(message, exchange, out) {
            Ok(Called::Slow) => {
                out.truncate(start);
                return Taken::Later;
            }
            Ok(Called::Done) => None,
            Err(error) => Some(error),
        };
        Taken::Answered(end_answer(out, start, message, exchange.era, error))
    }

    /// Appends the result of a request to `out`.
    pub(crate) fn respond(
        &self,
        message: &Message<'_>,
        exchange: &Exchange,
        out: &mut Vec<u8>,
    ) -> CallResult {
        if let Some(asked) = self.asked(message, exchange) {
            return asked.respond(out);
        }
        match message.method() {
            method::CALL_TOOL => {
                lifecycle::check_ready(exchange)?;
                self.call(message, exchange, out)
            }
            method::LIST_TOOLS => {
                lifecycle::check_ready(exchange)?;
                self.list(message, exchange.era, out)
            }
            method::INITIALIZE if exchange.era == SpeaksNow::Legacy => {
                lifecycle::initialize(&self.options, message, out)
            }
            method::DISCOVER if exchange.era == SpeaksNow::Modern => {
                lifecycle::discover(&self.options, out);
                Ok(Called::Done)
            }
            method::PING if exchange.era == SpeaksNow::Legacy => {
                out.extend_from_slice(b"{}");
                Ok(Called::Done)
            }
            other => Err(RpcError::new(code::METHOD_NOT_FOUND, format!("method not found: {other}"))),
        }
    }

    fn list(&self, message: &Message<'_>, era: SpeaksNow, out: &mut Vec<u8>) -> CallResult {
        let cursor = message.params.as_ref().and_then(|params| params.cursor.as_deref());
        let lists = match cursor {
            None => self.lists.fetch_add(1, Ordering::Relaxed) + 1,
            Some(_) => self.lists.load(Ordering::Relaxed),
        };
        let state = ListState { lists, revision: self.revision.load(Ordering::Relaxed) };
        let page = self.catalogue.page(cursor, self.options.page_size, &self.modes, state)?;
        out.extend_from_slice(b"{\"tools\":[");
        for (index, tool) in page.tools.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(tool.as_bytes());
        }
        out.push(b']');
        if let Some(cursor) = page.next_cursor {
            out.extend_from_slice(b",\"nextCursor\":\"");
            out.extend_from_slice(cursor.as_bytes());
            out.push(b'"');
        }
        lifecycle::append_cache_hints(&self.options, era, out);
        out.push(b'}');
        Ok(Called::Done)
    }

    fn notice(&self, message: &Message<'_>, exchange: &Exchange) {
        match message.method() {
            method::INITIALIZED => {
                if let Some(session) = &exchange.session {
                    session.ready();
                }
            }
            method::CANCELLED => {
                if let Some(id) = message.params.as_ref().and_then(|params| params.request_id) {
                    self.cancel(exchange, id.get());
                }
            }
            _ => {}
        }
    }
}

/// Appends the beginning of an answer, up to its result.
pub(crate) fn begin_answer(out: &mut Vec<u8>, id: &str) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.as_bytes());
    out.extend_from_slice(b",\"result\":");
}

/// Ends the answer that begins at `start`; an error replaces it. Returns its HTTP status.
pub(crate) fn end_answer(
    out: &mut Vec<u8>,
    start: usize,
    message: &Message<'_>,
    era: SpeaksNow,
    error: Option<RpcError>,
) -> u16 {
    let Some(error) = error else {
        out.push(b'}');
        return 200;
    };
    out.truncate(start);
    append_error(out, message, &error);
    lifecycle::status_of(era, &error)
}

/// Appends the refusal of a request.
pub(crate) fn append_error(out: &mut Vec<u8>, message: &Message<'_>, error: &RpcError) {
    let id = RawJson::parse(Bytes::copy_from_slice(message.id_text().as_bytes()));
    write_error(out, &id.unwrap_or_else(|_| RawJson::null()), error);
}
