//! `GET /tools…`: what the servers offer.

use std::cmp::Reverse;
use std::fmt::Write as _;

use axum_core::response::{IntoResponse as _, Response};
use gateway_dialects::context::{Detail, group_by, render_groups, render_groups_within, render_resources};
use gateway_protocol::printable_lines;
use gateway_upstream::{Catalogue, CatalogueTool, Importance, UpstreamId};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use serde_json::{Value, json};

use super::servers::{describe_clash, hidden_by_clashes};
use crate::errors::{ApiError, json_response};
use crate::gateway::Gateway;
use gateway_runtime::failure::{ErrorStyle, Failure, call_code};
use gateway_runtime::lists::{ListForm, ListMode, ListRequest, MostTools, Rendered, SelectBy, Share};
use gateway_runtime::lookup::{Missing, names};
use gateway_runtime::parameters::Parameters;

/// Estimated tokens of what is answered.
const TOKENS: HeaderName = HeaderName::from_static("x-tool-tokens");
/// Estimated tokens that search saves over all definitions.
const SAVED: HeaderName = HeaderName::from_static("x-tool-tokens-saved");
/// How many tools were left out because the provider would refuse them.
const QUARANTINED: HeaderName = HeaderName::from_static("x-tools-quarantined");
/// How many tools the list has no room for.
const OMITTED: HeaderName = HeaderName::from_static("x-tools-omitted");
/// How many tools are not strict because one request does not take more strict ones.
const NOT_STRICT: HeaderName = HeaderName::from_static("x-tools-not-strict");
/// Which dialect was chosen.
const DIALECT: HeaderName = HeaderName::from_static("x-tool-dialect");
/// Servers whose tools are not in the list, because nobody knows them.
const MISSING: HeaderName = HeaderName::from_static("x-servers-missing");

/// Servers whose tools in the list are those of an earlier run.
const STALE: HeaderName = HeaderName::from_static("x-servers-stale");

/// No rule knows the model that was named.
const UNKNOWN_MODEL: HeaderName = HeaderName::from_static("x-model-unknown");

/// Schemas are as they came, so that the provider may refuse some.
const VERBATIM: HeaderName = HeaderName::from_static("x-tools-verbatim");

/// Bytes that are taken as one token.
const TOKEN_BYTES: usize = 4;

/// `GET /tools`: the tools as MCP has them.
pub(crate) async fn list(gateway: Gateway, uri: Uri, headers: HeaderMap) -> Result<Response, ApiError> {
    let parameters = Parameters::of_query(uri.query());
    let mut request = list_request(&gateway, None, &parameters)?;
    request.form = ListForm::Mcp;
    let style = parameters.error_style()?;
    gateway.lists().listed_or_stale(&request).await;
    let rendered = gateway.lists().offered(&request).await?;
    let missing = missing(&gateway, &request, style)?;
    let old_lists = gateway.stale(&request.scope);
    let mut response = cached(&headers, &rendered, rendered.body.clone());
    note_limits(&mut response, &rendered);
    Ok(named(response, &missing, &old_lists))
}

