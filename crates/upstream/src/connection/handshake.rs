//! How a connection begins: which era, and who is there.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use gateway_config::ProtocolChoice;
use gateway_protocol::{
    DiscoverResult, Era, Implementation, InitializeResult, MODERN, RawJson, RpcError, code,
    initialize_params, is_known_legacy, is_modern, method, modern_meta, without_repeats,
};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::call::{Call, CallKind, Deadline, Leaving};
use super::channel::StreamChannel;
use crate::error::{CallError, ConnectError};

/// What both sides know after the handshake.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Identity {
    pub(super) era: Era,
    pub(super) capabilities: RawJson,
    pub(super) server_info: Implementation,
    pub(super) instructions: Option<String>,
}

/// Who we are.
#[derive(Clone, Debug)]
pub(super) struct Introduction {
    pub(super) client: Implementation,
    pub(super) capabilities: RawJson,
}

impl Introduction {
    /// The `_meta` of every request of the era.
    pub(super) fn meta(&self, era: &Era) -> Vec<(&'static str, Vec<u8>)> {
        match era {
            Era::Legacy { .. } => Vec::new(),
            // What a caller can do goes with its requests; of our own accord we can do nothing.
            Era::Modern { version } => modern_meta(version, &self.client, &RawJson::empty_object()),
        }
    }

    /// The `_meta` of a request in the modern version that we speak.
    pub(super) fn modern_meta(&self) -> Vec<(&'static str, Vec<u8>)> {
        modern_meta(MODERN, &self.client, &RawJson::empty_object())
    }

    pub(super) fn initialize_params(&self) -> Vec<(&'static str, Vec<u8>)> {
        initialize_params(&self.client, &self.capabilities)
    }
}

/// How to open a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// Ask first; silence for so long means legacy.
    Probe(Duration),
    /// `initialize` at once, because it worked the last time.
    LegacyAsBefore,
    /// `initialize`, and nothing else.
    Legacy,
    /// `server/discover`, and nothing else.
    Modern,
}

impl Opening {
    pub(super) fn of(
        choice: ProtocolChoice,
        remembered: Option<&Era>,
        probe: Duration,
        connect: Duration,
    ) -> Self {
        match (choice, remembered) {
            (ProtocolChoice::Modern, _) => Self::Modern,
            (ProtocolChoice::Legacy, _) => Self::Legacy,
            (ProtocolChoice::Auto, Some(Era::Legacy { .. })) => Self::LegacyAsBefore,
            // It will answer, so it may take its time.
            (ProtocolChoice::Auto, Some(Era::Modern { .. })) => Self::Probe(probe.max(connect / 2)),
            (ProtocolChoice::Auto, None) => Self::Probe(probe),
        }
    }
}

/// Who the answer to `server/discover` says is there; `None` for a server of the legacy era.
pub(super) fn read_discovery(outcome: &Result<RawJson, RpcError>) -> Result<Option<Identity>, ConnectError> {
    match outcome {
        Ok(result) => {
            // Some legacy servers answer everything.
            let Ok(found) = without_repeats(result).read::<DiscoverResult>() else { return Ok(None) };
            let identity = choose(&found.supported_versions)?;
            Ok(identity.map(|identity| Identity {
                server_info: found.server_info(),
                capabilities: found.capabilities,
                instructions: found.instructions,
                ..identity
            }))
        }
        Err(error) if error.code == code::UNSUPPORTED_VERSION => choose(&supported(error)),
        Err(error) if code::is_modern(error.code) => Ok(Some(assumed())),
        Err(_) => Ok(None),
    }
}

fn choose(versions: &[String]) -> Result<Option<Identity>, ConnectError> {
    if versions.iter().any(|version| version == MODERN) {
        return Ok(Some(assumed()));
    }
    if versions.iter().any(|version| is_known_legacy(version)) {
        return Ok(None);
    }
    let offered = if versions.is_empty() { "no version".to_owned() } else { versions.join(", ") };
    Err(ConnectError::Version { offered })
}

fn supported(error: &RpcError) -> Vec<String> {
    #[derive(Deserialize)]
    struct Data {
        #[serde(default)]
        supported: Vec<String>,
    }
    error
        .data
        .as_ref()
        .and_then(|data| data.read::<Data>().ok())
        .map(|data| data.supported)
        .unwrap_or_default()
}

