//! The one task that owns a connection over two byte streams: the requests in flight, the reading and the writing.

use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut as _, BytesMut};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use gateway_protocol::{Line, LineSplitter};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::channel::{Inbox, Left, Outgoing, refuse_rest};
use super::events::Reaction;
use super::router::{Router, SkipCause};
use crate::results::{FREE_BYTES, Reservation, needed};

/// Requests that the owner takes at once.
const BATCH: usize = 64;
/// With so many bytes to write, no further requests are taken; and beyond them, so many bytes of answers to the server.
const HIGH_WATER: usize = 256 * 1024;
/// Requests of the server that may wait for an answer.
const UNANSWERED: usize = 256;
/// How long a server that has ended its output may take to exit, so that its status is known.
const EXIT_PATIENCE: Duration = Duration::from_millis(250);
/// How long its last words may take.
const WORDS_PATIENCE: Duration = Duration::from_millis(100);
/// An over-long message that is nobody's ends the connection after so many times the bound; one that was somebody's
/// may go on longer, but it blocks all other answers and cannot go on for ever.
const SKIPPED_UNKNOWN: u64 = 4;
const SKIPPED_KNOWN: u64 = 16;

/// As long as no more requests wait for an answer, each is written at once.
const FEW: usize = 3;

/// Runs a connection until it ends: `stop` is asked for, a stream ends, or `exit` shows that the process is over.
/// Everybody who waits is answered before it returns.
pub(super) async fn run<R, W, X>(
    streams: (R, W),
    exit: X,
    inbox: Inbox,
    router: Router,
    stop: &CancellationToken,
    longest_answer: Duration,
) where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
    X: Future<Output = String>,
{
    let (reader, writer) = streams;
    let mut owner = Owner {
        splitter: LineSplitter::new(router.limit),
        reserved: None,
        starved: false,
        skipping: Skipping::No,
        out: BytesMut::with_capacity(8 * 1024),
        queued: 0,
        written: 0,
        excess: 0,
        sent: Vec::new(),
        reactions: Vec::new(),
        router,
    };
    let mut inbox = inbox;
    let ending = {
        // The writer is dropped here: that asks the server to end, and lets its last words come.
        let (mut reader, mut writer) = (reader, writer);
        owner.work(&mut reader, &mut writer, exit, &mut inbox, stop, longest_answer).await
    };
    let status = Arc::clone(&owner.router.status);
    let reason = match ending {
        Ending::Stopped => "closed by the gateway".to_owned(),
        Ending::Broken(what) => {
            let _ = timeout(WORDS_PATIENCE, status.stderr_over()).await;
            status.with_last_words(&what)
        }
    };
    status.end(&reason);
    owner.router.lose_all(owner.written, &reason);
    refuse_rest(inbox, &owner.router.upstream, &reason).await;
}

enum Ending {
    Stopped,
    Broken(String),
}

/// Whether a message is being skipped, and whether it is known whose it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Skipping {
    No,
    Known,
    Unknown(SkipCause),
}

struct Owner {
    router: Router,
    splitter: LineSplitter,
    /// Room for the message that is being read, if it is long.
    reserved: Option<Reservation>,
    /// Whether it waits for room.
    starved: bool,
    skipping: Skipping,
    out: BytesMut,
    /// How many bytes were ever put into `out`, and how many of them were written.
    queued: u64,
    written: u64,
    /// How many bytes of answers to the server were put into `out` since it is full.
    excess: usize,
    /// Who wants to know that all bytes up to a position were written.
    sent: Vec<(u64, oneshot::Sender<()>)>,
    reactions: Vec<Reaction>,
}

