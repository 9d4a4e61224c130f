//! Files of text that somebody named, read up to a bound.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Longer files hold no configuration, and a device such as `/dev/zero` never ends.
const LONGEST: u64 = 16 << 20;

/// The text of a file, which may be a pipe.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(LONGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is longer than 16 MiB"));
    }
    Ok(text)
}

/// The text of a regular file. For files that are read again whenever they change: a pipe would block, or be empty by then.
pub fn read_regular_file(path: &Path) -> io::Result<String> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    read(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_not_read() {
        let refused = read(Path::new("/dev/zero")).map_err(|error| error.to_string());
        assert_eq!(refused, Err("it is longer than 16 MiB".to_owned()));
        let refused = read_regular_file(Path::new("/dev/zero")).map_err(|error| error.to_string());
        assert_eq!(refused, Err("it is not a regular file".to_owned()));
    }
}