/// `GET /tools/{provider}`: the tools in a provider's format.
pub(crate) async fn render(
    gateway: Gateway,
    provider: String,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let parameters = Parameters::of_query(uri.query());
    parameters.word("mode", &[("full", ()), ("search", ())])?;
    let mut request = list_request(&gateway, Some(&provider), &parameters)?;
    request.with_report = parameters.flag("report")?;
    let style = parameters.error_style()?;
    let is_list = parameters.flag("list")?;
    if is_list && request.with_server {
        let message = "meta=1 cannot be combined with list=1: a bare list has no room for it";
        return Err(ApiError::bad_request(message));
    }
    if let Some(query) = parameters.get("query") {
        return selected(&gateway, &request, query, is_list, style).await;
    }
    gateway.lists().listed_or_stale(&request).await;
    let rendered = gateway.lists().offered(&request).await?;
    let missing = missing(&gateway, &request, style)?;
    let old_lists = gateway.stale(&request.scope);
    gateway.call_metrics().conversions(rendered.wire_names().count(), rendered.quarantined.len());
    let warning = request.model_warning(gateway.lists());
    let option_warning = request.option_warning();
    let mut response = if request.with_report || request.with_server {
        let mut body = rendered.body.strip_suffix(b"}").unwrap_or_default().to_vec();
        if request.with_server {
            add_member(&mut body, "meta", rendered.origins().to_string().as_bytes());
        }
        if let Some(report) = &rendered.report {
            add_member(&mut body, "report", report);
            let lists = [
                ("withheld", unaccepted(&rendered.catalogue, &request)),
                ("renamed", renamed(&rendered.catalogue, &request)),
                ("clashes", hidden_by_clashes(&rendered.catalogue).map(describe_clash).collect()),
                ("missing", missing.iter().map(describe_missing).collect()),
                ("stale", old_lists.iter().map(|server| server.as_str().into()).collect()),
                ("warnings", warning.as_deref().into_iter().chain(option_warning).map(Value::from).collect()),
            ];
            for (name, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
                add_member(&mut body, name, Value::Array(list).to_string().as_bytes());
            }
        }
        body.push(b'}');
        let mut response = json_response(StatusCode::OK, body);
        describe(&mut response, &rendered);
        response
    } else {
        let body = if is_list { rendered.list() } else { rendered.body.clone() };
        cached(&headers, &rendered, body)
    };
    note_limits(&mut response, &rendered);
    if warning.is_some() {
        response.headers_mut().insert(UNKNOWN_MODEL, HeaderValue::from_static("true"));
    }
    if option_warning.is_some() {
        response.headers_mut().insert(VERBATIM, HeaderValue::from_static("true"));
    }
    Ok(named(response, &missing, &old_lists))
}

/// The tools of a list that a question is about, as many as there is room for.
async fn selected(
    gateway: &Gateway,
    request: &ListRequest,
    query: &str,
    is_list: bool,
    style: ErrorStyle,
) -> Result<Response, ApiError> {
    if request.with_report || request.with_server || request.mode == ListMode::Search {
        let message = "query cannot be combined with report, meta or mode=search";
        return Err(ApiError::bad_request(message));
    }
    let dialect = request.dialect(gateway.lists())?;
    let (whole, budget) = request.without_limits(dialect.limits.tools);
    gateway.lists().listed_or_stale(&whole).await;
    let rendered = gateway.lists().offered(&whole).await?;
    let missing = missing(gateway, &whole, style)?;
    let old_lists = gateway.stale(&whole.scope);
    let questions = [query.to_owned()];
    let by = SelectBy { questions: &questions, budget, share: Share::Whole, pinned: &[], search: None };
    let selected = rendered.select(by).await;
    gateway.call_metrics().conversions(selected.names.len(), rendered.quarantined.len());
    let body = if is_list {
        selected.list.to_vec()
    } else {
        let mut body = format!("{{{}:", Value::from(dialect.tool.document.as_str())).into_bytes();
        body.extend_from_slice(&selected.list);
        body.push(b'}');
        body
    };
    let mut response = json_response(StatusCode::OK, body);
    describe(&mut response, &rendered);
    response.headers_mut().insert(TOKENS, HeaderValue::from(selected.tokens));
    response.headers_mut().insert(OMITTED, HeaderValue::from(selected.omitted));
    Ok(named(response, &missing, &old_lists))
}

