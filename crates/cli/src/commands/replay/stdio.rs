//! One session on our standard streams.

use std::sync::Arc;

use anyhow::{Context, Result};
use gateway_cassette::{Output, Player, Tape};
use gateway_protocol::{
    Incoming, Line, LineSplitter, RawJson, RpcError, code, parse_strict_message, write_error,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::Outcome;
use crate::loopback::LONGEST_MESSAGE;
use crate::runtime::{EndSignals, Interrupted};

/// Answers until the input ends.
pub(super) async fn serve(tape: Arc<Tape>) -> Result<Outcome> {
    let mut signals = EndSignals::listen()?;
    tokio::select! {
        answered = answer(tape) => answered.context("answering the client").map(|()| Outcome::Good),
        signal = signals.next() => Err(Interrupted(signal).into()),
    }
}

async fn answer(tape: Arc<Tape>) -> std::io::Result<()> {
    let (mut stdin, mut stdout) = (tokio::io::stdin(), tokio::io::stdout());
    let mut player = Player::new(tape);
    let mut exchanges = 0;
    let mut lines = LineSplitter::new(LONGEST_MESSAGE);
    let mut is_over = false;
    loop {
        while let Some(line) = lines.next_line() {
            let mut out = Vec::new();
            match line {
                Line::Whole(line) if line.trim_ascii().is_empty() => {}
                Line::Whole(line) => match parse_strict_message(line) {
                    Ok(Incoming::Request(request)) => {
                        exchanges += 1;
                        write_all(&mut out, player.request(exchanges, &request));
                    }
                    Ok(Incoming::Notification(notification)) => {
                        write_all(&mut out, player.notification(&notification));
                    }
                    Ok(Incoming::Response(response)) => write_all(&mut out, player.response(&response)),
                    Err(error) => refuse(&mut out, &error.to_string()),
                },
                Line::TooLongBegins { .. } => refuse(&mut out, "the message is too long"),
                Line::TooLongEnds { .. } => {}
            }
            stdout.write_all(&out).await?;
            stdout.flush().await?;
        }
        if is_over {
            return Ok(());
        }
        if stdin.read_buf(lines.buffer()).await? == 0 {
            // The last line may have no end.
            lines.push(b"\n");
            is_over = true;
        }
    }
}

fn write_all(out: &mut Vec<u8>, messages: Vec<Output>) {
    for message in messages {
        out.extend_from_slice(&message.text);
        out.push(b'\n');
    }
}

fn refuse(out: &mut Vec<u8>, reason: &str) {
    write_error(out, &RawJson::null(), &RpcError::new(code::PARSE_ERROR, reason));
    out.push(b'\n');
}
