//! Results that a model was shown a part of: the whole stays readable in pieces.
//!
//! They are files, so that a long result takes no memory while nobody reads it. They last for a while, and no longer than the
//! process: whoever needs a result for good has the call log.

use std::collections::VecDeque;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use gateway_config::ServiceConfig;
use gateway_runtime::context::random_uuid;
use gateway_runtime::lock::locked;

/// Results that are kept for those whose calls gave them.
#[derive(Debug)]
pub struct KeptResults {
    directory: PathBuf,
    life: Duration,
    most_bytes: u64,
    kept: Mutex<VecDeque<Kept>>,
}

#[derive(Clone, Debug)]
struct Kept {
    id: String,
    owner: Option<String>,
    bytes: u64,
    until: Instant,
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
        let own = || std::env::temp_dir().join(format!("mcp-tool-gateway-results-{}", random_uuid()));
        let directory = config.data.as_ref().map_or_else(own, |data| data.join("results"));
        // What an earlier run left is nobody's any more.
        let _ = std::fs::remove_dir_all(&directory);
        Self {
            directory,
            life: config.agent.keep_results,
            most_bytes: config.agent.kept_result_bytes,
            kept: Mutex::default(),
        }
    }

    /// Keeps a text for its owner, and gives its id; `None` if it cannot be kept.
    pub async fn keep(self: &Arc<Self>, owner: Option<String>, text: String) -> Option<String> {
        let bytes = u64::try_from(text.len()).ok()?;
        if self.life.is_zero() || bytes > self.most_bytes {
            return None;
        }
        let id = format!("res_{}", BASE64.encode(uuid_bytes()));
        let path = self.directory.join(&id);
        let directory = self.directory.clone();
        let written = tokio::task::spawn_blocking(move || write(&directory, &path, text.as_bytes())).await;
        match written {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(%error, "A long result cannot be kept.");
                return None;
            }
            Err(_) => return None,
        }
        let entry = Kept { id: id.clone(), owner, bytes, until: Instant::now() + self.life };
        for old in self.make_room(entry) {
            let path = self.directory.join(old);
            let _ = tokio::task::spawn_blocking(move || std::fs::remove_file(path)).await;
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
        let total = {
            let kept = locked(&self.kept);
            let found = kept.iter().find(|kept| kept.id == id && kept.owner.as_deref() == owner);
            found.filter(|kept| kept.until > Instant::now()).map(|kept| kept.bytes)
        };
        let total = total.ok_or_else(|| KeptError::Unknown(id.chars().take(80).collect()))?;
        let path = self.directory.join(id);
        let offset = offset.min(total);
        let piece = tokio::task::spawn_blocking(move || read(&path, offset, length)).await;
        let (text, skipped) = piece
            .map_err(|error| KeptError::Io(error.to_string()))?
            .map_err(|error| KeptError::Io(error.to_string()))?;
        let start = offset + skipped;
        let end = start + u64::try_from(text.len()).unwrap_or(u64::MAX);
        Ok(ResultPiece { text, offset: start, next: (end < total).then_some(end), total })
    }

    /// Adds an entry, and gives the ids of those that made room for it or whose time is over.
    fn make_room(&self, entry: Kept) -> Vec<String> {
        let mut kept = locked(&self.kept);
        kept.push_back(entry);
        let now = Instant::now();
        let mut total: u64 = kept.iter().map(|kept| kept.bytes).sum();
        let mut gone = Vec::new();
        while let Some(first) = kept.front() {
            if kept.len() == 1 || (first.until > now && total <= self.most_bytes) {
                break;
            }
            total -= first.bytes;
            gone.extend(kept.pop_front().map(|first| first.id));
        }
        gone
    }
}

impl Drop for KeptResults {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
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

fn write(directory: &Path, path: &Path, text: &[u8]) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    let mut options = OpenOptions::new();
    builder.recursive(true);
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
        builder.mode(0o700);
        options.mode(0o600);
    }
    builder.create(directory)?;
    options.open(path)?.write_all(text)
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
        let directory = results.directory.clone();
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1);
        drop(results);
        assert!(!directory.exists());
    }

    #[tokio::test]
    async fn nothing_is_kept_for_no_time() {
        assert_eq!(results(Duration::ZERO, 100).keep(None, "x".to_owned()).await, None);
    }
}