/// `GET /tools/{provider}/context`: the tools as text for a prompt.
pub(crate) async fn context(gateway: Gateway, provider: String, uri: Uri) -> Result<Response, ApiError> {
    let parameters = Parameters::of_query(uri.query());
    let mut request = list_request(&gateway, Some(&provider), &parameters)?;
    // A text is no list of a request: it has as many tools as the caller wants, and `maxTokens` is about the whole of it.
    request.most_tokens = None;
    if request.most_tools == MostTools::AsProviderTakes {
        request.most_tools = MostTools::Unlimited;
    }
    let words =
        [("concise", Detail::Concise), ("standard", Detail::Standard), ("detailed", Detail::Detailed)];
    let detail = parameters.word("mode", &words)?.unwrap_or_default();
    let style = parameters.error_style()?;
    let group_key = match parameters.get("group_by").or_else(|| parameters.get("groupBy")) {
        key @ (None | Some("server" | "category" | "importance")) => key,
        Some(other) => {
            let message = format!("group_by={other}: expected one of server, category, importance");
            return Err(ApiError::bad_request(message));
        }
    };
    let most = parameters.number("maxTokens", 1..=u64::from(u32::MAX))?;
    let (catalogue, mut tools) = gateway.lists().shown_definitions(&request).await?;
    let missing = missing(&gateway, &request, style)?;
    for (index, definition) in &mut tools {
        label(definition, catalogue.tools().get(*index));
    }
    let mut values: Vec<&Value> = tools.iter().map(|(_, value)| value).collect();
    let groups = match group_key {
        None => vec![(String::new(), values)],
        Some(key) => {
            if key == "importance" {
                values.sort_by_key(|tool| Reverse(importance(tool)));
            }
            group_by(&values, key)
        }
    };
    let mut more = String::new();
    if parameters.flag("resources")? {
        let _ = write!(more, "\n\n{}", resources(&gateway, &request).await);
    }
    if !missing.is_empty() {
        // Only their names: why they are missing is nothing for a model, and may hold what a server wrote.
        let _ =
            write!(more, "\n\nTools of these servers are not available at the moment: {}", names(&missing));
    }
    let mut text = match most {
        None => render_groups(&groups, detail),
        Some(most) => {
            let bytes = usize::try_from(most).unwrap_or(usize::MAX).saturating_mul(TOKEN_BYTES);
            render_groups_within(&groups, detail, bytes.saturating_sub(more.len()), importance)
        }
    };
    text.push_str(&more);
    // Names and descriptions come from servers, and the text is read by people and on terminals.
    let text = printable_lines(&text).into_owned();
    let tokens = text.len().div_ceil(TOKEN_BYTES);
    let mut response = Response::new(axum_core::body::Body::from(text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(TOKENS, HeaderValue::from(tokens));
    Ok(named(response, &missing, &gateway.stale(&request.scope)))
}

/// The list that the parameters of a request ask for.
fn list_request(
    gateway: &Gateway,
    provider: Option<&str>,
    parameters: &Parameters,
) -> Result<ListRequest, Failure> {
    let scope = gateway.scope(parameters.get("server"))?;
    ListRequest::parse(gateway.lists(), scope, provider, parameters)
}

/// Adds a member to an object that is being written.
fn add_member(body: &mut Vec<u8>, name: &str, value: &[u8]) {
    body.extend_from_slice(b",\"");
    body.extend_from_slice(name.as_bytes());
    body.extend_from_slice(b"\":");
    body.extend_from_slice(value);
}

/// The servers that a list lacks, or the error where it could show nothing at all.
fn missing(gateway: &Gateway, request: &ListRequest, style: ErrorStyle) -> Result<Vec<Missing>, ApiError> {
    gateway.missing(&request.scope).map_err(|error| ApiError::of(Failure::Call(error), style))
}

/// An answer that names the servers that it lacks, also where its body is the same as before.
fn named(mut response: Response, missing: &[Missing], stale: &[UpstreamId]) -> Response {
    let stale = stale.iter().map(UpstreamId::as_str).collect::<Vec<_>>().join(", ");
    for (header, names) in [(MISSING, names(missing)), (STALE, stale)] {
        let plain = |letter: char| if matches!(letter, ' '..='~') { letter } else { '?' };
        let text: String = names.chars().map(plain).collect();
        let value = HeaderValue::from_str(&text).ok().filter(|_| !text.is_empty());
        response.headers_mut().extend(value.map(|names| (header, names)));
    }
    response
}

fn describe_missing((server, error): &Missing) -> Value {
    json!({"server": server.as_str(), "code": call_code(error), "error": error.to_string()})
}

/// The tools that are in no list because somebody has to accept their definitions first.
fn unaccepted(catalogue: &Catalogue, request: &ListRequest) -> Vec<Value> {
    let tools = catalogue.tools().iter().filter(|tool| request.scope.covers(&tool.server));
    let unaccepted = tools.filter_map(|tool| Some((tool, tool.unaccepted.as_deref()?)));
    unaccepted
        .map(|(tool, reason)| json!({"server": tool.server.as_str(), "tool": tool.name, "reason": reason}))
        .collect()
}

/// The tools whose own names are reserved for another server.
fn renamed(catalogue: &Catalogue, request: &ListRequest) -> Vec<Value> {
    let tools = catalogue.renamed().filter(|tool| request.scope.covers(&tool.server));
    tools.map(super::servers::describe_renamed).collect()
}

/// The resources and templates of the servers that a request is about, each below its server's name and state.
async fn resources(gateway: &Gateway, request: &ListRequest) -> String {
    let mut lists = Vec::new();
    for listed in gateway.resources(&request.scope).await {
        let entries = listed.resources.iter().chain(listed.templates.iter());
        let entries: Vec<Value> = entries.filter_map(|entry| entry.read().ok()).collect();
        // A server that does not answer has no resources at this moment; its state says why.
        let health = gateway.fleet().health_of(listed.server.as_str());
        let state = health.map_or("unknown", |health| health.state.name());
        lists.push((format!("{} ({state})", listed.server), entries));
    }
    let groups: Vec<(String, Vec<&Value>)> =
        lists.iter().map(|(title, entries)| (title.clone(), entries.iter().collect())).collect();
    render_resources(&groups)
}

/// How much a tool that was labelled matters; the most is the greatest.
fn importance(tool: &Value) -> usize {
    let word = tool.get("_meta").and_then(|meta| meta.get("importance")).and_then(Value::as_str);
    match word.and_then(Importance::parse).unwrap_or_default() {
        Importance::Low => 0,
        Importance::Normal => 1,
        Importance::High => 2,
    }
}

/// Puts the server, the category and the importance of a tool where texts about it look for them.
fn label(definition: &mut Value, tool: Option<&CatalogueTool>) {
    let (Some(members), Some(tool)) = (definition.as_object_mut(), tool) else { return };
    let meta = members.entry("_meta").or_insert_with(|| Value::Object(serde_json::Map::new()));
    if let Some(meta) = meta.as_object_mut() {
        meta.insert("server".to_owned(), tool.server.as_str().into());
        meta.insert("importance".to_owned(), tool.importance.name().into());
        if let Some(category) = &tool.category {
            meta.insert("category".to_owned(), (**category).into());
        }
    }
}

/// A list with its tag, or 304 if the caller has it already.
fn cached(headers: &HeaderMap, rendered: &Rendered, body: bytes::Bytes) -> Response {
    let mut response = if has_tag(headers, &rendered.etag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        json_response(StatusCode::OK, body)
    };
    let answer = response.headers_mut();
    answer.extend(HeaderValue::from_str(&rendered.etag).ok().map(|etag| (header::ETAG, etag)));
    answer.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    describe(&mut response, rendered);
    response
}

/// What the headers say about a list. A report has no tag: it also says what changes beside the list.
fn describe(response: &mut Response, rendered: &Rendered) {
    let answer = response.headers_mut();
    answer.insert(TOKENS, HeaderValue::from(rendered.tokens));
    if let Some(finder) = &rendered.finder {
        answer.insert(SAVED, HeaderValue::from(finder.cost.all.saturating_sub(rendered.tokens)));
    }
    if !rendered.quarantined.is_empty() {
        answer.insert(QUARANTINED, HeaderValue::from(rendered.quarantined.len()));
    }
    if let Some(name) =
        rendered.dialect.as_ref().and_then(|dialect| HeaderValue::from_str(&dialect.name).ok())
    {
        answer.insert(DIALECT, name);
    }
}

/// What a list has no room for, also where its body is the same as before.
fn note_limits(response: &mut Response, rendered: &Rendered) {
    for (header, count) in [(OMITTED, rendered.omitted), (NOT_STRICT, rendered.not_strict)] {
        if count > 0 {
            response.headers_mut().insert(header, HeaderValue::from(count));
        }
    }
}

fn has_tag(headers: &HeaderMap, etag: &str) -> bool {
    let tags = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    tags.flat_map(|tags| tags.split(','))
        .map(str::trim)
        .any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag)
}
