//! `GET /logs`: the call log, as a page or as a stream.
//!
//! Where keys are configured, a caller sees its own calls. Admins and the owners in `log.readers` see all, and the log files
//! that servers write themselves, whose entries name no caller.

mod follow;

use std::path::PathBuf;
use std::time::Duration;

use axum_core::response::Response;
use gateway_config::ServiceConfig;
use gateway_notation::pattern::is_pattern;
use gateway_store::jsonl::{self, Lines, Tail};
use gateway_store::{CallStatus, Filter, LogOwner, Page, StoreError, parse_moment, write_json_array};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::errors::{ApiError, code, json_response};
use crate::gateway::Gateway;
use gateway_runtime::context::RequestContext;
use gateway_runtime::owner::Owner;
use gateway_runtime::parameters::Parameters;
use gateway_runtime::scope::{named_server, unknown_server};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// The newest entry of the log when a page was read: the `after` to go on with.
const LAST_ID: HeaderName = HeaderName::from_static("x-log-last-id");

const USUAL: u64 = 100;
const MOST: u64 = 10_000;
const LARGEST_ID: u64 = i64::MAX as u64;

/// Whose log is asked for, and which entries of it.
#[derive(Debug)]
enum Source {
    /// The gateway's own log.
    Gateway(Box<Filter>),
    /// The file that a server writes; none where the server has none.
    Server(Option<PathBuf>, Tail),
}

/// `GET /logs`.
pub(crate) async fn logs(
    gateway: Gateway,
    context: RequestContext,
    uri: Uri,
    headers: HeaderMap,
    stopping: CancellationToken,
) -> Result<Response, ApiError> {
    let parameters = Parameters::of_query(uri.query());
    let follows = parameters.flag("follow")? || parameters.flag("stream")?;
    let last_event = headers.get(LAST_EVENT_ID).filter(|_| follows);
    let source = Source::parse(&gateway, &parameters, last_event, context.caller.as_ref())?;
    if matches!(source, Source::Gateway(_)) {
        flush(&gateway).await?;
    }
    if follows {
        return follow::stream(&gateway, source, stopping);
    }
    match source {
        Source::Gateway(filter) => page(&gateway, *filter, &uri).await,
        Source::Server(None, _) => Ok(json_response(StatusCode::OK, "[]")),
        Source::Server(Some(path), tail) => {
            let lines = blocking(move || jsonl::read_tail(&path, &tail))
                .await?
                .map_err(|error| unreadable(&error))?;
            Ok(json_response(StatusCode::OK, array(&lines)))
        }
    }
}

impl Source {
    fn parse(
        gateway: &Gateway,
        parameters: &Parameters,
        last_event: Option<&HeaderValue>,
        caller: Option<&Owner>,
    ) -> Result<Self, ApiError> {
        let owner = seen_by(gateway.config(), caller);
        let named = parameters.get("server").filter(|name| *name != "*");
        let known = named.map(|name| {
            named_server(gateway.fleet(), gateway.default_server(), name)
                .ok_or_else(|| unknown_server(gateway.fleet(), name))
        });
        let spec = known.transpose()?;
        let server = spec.as_ref().map(|spec| spec.id.as_str());
        let limit = parameters.number("limit", 1..=MOST)?.unwrap_or(USUAL);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let since = moment(parameters, "since")?;
        let tool = parameters.get("tool").map(str::to_owned);
        let is_server_log =
            parameters.word("source", &[("gateway", false), ("server", true)])?.unwrap_or(false);
        if is_server_log {
            if owner.is_some() {
                return Err(forbidden("the log of a server"));
            }
            let name = server.unwrap_or_else(|| gateway.default_server());
            let spec = gateway.fleet().spec(name).ok_or_else(|| unknown_server(gateway.fleet(), name))?;
            let mut tail = Tail::default();
            (tail.since, tail.tool, tail.limit) = (since, tool, limit);
            return Ok(Self::Server(spec.log_path.clone(), tail));
        }
        let mut filter = Filter::default();
        filter.server = server.map(str::to_owned);
        filter.tool = tool;
        filter.provider = parameters.get("provider").map(str::to_owned);
        if let Some(name) = &filter.provider {
            let dialects = gateway.dialects();
            filter.provider_aliases =
                dialects.names_of(name).filter(|other| other != name).map(str::to_owned).collect();
        }
        filter.caller = parameters.get("caller").map(str::to_owned);
        if let (Some(owner), Some(name)) = (&owner, &filter.caller)
            && !is_pattern(name)
            && !matches!(owner, LogOwner::Named(own) if **own == **name)
        {
            return Err(forbidden("calls of another caller"));
        }
        filter.owner = owner;
        let correlation = parameters.get("correlation_id").or_else(|| parameters.get("correlationId"));
        filter.correlation_id = correlation.map(str::to_owned);
        let words = [("ok", CallStatus::Ok), ("success", CallStatus::Ok), ("error", CallStatus::Error)];
        filter.status = parameters.word("status", &words)?;
        filter.since = since;
        filter.until = moment(parameters, "until")?;
        filter.text = parameters.get("text").map(str::to_owned);
        filter.after = id(parameters.number("after", 0..=LARGEST_ID)?);
        filter.before = id(parameters.number("before", 1..=LARGEST_ID)?);
        filter.limit = limit;
        if let Some(value) = last_event {
            let given = value.to_str().ok().and_then(|text| text.parse().ok()).filter(|id| *id >= 0);
            filter.after = Some(
                given.ok_or_else(|| ApiError::bad_request("Last-Event-ID: expected the id of an entry"))?,
            );
        }
        Ok(Self::Gateway(Box::new(filter)))
    }
}

