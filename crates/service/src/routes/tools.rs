//! `GET /tools…`: what the servers offer.

use std::fmt::Write as _;

use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use gateway_dialects::context::{Detail, group_by, render_groups, render_resources};
use gateway_protocol::{ListKind, printable_lines};
use gateway_upstream::CatalogueTool;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use serde_json::{Value, json};

use super::call_tool::error_style;
use crate::errors::{ApiError, ErrorStyle, classify, json_response};
use crate::lists::{ListRequest, Rendered, definitions, report};
use crate::query::Parameters;
use crate::runtime::failure::Failure;
use crate::runtime::gateway::Gateway;
use crate::runtime::lookup::{Missing, names};

/// Estimated tokens of what is answered.
const TOKENS: HeaderName = HeaderName::from_static("x-tool-tokens");
/// Estimated tokens that search saves over all definitions.
const SAVED: HeaderName = HeaderName::from_static("x-tool-tokens-saved");
/// How many tools were left out because the provider would refuse them.
const QUARANTINED: HeaderName = HeaderName::from_static("x-tools-quarantined");
/// Which dialect was chosen.
const DIALECT: HeaderName = HeaderName::from_static("x-tool-dialect");
/// Servers whose tools are not in the list, because nobody knows them.
const MISSING: HeaderName = HeaderName::from_static("x-servers-missing");

/// No rule knows the model that was named.
const UNKNOWN_MODEL: HeaderName = HeaderName::from_static("x-model-unknown");

/// `GET /tools`: the tools as MCP has them.
pub(crate) async fn list(State(gateway): State<Gateway>, uri: Uri, headers: HeaderMap) -> Response {
    let work = async {
        let parameters = Parameters::of_query(uri.query());
        let request = ListRequest::parse(&gateway, None, &parameters)?;
        let style = error_style(&parameters)?;
        let rendered = gateway.raw_list(&request).await?;
        let missing = missing(&gateway, &request, style)?;
        Ok::<_, ApiError>(named(cached(&headers, &rendered, rendered.body.clone()), &missing))
    };
    work.await.unwrap_or_else(axum::response::IntoResponse::into_response)
}

/// `GET /tools/{provider}`: the tools in a provider's format.
pub(crate) async fn render(
    State(gateway): State<Gateway>,
    Path(provider): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let work = async {
        let parameters = Parameters::of_query(uri.query());
        parameters.word("mode", &[("full", ()), ("search", ())])?;
        let request = ListRequest::parse(&gateway, Some(&provider), &parameters)?;
        let style = error_style(&parameters)?;
        let rendered = gateway.rendered(&request).await?;
        let missing = missing(&gateway, &request, style)?;
        gateway.metrics().conversions(rendered.wire_names().count(), rendered.withheld.len());
        let warning = request.model_warning(&gateway);
        let (is_list, wants_report) = (parameters.flag("list")?, parameters.flag("report")?);
        if is_list && request.wants_meta() {
            let message = "meta=1 beside list=1: a bare list has no room for it; leave one of them out";
            return Err(ApiError::bad_request(message));
        }
        let mut response = if wants_report || request.wants_meta() {
            let mut more = Vec::new();
            if request.wants_meta() {
                more.push(("meta", rendered.origins()));
            }
            if wants_report {
                more.push(("report", report(&gateway, &request).await?));
                let lists = [
                    ("withheld", withheld(&gateway, &request)),
                    ("renamed", renamed(&gateway, &request)),
                    ("missing", missing.iter().map(told).collect()),
                    ("warnings", warning.iter().map(|text| text.as_str().into()).collect()),
                ];
                let said = lists.into_iter().filter(|(_, list)| !list.is_empty());
                more.extend(said.map(|(key, list)| (key, Value::Array(list))));
            }
            let mut body: Value = serde_json::from_slice(&rendered.body).unwrap_or_default();
            if let Some(members) = body.as_object_mut() {
                members.extend(more.into_iter().map(|(key, value)| (key.to_owned(), value)));
            }
            json_response(StatusCode::OK, body.to_string())
        } else {
            let body = if is_list { rendered.list() } else { rendered.body.clone() };
            cached(&headers, &rendered, body)
        };
        if warning.is_some() {
            response.headers_mut().insert(UNKNOWN_MODEL, HeaderValue::from_static("true"));
        }
        Ok::<_, ApiError>(named(response, &missing))
    };
    work.await.unwrap_or_else(axum::response::IntoResponse::into_response)
}

