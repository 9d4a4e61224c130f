//! What is remembered of upstreams between runs: eras, so that no probe is needed, and fingerprints of definitions.
//!
//! Several processes may share the file: each change is made under a lock, to what the file holds at that moment. So an
//! acceptance that somebody else writes is never overwritten.

mod file;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gateway_config::{Endpoint, UpstreamSpec};
use gateway_protocol::{Era, RawJson, is_modern};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::timeout;
use tracing::warn;

use super::health::DefinitionNotice;
use super::tool_key::{read_by_key, tool_key};
use crate::catalogue::ListedTool;

pub use file::{
    AcceptFileError, accept_in_file, are_new_tools_taken_in_file, take_new_tools_in_file, unaccepted_in_file,
};

/// Bytes of an unaccepted definition that are kept for review.
const REVIEWED_BYTES: usize = 64 << 10;

/// How long anybody waits for the file. Longer than for its lock, whose error says more.
const FILE_PATIENCE: Duration = Duration::from_secs(10);

/// The memory; shared by all supervisors.
#[derive(Debug)]
pub(super) struct Memory {
    /// Where it is kept.
    pub(super) path: Option<PathBuf>,
    state: Mutex<State>,
    /// Held while the file is written, so that a newer text never makes room for an older one; and while it is read. A disk
    /// that does not answer holds up one thread each, not one for each listing.
    writing: Arc<tokio::sync::Mutex<()>>,
    reading: Arc<tokio::sync::Mutex<()>>,
    /// What became of a file that could not be read.
    pub(super) problem: Option<String>,
}

#[derive(Debug, Default)]
struct State {
    kept: Kept,
    /// The upstreams whose entries the file does not have yet.
    dirty: BTreeSet<String>,
}

/// The content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    /// Shared with who writes them, so that nobody copies them to write them.
    #[serde(default)]
    upstreams: BTreeMap<String, Arc<OfUpstream>>,
}

/// What is remembered of one upstream. Tools stand by their [keys](tool_key).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct OfUpstream {
    /// What it was reached by: another program under the same name may speak another version. Its tools are compared all the
    /// same, because a new release of a server is another command line too.
    #[serde(default)]
    endpoint: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(default, deserialize_with = "read_by_key")]
    pub(super) fingerprints: BTreeMap<String, String>,
    /// Tools that wait for somebody to accept them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "read_by_key")]
    #[serde(rename = "withheld")]
    pub(super) unaccepted: BTreeMap<String, Unaccepted>,
    /// What was remembered of it is lost, so that nobody can say whether its tools are what they were.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) unverified: bool,
    /// How often that happened, and how many of these times somebody said that new tools are taken as they are again.
    #[serde(default, skip_serializing_if = "is_zero")]
    losses: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    settled: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A definition that waits for somebody to accept it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Unaccepted {
    /// What it is known by.
    pub fingerprint: String,
    /// What changed, for people.
    pub change: String,
    /// The definition, unless it is very long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<RawJson>,
}

impl Unaccepted {
    pub(super) fn new(fingerprint: &str, change: String, definition: Option<&RawJson>) -> Self {
        let definition = definition.filter(|text| text.as_str().len() <= REVIEWED_BYTES).cloned();
        Self { fingerprint: fingerprint.to_owned(), change, definition }
    }

    /// The fingerprint as people see it and send it back.
    pub fn shown_fingerprint(&self) -> &str {
        shown_fingerprint(&self.fingerprint)
    }
}

/// One fingerprint for all definitions that wait.
pub fn unaccepted_fingerprint(unaccepted: &BTreeMap<String, Unaccepted>) -> String {
    fingerprint_of_all(unaccepted.iter().map(|(tool, one)| (tool.into(), one.fingerprint.as_str())))
}

impl OfUpstream {
    /// Remembers that fingerprints are lost. From now on tools that are not remembered have to be accepted: they may be
    /// other tools under the names of lost ones.
    pub(super) fn lose(&mut self) {
        if !self.unverified {
            self.unverified = true;
            self.losses += 1;
        }
    }

    /// Takes new tools as they are again.
    fn settle(&mut self) {
        // Older files do not count.
        self.losses = self.losses.max(1);
        self.settled = self.losses;
        self.unverified = false;
    }

    /// Whether somebody else can have changed what is unaccepted of it.
    fn is_waiting(&self) -> bool {
        self.unverified || !self.unaccepted.is_empty()
    }

    /// Takes over what somebody else accepted.
    fn adopt(&mut self, other: &Self) {
        let is_accepted = |tool: &String, unaccepted: &mut Unaccepted| {
            other.fingerprints.get(tool) == Some(&unaccepted.fingerprint)
        };
        let accepted: Vec<_> = self.unaccepted.extract_if(.., is_accepted).collect();
        self.fingerprints
            .extend(accepted.into_iter().map(|(tool, unaccepted)| (tool, unaccepted.fingerprint)));
        // By number: a file from before the loss does not settle it. And nobody meant a tool that came meanwhile.
        if self.unverified && self.unaccepted.is_empty() && other.settled >= self.losses.max(1) {
            self.settle();
        }
    }
}

