//! An entry of the built-in server `workspace`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::fields::is_disabled;
use crate::reader::Reader;
use crate::spec::{MOST_FILE_BYTES, MOST_RESULTS, WorkspaceSpec};

/// Reads the fields. Nothing, if there is no usable directory; the reason is noted then.
pub(crate) fn workspace(
    name: &str,
    reader: &Reader<'_>,
    environment: &Environment<'_>,
) -> Option<WorkspaceSpec> {
    let root = root(name, reader, environment);
    let mut spec = WorkspaceSpec::new(root.clone().unwrap_or_default());
    spec.read_only = reader.flag("readOnly").unwrap_or(spec.read_only);
    if let Some(bytes) = reader.bytes("maxFileBytes") {
        if bytes > MOST_FILE_BYTES {
            reader.error("maxFileBytes", &format!("must be at most {MOST_FILE_BYTES} bytes"));
        }
        spec.max_file_bytes = bytes;
    }
    let results = reader.whole("maxResults", 1, MOST_RESULTS).and_then(|count| usize::try_from(count).ok());
    spec.max_results = results.unwrap_or(spec.max_results);
    root.map(|_| spec)
}

fn root(name: &str, reader: &Reader<'_>, environment: &Environment<'_>) -> Option<PathBuf> {
    let refuse = |field: &str, text: &str| -> Option<PathBuf> {
        reader.error(field, &format!("Server \"{name}\": {text}"));
        None
    };
    let Some(text) = reader.filled_text("root") else {
        return refuse("", "workspace requires \"root\" field, the directory whose files may be touched");
    };
    let folder = Path::new(reader.notes.file).parent().unwrap_or(Path::new(""));
    let root = folder.join(environment.path(&text));
    // What is not used need not be there.
    if is_disabled(reader) {
        return Some(root);
    }
    // Only a directory has a `.`, and it cannot be read as a text. A pipe is not even opened that way.
    match environment.read(&root.join(".")) {
        Err(error) if error.kind() == ErrorKind::IsADirectory => Some(root),
        Err(error) if error.kind() == ErrorKind::NotFound => refuse("root", "the directory does not exist"),
        Err(error) if error.kind() != ErrorKind::NotADirectory => {
            refuse("root", &format!("the directory cannot be opened: {error}"))
        }
        Ok(_) | Err(_) => refuse("root", "is a file, and must be a directory"),
    }
}
