//! Resources of servers, for callers who do not speak MCP.

use std::sync::Arc;

use futures_util::future::{join, join_all};
use gateway_config::template_values;
use gateway_protocol::{ListKind, RawJson, method};
use gateway_upstream::{CallError, UpstreamId};
use serde_json::{Value, json};

use crate::Runtime;
use crate::call::in_flight::resource_input;
use crate::call::{CallResult, Origin};
use crate::context::RequestContext;
use crate::failure::Failure;
use crate::scope::Scope;

/// What one server lists, as it came.
#[derive(Clone, Debug)]
pub struct ServerResources {
    /// The server.
    pub server: UpstreamId,
    /// Its resources.
    pub resources: Arc<[RawJson]>,
    /// Its templates of resources.
    pub templates: Arc<[RawJson]>,
    /// Why nothing is known, if nothing is.
    pub error: Option<CallError>,
}

impl Runtime {
    /// The resources of all servers in scope. All are asked at once, and none longer than for its tools.
    pub async fn resources(&self, scope: &Scope) -> Vec<ServerResources> {
        let servers = self.fleet().ids().into_iter().filter(|server| scope.covers(server));
        join_all(servers.map(|server| self.resources_of(server))).await
    }

    async fn resources_of(&self, server: UpstreamId) -> ServerResources {
        let (fleet, wait) = (self.fleet(), self.config().list_wait);
        let (listed, templates) = join(
            fleet.entries(server.as_str(), ListKind::Resources, wait),
            fleet.entries(server.as_str(), ListKind::ResourceTemplates, wait),
        )
        .await;
        let error = listed.as_ref().err().or(templates.as_ref().err()).cloned();
        let (resources, templates) = (listed.unwrap_or_default(), templates.unwrap_or_default());
        ServerResources { server, resources, templates, error }
    }

    /// Reads a resource, and writes that to the log. Where no server is named, it is the one that lists the URI, else the one
    /// with a template that fits.
    pub async fn read_resource(
        &self,
        scope: &Scope,
        uri: &str,
        context: &RequestContext,
        origin: &Origin,
    ) -> Result<CallResult, Failure> {
        let input = resource_input(uri);
        let server = match self.resource_owner(scope, uri).await {
            Ok(server) => server,
            Err(failure) => {
                let why = (failure.code(), failure.message());
                self.record_missing(method::READ_RESOURCE, &input, context, origin, (why.0, &why.1)).await?;
                return Err(failure);
            }
        };
        let quoted = json!(uri).to_string();
        let (params, options) = ([("uri", quoted.as_bytes())], context.own_call_options());
        let asking =
            self.fleet().request(server.as_str(), method::READ_RESOURCE, Some(uri), &params, &options);
        let read = self.run_request((&server, method::READ_RESOURCE), &input, context, origin, asking).await;
        read.map_err(|failure| match failure {
            Failure::Call(error) if error.is_unknown_resource() => {
                Failure::UnknownResource(error.to_string())
            }
            other => other,
        })
    }

    async fn resource_owner(&self, scope: &Scope, uri: &str) -> Result<UpstreamId, Failure> {
        if let Scope::Server(server) = scope {
            return Ok(server.clone());
        }
        let all = self.resources(scope).await;
        let owners = |lists: &dyn Fn(&ServerResources) -> bool| -> Vec<UpstreamId> {
            all.iter().filter(|one| lists(one)).map(|one| one.server.clone()).collect()
        };
        let has = |entries: &[RawJson], member: &str, fits: &dyn Fn(&str) -> bool| {
            let values = entries.iter().filter_map(|entry| entry.read::<Value>().ok());
            values.into_iter().any(|entry| entry.get(member).and_then(Value::as_str).is_some_and(fits))
        };
        let mut found = owners(&|one| has(&one.resources, "uri", &|own| own == uri));
        if found.is_empty() {
            let fits = |template: &str| template_values(template, uri).is_some();
            found = owners(&|one| has(&one.templates, "uriTemplate", &fits));
        }
        match found.as_slice() {
            [] => {
                let unlisted = all.iter().filter(|one| one.error.is_some());
                let unlisted: Vec<&str> = unlisted.map(|one| one.server.as_str()).collect();
                let text = format!("Resource not found: {uri}");
                Err(Failure::UnknownResource(match unlisted.as_slice() {
                    [] => text,
                    some => {
                        format!("{text}; the resources of these servers are not known: {}", some.join(", "))
                    }
                }))
            }
            [server] => Ok(server.clone()),
            several => {
                let candidates: Vec<String> = several.iter().map(ToString::to_string).collect();
                let message =
                    format!("several servers have {uri}; name one as `server`: {}", candidates.join(", "));
                Err(Failure::Ambiguous { message, candidates })
            }
        }
    }
}
