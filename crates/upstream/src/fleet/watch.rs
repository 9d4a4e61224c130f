//! Watching files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::{RecursiveMode, Watcher as _};
use tokio::sync::mpsc;

/// Editors write a file in several steps; a change is reported once they pause for so long.
const SETTLE: Duration = Duration::from_millis(100);

/// Reports changes of files, for as long as it lives.
#[derive(Debug)]
pub struct FileWatch {
    changes: mpsc::Receiver<()>,
    _watcher: notify::RecommendedWatcher,
}

impl FileWatch {
    /// Waits for the next change, until its writer is done. `None` if watching is over.
    pub async fn changed(&mut self) -> Option<()> {
        self.changes.recv().await?;
        while let Ok(Some(())) = tokio::time::timeout(SETTLE, self.changes.recv()).await {}
        Some(())
    }
}

/// Watches files. Their folders are watched, because editors replace files rather than write into them.
pub fn watch_files(paths: &[PathBuf]) -> Result<FileWatch, notify::Error> {
    let (sender, changes) = mpsc::channel(16);
    let wanted: HashSet<PathBuf> = paths.iter().map(|path| absolute(path)).collect();
    let folders: HashSet<PathBuf> =
        wanted.iter().filter_map(|path| path.parent().map(Path::to_owned)).collect();
    let names = wanted.clone();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let Ok(event) = event else { return };
        if event.kind.is_access() {
            return;
        }
        // A mounted configuration is a link into a folder that is swapped: the folder's own change counts too.
        let concerns = event
            .paths
            .iter()
            .any(|path| names.contains(path) || path.file_name() == Some("..data".as_ref()));
        if concerns {
            // A full channel already holds a change that nobody has looked at yet.
            let _ = sender.try_send(());
        }
    })?;
    for folder in &folders {
        watcher.watch(folder, RecursiveMode::NonRecursive)?;
    }
    Ok(FileWatch { changes, _watcher: watcher })
}

fn absolute(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    // Events name the real folder; the file itself may be a link that is replaced.
    let folder = whole.parent().and_then(|folder| folder.canonicalize().ok());
    match (folder, whole.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => whole,
    }
}
