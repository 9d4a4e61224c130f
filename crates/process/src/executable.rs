//! Which file a keeper is started from.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The executable of this process as the kernel holds it, also when its file was replaced or deleted.
const RUNNING: &str = "/proc/self/exe";

/// The file that this process was started from.
static START: OnceLock<Option<Executable>> = OnceLock::new();

/// A file, and what distinguishes it from another one at the same path.
#[derive(Debug)]
struct Executable {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl Executable {
    fn at(path: PathBuf) -> Option<Self> {
        let (device, inode) = identity(&path)?;
        Some(Self { path, device, inode })
    }

    fn is_unchanged(&self) -> bool {
        identity(&self.path) == Some((self.device, self.inode))
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    path.metadata().ok().map(|file| (file.dev(), file.ino()))
}

/// Remembers the file of this process, and gives whether keepers can be started. To be called as soon as the process starts:
/// an upgrade in place puts another file there.
pub(crate) fn remember() -> bool {
    START.get_or_init(|| std::env::current_exe().ok().and_then(Executable::at));
    Path::new(RUNNING).exists()
}

/// What to start a keeper from: our file by its path, or what the kernel holds of it if another file is there now.
///
/// The path comes first because `/proc/self/exe` is the emulator where one runs us, such as valgrind.
pub(crate) fn to_start() -> &'static Path {
    choose(START.get().and_then(Option::as_ref))
}

fn choose(start: Option<&Executable>) -> &Path {
    start.filter(|file| file.is_unchanged()).map_or(Path::new(RUNNING), |file| &file.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keeper_is_started_by_path_until_the_file_is_another() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gateway");
        std::fs::write(&path, "old").unwrap();
        let start = Executable::at(path.clone());
        assert_eq!(choose(start.as_ref()), path);

        // As package managers upgrade: the new file exists beside the old one, then takes its name.
        let new = directory.path().join("new");
        std::fs::write(&new, "new").unwrap();
        std::fs::rename(&new, &path).unwrap();
        assert_eq!(choose(start.as_ref()), Path::new(RUNNING));

        std::fs::remove_file(&path).unwrap();
        assert_eq!(choose(start.as_ref()), Path::new(RUNNING));
        assert_eq!(choose(None), Path::new(RUNNING));
    }
}
