//! Results that a model was shown a part of: the whole stays readable in pieces.
//!
//! They are files, so that a long result takes no memory while nobody reads it. They last for a while, and no longer than the
//! process: whoever needs a result for good has the call log.

mod directory;

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use gateway_config::ServiceConfig;
use gateway_runtime::context::random_uuid;
use gateway_runtime::lock::locked;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use self::directory::OwnDirectory;

/// Results that are kept for those whose calls gave them.
#[derive(Debug)]
pub struct KeptResults {
    /// The data directory; `None` if there is none, and files are temporary.
    data: Option<PathBuf>,
    life: Duration,
    most_bytes: u64,
    /// Made when the first result is kept.
    directory: Mutex<Option<OwnDirectory>>,
    kept: Mutex<VecDeque<Kept>>,
    /// Removes what is over; runs while anything is kept.
    sweeper: Mutex<Option<AbortOnDropHandle<()>>>,
}

#[derive(Clone, Debug)]
struct Kept {
    id: String,
    owner: Option<String>,
    bytes: u64,
    until: Instant,
    path: PathBuf,
}

/// A piece of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultPiece {
    /// The text, cut between characters.
    pub text: String,
    /// Where it begins, in bytes.
    pub offset: u64,
    /// Where the next piece begins; `None` if this is the last.
    pub next: Option<u64>,
    /// Bytes of the whole.
    pub total: u64,
}

/// Why a piece cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeptError {
    /// There is none under this id, or its time is over.
    #[error("no result is kept under the id `{0}`: it is not one of this gateway's, or its time is over")]
    Unknown(String),
    /// The file cannot be read.
    #[error("reading the result: {0}")]
    Io(String),
}

impl KeptResults {
    /// Below the data directory of a configuration, else in a directory of its own for temporary files.
    pub fn new(config: &ServiceConfig) -> Self {
        if let Some(data) = &config.data {
            // What gateways left that were killed is nobody's any more.
            directory::remove_abandoned(data);
        }
        Self {
            data: config.data.clone(),
            life: config.agent.keep_results,
            most_bytes: config.agent.kept_result_bytes,
            directory: Mutex::default(),
            kept: Mutex::default(),
            sweeper: Mutex::default(),
        }
    }