/// A modern server that did not say what it can do. Without the assumption its tools would never be asked for.
fn assumed() -> Identity {
    Identity {
        era: Era::Modern { version: MODERN.to_owned() },
        capabilities: RawJson::parse("{\"tools\":{}}").unwrap_or_else(|_| RawJson::empty_object()),
        server_info: Implementation::default(),
        instructions: None,
    }
}

/// Reads the answer to `initialize`.
pub(super) fn read_initialize(result: &RawJson) -> Result<Identity, ConnectError> {
    let found: InitializeResult = without_repeats(result).read().map_err(|error| ConnectError::NotMcp {
        reason: format!("the answer to `initialize` cannot be read: {error}"),
    })?;
    if !is_known_legacy(&found.protocol_version) {
        return Err(ConnectError::Version { offered: found.protocol_version });
    }
    Ok(Identity {
        era: Era::Legacy { version: found.protocol_version },
        capabilities: found.capabilities,
        server_info: found.server_info,
        instructions: found.instructions,
    })
}

/// Shakes hands over one shared stream, until a moment.
pub(super) async fn shake(
    channel: &StreamChannel,
    who: &Introduction,
    opening: Opening,
    until: Instant,
) -> Result<Identity, ConnectError> {
    match opening {
        Opening::Legacy | Opening::LegacyAsBefore => initialize(channel, who, until).await,
        Opening::Modern => {
            let answer = discover(channel, who, until).await;
            let outcome = answer.map_err(|error| connect_error(error, method::DISCOVER))?;
            read_discovery(&outcome)?.ok_or_else(|| not_modern(outcome))
        }
        Opening::Probe(patience) => probe(channel, who, patience, until).await,
    }
}

/// Why a server that was to be modern is not.
pub(super) fn not_modern(outcome: Result<RawJson, RpcError>) -> ConnectError {
    match outcome {
        Ok(_) => ConnectError::NotMcp { reason: "it does not know the modern era".to_owned() },
        Err(error) => ConnectError::Handshake { error },
    }
}

async fn probe(
    channel: &StreamChannel,
    who: &Introduction,
    patience: Duration,
    until: Instant,
) -> Result<Identity, ConnectError> {
    let asking = discover(channel, who, until);
    tokio::pin!(asking);
    let early = tokio::select! {
        answer = &mut asking => Some(answer),
        () = sleep_until((Instant::now() + patience).min(until)) => None,
    };
    match early {
        Some(Ok(outcome)) => match read_discovery(&outcome)? {
            Some(identity) => Ok(identity),
            None => initialize(channel, who, until).await,
        },
        Some(Err(error)) => Err(connect_error(error, method::DISCOVER)),
        None => initialize_after_silence(channel, who, patience, until, asking).await,
    }
}

/// Silence means legacy; but a modern server may only be slow to start. It answers in order: whatever it says to
/// `initialize` comes after its answer to the probe, or not at all.
async fn initialize_after_silence<F>(
    channel: &StreamChannel,
    who: &Introduction,
    patience: Duration,
    until: Instant,
    mut asking: Pin<&mut F>,
) -> Result<Identity, ConnectError>
where
    F: Future<Output = Result<Result<RawJson, RpcError>, CallError>>,
{
    let opening = initialize(channel, who, until);
    tokio::pin!(opening);
    let mut late = None;
    let mut give_up = until + patience;
    let refused = loop {
        tokio::select! {
            biased;
            answer = &mut asking, if late.is_none() => {
                let found = answer.map_or(Ok(None), |outcome| read_discovery(&outcome));
                if !matches!(found, Ok(None)) {
                    give_up = Instant::now() + patience;
                }
                late = Some(found);
            }
            outcome = &mut opening => match outcome {
                Err(error @ ConnectError::Handshake { .. }) => break error,
                outcome => return outcome,
            },
            () = sleep_until(give_up) => {
                break ConnectError::Timeout { step: method::INITIALIZE, waited: patience };
            }
        }
    };
    late.unwrap_or(Ok(None))?.ok_or(refused)
}

/// Asks `server/discover`. Errors of the server are outcomes here.
async fn discover(
    channel: &StreamChannel,
    who: &Introduction,
    until: Instant,
) -> Result<Result<RawJson, RpcError>, CallError> {
    let entries = who.modern_meta();
    let entries: Vec<_> = entries.iter().map(|(key, value)| (*key, value.as_slice())).collect();
    let call = handshake_call(method::DISCOVER, &[], &entries, until);
    match channel.exchange(&call).await {
        Ok(result) => Ok(Ok(result)),
        Err(CallError::Refused { error, .. }) => Ok(Err(error)),
        Err(error) => Err(error),
    }
}

