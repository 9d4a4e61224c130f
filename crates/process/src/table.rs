//! The process table: who descends from whom.

use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, test_kill_process_group};
#[cfg(target_os = "linux")]
use rustix::process::{Signal, kill_process};

/// A variable in the environment of a program. Whatever the program starts has it too, also what leaves the process
/// group or loses its parent, so that it can be found without a keeper.
pub(crate) const MARK: &str = "GATEWAY_UPSTREAM_MARK";

/// The parent of the kernel's threads.
const KERNEL: i32 = 2;

/// How often, and after which pause, a process is looked at again that may be in the middle of `exec`.
const EXEC_LOOKS: usize = 10;
const EXEC_PAUSE: Duration = Duration::from_millis(5);

/// More than nearly all environments have.
const ENVIRONMENT_BYTES: usize = 64 << 10;

/// How often new processes are looked for while the known ones are stopped.
#[cfg(target_os = "linux")]
const STOP_LOOKS: usize = 5;

/// One line of the process table.
struct Entry {
    pid: i32,
    parent: i32,
    group: i32,
}

/// The living processes that descend from `root`, are in its group, or carry `mark`; without `root` itself.
///
/// Where there is no process table to read, the group itself stands for its members.
pub(crate) fn tree(root: Option<Pid>, mark: &str) -> Vec<Pid> {
    let Some(mut entries) = entries() else {
        return root.filter(|root| test_kill_process_group(*root).is_ok()).into_iter().collect();
    };
    let root = root.map(Pid::as_raw_pid);
    let needle = format!("{MARK}={mark}");
    entries.retain(|entry| Some(entry.pid) != root);
    let mut found: Vec<i32> = Vec::new();
    for look in 1..=EXEC_LOOKS {
        let mut is_unclear = false;
        entries.retain(|entry| {
            let carried = carries(entry, &needle);
            is_unclear |= carried.is_none();
            let is_near = root.is_some_and(|root| entry.group == root || entry.parent == root);
            let belongs = is_near || carried == Some(true);
            if belongs {
                found.push(entry.pid);
            }
            !belongs
        });
        if !is_unclear || look == EXEC_LOOKS {
            break;
        }
        std::thread::sleep(EXEC_PAUSE);
    }
    add_children(&mut found, entries);
    found.into_iter().filter_map(Pid::from_raw).collect()
}

/// The living processes that descend from `root`, without `root` itself. `None` where there is no process table.
#[cfg(target_os = "linux")]
pub(crate) fn descendants(root: Pid) -> Option<Vec<Pid>> {
    let mut found = vec![root.as_raw_pid()];
    add_children(&mut found, entries()?);
    Some(found.into_iter().skip(1).filter_map(Pid::from_raw).collect())
}

/// Kills everything below a process. What is stopped first starts nothing more meanwhile. `None` where there is no process
/// table.
#[cfg(target_os = "linux")]
pub(crate) fn kill_below(root: Pid) -> Option<()> {
    let mut stopped: Vec<Pid> = Vec::new();
    for _ in 0..STOP_LOOKS {
        let mut new = descendants(root)?;
        new.retain(|pid| !stopped.contains(pid));
        if new.is_empty() {
            break;
        }
        // What is gone meanwhile needs no signal.
        for pid in &new {
            let _ = kill_process(*pid, Signal::STOP);
        }
        stopped.append(&mut new);
    }
    for pid in descendants(root)? {
        let _ = kill_process(pid, Signal::KILL);
    }
    Some(())
}

/// The children of this process, ended ones that nobody has waited for too.
#[cfg(target_os = "linux")]
pub(crate) fn children() -> Vec<Pid> {
    let us = rustix::process::getpid().as_raw_pid();
    let is_child = |(_, entry): &(State, Entry)| entry.parent == us;
    let children = numbers().into_iter().flatten().filter_map(look).filter(is_child);
    children.filter_map(|(_, entry)| Pid::from_raw(entry.pid)).collect()
}

