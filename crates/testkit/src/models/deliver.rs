//! Writing an answer, gate by gate and piece by piece.

use std::io;

use http::StatusCode;
use tokio::io::AsyncWriteExt as _;
use tokio::net::tcp::OwnedWriteHalf;

use super::delivery::Pieces;
use super::gate::{Gate, Moment};
use super::plan::{Answer, End, Length, Plan};

/// The filler of an oversize line is written in pieces of this size.
const FILLER: usize = 64 * 1024;

/// What a plan is carried out with.
#[derive(Debug)]
pub(crate) struct Delivering<'a> {
    pub(crate) output: &'a mut OwnedWriteHalf,
    pub(crate) gates: &'a [(Moment, Gate)],
    pub(crate) pieces: Pieces,
    /// Whether the peer can read chunks.
    pub(crate) chunked_ok: bool,
    pub(crate) keep_alive: bool,
}

/// Whether the connection can be used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    KeepAlive,
    Close,
}

impl Delivering<'_> {
    /// Carries out the plan. `wrote` hears how many chunks are written.
    pub(crate) async fn run(mut self, plan: Plan, wrote: impl Fn(usize) + Send) -> io::Result<After> {
        self.pass(Moment::Headers).await;
        match plan {
            Plan::Answer(answer) => self.answer(answer, wrote).await,
            Plan::Close => Ok(After::Close),
            Plan::Hang => std::future::pending().await,
        }
    }

    /// Waits for the gates of this moment.
    async fn pass(&self, moment: Moment) {
        for (_, gate) in self.gates.iter().filter(|(at, _)| *at == moment) {
            gate.opened().await;
        }
    }

    fn is_gated(&self, moment: Moment) -> bool {
        self.gates.iter().any(|(at, _)| *at == moment)
    }

    async fn answer(&mut self, mut answer: Answer, wrote: impl Fn(usize) + Send) -> io::Result<After> {
        if self.pieces == Pieces::OneChunk && answer.chunks.len() > 1 && answer.end == End::Proper {
            answer.chunks = vec![answer.chunks.concat()];
        }
        let chunked = answer.length == Length::Chunked && self.chunked_ok;
        // Without chunks, only the end of the connection can end a body of unknown length.
        let reusable = answer.end == End::Proper
            && self.keep_alive
            && (chunked || matches!(answer.length, Length::Known));
        self.output.write_all(head(&answer, chunked, reusable).as_bytes()).await?;
        let last = answer.chunks.len().saturating_sub(1);
        let chunks = std::mem::take(&mut answer.chunks);
        for (index, chunk) in chunks.iter().enumerate() {
            self.pass(Moment::Chunk(index)).await;
            let is_last = index == last && answer.filler == 0;
            if is_last && answer.end == End::CutChunk {
                self.write_cut(chunk, chunked).await?;
                return Ok(After::Close);
            }
            // The end goes with the last chunk: who has read it may leave, and has not aborted then.
            let ends = is_last && answer.end == End::Proper && chunked && !self.is_gated(Moment::End);
            self.write_chunk(chunk, chunked, ends, &answer).await?;
            wrote(index + 1);
        }
        self.write_filler(answer.filler, chunked).await?;
        self.pass(Moment::End).await;
        match answer.end {
            End::Proper if chunked => {
                let ended = !chunks.is_empty() && answer.filler == 0 && !self.is_gated(Moment::End);
                if !ended {
                    self.output.write_all(b"0\r\n\r\n").await?;
                }
            }
            End::Proper | End::Close | End::CutChunk => {}
            End::Hang => std::future::pending().await,
        }
        Ok(if reusable { After::KeepAlive } else { After::Close })
    }

    async fn write_chunk(
        &mut self,
        chunk: &[u8],
        chunked: bool,
        ends: bool,
        answer: &Answer,
    ) -> io::Result<()> {
        let size =
            if self.pieces == Pieces::SingleBytes || answer.pace.is_some() { 1 } else { chunk.len().max(1) };
        let count = chunk.len().div_ceil(size);
        for (index, piece) in chunk.chunks(size).enumerate() {
            let mut bytes = framed(piece, chunked);
            if ends && index + 1 == count {
                bytes.extend_from_slice(b"0\r\n\r\n");
            }
            self.output.write_all(&bytes).await?;
            if let Some(pace) = answer.pace {
                tokio::time::sleep(pace).await;
            } else if size == 1 {
                // The peer gets a chance to read each byte by itself.
                tokio::task::yield_now().await;
            }
        }
        if ends && count == 0 {
            self.output.write_all(b"0\r\n\r\n").await?;
        }
        Ok(())
    }

    /// Announces a chunk and writes half of it.
    async fn write_cut(&mut self, chunk: &[u8], chunked: bool) -> io::Result<()> {
        let half = chunk.split_at(chunk.len() / 2).0;
        let mut bytes = if chunked { format!("{:x}\r\n", chunk.len()).into_bytes() } else { Vec::new() };
        bytes.extend_from_slice(half);
        self.output.write_all(&bytes).await
    }

    async fn write_filler(&mut self, bytes: usize, chunked: bool) -> io::Result<()> {
        let piece = framed(&vec![b'a'; FILLER], chunked);
        for _ in 0..bytes / FILLER {
            self.output.write_all(&piece).await?;
        }
        Ok(())
    }
}

fn framed(piece: &[u8], chunked: bool) -> Vec<u8> {
    if !chunked {
        return piece.to_vec();
    }
    let mut bytes = format!("{:x}\r\n", piece.len()).into_bytes();
    bytes.extend_from_slice(piece);
    bytes.extend_from_slice(b"\r\n");
    bytes
}

fn head(answer: &Answer, chunked: bool, reusable: bool) -> String {
    let reason = StatusCode::from_u16(answer.status).ok().and_then(|status| status.canonical_reason());
    let mut head = format!("HTTP/1.1 {} {}\r\n", answer.status, reason.unwrap_or("Unknown"));
    for (name, value) in &answer.headers {
        head.extend([name.as_str(), ": ", value.as_str(), "\r\n"]);
    }
    match answer.length {
        Length::Chunked if chunked => head.push_str("transfer-encoding: chunked\r\n"),
        Length::Chunked => {}
        Length::Known => put_length(&mut head, answer.bytes()),
        Length::TooShort(length) | Length::TooLong(length) => {
            put_length(&mut head, length);
        }
    }
    if !reusable {
        head.push_str("connection: close\r\n");
    }
    head.push_str("\r\n");
    head
}

fn put_length(head: &mut String, length: usize) {
    head.extend(["content-length: ", &length.to_string(), "\r\n"]);
}