/// Whose calls a caller sees; `None` if all.
fn seen_by(config: &ServiceConfig, caller: Option<&Owner>) -> Option<LogOwner> {
    if config.keys.is_empty() && config.admin_keys.is_empty() {
        return None;
    }
    match caller {
        None => Some(LogOwner::Anonymous),
        Some(owner) if owner.is_admin() => None,
        Some(owner) if config.log.readers.iter().any(|reader| Owner::caller(reader) == *owner) => None,
        Some(owner) => Some(LogOwner::Named(owner.to_shared())),
    }
}

fn forbidden(what: &str) -> ApiError {
    let message = format!(
        "{what} can be read with an admin key, or by an owner in `log.readers`; without `caller` and `source` you see your \
         own calls"
    );
    ApiError::new(StatusCode::FORBIDDEN, code::FORBIDDEN, message)
}

fn id(number: Option<u64>) -> Option<i64> {
    number.and_then(|number| i64::try_from(number).ok())
}

/// A moment in ISO 8601, or how long ago; one without an offset is in UTC, one without a time is midnight.
fn moment(parameters: &Parameters, name: &str) -> Result<Option<Timestamp>, ApiError> {
    let Some(text) = parameters.get(name) else { return Ok(None) };
    // In a query, an offset's `+` means a blank.
    let text = text.replace(' ', if text.contains('T') { "+" } else { "T" });
    let parsed = parse_moment(&text, Timestamp::now());
    parsed.map(Some).map_err(|expected| ApiError::bad_request(format!("{name}: {expected}")))
}

/// Runs what waits for the disk.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| {
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, code::UNKNOWN, "reading the log broke off")
    })
}

async fn read(gateway: &Gateway, filter: &Filter) -> Result<Page, ApiError> {
    let (gateway, filter) = (gateway.clone(), filter.clone());
    blocking(move || gateway.log().query(&filter)).await?.map_err(|error| failed(&error))
}

/// Waits for entries that are on their way: whoever has the answer to a call must find the call in the log. A log that
/// cannot write now still shows what it has.
async fn flush(gateway: &Gateway) -> Result<(), ApiError> {
    let gateway = gateway.clone();
    if let Err(error) = blocking(move || gateway.log().flush(FLUSH)).await? {
        tracing::warn!(%error, "Call log is behind.");
    }
    Ok(())
}

/// How long a reader waits for entries that are on their way.
const FLUSH: Duration = Duration::from_millis(500);

fn failed(error: &StoreError) -> ApiError {
    tracing::error!(%error, "Call log cannot be read.");
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, code::UNKNOWN, error.to_string())
}

fn unreadable(error: &std::io::Error) -> ApiError {
    let message = format!("the server's log cannot be read: {error}");
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, code::UNKNOWN, message)
}

async fn page(gateway: &Gateway, filter: Filter, uri: &Uri) -> Result<Response, ApiError> {
    let page = read(gateway, &filter).await?;
    let mut body = Vec::with_capacity(page.entries.len() * 256 + 2);
    write_json_array(&page.entries, &mut body);
    let mut response = json_response(StatusCode::OK, body);
    let headers = response.headers_mut();
    headers.insert(LAST_ID, HeaderValue::from(page.last_id));
    if page.more
        && let Some(link) = next_link(&page, &filter, uri)
    {
        headers.insert(header::LINK, link);
    }
    Ok(response)
}

/// The next page: newer entries where `after` was given, else older ones.
fn next_link(page: &Page, filter: &Filter, uri: &Uri) -> Option<HeaderValue> {
    let cursor = if filter.after.is_some() {
        format!("after={}", page.next_after(filter))
    } else {
        format!("before={}", page.entries.first()?.id)
    };
    let kept = uri.query().unwrap_or_default().split('&').filter(|pair| {
        let name = pair.split('=').next().unwrap_or_default();
        !pair.is_empty() && name != "after" && name != "before"
    });
    let query: Vec<&str> = kept.chain([cursor.as_str()]).collect();
    HeaderValue::from_str(&format!("<{}?{}>; rel=\"next\"", uri.path(), query.join("&"))).ok()
}

fn array(lines: &Lines) -> Vec<u8> {
    [&b"["[..], &lines.entries.join(&b','), b"]"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_leniently_but_surely() {
        let check = |text: &str| {
            let parameters = Parameters::of_query(Some(&format!("since={text}")));
            moment(&parameters, "since")
                .map(|moment| moment.map(|moment| moment.to_string()))
                .map_err(|error| error.message)
        };
        let expected = Ok(Some("2026-11-03T10:00:00Z".to_owned()));
        for text in [
            "2026-11-03T10:00:00Z",
            "2026-11-03T11:00:00+01:00",
            "2026-11-03T11:00:00%2B01:00",
            "2026-11-03T10:00:00",
            "2026-11-03%2010:00:00",
        ] {
            assert_eq!(check(text), expected, "{text}");
        }
        assert_eq!(check("2026-11-03"), Ok(Some("2026-11-03T00:00:00Z".to_owned())));
        let ago = |text: &str| check(text).unwrap().unwrap().parse::<Timestamp>().unwrap();
        assert!(ago("10m") < ago("5m") && ago("5m") < Timestamp::now());
        for text in ["yesterday", "1730628000", "2026-13-01", "2026-11-03T25:00:00Z"] {
            assert_eq!(
                check(text),
                Err("since: expected 15m, 2h, 3d, 2026-11-03 or 2026-11-03T10:00:00Z".to_owned()),
                "{text}"
            );
        }
    }
}
