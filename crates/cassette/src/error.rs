//! Why a text is no cassette.

/// Why a cassette cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CassetteError {
    /// The text is not JSON, or its members are not those of a cassette.
    #[error("reading a cassette")]
    Json(#[source] serde_json::Error),
    /// The JSON is something else.
    #[error("this is no cassette: it has no number under `cassette`; `record` makes one")]
    Foreign,
    /// The format is newer.
    #[error(
        "the cassette has the format {found}, and this program reads {known}; record it again, or use a newer version"
    )]
    Version {
        /// The format of the file.
        found: u64,
        /// The format that this program reads.
        known: u64,
    },
    /// An entry contradicts itself.
    #[error("entry {number} of the cassette: {problem}")]
    Entry {
        /// Which one, counted from 1.
        number: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
}
