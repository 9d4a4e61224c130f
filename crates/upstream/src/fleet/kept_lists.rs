//! Lists of tools that survive a restart, so that nobody waits for slow servers to list what they listed before.
//!
//! Each server has a file of its own in the data directory, which only its owner may read. It is replaced as a whole, so
//! several processes may share it. It holds definitions as the server sent them, and nothing of the configuration: what the
//! server is reached by stands there as a digest. A list that was kept is *stale* until the server was asked again.

use std::collections::{BTreeMap, HashMap};
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use gateway_config::{Endpoint, UpstreamId, UpstreamSpec};
use gateway_protocol::RawJson;
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use tracing::warn;

/// Bytes of definitions of one server that are kept. A longer list is read from the server again.
const LIST_BYTES: usize = 8 << 20;

/// Servers whose lists are kept, those of other configurations included. Beyond that the oldest are forgotten.
const LISTS: usize = 512;

/// The lists that are kept, and where.
#[derive(Debug, Default)]
pub(super) struct KeptLists {
    folder: Option<PathBuf>,
    /// Read, and not given to their upstreams yet.
    read: Mutex<HashMap<UpstreamId, Vec<RawJson>>>,
    /// Digests of what the files hold, so that the same list is not written again.
    written: Mutex<BTreeMap<UpstreamId, [u8; 32]>>,
}

/// The content of a file.
#[derive(Deserialize)]
struct Kept<'a> {
    /// What the server was reached by.
    key: String,
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
}

impl KeptLists {
    /// Keeps lists beside the file `memory`; nowhere if there is none.
    pub(super) fn beside(memory: Option<&Path>) -> Self {
        let folder = memory.and_then(Path::parent).map(Path::to_owned);
        Self { folder, ..Self::default() }
    }

    /// Reads the lists of these upstreams. Blocks.
    pub(super) fn load<'s>(&self, specs: impl Iterator<Item = &'s UpstreamSpec>) {
        let Some(folder) = &self.folder else { return };
        for spec in specs.filter(|spec| is_kept(spec)) {
            if let Some(definitions) = read(&folder.join(file_name(spec)), spec) {
                lock(&self.written).insert(spec.id.clone(), digest(spec, &definitions));
                lock(&self.read).insert(spec.id.clone(), definitions);
            }
        }
    }

    /// The list of an upstream that was loaded. `None` if it is not known, or was taken before.
    pub(super) fn take(&self, id: &UpstreamId) -> Option<Vec<RawJson>> {
        lock(&self.read).remove(id)
    }

    /// Forgets what was loaded and not taken.
    pub(super) fn drop_loaded(&self) {
        lock(&self.read).clear();
    }

    /// Keeps the list of an upstream, unless it is kept already. The file is written by what this gives, which blocks.
    pub(super) fn keep(
        self: &Arc<Self>,
        spec: &UpstreamSpec,
        definitions: Vec<RawJson>,
    ) -> Option<impl FnOnce() + Send + 'static> {
        let folder = self.folder.clone().filter(|_| is_kept(spec))?;
        let new = digest(spec, &definitions);
        if lock(&self.written).insert(spec.id.clone(), new) == Some(new) {
            return None;
        }
        let (lists, id) = (Arc::clone(self), spec.id.clone());
        let (path, key) = (folder.join(file_name(spec)), key(spec));
        Some(move || {
            let bytes: usize = definitions.iter().map(RawJson::len).sum();
            let done =
                if bytes > LIST_BYTES { remove(&path) } else { write(&folder, &path, &key, &definitions) };
            if let Err(error) = done {
                warn!(upstream = %id, path = %path.display(), %error, "List of tools cannot be kept.");
                lock(&lists.written).remove(&id);
            }
        })
    }
}

/// Whether the lists of an upstream are worth keeping: those of our own process are there at once.
fn is_kept(spec: &UpstreamSpec) -> bool {
    !spec.disabled && matches!(spec.endpoint, Endpoint::Stdio { .. } | Endpoint::Http { .. })
}

/// How the names of the files begin and end. All files of the data directory that are about servers begin like this.
const PREFIX: &str = "servers.";
const SUFFIX: &str = ".list";

/// The name of a server may hold anything, and be of any length.
fn file_name(spec: &UpstreamSpec) -> String {
    let mut digest = format!("{:x}", Sha256::digest(spec.id.as_str()));
    digest.truncate(32);
    format!("{PREFIX}{digest}{SUFFIX}")
}

/// What a server is reached by. Another program or address does not get the tools of this one. Only names of variables and
/// headers count: a digest of a short secret can be guessed, and whoever gets a new token has the same server.
fn key(spec: &UpstreamSpec) -> String {
    let mut hash = Sha256::new();
    let mut add = |text: &[u8]| {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    };
    match &spec.endpoint {
        Endpoint::Stdio { command, args, env, cwd } => {
            add(b"stdio");
            for text in std::iter::once(command).chain(args) {
                add(text.as_bytes());
            }
            add(b"in");
            add(cwd.as_ref().map_or(b"".as_slice(), |cwd| cwd.as_os_str().as_encoded_bytes()));
            for name in env.keys() {
                add(name.as_bytes());
            }
        }
        Endpoint::Http { url, headers, .. } => {
            add(b"http");
            add(url.as_bytes());
            for name in headers.keys() {
                add(name.as_bytes());
            }
        }
        Endpoint::Demo | Endpoint::Workspace(_) | Endpoint::Registry | Endpoint::Invalid => {}
    }
    format!("{:x}", hash.finalize())
}