/// The same as the kernel lists them for each thread, which takes a moment to read. `None` where it does not.
#[cfg(target_os = "linux")]
pub(crate) fn listed_children() -> Option<Vec<Pid>> {
    let mut found = Vec::new();
    for thread in std::fs::read_dir("/proc/self/task").ok()?.flatten() {
        // A thread that is gone has left its children to another one.
        let text = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        found.extend(text.split_ascii_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)));
    }
    Some(found)
}

/// The living children of this process that are chosen, with all their descendants.
#[cfg(target_os = "linux")]
pub(crate) fn below_children(is_chosen: impl Fn(i32) -> bool) -> Vec<Pid> {
    let Some(entries) = entries() else { return Vec::new() };
    let us = rustix::process::getpid().as_raw_pid();
    let children = entries.iter().filter(|entry| entry.parent == us && is_chosen(entry.pid));
    let mut found: Vec<i32> = children.map(|entry| entry.pid).collect();
    add_children(&mut found, entries);
    found.into_iter().filter_map(Pid::from_raw).collect()
}

fn entries() -> Option<Vec<Entry>> {
    let living = |(state, entry)| (state != State::Ended).then_some(entry);
    Some(numbers()?.filter_map(look).filter_map(living).collect())
}

fn numbers() -> Option<impl Iterator<Item = i32>> {
    let directory = std::fs::read_dir("/proc").ok()?;
    Some(directory.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()))
}

/// Adds the children of what was found, until there are no more.
fn add_children(found: &mut Vec<i32>, mut entries: Vec<Entry>) {
    let mut known = 0;
    while let Some(parent) = found.get(known).copied() {
        known += 1;
        entries.retain(|entry| {
            if entry.parent == parent {
                found.push(entry.pid);
            }
            entry.parent != parent
        });
    }
}

/// What a process is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Living,
    /// A zombie.
    Ended,
}

fn look(pid: i32) -> Option<(State, Entry)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may have any letters.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = match fields.next()? {
        "Z" | "X" => State::Ended,
        _ => State::Living,
    };
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    Some((state, Entry { pid, parent, group }))
}

/// The environment of a process, read at once as far as it goes: between two readings it may be another's, or none.
fn environment(pid: i32) -> std::io::Result<Vec<u8>> {
    let mut file = std::fs::File::open(Path::new("/proc").join(pid.to_string()).join("environ"))?;
    let mut text = vec![0; ENVIRONMENT_BYTES];
    let length = file.read(&mut text)?;
    text.truncate(length);
    if length == ENVIRONMENT_BYTES {
        file.read_to_end(&mut text)?;
    }
    Ok(text)
}

/// Whether a process carries the mark; `None` while that is unknown. In the middle of `exec` a process has no
/// environment; threads of the kernel never have one.
fn carries(entry: &Entry, needle: &str) -> Option<bool> {
    let Ok(text) = environment(entry.pid) else { return Some(false) };
    if text.is_empty() && entry.pid != KERNEL && entry.parent != KERNEL {
        return None;
    }
    Some(text.split(|byte| *byte == 0).any(|variable| variable == needle.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that is in the middle of `exec` most of the time.
    #[test]
    fn what_is_being_executed_is_found_too() {
        let mark = format!("{}-exec", std::process::id());
        let again = r#"if [ "$1" -gt 0 ]; then exec sh -c "$0" "$0" "$(($1 - 1))"; fi; exec sleep 1000"#;
        let mut child = std::process::Command::new("setsid")
            .args(["sh", "-c", again, again, "400"])
            .env(MARK, &mark)
            .spawn()
            .unwrap();
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        let command = || std::fs::read(format!("/proc/{}/cmdline", child.id())).unwrap_or_default();
        let (mut looks, mut found) = (0, 0);
        while !command().starts_with(b"sleep") {
            found += usize::from(tree(None, &mark).contains(&pid));
            looks += 1;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found, looks);
        assert!(looks > 0 && tree(None, &mark).is_empty());
    }
}
