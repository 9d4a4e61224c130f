//! An entry of the built-in server `workspace`.

use std::io::ErrorKind;
use std::path::PathBuf;

use super::is_disabled;
use crate::fields::{ANY_SIZE, Fields};
use crate::spec::{MOST_FILE_BYTES, MOST_RESULTS, WorkspaceSpec};

/// Reads the fields. The directory is not checked yet: the entry may be of another kind.
pub(super) fn read(at: &mut Fields<'_>) -> WorkspaceSpec {
    let mut spec = WorkspaceSpec::new("");
    let mut root: Option<PathBuf> = None;
    let about = "The directory of the built-in server `workspace`; relative to this file.";
    at.set("root", about, &mut root);
    spec.root = root.unwrap_or_default();
    at.set("readOnly", "Leaves out the tools of `workspace` that write.", &mut spec.read_only);
    let about = "The longest file that `workspace` reads, writes or searches.";
    at.bytes("maxFileBytes", about, ANY_SIZE, &mut spec.max_file_bytes);
    let about = "The most entries or matches in one answer of `workspace`.";
    at.count("maxResults", about, 1..=MOST_RESULTS, &mut spec.max_results);
    spec
}

/// The workspace with its whole path; `None` if the directory cannot be used, after reporting why.
pub(super) fn check(mut spec: WorkspaceSpec, owner: &str, at: &Fields<'_>) -> Option<WorkspaceSpec> {
    let refuse = |field: &str, text: &str| at.error(field, &format!("{owner}: {text}"));
    if spec.max_file_bytes > MOST_FILE_BYTES {
        at.error("maxFileBytes", &format!("must be at most {MOST_FILE_BYTES} bytes"));
    }
    if spec.root.as_os_str().is_empty() {
        refuse("", "workspace requires \"root\" field, the directory whose files may be touched");
        return None;
    }
    spec.root = at.context.directory.join(spec.root);
    // What is not used need not be there.
    if is_disabled(at.members) {
        return Some(spec);
    }
    // Only a directory has a `.`, and it cannot be read as a text. A pipe is not even opened that way.
    match at.context.source.environment.read(&spec.root.join(".")) {
        Err(error) if error.kind() == ErrorKind::IsADirectory => return Some(spec),
        Err(error) if error.kind() == ErrorKind::NotFound => refuse("root", "the directory does not exist"),
        Err(error) if error.kind() != ErrorKind::NotADirectory => {
            refuse("root", &format!("the directory cannot be opened: {error}"));
        }
        Ok(_) | Err(_) => refuse("root", "is a file, and must be a directory"),
    }
    None
}