    /// Keeps a text for its owner, and gives its id; `None` if it cannot be kept.
    pub async fn keep(self: &Arc<Self>, owner: Option<String>, text: String) -> Option<String> {
        let bytes = u64::try_from(text.len()).ok()?;
        if self.life.is_zero() || bytes > self.most_bytes {
            return None;
        }
        let id = format!("res_{}", BASE64.encode(uuid_bytes()));
        let (results, file) = (Arc::clone(self), id.clone());
        // All in one, which also ends if nobody waits for it: no file is without its entry.
        let keep = move || {
            results.write(&file, owner, bytes, &text)?;
            results.sweep_when_due();
            Ok::<_, io::Error>(())
        };
        let kept = tokio::task::spawn_blocking(keep).await;
        match kept {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(%error, "A long result cannot be kept.");
                return None;
            }
            Err(_) => return None,
        }
        Some(id)
    }

    /// A piece of at most `length` bytes of a result of this owner.
    pub async fn read(
        &self,
        owner: Option<&str>,
        id: &str,
        offset: u64,
        length: usize,
    ) -> Result<ResultPiece, KeptError> {
        let found = {
            let kept = locked(&self.kept);
            let found = kept.iter().find(|kept| kept.id == id && kept.owner.as_deref() == owner);
            found.filter(|kept| kept.until > Instant::now()).map(|kept| (kept.bytes, kept.path.clone()))
        };
        let (total, path) = found.ok_or_else(|| KeptError::Unknown(id.chars().take(80).collect()))?;
        let offset = offset.min(total);
        let piece = tokio::task::spawn_blocking(move || read(&path, offset, length)).await;
        let (text, skipped) = piece
            .map_err(|error| KeptError::Io(error.to_string()))?
            .map_err(|error| KeptError::Io(error.to_string()))?;
        let start = offset + skipped;
        let end = start + u64::try_from(text.len()).unwrap_or(u64::MAX);
        Ok(ResultPiece { text, offset: start, next: (end < total).then_some(end), total })
    }

    /// Makes room for a result and writes it. Its entry comes first, so that results that are written at the same time stay within
    /// the bound together.
    fn write(&self, id: &str, owner: Option<String>, bytes: u64, text: &str) -> io::Result<()> {
        let path = self.file(id)?;
        let entry =
            Kept { id: id.to_owned(), owner, bytes, until: Instant::now() + self.life, path: path.clone() };
        for old in self.make_room(entry) {
            let _ = std::fs::remove_file(old);
        }
        let written = directory::write(&path, text.as_bytes());
        let mut kept = locked(&self.kept);
        let entry = kept.iter().position(|kept| kept.id == id);
        match (written, entry) {
            (Ok(()), Some(_)) => Ok(()),
            (Err(error), Some(entry)) => {
                kept.remove(entry);
                let _ = std::fs::remove_file(&path);
                Err(error)
            }
            // Others made room for theirs meanwhile.
            (_, None) => {
                let _ = std::fs::remove_file(&path);
                Err(io::Error::other("no room is left for it"))
            }
        }
    }

    /// The file of a new result. A directory that somebody removed is made again.
    fn file(&self, id: &str) -> io::Result<PathBuf> {
        let mut directory = locked(&self.directory);
        let own = match directory.take().filter(OwnDirectory::is_there) {
            Some(own) => own,
            None => OwnDirectory::create(self.data.as_deref())?,
        };
        Ok(directory.insert(own).path().join(id))
    }

    /// Adds an entry, and gives the files of those that made room for it or whose time is over. The oldest of whoever holds the most
    /// goes first, so that nobody pushes out the results of all others.
    fn make_room(&self, entry: Kept) -> Vec<PathBuf> {
        let mut kept = locked(&self.kept);
        let mut gone = take_expired(&mut kept, Instant::now());
        let mut held: HashMap<Option<String>, u64> = HashMap::new();
        for old in &*kept {
            *held.entry(old.owner.clone()).or_default() += old.bytes;
        }
        *held.entry(entry.owner.clone()).or_default() += entry.bytes;
        while held.values().sum::<u64>() > self.most_bytes {
            // Of those that hold the same, the one with the oldest.
            let heaviest = kept.iter().map(|old| held.get(&old.owner).copied().unwrap_or_default()).max();
            let first = kept.iter().position(|old| held.get(&old.owner).copied() == heaviest);
            let Some(old) = first.and_then(|first| kept.remove(first)) else { break };
            if let Some(held) = held.get_mut(&old.owner) {
                *held -= old.bytes;
            }
            gone.push(old.path);
        }
        kept.push_back(entry);
        gone
    }

    /// Sees to it that files are removed when their time is over.
    fn sweep_when_due(self: &Arc<Self>) {
        let mut sweeper = locked(&self.sweeper);
        if sweeper.is_some() {
            return;
        }
        let results = Arc::downgrade(self);
        // It ends with the results: they hold its handle, and it does not hold them while it waits.
        *sweeper = Some(AbortOnDropHandle::new(tokio::spawn(async move {
            while let Some(due) = results.upgrade().and_then(|results| results.next_sweep()) {
                tokio::time::sleep_until(due).await;
                let Some(results) = results.upgrade() else { break };
                let gone = take_expired(&mut locked(&results.kept), Instant::now());
                let remove = move || gone.iter().for_each(|path| drop(std::fs::remove_file(path)));
                let _ = tokio::task::spawn_blocking(remove).await;
            }
        })));
    }

    /// When the time of the first result is over; `None` if nothing is kept, and then the next result starts another sweeper.
    fn next_sweep(&self) -> Option<Instant> {
        let mut sweeper = locked(&self.sweeper);
        let due = locked(&self.kept).iter().map(|kept| kept.until).min();
        if due.is_none() {
            *sweeper = None;
        }
        due
    }
}

