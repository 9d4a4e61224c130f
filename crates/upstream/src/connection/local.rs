//! Servers in our own process: called directly, without streams.

use gateway_builtin::{DemoServer, Registry, WorkspaceServer};
use gateway_config::{Endpoint, UpstreamId, UpstreamSpec};
use gateway_protocol::{RawJson, RpcError, code, method, write_params};

use super::call::Call;
use super::handshake::{Identity, Introduction, read_discovery};
use crate::error::{CallError, ConnectError};

/// A connection to a server in our own process.
#[derive(Debug)]
pub(super) struct LocalChannel {
    upstream: UpstreamId,
    server: Server,
}

#[derive(Debug)]
enum Server {
    Demo(DemoServer),
    Workspace(WorkspaceServer),
    Registry(Registry),
}

impl LocalChannel {
    pub(super) fn new(spec: &UpstreamSpec, registry: Registry) -> Result<Self, ConnectError> {
        let server = match &spec.endpoint {
            Endpoint::Demo => Server::Demo(DemoServer::new()),
            Endpoint::Workspace(workspace) => {
                let server = WorkspaceServer::open(workspace).map_err(|error| ConnectError::Ended {
                    reason: format!("opening the directory {}: {error}", workspace.root.display()),
                });
                Server::Workspace(server?)
            }
            Endpoint::Registry => Server::Registry(registry),
            Endpoint::Stdio { .. } | Endpoint::Http { .. } | Endpoint::Invalid => {
                return Err(ConnectError::NotMcp { reason: "it is no built-in server".to_owned() });
            }
        };
        Ok(Self { upstream: spec.id.clone(), server })
    }

    pub(super) async fn shake(&self, who: &Introduction) -> Result<Identity, ConnectError> {
        let meta = who.modern_meta();
        let entries: Vec<_> = meta.iter().map(|(key, value)| (*key, value.as_slice())).collect();
        let outcome = self.handle(method::DISCOVER, &[], &entries).await;
        let not_modern = || ConnectError::NotMcp { reason: "the built-in server is not modern".to_owned() };
        read_discovery(&outcome)?.ok_or_else(not_modern)
    }

    pub(super) async fn exchange(&self, call: &Call<'_>) -> Result<RawJson, CallError> {
        match call.deadline.wait(self.handle(call.method, call.params, call.meta)).await {
            Ok(outcome) => {
                outcome.map_err(|error| CallError::Refused { upstream: self.upstream.clone(), error })
            }
            Err(waited) => Err(CallError::Timeout { upstream: self.upstream.clone(), waited }),
        }
    }

    async fn handle(
        &self,
        method: &str,
        params: &[(&str, &[u8])],
        meta: &[(&str, &[u8])],
    ) -> Result<RawJson, RpcError> {
        let mut text = Vec::with_capacity(256);
        write_params(&mut text, params, meta);
        let params =
            RawJson::parse(text).map_err(|error| RpcError::new(code::INVALID_PARAMS, error.to_string()))?;
        match &self.server {
            Server::Demo(demo) => demo.handle(method, Some(&params)),
            Server::Workspace(workspace) => workspace.handle(method, Some(&params)).await,
            Server::Registry(registry) => registry.handle(method, Some(&params)).await,
        }
    }
}