/// Opens a legacy connection over one shared stream.
pub(super) async fn initialize(
    channel: &StreamChannel,
    who: &Introduction,
    until: Instant,
) -> Result<Identity, ConnectError> {
    let params = who.initialize_params();
    let params: Vec<_> = params.iter().map(|(key, value)| (*key, value.as_slice())).collect();
    let call = handshake_call(method::INITIALIZE, &params, &[], until);
    let result = channel.exchange(&call).await.map_err(|error| connect_error(error, method::INITIALIZE))?;
    let identity = read_initialize(&result)?;
    let call = handshake_call(method::INITIALIZED, &[], &[], until);
    channel.notify(&call).await.map_err(|error| connect_error(error, method::INITIALIZED))?;
    Ok(identity)
}

/// A request of the handshake, or its notification.
pub(super) fn handshake_call<'a>(
    method: &'a str,
    params: &'a [(&'a str, &'a [u8])],
    meta: &'a [(&'a str, &'a [u8])],
    until: Instant,
) -> Call<'a> {
    Call {
        method,
        name: None,
        params,
        meta,
        headers: &[],
        deadline: Deadline::at(until),
        leaving: Leaving::Silent,
        kind: CallKind::Plain,
    }
}

fn connect_error(error: CallError, step: &'static str) -> ConnectError {
    match error {
        CallError::Refused { error, .. } => ConnectError::Handshake { error },
        CallError::Lost { reason, .. } | CallError::Unreachable { reason, .. } => {
            ConnectError::Ended { reason }
        }
        CallError::Timeout { waited, .. } => ConnectError::Timeout { step, waited },
        other => ConnectError::NotMcp { reason: other.to_string() },
    }
}

/// The lists whose changes a modern server announces, as the filter of `subscriptions/listen`.
pub(super) fn listen_filter(capabilities: &RawJson) -> Option<RawJson> {
    let said: Value = capabilities.read().ok()?;
    let announced = |list: &&str| said[*list]["listChanged"] == true;
    let lists = ["tools", "prompts", "resources"].into_iter().filter(announced);
    let filter: Map<String, Value> = lists.map(|list| (format!("{list}ListChanged"), true.into())).collect();
    if filter.is_empty() { None } else { RawJson::of(&filter).ok() }
}

/// The request for changed lists; its answer is a stream that need not end.
pub(super) fn listen_call<'a>(
    params: &'a [(&'a str, &'a [u8])],
    meta: &'a [(&'a str, &'a [u8])],
) -> Call<'a> {
    let call = handshake_call(method::LISTEN, params, meta, Instant::now());
    Call { deadline: Deadline::never(), leaving: Leaving::Cancels, kind: CallKind::Listen, ..call }
}

/// Listens for changed lists over one shared stream, for as long as the server lets us.
pub(super) async fn listen(
    channel: Arc<StreamChannel>,
    meta: Vec<(&'static str, Vec<u8>)>,
    filter: RawJson,
    acknowledged: Option<&CancellationToken>,
    changed: impl Fn() + Send,
) {
    let entries: Vec<_> = meta.iter().map(|(key, value)| (*key, value.as_slice())).collect();
    let params = [("notifications", filter.as_bytes())];
    let mut pause = LISTEN_FIRST_PAUSE;
    loop {
        let (sink, mut agreed) = mpsc::channel(1);
        let call = Call { deadline: Deadline::never_with(sink), ..listen_call(&params, &entries) };
        let agreement = async {
            if agreed.recv().await.is_some()
                && let Some(acknowledged) = acknowledged
            {
                acknowledged.cancel();
            }
            std::future::pending::<()>().await;
        };
        let outcome = tokio::select! {
            outcome = channel.exchange(&call) => outcome,
            () = agreement => return,
        };
        // A server that does not know the method will not learn it.
        if let Err(CallError::Refused { .. } | CallError::Unreachable { .. }) = outcome {
            return;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LISTEN_LONGEST_PAUSE);
        changed();
    }
}

pub(super) const LISTEN_FIRST_PAUSE: Duration = Duration::from_secs(1);
pub(super) const LISTEN_LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Whether only a server of the modern era gives this error.
pub(super) fn is_modern_error(error: &RpcError) -> bool {
    let supported = supported(error);
    code::is_modern(error.code)
        && (supported.is_empty() || supported.iter().any(|version| is_modern(version)))
}
