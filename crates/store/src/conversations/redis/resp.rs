//! The protocol of Redis, RESP2, as far as it is needed: commands out, bounded replies in.

use std::io;

use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _,
};

/// A connection, plain or with TLS.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// What Redis answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// A short text, such as `OK`.
    Status(String),
    Integer(i64),
    Bytes(Vec<u8>),
    Missing,
    List(Vec<Reply>),
}

/// Why there is no reply.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("the connection failed")]
    Connection(#[from] io::Error),
    #[error("Redis answered with an error: {0}")]
    Refused(String),
    #[error("Redis gave an answer that was not expected: {0}")]
    Unexpected(&'static str),
}

/// Appends a command.
pub(super) fn write_command(out: &mut Vec<u8>, parts: &[&[u8]]) {
    out.extend_from_slice(format!("*{}\r\n", parts.len()).as_bytes());
    for part in parts {
        out.extend_from_slice(format!("${}\r\n", part.len()).as_bytes());
        out.extend_from_slice(part);
        out.extend_from_slice(b"\r\n");
    }
}

/// Sends what [`write_command`] has written.
pub(super) async fn send(stream: &mut (impl AsyncWrite + Unpin), commands: &[u8]) -> Result<(), Fault> {
    stream.write_all(commands).await?;
    stream.flush().await?;
    Ok(())
}

/// The longest line, the most elements of a list, and the deepest list.
const MAX_LINE: usize = 64 << 10;
const MAX_ELEMENTS: usize = 64 << 10;
const MAX_DEPTH: usize = 3;

/// Reads one reply, no part of which may have more than `max_bytes`.
pub(super) async fn read_reply(
    stream: &mut (impl AsyncBufRead + Unpin + Send),
    max_bytes: usize,
) -> Result<Reply, Fault> {
    read_nested(stream, max_bytes, MAX_DEPTH).await
}

async fn read_nested(
    stream: &mut (impl AsyncBufRead + Unpin + Send),
    max_bytes: usize,
    depth: usize,
) -> Result<Reply, Fault> {
    let line = read_line(stream).await?;
    let (kind, rest) = line.split_at_checked(1).ok_or(Fault::Unexpected("an empty line"))?;
    match kind {
        "+" => Ok(Reply::Status(rest.to_owned())),
        // Redis repeats the arguments of a command that it does not know, and one of them may be a password.
        "-" => Err(Fault::Refused(
            rest.split(", with args").next().unwrap_or_default().chars().take(200).collect(),
        )),
        ":" => Ok(Reply::Integer(rest.parse().map_err(|_| Fault::Unexpected("a number"))?)),
        "$" => match length(rest, max_bytes)? {
            Some(length) => read_bytes(stream, length).await.map(Reply::Bytes),
            None => Ok(Reply::Missing),
        },
        "*" => {
            let Some(length) = length(rest, MAX_ELEMENTS)? else { return Ok(Reply::Missing) };
            let deeper = depth.checked_sub(1).ok_or(Fault::Unexpected("lists in lists"))?;
            let mut list = Vec::with_capacity(length.min(1024));
            for _ in 0..length {
                list.push(Box::pin(read_nested(stream, max_bytes, deeper)).await?);
            }
            Ok(Reply::List(list))
        }
        _ => Err(Fault::Unexpected("a kind of reply")),
    }
}

/// The length of what follows; `None` if there is nothing.
fn length(text: &str, max: usize) -> Result<Option<usize>, Fault> {
    if text == "-1" {
        return Ok(None);
    }
    let length = text.parse().map_err(|_| Fault::Unexpected("a length"))?;
    if length > max { Err(Fault::Unexpected("a reply that is too long")) } else { Ok(Some(length)) }
}

async fn read_line(stream: &mut (impl AsyncBufRead + Unpin)) -> Result<String, Fault> {
    let mut line = Vec::new();
    stream.take(u64::try_from(MAX_LINE).unwrap_or(u64::MAX)).read_until(b'\n', &mut line).await?;
    if line.is_empty() {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    let text = line.strip_suffix(b"\r\n").ok_or(Fault::Unexpected("a line without an end"))?;
    Ok(String::from_utf8_lossy(text).into_owned())
}

async fn read_bytes(stream: &mut (impl AsyncBufRead + Unpin), length: usize) -> Result<Vec<u8>, Fault> {
    // It grows as bytes arrive: a length is only announced.
    let mut bytes = Vec::with_capacity(length.min(64 << 10));
    stream.take(u64::try_from(length).unwrap_or(u64::MAX)).read_to_end(&mut bytes).await?;
    let mut end = [0; 2];
    stream.read_exact(&mut end).await?;
    if bytes.len() == length && end == *b"\r\n" {
        Ok(bytes)
    } else {
        Err(Fault::Unexpected("a text without an end"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(mut wire: &[u8]) -> Result<Reply, Fault> {
        read_reply(&mut wire, 1000).await
    }

    #[tokio::test]
    async fn replies_are_read() {
        let bytes = |text: &str| Reply::Bytes(text.as_bytes().to_vec());
        for (wire, expected) in [
            (&b"+PONG\r\n"[..], Reply::Status("PONG".to_owned())),
            (b":-7\r\n", Reply::Integer(-7)),
            (b"$0\r\n\r\n", bytes("")),
            (b"$4\r\na\r\nb\r\n", bytes("a\r\nb")),
            (b"$-1\r\n", Reply::Missing),
            (b"*-1\r\n", Reply::Missing),
            (b"*0\r\n", Reply::List(vec![])),
            (
                b"*2\r\n$1\r\na\r\n*1\r\n:1\r\n",
                Reply::List(vec![bytes("a"), Reply::List(vec![Reply::Integer(1)])]),
            ),
        ] {
            assert_eq!(read(wire).await.unwrap(), expected);
        }
    }

    #[tokio::test]
    async fn what_is_no_reply_is_an_error() {
        for wire in [
            &b""[..],
            b"\r\n",
            b"?1\r\n",
            b":x\r\n",
            b"$-2\r\n",
            b"$1001\r\nx",
            b"$99999999999999999999\r\n",
            b"$3\r\nab",
            b"$2\r\nabc\r\n",
            b"*65537\r\n",
            b"*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
            b"+no end",
            &vec![b'+'; 70_000],
        ] {
            assert!(read(wire).await.is_err(), "{:?}", String::from_utf8_lossy(wire));
        }
    }

    #[tokio::test]
    async fn an_error_does_not_repeat_arguments() {
        let error =
            read(b"-ERR unknown command 'AUTH', with args beginning with: 'hunter2'\r\n").await.unwrap_err();
        assert_eq!(error.to_string(), "Redis answered with an error: ERR unknown command 'AUTH'");
    }

    #[test]
    fn a_command_is_written_with_lengths() {
        let mut out = Vec::new();
        write_command(&mut out, &[b"SET", b"k\r\n", b""]);
        assert_eq!(out, b"*3\r\n$3\r\nSET\r\n$3\r\nk\r\n\r\n$0\r\n\r\n");
    }
}