/// `GET /tools/{provider}/context`: the tools as text for a prompt.
pub(crate) async fn context(
    State(gateway): State<Gateway>,
    Path(provider): Path<String>,
    uri: Uri,
) -> Response {
    let work = async {
        let parameters = Parameters::of_query(uri.query());
        let request = ListRequest::parse(&gateway, Some(&provider), &parameters)?;
        // The provider must exist even though every provider reads the same text.
        request.dialect(&gateway)?;
        let words =
            [("concise", Detail::Concise), ("standard", Detail::Standard), ("detailed", Detail::Detailed)];
        let detail = parameters.word("mode", &words)?.unwrap_or_default();
        let style = error_style(&parameters)?;
        let (catalogue, mut tools) = definitions(&gateway, &request).await;
        let missing = missing(&gateway, &request, style)?;
        for (place, definition) in &mut tools {
            label(definition, catalogue.tools().get(*place));
        }
        let values: Vec<&Value> = tools.iter().map(|(_, value)| value).collect();
        let groups = match parameters.get("group_by").or_else(|| parameters.get("groupBy")) {
            None => vec![(String::new(), values)],
            Some(key @ ("server" | "category")) => group_by(&values, key),
            Some(other) => {
                return Err(ApiError::bad_request(format!(
                    "group_by={other}: expected one of server, category"
                )));
            }
        };
        let mut text = render_groups(&groups, detail);
        if parameters.flag("resources")? {
            text = format!("{text}\n\n{}", resources(&gateway, &request).await);
        }
        if !missing.is_empty() {
            text.push_str("\n\nTools of these servers are not available at the moment:");
            for (server, error) in &missing {
                let _ = write!(text, "\n- {server}: {error}");
            }
        }
        // Names and descriptions come from servers, and the text is read by people and on terminals.
        let text = printable_lines(&text).into_owned();
        let tokens = text.len().div_ceil(4);
        let mut response = Response::new(axum::body::Body::from(text));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        headers.insert(TOKENS, HeaderValue::from(tokens));
        Ok::<_, ApiError>(named(response, &missing))
    };
    work.await.unwrap_or_else(axum::response::IntoResponse::into_response)
}

/// The servers that a list lacks, or the error where it could show nothing at all.
fn missing(gateway: &Gateway, request: &ListRequest, style: ErrorStyle) -> Result<Vec<Missing>, ApiError> {
    gateway.missing(&request.scope).map_err(|error| Failure::Call(error).into_api(style))
}

/// An answer that names the servers that it lacks, also where its body is the same as before.
fn named(mut response: Response, missing: &[Missing]) -> Response {
    if !missing.is_empty() {
        let plain = |letter: char| if matches!(letter, ' '..='~') { letter } else { '?' };
        let text: String = names(missing).chars().map(plain).collect();
        response.headers_mut().extend(HeaderValue::from_str(&text).ok().map(|names| (MISSING, names)));
    }
    response
}

fn told((server, error): &Missing) -> Value {
    let (_, code) = classify(error, ErrorStyle::Plain);
    json!({"server": server.as_str(), "code": code, "error": error.to_string()})
}