fn digest(spec: &UpstreamSpec, definitions: &[RawJson]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(key(spec));
    for definition in definitions {
        hash.update(definition.len().to_le_bytes());
        hash.update(definition.as_bytes());
    }
    hash.finalize().into()
}

/// What a file holds for an upstream. A file that cannot be read is as good as none: the server is asked anyway.
fn read(path: &Path, spec: &UpstreamSpec) -> Option<Vec<RawJson>> {
    let text = match std::fs::read(path) {
        Ok(text) if text.len() <= 2 * LIST_BYTES => bytes::Bytes::from(text),
        Ok(_) => return None,
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                warn!(upstream = %spec.id, path = %path.display(), %error, "Kept list of tools cannot be read.");
            }
            return None;
        }
    };
    let kept: Kept<'_> = gateway_protocol::read_json(&text).ok()?;
    (kept.key == key(spec)).then(|| kept.tools.iter().map(|tool| RawJson::part_of(&text, tool)).collect())
}

fn write(folder: &Path, path: &Path, key: &str, definitions: &[RawJson]) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    if !path.exists() {
        forget_oldest(folder)?;
    }
    // Of this process, as several may write the same list.
    let draft = path.with_extension(format!("{}.new", std::process::id()));
    let file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&draft)?;
    let mut file = BufWriter::new(file);
    write!(file, "{{\"key\":\"{key}\",\"tools\":[")?;
    for (index, definition) in definitions.iter().enumerate() {
        file.write_all(if index > 0 { b"," } else { b"" })?;
        file.write_all(definition.as_bytes())?;
    }
    file.write_all(b"]}")?;
    // Not flushed to the disk: what a power cut leaves is a list that can be read, or none.
    file.into_inner().map_err(io::IntoInnerError::into_error)?;
    std::fs::rename(&draft, path)
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Makes room for one more file.
fn forget_oldest(folder: &Path) -> io::Result<()> {
    let mut files: Vec<(SystemTime, PathBuf)> = std::fs::read_dir(folder)?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name();
            let is_list =
                name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
            if !is_list {
                return None;
            }
            Some((entry.metadata().ok()?.modified().ok()?, entry.path()))
        })
        .collect();
    files.sort_unstable();
    let surplus = (files.len() + 1).saturating_sub(LISTS);
    files.iter().take(surplus).try_for_each(|(_, path)| remove(path))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn stdio(args: &[&str], env: &[(&str, &str)]) -> UpstreamSpec {
        let endpoint = Endpoint::Stdio {
            command: "server".to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            cwd: None,
        };
        UpstreamSpec::new("up", endpoint)
    }

    fn tools(texts: &[&str]) -> Vec<RawJson> {
        texts.iter().map(|text| RawJson::parse((*text).to_owned()).unwrap()).collect()
    }

    fn loaded(folder: &Path, spec: &UpstreamSpec) -> Option<Vec<RawJson>> {
        let lists = KeptLists::beside(Some(&folder.join("servers.json")));
        lists.load(std::iter::once(spec));
        lists.take(&spec.id)
    }

    #[test]
    fn a_list_is_kept_for_the_same_server_only() {
        let folder = tempfile::tempdir().unwrap();
        let lists = Arc::new(KeptLists::beside(Some(&folder.path().join("servers.json"))));
        let spec = stdio(&["--flag"], &[("TOKEN", "s3cret-token")]);
        let list = tools(&[r#"{"name":"a","n":1.50}"#, r#"{"name":"b"}"#]);
        lists.keep(&spec, list.clone()).unwrap()();
        assert!(lists.keep(&spec, list.clone()).is_none(), "it is kept already");
        assert_eq!(loaded(folder.path(), &spec), Some(list.clone()));
        assert_eq!(loaded(folder.path(), &stdio(&["--flag"], &[("TOKEN", "another")])), Some(list));
        assert_eq!(loaded(folder.path(), &stdio(&["--other"], &[("TOKEN", "s3cret-token")])), None);
        assert_eq!(loaded(folder.path(), &stdio(&["--flag"], &[])), None);
        let path = folder.path().join(file_name(&spec));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("s3cret") && !text.contains("--flag"), "{text}");
        assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn what_is_too_long_or_broken_is_as_good_as_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let lists = Arc::new(KeptLists::beside(Some(&folder.path().join("servers.json"))));
        let spec = stdio(&[], &[]);
        lists.keep(&spec, tools(&[r#"{"name":"a"}"#])).unwrap()();
        let path = folder.path().join(file_name(&spec));
        std::fs::write(&path, "{\"key\":").unwrap();
        assert_eq!(loaded(folder.path(), &spec), None);
        let long = format!(r#"{{"name":"{}"}}"#, "a".repeat(LIST_BYTES));
        lists.keep(&spec, tools(&[&long])).unwrap()();
        assert!(!path.exists());
        assert!(KeptLists::beside(None).folder.is_none());
    }

    #[test]
    fn the_oldest_lists_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..LISTS {
            let path = folder.path().join(format!("servers.{number}.list"));
            std::fs::write(&path, "{}").unwrap();
            let age = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(u64::try_from(number).unwrap());
            std::fs::File::open(&path).unwrap().set_modified(age).unwrap();
        }
        std::fs::write(folder.path().join("servers.json"), "{}").unwrap();
        forget_oldest(folder.path()).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), LISTS, "the other file stays");
        assert!(!folder.path().join("servers.0.list").exists());
    }
}
