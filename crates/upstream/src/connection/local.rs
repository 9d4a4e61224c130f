//! Servers in our own process: called directly, without streams.

use gateway_builtin::{DemoServer, Registry, WorkspaceServer};
use gateway_config::{Endpoint, UpstreamId, UpstreamSpec};
use gateway_protocol::{RawJson, RpcError, method};

use super::call::Call;
use super::handshake::{Discovery, Identity, Introduction, read_discovery};
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
    pub(super) fn new(spec: &UpstreamSpec) -> Result<Self, ConnectError> {
        let server = match &spec.endpoint {
            Endpoint::Demo => Server::Demo(DemoServer::new()),
            Endpoint::Workspace(workspace) => {
                let server = WorkspaceServer::open(workspace).map_err(|error| ConnectError::Ended {
                    reason: format!("opening the directory {}: {error}", workspace.root.display()),
                });
                Server::Workspace(server?)
            }
            Endpoint::Stdio { .. } | Endpoint::Http { .. } | Endpoint::Registry => {
                return Err(ConnectError::NotMcp { reason: "it is no built-in server".to_owned() });
            }
        };
        Ok(Self { upstream: spec.id.clone(), server })
    }

    pub(super) fn registry(upstream: &UpstreamId, registry: Registry) -> Self {
        Self { upstream: upstream.clone(), server: Server::Registry(registry) }
    }

    pub(super) async fn shake(&self, who: &Introduction) -> Result<Identity, ConnectError> {
        let meta = who.modern_meta();
        let entries: Vec<_> = meta.iter().map(|(key, value)| (*key, value.as_slice())).collect();
        let outcome = self.handle(method::DISCOVER, &[], &entries).await;
        match read_discovery(&outcome) {
            Discovery::Modern(identity) => Ok(identity),
            Discovery::Legacy | Discovery::Unsupported(_) => {
                Err(ConnectError::NotMcp { reason: "the built-in server is not modern".to_owned() })
            }
        }
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
        let params = written_params(params, meta)
            .map_err(|error| RpcError::new(gateway_protocol::code::INVALID_PARAMS, error.to_string()))?;
        match &self.server {
            Server::Demo(demo) => demo.handle(method, Some(&params)),
            Server::Workspace(workspace) => workspace.handle(method, Some(&params)).await,
            Server::Registry(registry) => registry.handle(method, Some(&params)).await,
        }
    }
}

fn written_params(params: &[(&str, &[u8])], meta: &[(&str, &[u8])]) -> Result<RawJson, serde_json::Error> {
    let mut text = Vec::with_capacity(256);
    let members = |text: &mut Vec<u8>, members: &[(&str, &[u8])]| -> Result<(), serde_json::Error> {
        for (index, (key, value)) in members.iter().enumerate() {
            if index > 0 {
                text.push(b',');
            }
            serde_json::to_writer(&mut *text, key)?;
            text.push(b':');
            text.extend_from_slice(value);
        }
        Ok(())
    };
    text.push(b'{');
    members(&mut text, params)?;
    if !meta.is_empty() {
        text.extend_from_slice(if params.is_empty() { b"\"_meta\":{" } else { b",\"_meta\":{" });
        members(&mut text, meta)?;
        text.push(b'}');
    }
    text.push(b'}');
    RawJson::parse(text)
}