/// The tools that are in no list because somebody has to accept their definitions first.
fn withheld(gateway: &Gateway, request: &ListRequest) -> Vec<Value> {
    let (catalogue, wanted) = (gateway.fleet().catalogue(), request.scope.ids());
    let is_wanted = |tool: &CatalogueTool| wanted.is_empty() || wanted.contains(&tool.server);
    let tools = catalogue.tools().iter().filter(|tool| is_wanted(tool));
    let withheld = tools.filter_map(|tool| Some((tool, tool.withheld.as_deref()?)));
    withheld
        .map(|(tool, reason)| json!({"server": tool.server.as_str(), "tool": tool.name, "reason": reason}))
        .collect()
}

/// The tools whose own names are reserved for another server.
fn renamed(gateway: &Gateway, request: &ListRequest) -> Vec<Value> {
    let (catalogue, wanted) = (gateway.fleet().catalogue(), request.scope.ids());
    let is_wanted = |tool: &&CatalogueTool| wanted.is_empty() || wanted.contains(&tool.server);
    catalogue.renamed().filter(is_wanted).map(super::servers::describe_renamed).collect()
}

/// The resources and templates of the servers that a request is about, each below its server's name and state.
async fn resources(gateway: &Gateway, request: &ListRequest) -> String {
    let fleet = gateway.fleet();
    let mut lists = Vec::new();
    for server in fleet.ids() {
        let wanted = request.scope.ids();
        if !wanted.is_empty() && !wanted.contains(&server) {
            continue;
        }
        let mut entries: Vec<Value> = Vec::new();
        for kind in [ListKind::Resources, ListKind::ResourceTemplates] {
            // A server that does not answer has no resources at this moment; its state says why.
            if let Ok(listed) = fleet.entries(server.as_str(), kind, gateway.config().list_wait).await {
                entries.extend(listed.iter().filter_map(|entry| entry.read().ok()));
            }
        }
        let state = fleet.health_of(server.as_str()).map_or("unknown", |health| health.state.name());
        lists.push((format!("{server} ({state})"), entries));
    }
    let groups: Vec<(String, Vec<&Value>)> =
        lists.iter().map(|(title, entries)| (title.clone(), entries.iter().collect())).collect();
    render_resources(&groups)
}

/// Puts the server and the category of a tool where texts about it look for them.
fn label(definition: &mut Value, tool: Option<&CatalogueTool>) {
    let (Some(members), Some(tool)) = (definition.as_object_mut(), tool) else { return };
    let meta = members.entry("_meta").or_insert_with(|| Value::Object(serde_json::Map::new()));
    if let Some(meta) = meta.as_object_mut() {
        meta.insert("server".to_owned(), tool.server.as_str().into());
        if let Some(category) = &tool.category {
            meta.insert("category".to_owned(), (**category).into());
        }
    }
}

/// A list with its tag, or nothing where the caller has it already.
fn cached(headers: &HeaderMap, rendered: &Rendered, body: bytes::Bytes) -> Response {
    let mut response = if has_tag(headers, &rendered.etag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        json_response(StatusCode::OK, body)
    };
    let answer = response.headers_mut();
    answer.insert(header::ETAG, rendered.etag.clone());
    answer.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    answer.insert(TOKENS, HeaderValue::from(rendered.tokens));
    if let Some(finder) = &rendered.finder {
        answer.insert(SAVED, HeaderValue::from(finder.cost().all.saturating_sub(rendered.tokens)));
    }
    if !rendered.withheld.is_empty() {
        answer.insert(QUARANTINED, HeaderValue::from(rendered.withheld.len()));
    }
    if let Some(name) =
        rendered.dialect.as_ref().and_then(|dialect| HeaderValue::from_str(&dialect.name).ok())
    {
        answer.insert(DIALECT, name);
    }
    response
}

fn has_tag(headers: &HeaderMap, etag: &HeaderValue) -> bool {
    let tags = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let Ok(own) = etag.to_str() else { return false };
    tags.flat_map(|tags| tags.split(','))
        .map(str::trim)
        .any(|tag| tag == "*" || tag.trim_start_matches("W/") == own)
}
