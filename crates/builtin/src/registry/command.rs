//! Tools whose work is done by a program that is started for each call.
//!
//! The arguments of a call reach the program in one of two ways: as JSON on its standard input, or through placeholders of
//! the template. A value never becomes an option by surprise: where it would stand first in its argument and begins with `-`, the
//! call is refused, unless `--` stands before it in the template.

use std::time::Duration;

use gateway_config::{CommandHandler, CommandInput, Piece, Template};
use gateway_process::{Process, Program, Secrets};
use gateway_protocol::RawJson;
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::handler::{object, result_of, text_result};

/// How long the streams of a program are read once it has ended, with all that could be found of what it started.
const STREAMS: Duration = Duration::from_millis(500);
/// How much of standard error is kept.
const STDERR: usize = 16 << 10;
/// How much of it is shown.
const SHOWN: usize = 2_000;

pub(super) async fn run(handler: &CommandHandler, arguments: &RawJson) -> Result<RawJson, String> {
    let args = args(handler, &object(arguments)?)?;
    let program = Program {
        command: &handler.command,
        args: &args,
        env: &handler.env,
        cwd: handler.cwd.as_ref(),
        hidden_env: &handler.hidden_env,
    };
    let (mut process, streams) = Process::spawn(&program).await.map_err(|error| error.to_string())?;
    let mut stdin = streams.stdin;
    let input = match handler.stdin {
        CommandInput::Nothing => &[][..],
        CommandInput::Json => arguments.as_bytes(),
    };
    let feed = async move {
        // A program that does not read its input has what it needs.
        let _ = stdin.write_all(input).await;
        let _ = stdin.shutdown().await;
        drop(stdin);
    };
    let too_much = || format!("`{}` wrote more than {} bytes", handler.command, handler.max_bytes);
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let (how, is_good) = {
        let reading = async {
            tokio::try_join!(
                async {
                    feed.await;
                    Ok(())
                },
                async {
                    let is_whole = read_within(streams.stdout, &mut output, handler.max_bytes).await;
                    if is_whole { Ok(()) } else { Err(too_much()) }
                },
                async {
                    read_last(streams.stderr, &mut errors, STDERR).await;
                    Ok(())
                },
            )
        };
        tokio::pin!(reading);
        // Dropped while it is awaited, or left by an error, the process ends with all that it started.
        let (read, exit) = tokio::select! {
            read = &mut reading => (Some(read), process.exit().await),
            exit = process.exit() => (None, exit),
        };
        // What it left running has nobody to talk to any more, and may hold its streams open.
        process.end(Duration::ZERO).await;
        match read {
            Some(read) => read?,
            // What hid so well that it was not ended may hold them for ever; what came so far is all then.
            None => timeout(STREAMS, reading).await.unwrap_or(Ok(((), (), ())))?,
        };
        exit
    };
    let output = String::from_utf8_lossy(&output);
    let is_cut = errors.len() >= STDERR;
    let errors =
        String::from_utf8_lossy(errors.get(errors.len().saturating_sub(STDERR)..).unwrap_or_default());
    if !is_good {
        let said = [errors.trim(), output.trim()].into_iter().find(|text| !text.is_empty());
        // Before it is cut, because half a secret is not found any more.
        let secrets = Secrets::of(handler.env.values().map(String::as_str));
        let said = said.map_or_else(String::new, |said| {
            let said = secrets.hide(said.to_owned(), is_cut);
            format!(": {}", said.chars().take(SHOWN).collect::<String>())
        });
        return Err(format!("`{}`: {how}{said}", handler.command));
    }
    match RawJson::parse(output.trim().to_owned()) {
        Ok(value) if value.as_str().starts_with('{') => result_of(&value),
        _ => Ok(text_result(&output)),
    }
}

/// What the program is given.
fn args(handler: &CommandHandler, arguments: &Map<String, Value>) -> Result<Vec<String>, String> {
    let mut args = Vec::new();
    let mut options_are_over = false;
    for group in &handler.groups {
        let filled: Option<Vec<String>> = group.iter().map(|template| fill(template, arguments)).collect();
        let Some(filled) = filled else { continue };
        for (template, text) in group.iter().zip(filled) {
            if text.contains('\0') {
                return Err("a value holds the character NUL, which no argument can".to_owned());
            }
            if let (Some(Piece::Placeholder(name)), true, false) =
                (template.pieces().first(), text.starts_with('-'), options_are_over)
            {
                return Err(format!(
                    "`{name}` begins with `-` and would be taken for an option of `{}`",
                    handler.command
                ));
            }
            options_are_over |= template.pieces() == [Piece::Text("--".to_owned())];
            args.push(text);
        }
    }
    Ok(args)
}

/// The text; `None` if a placeholder has no value.
fn fill(template: &Template, arguments: &Map<String, Value>) -> Option<String> {
    let mut text = String::new();
    for piece in template.pieces() {
        match piece {
            Piece::Text(plain) => text.push_str(plain),
            Piece::Placeholder(name) => match arguments.get(name)? {
                Value::Null => return None,
                Value::String(value) => text.push_str(value),
                other => text.push_str(&other.to_string()),
            },
        }
    }
    Some(text)
}

/// Reads all that a stream gives; whether that is not more than `limit`.
async fn read_within(stream: impl AsyncRead + Unpin, bytes: &mut Vec<u8>, limit: usize) -> bool {
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    // A stream that breaks has given what it could.
    let _ = stream.take(most).read_to_end(bytes).await;
    bytes.len() <= limit
}

/// Keeps at least the last `limit` bytes of what a stream gives, and at most twice as many.
async fn read_last(mut stream: impl AsyncRead + Unpin, bytes: &mut Vec<u8>, limit: usize) {
    let mut piece = vec![0; 4 << 10];
    while let Ok(count @ 1..) = stream.read(&mut piece).await {
        bytes.extend_from_slice(piece.get(..count).unwrap_or_default());
        if bytes.len() > limit * 2 {
            bytes.drain(..bytes.len() - limit);
        }
    }
}
