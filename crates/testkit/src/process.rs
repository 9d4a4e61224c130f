//! Inspecting processes and files, and waiting for conditions.

use std::path::Path;
use std::time::{Duration, Instant};

/// How often a condition is polled.
const INTERVAL: Duration = Duration::from_millis(5);

/// A condition did not become true in time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} did not happen within {waited:?}")]
pub struct TimedOut {
    /// What was waited for.
    pub what: String,
    /// How long.
    pub waited: Duration,
}

/// Between two looks at something that sends no event: the processor is for those who bring it about.
pub async fn pause() {
    tokio::time::sleep(INTERVAL).await;
}

/// Waits until `condition` holds, at most `deadline`.
pub async fn eventually(
    deadline: Duration,
    what: &str,
    mut condition: impl FnMut() -> bool,
) -> Result<(), TimedOut> {
    let start = Instant::now();
    while !holds(&mut condition, start, deadline, what)? {
        pause().await;
    }
    Ok(())
}

/// Like [`eventually`], outside a runtime.
pub fn eventually_blocking(
    deadline: Duration,
    what: &str,
    mut condition: impl FnMut() -> bool,
) -> Result<(), TimedOut> {
    let start = Instant::now();
    while !holds(&mut condition, start, deadline, what)? {
        std::thread::sleep(INTERVAL);
    }
    Ok(())
}

fn holds(
    condition: &mut impl FnMut() -> bool,
    start: Instant,
    deadline: Duration,
    what: &str,
) -> Result<bool, TimedOut> {
    if condition() {
        return Ok(true);
    }
    if start.elapsed() <= deadline {
        return Ok(false);
    }
    Err(TimedOut { what: what.to_owned(), waited: deadline })
}

/// How many lines a file has; 0 if it does not exist.
pub fn count_lines(path: &Path) -> usize {
    std::fs::read(path).unwrap_or_default().split(|byte| *byte == b'\n').skip(1).count()
}

/// How many lines of a file begin with `prefix`.
pub fn count_lines_with(path: &Path, prefix: &str) -> usize {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter(|line| line.starts_with(prefix)).count()
}

/// Whether a process runs. A zombie does not.
pub fn is_alive(pid: u32) -> bool {
    stat_of(pid).is_some_and(|stat| !matches!(stat.state, 'Z' | 'X'))
}

/// The living children of a process.
pub fn children_of(pid: u32) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|child| stat_of(*child).is_some_and(|stat| stat.parent == pid && stat.state != 'Z')).collect()
}

struct Stat {
    state: char,
    parent: u32,
}

fn stat_of(pid: u32) -> Option<Stat> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may contain anything.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    Some(Stat { state: fields.next()?.chars().next()?, parent: fields.next()?.parse().ok()? })
}

/// Never returns.
pub(crate) fn sleep_for_ever() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(1000));
    }
}
