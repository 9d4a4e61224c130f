//! The log of a running gateway.

use std::io::Write as _;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use gateway_protocol::{SseParser, printable};
use reqwest::{Method, Response};
use serde_json::value::RawValue;

use super::Logs;
use super::rows::Rows;
use crate::remote::{Answer, Remote, read_body};
use crate::runtime::EndSignals;
use crate::terminal::errors;

/// How long the gateway may take to answer.
const WAIT: Duration = Duration::from_secs(30);
/// A stream sends something at least this often.
const MAX_SILENCE: Duration = Duration::from_secs(90);
/// How long to wait before a gateway that went away is asked again.
const RETRY: Duration = Duration::from_millis(500);
/// The most bytes of one entry.
const ENTRY: usize = 64 << 20;

/// What was shown.
pub(super) enum Shown {
    All,
    /// No gateway was found there.
    Nothing(anyhow::Error),
}

/// Shows the entries of the gateway.
pub(super) async fn show(remote: &Remote, logs: &Logs, rows: &mut Rows) -> Result<Shown> {
    if logs.follow {
        return follow(remote, logs, rows).await;
    }
    let request = remote.request(Method::GET, &["logs"], &logs.conditions.query())?;
    let response = match settled(remote, remote.send(request, WAIT).await?)? {
        Ok(response) => response,
        Err(reason) => return Ok(Shown::Nothing(reason)),
    };
    let body = read_body(response, WAIT).await?;
    let Ok(entries) = serde_json::from_slice::<Vec<&RawValue>>(&body) else {
        return Ok(Shown::Nothing(remote.not_a_gateway()));
    };
    rows.write(&entries.iter().map(|entry| entry.get()).collect::<Vec<_>>())?;
    Ok(Shown::All)
}

/// The response with the entries, or why there is none.
fn settled(remote: &Remote, answer: Answer) -> Result<Result<Response, anyhow::Error>> {
    match answer {
        Answer::Done(response) => Ok(Ok(response)),
        Answer::Refused { text, .. } => Err(refusal(remote, &text)),
        Answer::Unreachable(error) => Ok(Err(error)),
        Answer::NotAGateway => Ok(Err(remote.not_a_gateway())),
    }
}

fn refusal(remote: &Remote, text: &str) -> anyhow::Error {
    anyhow!("the gateway at {} refused: {}", remote.location(), printable(text))
}

async fn follow(remote: &Remote, logs: &Logs, rows: &mut Rows) -> Result<Shown> {
    let mut signals = EndSignals::listen()?;
    let mut last: Option<String> = None;
    let mut is_away = false;
    loop {
        let mut query = logs.conditions.query();
        query.push(("follow", "true".to_owned()));
        let mut request = remote.request(Method::GET, &["logs"], &query)?;
        if let Some(id) = &last {
            request = request.header("Last-Event-ID", id);
        }
        let response = tokio::select! {
            answer = remote.send(request, WAIT) => {
                match answer {
                    Ok(Answer::Refused { text, .. }) => return Err(refusal(remote, &text)),
                    Ok(Answer::Done(response)) => Some(response),
                    Ok(Answer::Unreachable(reason)) if last.is_none() => return Ok(Shown::Nothing(reason)),
                    Ok(Answer::NotAGateway) if last.is_none() => {
                        return Ok(Shown::Nothing(remote.not_a_gateway()));
                    }
                    Err(error) if last.is_none() => return Err(error),
                    // A gateway that is shutting down may still accept a connection, and break it.
                    Ok(Answer::Unreachable(_) | Answer::NotAGateway) | Err(_) => None,
                }
            },
            _ = signals.next() => return Ok(Shown::All),
        };
        let Some(response) = response else {
            report_away(remote, &mut is_away);
            tokio::select! {
                () = tokio::time::sleep(RETRY) => continue,
                _ = signals.next() => return Ok(Shown::All),
            }
        };
        is_away = false;
        // The header, before anything happens.
        rows.write::<&[u8]>(&[])?;
        tokio::select! {
            read = stream(response, rows, &mut last) => read?,
            _ = signals.next() => return Ok(Shown::All),
        }
        // The stream ended by itself; a gateway that still runs sends the missing entries.
        last.get_or_insert_with(|| "0".to_owned());
    }
}

/// Reports once that the gateway is gone and waited for.
fn report_away(remote: &Remote, is_away: &mut bool) {
    if !std::mem::replace(is_away, true) {
        let location = remote.location();
        // A closed standard error is fine.
        let _ = writeln!(errors(), "the gateway at {location} went away; waiting for it to come back");
    }
}

/// Writes the entries of one stream until it ends, and remembers the last id.
async fn stream(mut response: Response, rows: &mut Rows, last: &mut Option<String>) -> Result<()> {
    let mut parser = SseParser::new(ENTRY);
    loop {
        let piece = match tokio::time::timeout(MAX_SILENCE, response.chunk()).await {
            Err(_) => bail!("the gateway was silent for {MAX_SILENCE:?}"),
            // A broken connection ends the stream; the next request shows whether the gateway still runs.
            Ok(Err(_) | Ok(None)) => return Ok(()),
            Ok(Ok(Some(piece))) => piece,
        };
        parser.push(&piece);
        let mut entries = Vec::new();
        while let Some(event) = parser.next_event().context("reading the gateway's stream")? {
            if event.data.starts_with(b"{") {
                entries.push(event.data);
            }
        }
        if let Some(id) = parser.last_id() {
            *last = Some(id.to_owned());
        }
        if !entries.is_empty() {
            rows.write(&entries)?;
        }
    }
}