impl Memory {
    /// Reads the file. One that cannot be read is moved aside; then every upstream that is [met](Self::meet) is unverified.
    pub(super) fn open(path: Option<&Path>) -> Self {
        if let Some(path) = path
            && let Err(error) = file::prepare(path)
        {
            warn!(path = %path.display(), %error, "Memory of upstreams cannot be kept from others.");
        }
        let read = |path| file::read(path).map_err(|error| file::set_aside(path, &error));
        let (kept, problem) = match path.map(read) {
            Some(Ok(kept)) => (kept, None),
            Some(Err(problem)) => (None, Some(problem)),
            None => (None, None),
        };
        let state = State { kept: kept.unwrap_or_default(), dirty: BTreeSet::new() };
        if let Some(problem) = &problem {
            warn!(
                problem,
                "Memory of upstreams is lost. Servers that block changed definitions need somebody to accept theirs."
            );
        }
        Self {
            path: path.map(Path::to_owned),
            state: Mutex::new(state),
            writing: Arc::default(),
            reading: Arc::default(),
            problem,
        }
    }

    /// Takes note of configured upstreams. After a loss, those of which nothing is known are unverified, and the file says so:
    /// the next start must not take the missing file for a first start. Whether there is something to write.
    pub(super) fn meet(&self, specs: &[UpstreamSpec]) -> bool {
        if self.problem.is_none() {
            return false;
        }
        for spec in specs {
            if !self.lock().kept.upstreams.contains_key(spec.id.as_str()) {
                self.change(spec, |kept| (kept.lose(), true));
            }
        }
        !self.lock().dirty.is_empty()
    }

    pub(super) fn era(&self, spec: &UpstreamSpec) -> Option<Era> {
        let of_endpoint = |kept: &OfUpstream| kept.endpoint == endpoint_key(spec);
        let version = self.with(spec, |kept| kept.version.clone().filter(|_| of_endpoint(kept)))?;
        Some(if is_modern(&version) { Era::Modern { version } } else { Era::Legacy { version } })
    }

    pub(super) fn set_era(&self, spec: &UpstreamSpec, era: Option<&Era>) {
        let version = era.map(|era| era.version().to_owned());
        self.change(spec, |kept| {
            let is_new = kept.version != version;
            kept.version = version;
            ((), is_new)
        });
    }

    /// Those of some tools whose definitions are remembered, by their keys.
    pub(super) fn remembered_of(
        &self,
        spec: &UpstreamSpec,
        notices: &[DefinitionNotice],
    ) -> BTreeMap<String, String> {
        self.with(spec, |kept| {
            let keys = notices.iter().map(|notice| (tool_key(&notice.change.tool), &notice.fingerprint));
            keys.filter(|(key, fingerprint)| kept.fingerprints.get(key.as_ref()) == Some(fingerprint))
                .map(|(key, fingerprint)| (key.into_owned(), fingerprint.clone()))
                .collect()
        })
    }

    /// Whether this definition of a tool is the one that is remembered.
    pub(super) fn is_accepted(&self, spec: &UpstreamSpec, tool: &ListedTool) -> bool {
        let key = tool_key(&tool.name);
        self.with(spec, |kept| kept.fingerprints.get(key.as_ref()) == Some(&tool.fingerprint.to_string()))
    }

    /// Remembers definitions as accepted, by the keys of their tools.
    pub(super) fn accept(&self, spec: &UpstreamSpec, accepted: BTreeMap<String, String>) {
        self.change(spec, |kept| {
            kept.unaccepted.retain(|tool, _| !accepted.contains_key(tool));
            kept.fingerprints.extend(accepted);
            ((), true)
        });
    }

    /// Takes over what somebody accepted in the file. What cannot be read in time accepts nothing.
    pub(super) async fn reload(&self) {
        let Some(path) = self.path.clone() else { return };
        // Where nothing waits, nothing can have been accepted.
        if !self.lock().kept.upstreams.values().any(|entry| entry.is_waiting()) {
            return;
        }
        if let Some(Ok(Some(disk))) = self.with_file(&self.reading, move || file::read(&path)).await {
            adopt(&mut self.lock(), &disk);
        }
    }

    /// Writes what changed, on a thread for work that blocks. Dropped meanwhile, it is written all the same.
    pub(super) async fn save(self: &Arc<Self>) {
        let memory = Arc::clone(self);
        if self.path.is_some() {
            self.with_file(&self.writing, move || memory.write()).await;
        }
    }