impl Owner {
    async fn work<R, W, X>(
        &mut self,
        reader: &mut R,
        writer: &mut W,
        exit: X,
        inbox: &mut Inbox,
        stop: &CancellationToken,
        longest_answer: Duration,
    ) -> Ending
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
        X: Future<Output = String>,
    {
        let events = Arc::clone(&self.router.events);
        let (stopped, delivering) = (stop.cancelled(), events.keep_delivering());
        tokio::pin!(stopped, delivering);
        // In a set, which looks at it only when it has news.
        let mut exit = FuturesUnordered::from_iter([exit]);
        let mut batch = Vec::with_capacity(BATCH);
        let mut answers = FuturesUnordered::new();
        // What is known about the end, and until when more may become known.
        let mut end: Option<(String, Instant)> = None;
        let (mut reading, mut writing, mut running) = (true, true, true);
        loop {
            let (starved, reserved) = (self.starved, self.reserved.as_ref());
            let finish_at = end.as_ref().map(|(_, moment)| *moment);
            tokio::select! {
                () = &mut stopped => return Ending::Stopped,
                taken = inbox.outgoing.recv_many(&mut batch, BATCH),
                    if end.is_none() && self.out.len() < HIGH_WATER =>
                {
                    if taken == 0 {
                        return Ending::Stopped;
                    }
                    // Whoever leaves and asks again is heard in this order.
                    while let Ok(left) = inbox.left.try_recv() {
                        self.forget(&left);
                    }
                    for outgoing in batch.drain(..) {
                        self.queue(outgoing);
                    }
                    if self.router.in_flight() > FEW {
                        // Others are about to ask too: what they say goes out in the same write.
                        tokio::task::yield_now().await;
                        while self.out.len() < HIGH_WATER
                            && let Ok(outgoing) = inbox.outgoing.try_recv()
                        {
                            self.queue(outgoing);
                        }
                    }
                }
                Some(left) = inbox.left.recv() => self.forget(&left),
                result = writer.write_buf(&mut self.out), if writing && !self.out.is_empty() => match result {
                    Ok(count) if count > 0 => self.wrote(count),
                    _ => {
                        // Answers may still be on their way, and the status says more than a broken pipe.
                        writing = false;
                        end.get_or_insert_with(|| {
                            ("it closed its standard input".to_owned(), Instant::now() + EXIT_PATIENCE)
                        });
                    }
                },
                // Until results are taken, the server waits; but not so long that it seems to stand still.
                has_room = room(reserved), if starved => {
                    if has_room { self.reserve() } else { self.give_up_line() }
                }
                result = reader.read_buf(self.splitter.buffer()), if reading && !starved => match result {
                    Ok(count) if count > 0 => {
                        if !self.take_lines() {
                            let limit = self.router.limit;
                            return Ending::Broken(format!("it sent a message of more than {limit} bytes without end"));
                        }
                        self.reserve();
                        for reaction in std::mem::take(&mut self.reactions) {
                            match reaction {
                                Reaction::Send(message) => self.answer(&message),
                                Reaction::Await(unanswered) if answers.len() < UNANSWERED => {
                                    answers.push(unanswered.written(longest_answer));
                                }
                                // Dropped: a server that asks without end gets no answers.
                                excess @ Reaction::Await(_) => excess.leave(),
                            }
                        }
                    }
                    _ => {
                        reading = false;
                        if !running {
                            return Ending::Broken(end.map(|(what, _)| what).unwrap_or_default());
                        }
                        end.get_or_insert_with(|| {
                            ("it closed its standard output".to_owned(), Instant::now() + EXIT_PATIENCE)
                        });
                    }
                },
                Some(what) = exit.next(), if running => {
                    running = false;
                    if !reading {
                        return Ending::Broken(what);
                    }
                    end = Some((what, Instant::now() + EXIT_PATIENCE));
                }
                Some(message) = answers.next(), if !answers.is_empty() && self.out.len() < HIGH_WATER => {
                    if let Some(message) = message {
                        self.append(&message);
                    }
                }
                () = &mut delivering => {}
                () = sleep_until(finish_at.unwrap_or_else(Instant::now)), if finish_at.is_some() => {
                    return Ending::Broken(end.map(|(what, _)| what).unwrap_or_default());
                }
            }
        }
    }

