//! Definitions that somebody accepts: why not, and through the file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gateway_config::UpstreamId;

use super::{Shared, watch_files};

/// Why a definition was not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AcceptError {
    /// No upstream has this name.
    #[error("no server is called `{name}`")]
    UnknownUpstream {
        /// The name.
        name: String,
    },
    /// The fingerprint is not that of a definition that changed.
    #[error("{}", stale(.upstream, .fingerprint, *.pending))]
    Stale {
        /// The upstream.
        upstream: UpstreamId,
        /// The fingerprint.
        fingerprint: String,
        /// How many definitions could be accepted.
        pending: usize,
    },
}

fn stale(upstream: &UpstreamId, fingerprint: &str, pending: usize) -> String {
    let what =
        format!("fingerprint `{fingerprint}` is not that of a changed definition of server `{upstream}`");
    if pending == 0 {
        return format!("{what}: there is none");
    }
    format!("{what}: it may have changed since it was reviewed; review it and send its fingerprint of now")
}

/// Follows the file until the fleet ends: a definition can be accepted without the gateway's own routes.
pub(super) fn watch(shared: &Arc<Shared>) {
    let is_watchable = |path: &&PathBuf| path.parent().is_some_and(Path::is_dir);
    let Some(path) = shared.memory.path.as_ref().filter(is_watchable) else { return };
    let mut changes = match watch_files(std::slice::from_ref(path)) {
        Ok(changes) => changes,
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "Memory of upstreams is not watched: what is accepted there counts after the next listing.");
            return;
        }
    };
    let (own, stop) = (Arc::clone(shared), shared.stop.clone());
    shared.tasks.spawn(async move {
        while let Some(Some(())) = stop.run_until_cancelled(changes.changed()).await {
            own.take_accepted().await;
        }
    });
}