/// Removes the entries whose time is over, and gives their files.
fn take_expired(kept: &mut VecDeque<Kept>, now: Instant) -> Vec<PathBuf> {
    let mut gone = Vec::new();
    kept.retain(|old| {
        let is_over = old.until <= now;
        if is_over {
            gone.push(old.path.clone());
        }
        !is_over
    });
    gone
}

/// Bytes that nobody guesses: ids open results where no keys are configured.
fn uuid_bytes() -> [u8; 18] {
    let mut bytes = [0; 18];
    // Without chance from the system an id is only unique, not secret; its owner is checked all the same.
    if getrandom::fill(&mut bytes).is_err() {
        for (to, from) in bytes.iter_mut().zip(random_uuid().bytes()) {
            *to = from;
        }
    }
    bytes
}

/// At most `length` bytes from `offset`, cut between characters, and how many bytes were skipped to the first character.
fn read(path: &Path, offset: u64, length: usize) -> io::Result<(String, u64)> {
    /// The longest character.
    const CHARACTER: usize = 4;
    let mut file = std::fs::File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(u64::try_from(length.max(CHARACTER)).unwrap_or(u64::MAX)).read_to_end(&mut bytes)?;
    let is_inside = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
    let skipped = bytes.iter().take_while(|byte| is_inside(byte)).count().min(CHARACTER);
    let whole = bytes.get(skipped..).unwrap_or_default();
    let end = match std::str::from_utf8(whole) {
        Ok(_) => whole.len(),
        Err(error) => error.valid_up_to(),
    };
    let text = String::from_utf8_lossy(whole.get(..end).unwrap_or_default()).into_owned();
    Ok((text, u64::try_from(skipped).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(life: Duration, most_bytes: u64) -> Arc<KeptResults> {
        let mut config = ServiceConfig::default();
        (config.agent.keep_results, config.agent.kept_result_bytes) = (life, most_bytes);
        Arc::new(KeptResults::new(&config))
    }

    #[tokio::test]
    async fn pieces_join_to_the_whole_at_any_length() {
        let results = results(Duration::from_mins(1), 1 << 20);
        let text = "aä⚙🙂".repeat(50);
        let id = results.keep(Some("alice".to_owned()), text.clone()).await.unwrap();
        for length in [1, 4, 5, 7, 64, 10_000] {
            let (mut joined, mut next) = (String::new(), Some(0));
            while let Some(offset) = next {
                let piece = results.read(Some("alice"), &id, offset, length).await.unwrap();
                assert_eq!((piece.offset, piece.total), (offset, text.len() as u64));
                joined.push_str(&piece.text);
                next = piece.next;
            }
            assert_eq!(joined, text, "{length}");
        }
        // In the middle of a character: the next one.
        assert_eq!(results.read(Some("alice"), &id, 2, 4).await.unwrap().offset, 3);
        for (owner, id) in
            [(None, &*id), (Some("bob"), &*id), (Some("alice"), "res_x"), (Some("alice"), "../x")]
        {
            assert!(
                matches!(results.read(owner, id, 0, 9).await, Err(KeptError::Unknown(_))),
                "{owner:?} {id}"
            );
        }
    }

    #[tokio::test]
    async fn the_oldest_make_room_and_nothing_stays_behind() {
        let results = results(Duration::from_mins(1), 10);
        let first = results.keep(None, "123456".to_owned()).await.unwrap();
        let second = results.keep(None, "abcdef".to_owned()).await.unwrap();
        assert!(results.read(None, &first, 0, 9).await.is_err());
        assert_eq!(results.read(None, &second, 0, 9).await.unwrap().text, "abcdef");
        assert_eq!(results.keep(None, "longer than ten".to_owned()).await, None);
        let directory = directory_of(&results);
        assert_eq!(files(&directory), 1);
        drop(results);
        assert!(!directory.exists());
    }

    fn directory_of(results: &KeptResults) -> PathBuf {
        locked(&results.directory).as_ref().unwrap().path().to_owned()
    }

    fn files(directory: &Path) -> usize {
        let is_result = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("res_");
        std::fs::read_dir(directory)
            .unwrap()
            .filter(|entry| is_result(&entry.as_ref().unwrap().file_name()))
            .count()
    }

    /// A directory with the name that ours once had is somebody else's, and a second gateway is no reason to remove anything.
    #[tokio::test]
    async fn a_start_removes_nothing_of_others() {
        let data = tempfile::tempdir().unwrap();
        let thesis = data.path().join("results/thesis.txt");
        std::fs::create_dir(data.path().join("results")).unwrap();
        std::fs::write(&thesis, "ten years of work").unwrap();
        let mut config = ServiceConfig::default();
        config.data = Some(data.path().to_owned());
        let first = Arc::new(KeptResults::new(&config));
        let id = first.keep(None, "abc".to_owned()).await.unwrap();
        let second = Arc::new(KeptResults::new(&config));
        second.keep(None, "def".to_owned()).await.unwrap();
        drop(second);
        assert_eq!(first.read(None, &id, 0, 9).await.unwrap().text, "abc");
        drop(first);
        assert_eq!(std::fs::read_to_string(&thesis).unwrap(), "ten years of work");
        assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn whoever_holds_the_most_makes_room() {
        let results = results(Duration::from_mins(1), 10);
        let alice = Some("alice".to_owned());
        let first = results.keep(alice.clone(), "123".to_owned()).await.unwrap();
        let mut last = String::new();
        for _ in 0..5 {
            last = results.keep(Some("bob".to_owned()), "abcd".to_owned()).await.unwrap();
        }
        assert_eq!(results.read(alice.as_deref(), &first, 0, 9).await.unwrap().text, "123");
        assert_eq!(results.read(Some("bob"), &last, 0, 9).await.unwrap().text, "abcd");
        assert_eq!(files(&directory_of(&results)), 2);
    }

    /// A caller that goes away leaves no file that nothing counts.
    #[tokio::test]
    async fn a_result_that_nobody_waits_for_counts() {
        let results = results(Duration::from_mins(1), 10);
        for _ in 0..4 {
            let keeping = results.keep(None, "12345678".to_owned());
            // Polled once, so that the writing has begun; it may even be over, and is counted all the same.
            let _ = futures_util::FutureExt::now_or_never(keeping);
        }
        let last = results.keep(None, "abcdefgh".to_owned()).await;
        let is_bounded = || files(&directory_of(&results)) == 1 && locked(&results.kept).len() == 1;
        gateway_testkit::eventually(Duration::from_secs(10), "one file and its entry", is_bounded)
            .await
            .unwrap();
        drop(last);
    }

    #[tokio::test(start_paused = true)]
    async fn files_go_when_their_time_is_over() {
        let results = results(Duration::from_mins(1), 100);
        results.keep(None, "abc".to_owned()).await.unwrap();
        let directory = directory_of(&results);
        assert_eq!(files(&directory), 1);
        tokio::time::sleep(Duration::from_mins(2)).await;
        let is_idle = || files(&directory) == 0 && locked(&results.sweeper).is_none();
        gateway_testkit::eventually(Duration::from_secs(10), "no file and no sweeper", is_idle)
            .await
            .unwrap();
        // Another result begins anew.
        results.keep(None, "def".to_owned()).await.unwrap();
        assert!(locked(&results.sweeper).is_some());
    }

    #[tokio::test]
    async fn nothing_is_kept_for_no_time() {
        assert_eq!(results(Duration::ZERO, 100).keep(None, "x".to_owned()).await, None);
    }
}
