//! `GET /tools…`: what the servers offer.

use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use gateway_dialects::context::{Detail, group_by, render_groups, render_resources};
use gateway_protocol::ListKind;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use serde_json::Value;

use crate::errors::{ApiError, json_response};
use crate::gateway::Gateway;
use crate::query::Parameters;
use crate::render::{ListRequest, Rendered, definitions, report};

/// Estimated tokens of what is answered.
const TOKENS: HeaderName = HeaderName::from_static("x-tool-tokens");
/// Estimated tokens that search saves over all definitions.
const SAVED: HeaderName = HeaderName::from_static("x-tool-tokens-saved");
/// How many tools were left out because the provider would refuse them.
const QUARANTINED: HeaderName = HeaderName::from_static("x-tools-quarantined");
/// Which dialect was chosen.
const DIALECT: HeaderName = HeaderName::from_static("x-tool-dialect");

/// No rule knows the model that was named.
const UNKNOWN_MODEL: HeaderName = HeaderName::from_static("x-model-unknown");

/// `GET /tools`: the tools as MCP has them.
pub(crate) async fn list(State(gateway): State<Gateway>, uri: Uri, headers: HeaderMap) -> Response {
    let work = async {
        let parameters = Parameters::of_query(uri.query());
        let request = ListRequest::parse(&gateway, None, &parameters)?;
        let rendered = gateway.raw_list(&request).await?;
        Ok::<_, ApiError>(cached(&headers, &rendered, rendered.body.clone()))
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
        let rendered = gateway.rendered(&request).await?;
        gateway.metrics().conversions(rendered.wire_names().count(), rendered.withheld.len());
        let warning = request.model_warning(&gateway);
        let (is_list, wants_report) = (parameters.flag("list")?, parameters.flag("report")?);
        if is_list && request.wants_meta() {
            let message = "meta=1 beside list=1: a bare list has no room for it; leave one of them out";
            return Err(ApiError::bad_request(message));
        }
        let mut response = if wants_report || request.wants_meta() {
            let mut body: Value = serde_json::from_slice(&rendered.body).unwrap_or_default();
            if request.wants_meta() {
                body["meta"] = rendered.origins();
            }
            if wants_report {
                body["report"] = report(&gateway, &request).await?;
                if let Some(warning) = &warning {
                    body["warnings"] = serde_json::json!([warning]);
                }
            }
            json_response(StatusCode::OK, body.to_string())
        } else {
            let body = if is_list { rendered.list() } else { rendered.body.clone() };
            cached(&headers, &rendered, body)
        };
        if warning.is_some() {
            response.headers_mut().insert(UNKNOWN_MODEL, HeaderValue::from_static("true"));
        }
        Ok::<_, ApiError>(response)
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
        let (catalogue, mut tools) = definitions(&gateway, &request).await;
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
        let tokens = text.len().div_ceil(4);
        let mut response = Response::new(axum::body::Body::from(text));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        headers.insert(TOKENS, HeaderValue::from(tokens));
        Ok::<_, ApiError>(response)
    };
    work.await.unwrap_or_else(axum::response::IntoResponse::into_response)
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
fn label(definition: &mut Value, tool: Option<&gateway_upstream::CatalogueTool>) {
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
