//! The files of the data directory: private to their owner, and moved aside if they are damaged.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use jiff::Timestamp;

/// Name prefixes of the files that a gateway keeps in its data directory.
const OWN_PREFIXES: &[&str] = &["calls.", "conversations.", "servers."];
/// Permission bits that our files must not have.
const GROUP_AND_OTHERS: u32 = 0o077;

/// Creates a directory with mode 0700; an existing one is left unchanged.
pub(crate) fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Whether the path is not a regular file: a directory, a pipe, a device. Opening a pipe would block until it has a reader.
pub(crate) fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file())
}

/// Opens a file for writing, creating it with mode 0600.
pub(crate) fn make_file(path: &Path) -> io::Result<File> {
    if is_special(path) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file; move it away"));
    }
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Removes the permissions of others from our files, and from the directory if it holds only our files. `ours` is a file
/// that we just created. Returns warnings for the operator.
pub(crate) fn protect(directory: &Path, ours: &File) -> Vec<String> {
    let mut warnings = Vec::new();
    let Ok(us) = ours.metadata().map(|metadata| metadata.uid()) else { return warnings };
    let mut is_shared = false;
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if !OWN_PREFIXES.iter().any(|own| name.to_string_lossy().starts_with(own)) {
            is_shared = true;
            continue;
        }
        let path = entry.path();
        // Links are not followed: their target may be anything.
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        if metadata.is_file() {
            warnings.extend(restrict(&path, &metadata, us, 0o600));
        }
    }
    let Ok(metadata) = fs::metadata(directory) else { return warnings };
    if is_shared && metadata.mode() & GROUP_AND_OTHERS != 0 {
        warnings.push(format!(
            "data directory `{}` can be entered by others and holds files that are not the gateway's, so its permissions stay; \
             choose a directory of its own",
            directory.display()
        ));
    } else if !is_shared {
        warnings.extend(restrict(directory, &metadata, us, 0o700));
    }
    warnings
}

fn restrict(path: &Path, metadata: &fs::Metadata, us: u32, mode: u32) -> Option<String> {
    if metadata.mode() & GROUP_AND_OTHERS == 0 {
        return None;
    }
    let problem = if metadata.uid() == us {
        fs::set_permissions(path, Permissions::from_mode(mode)).err()?.to_string()
    } else {
        "it belongs to another user".to_owned()
    };
    Some(format!(
        "`{}` can be read by others, and its permissions could not be changed: {problem}",
        path.display()
    ))
}

/// Whether a database without a write-ahead log is shorter than its header says.
pub(crate) fn is_truncated(path: &Path) -> bool {
    let wal = fs::metadata(with_suffix(path, "-wal")).map_or(0, |metadata| metadata.len());
    let Ok(length) = fs::metadata(path).map(|metadata| metadata.len()) else { return false };
    let mut header = [0; 32];
    let read = File::open(path).and_then(|mut file| io::Read::read_exact(&mut file, &mut header));
    if wal > 0 || read.is_err() {
        // Shorter than a header: an empty file is a new database.
        return wal == 0 && length > 0 && length < 100;
    }
    let [.., p0, p1, _, _, _, _, _, _, _, _, _, _, _, _] = header;
    let page = match u64::from(u16::from_be_bytes([p0, p1])) {
        1 => 65_536,
        size => size,
    };
    let [.., c0, c1, c2, c3] = header;
    length < page * u64::from(u32::from_be_bytes([c0, c1, c2, c3]))
}

/// Moves a damaged database and its side files aside; returns the new path.
pub(crate) fn move_aside(path: &Path, now: Timestamp) -> io::Result<PathBuf> {
    let stamp = now.strftime("%Y%m%dT%H%M%SZ");
    let free = |number: u32| {
        let more = if number == 0 { String::new() } else { format!("-{number}") };
        let target = with_suffix(path, &format!(".corrupt-{stamp}{more}"));
        (!target.exists()).then_some(target)
    };
    let target = (0..1000).find_map(free).ok_or(io::ErrorKind::AlreadyExists)?;
    fs::rename(path, &target)?;
    for suffix in ["-wal", "-shm"] {
        match fs::rename(with_suffix(path, suffix), with_suffix(&target, suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(target)
}

/// The path of a side file.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