    /// Works on the file while nobody else does the same work. `None` if it takes too long.
    async fn with_file<T: Send + 'static>(
        &self,
        turn: &Arc<tokio::sync::Mutex<()>>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let done = async {
            let turn = Arc::clone(turn).lock_owned().await;
            let work = move || {
                let _turn = turn;
                work()
            };
            spawn_blocking(work).await
        };
        let outcome: Result<Result<T, JoinError>, _> = timeout(FILE_PATIENCE, done).await;
        if outcome.is_err() {
            let path = self.path.as_deref().unwrap_or(Path::new("")).display();
            warn!(%path, waited = ?FILE_PATIENCE, "Memory of upstreams is not readable or writable in time; is its disk there?");
        }
        outcome.ok()?.ok()
    }

    /// Writes what changed. The file is replaced as a whole, so a crash leaves the old or the new one. Blocks.
    pub(super) fn write(&self) {
        let Some(path) = &self.path else { return };
        let dirty = std::mem::take(&mut self.lock().dirty);
        if dirty.is_empty() {
            return;
        }
        let written = file::change(path, |disk| {
            let mut state = self.lock();
            adopt(&mut state, disk);
            // A file that is gone or cannot be read is written anew, with all that is known.
            let all = disk.upstreams.is_empty().then(|| state.kept.upstreams.keys().cloned().collect());
            for name in all.as_ref().unwrap_or(&dirty) {
                if let Some(entry) = state.kept.upstreams.get(name) {
                    disk.upstreams.insert(name.clone(), Arc::clone(entry));
                }
            }
        });
        if let Err(error) = written {
            warn!(path = %path.display(), %error, "Memory of upstreams cannot be written.");
            self.lock().dirty.extend(dirty);
        }
    }

    fn with<T: Default>(&self, spec: &UpstreamSpec, read: impl FnOnce(&OfUpstream) -> T) -> T {
        let state = self.lock();
        state.kept.upstreams.get(spec.id.as_str()).map(|entry| read(entry)).unwrap_or_default()
    }

    /// Changes what is remembered of an upstream. `change` also gives whether there is something to write.
    pub(super) fn change<T>(
        &self,
        spec: &UpstreamSpec,
        change: impl FnOnce(&mut OfUpstream) -> (T, bool),
    ) -> T {
        let mut state = self.lock();
        let (name, key) = (spec.id.as_str().to_owned(), endpoint_key(spec));
        // Copied only while it is being written.
        let entry = Arc::make_mut(state.kept.upstreams.entry(name.clone()).or_default());
        let is_another = entry.endpoint != key;
        if is_another {
            (entry.endpoint, entry.version) = (key, None);
        }
        let (outcome, is_changed) = change(entry);
        if is_another || is_changed {
            state.dirty.insert(name);
        }
        outcome
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn adopt(state: &mut State, disk: &Kept) {
    for (name, entry) in &mut state.kept.upstreams {
        if let Some(other) = disk.upstreams.get(name)
            && entry.is_waiting()
        {
            Arc::make_mut(entry).adopt(other);
        }
    }
}

/// The digest of a fingerprint: what people are shown, and what they send back.
pub(crate) fn shown_fingerprint(fingerprint: &str) -> &str {
    fingerprint.split('.').next().unwrap_or_default()
}

/// One fingerprint for a set of tools, which stand by their keys.
pub(crate) fn fingerprint_of_all<'a>(tools: impl Iterator<Item = (Cow<'a, str>, &'a str)>) -> String {
    let mut tools: Vec<(Cow<'_, str>, &str)> =
        tools.map(|(tool, fingerprint)| (tool, shown_fingerprint(fingerprint))).collect();
    tools.sort_unstable();
    let mut hash = Sha256::new();
    for text in tools.iter().flat_map(|(tool, fingerprint)| [tool.as_ref(), fingerprint]) {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    }
    format!("{:x}", hash.finalize())
}

/// Those of some unaccepted tools, by their keys, that a fingerprint accepts: one of them, or all.
pub(crate) fn accepted_by<'a>(
    fingerprint: &str,
    unaccepted: impl Iterator<Item = (Cow<'a, str>, &'a str)> + Clone,
) -> BTreeMap<String, String> {
    let is_all = fingerprint == fingerprint_of_all(unaccepted.clone());
    let accepted = unaccepted.filter(|(_, one)| is_all || shown_fingerprint(one) == fingerprint);
    accepted.map(|(tool, fingerprint)| (tool.into_owned(), fingerprint.to_owned())).collect()
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
        Endpoint::Demo | Endpoint::Registry | Endpoint::Invalid => {}
        Endpoint::Workspace(workspace) => hash.update(workspace.root.as_os_str().as_encoded_bytes()),
    }
    let mut key = format!("{:x}", hash.finalize());
    key.truncate(32);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever opens a FIFO waits for the other end.
    #[tokio::test]
    async fn a_file_that_does_not_answer_holds_up_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("servers.json");
        let memory = Memory::open(Some(&path));
        // Otherwise there is nothing to look for in the file.
        memory.change(&UpstreamSpec::new("up", Endpoint::Demo), |kept| (kept.lose(), true));
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).unwrap();
        let (release, requests) = std::sync::mpsc::channel();
        // It answers on request, or when nothing happens any more.
        let writer = std::thread::spawn(move || {
            let is_requested = requests.recv_timeout(FILE_PATIENCE / 2).is_ok();
            std::fs::write(path, "{}").unwrap();
            is_requested
        });
        tokio::join!(memory.reload(), async {
            let _ = release.send(());
        });
        assert!(writer.join().unwrap(), "the file was waited for");
    }
}