    /// Reserves room for a long message before it is read on.
    fn reserve(&mut self) {
        let held = if self.skipping == Skipping::No { self.splitter.held() } else { 0 };
        let Some(bytes) = needed(held, self.router.limit) else {
            (self.reserved, self.starved) = (None, false);
            return;
        };
        let results = &self.router.events.results;
        self.starved = !self.reserved.get_or_insert_with(|| results.reservation()).request(bytes, 0);
    }

    /// There is no room for the message that is being read: it is skipped, and whose answer it is learns why.
    fn give_up_line(&mut self) {
        (self.reserved, self.starved) = (None, false);
        let Some(Line::TooLongBegins { head }) = self.splitter.give_up() else { return };
        self.skip(&head, SkipCause::NoRoom);
        self.take_lines();
    }

    fn skip(&mut self, head: &[u8], cause: SkipCause) {
        let is_known = self.router.skip_begins(head, cause);
        self.skipping = if is_known { Skipping::Known } else { Skipping::Unknown(cause) };
    }

    fn queue(&mut self, outgoing: Outgoing) {
        if let Some((_, waiting)) = &outgoing.request
            && waiting.answer.is_closed()
        {
            // Its caller has left already: nothing was sent, nothing needs cancelling.
            return;
        }
        self.append(&outgoing.message);
        if let Some((id, waiting)) = outgoing.request {
            self.router.add(id, waiting, self.queued);
        }
        if let Some(sent) = outgoing.sent {
            self.sent.push((self.queued, sent));
        }
    }

    fn forget(&mut self, left: &Left) {
        if self.router.forget(left.id)
            && let Some(message) = left.message()
        {
            self.append(&message);
        }
    }

    /// Answers a request of the server at once. A server that asks without end and does not read gets no answers;
    /// reading on is safe then, while waiting for it could mean that both sides wait for ever.
    fn answer(&mut self, message: &[u8]) {
        if self.out.len() < HIGH_WATER {
            self.excess = 0;
        } else if self.excess < HIGH_WATER {
            self.excess += message.len() + 1;
        } else {
            return;
        }
        self.append(message);
    }

    fn append(&mut self, message: &[u8]) {
        self.out.reserve(message.len() + 1);
        self.out.put_slice(message);
        self.out.put_u8(b'\n');
        self.queued += message.len() as u64 + 1;
    }

    fn wrote(&mut self, count: usize) {
        self.written += count as u64;
        if self.sent.is_empty() {
            return;
        }
        let written = self.written;
        for (_, sent) in self.sent.extract_if(.., |(end, _)| *end <= written) {
            let _ = sent.send(());
        }
    }

    /// Takes all lines that are there. `false` if the stream cannot be read on.
    fn take_lines(&mut self) -> bool {
        while let Some(line) = self.splitter.next_line() {
            match line {
                Line::Whole(text) if text.len() <= FREE_BYTES => {
                    self.router.accept(&text, &mut self.reactions);
                }
                Line::Whole(text) => {
                    let text = self.router.events.results.count(text, self.reserved.take());
                    self.router.accept(&text, &mut self.reactions);
                }
                Line::TooLongBegins { head } => self.skip(&head, SkipCause::TooLong),
                Line::TooLongEnds { head, tail, scanner, .. } => {
                    if let Skipping::Unknown(cause) = self.skipping {
                        self.router.skip_ends(&head, &tail, &scanner, cause);
                    }
                    self.skipping = Skipping::No;
                }
            }
        }
        let times = match self.skipping {
            Skipping::No => return true,
            Skipping::Known => SKIPPED_KNOWN,
            Skipping::Unknown(_) => SKIPPED_UNKNOWN,
        };
        if self.splitter.skipped() <= times.saturating_mul(self.router.limit as u64) {
            return true;
        }
        self.router.skip_for_all(SkipCause::TooLong);
        false
    }
}

/// Waits until there is room for the message that is being read; `false` if that took too long.
async fn room(reserved: Option<&Reservation>) -> bool {
    match reserved {
        Some(reserved) => reserved.granted().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
#[path = "owner_tests.rs"]
mod tests;
