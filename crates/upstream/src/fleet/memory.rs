//! What is remembered of upstreams between runs: eras, so that no probe is needed, and fingerprints of definitions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use gateway_protocol::{Era, is_modern};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tracing::warn;

use crate::spec::{Endpoint, UpstreamSpec};

/// The memory; shared by all supervisors.
#[derive(Debug)]
pub(super) struct Memory {
    path: Option<PathBuf>,
    kept: Mutex<Kept>,
    /// Held while the file is written, so that a newer text never makes room for an older one.
    writing: Mutex<()>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    #[serde(default)]
    upstreams: BTreeMap<String, OfUpstream>,
    #[serde(skip)]
    dirty: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct OfUpstream {
    /// What it was reached by; another program under the same name starts afresh.
    #[serde(default)]
    endpoint: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(default)]
    fingerprints: BTreeMap<String, String>,
}

impl Memory {
    pub(super) fn open(path: Option<&Path>) -> Self {
        let kept = path.and_then(|path| match std::fs::read(path) {
            Ok(text) => serde_json::from_slice(&text)
                .map_err(|error| warn!(path = %path.display(), %error, "Memory of upstreams is unreadable, starting afresh."))
                .ok(),
            Err(_) => None,
        });
        Self {
            path: path.map(Path::to_owned),
            kept: Mutex::new(kept.unwrap_or_default()),
            writing: Mutex::default(),
        }
    }

    pub(super) fn era(&self, spec: &UpstreamSpec) -> Option<Era> {
        let version = self.with(spec, |kept| kept.version.clone())?;
        Some(if is_modern(&version) { Era::Modern { version } } else { Era::Legacy { version } })
    }

    pub(super) fn set_era(&self, spec: &UpstreamSpec, era: Option<&Era>) {
        self.change(spec, |kept| kept.version = era.map(|era| era.version().to_owned()));
    }

    /// The fingerprints by tool; absent where this upstream was never listed.
    pub(super) fn fingerprints(&self, spec: &UpstreamSpec) -> Option<BTreeMap<String, String>> {
        let fingerprints = self.with(spec, |kept| kept.fingerprints.clone());
        (!fingerprints.is_empty()).then_some(fingerprints)
    }

    pub(super) fn set_fingerprints(&self, spec: &UpstreamSpec, fingerprints: BTreeMap<String, String>) {
        self.change(spec, |kept| kept.fingerprints = fingerprints);
    }

    /// Writes what changed. The file is replaced as a whole, so a crash leaves the old or the new one.
    pub(super) fn save(&self) {
        let Some(path) = &self.path else { return };
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let text = {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if !std::mem::take(&mut kept.dirty) {
                return;
            }
            serde_json::to_vec_pretty(&*kept)
        };
        let draft = path.with_extension("new");
        let written = text.map_err(std::io::Error::from).and_then(|text| {
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            std::fs::write(&draft, text)?;
            std::fs::rename(&draft, path)
        });
        if let Err(error) = written {
            warn!(path = %path.display(), %error, "Memory of upstreams cannot be written.");
            self.kept.lock().unwrap_or_else(PoisonError::into_inner).dirty = true;
        }
    }

    fn with<T: Default>(&self, spec: &UpstreamSpec, read: impl FnOnce(&OfUpstream) -> T) -> T {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = kept.upstreams.get(spec.id.as_str()).filter(|entry| entry.endpoint == endpoint_key(spec));
        entry.map(read).unwrap_or_default()
    }

    fn change(&self, spec: &UpstreamSpec, change: impl FnOnce(&mut OfUpstream)) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let key = endpoint_key(spec);
        let entry = kept.upstreams.entry(spec.id.as_str().to_owned()).or_default();
        let before = entry.clone();
        if entry.endpoint != key {
            *entry = OfUpstream { endpoint: key, ..OfUpstream::default() };
        }
        change(entry);
        let changed = *entry != before;
        kept.dirty |= changed;
    }
}

/// What an upstream is reached by, as a digest: command lines and addresses may hold secrets.
fn endpoint_key(spec: &UpstreamSpec) -> String {
    let mut hash = Sha256::new();
    match &spec.endpoint {
        Endpoint::Stdio { command, args, .. } => {
            for part in std::iter::once(command).chain(args) {
                hash.update(part.as_bytes());
                hash.update([0]);
            }
        }
        Endpoint::Http { url, .. } => hash.update(url.as_bytes()),
        Endpoint::Demo | Endpoint::Registry => {}
        Endpoint::Workspace(workspace) => hash.update(workspace.root.as_os_str().as_encoded_bytes()),
    }
    let digest: [u8; 32] = hash.finalize().into();
    let (half, _) = digest.split_at(16);
    let number = half.iter().fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    format!("{number:032x}")
}
