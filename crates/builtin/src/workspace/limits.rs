//! Bounds of a workspace.

/// Bytes that one search reads at most, and that are passed over to reach a range of lines.
pub(super) const SCANNED_BYTES: u64 = 256 << 20;
/// Entries of directories that one listing or search looks at.
pub(super) const VISITED: usize = 100_000;
/// How deep a path may be.
pub(super) const DEPTH: usize = 64;
/// Characters of one matching line that are shown.
pub(super) const SHOWN_CHARACTERS: usize = 500;
/// How big a compiled regular expression may be, in bytes.
pub(super) const REGEX_BYTES: usize = 1 << 20;
/// Operations, or blocks of a diff, in one call.
pub(super) const EDITS: usize = 1_000;
/// Replacements in one call. Each has a regular expression of up to `REGEX_BYTES`, and all are in memory together.
pub(super) const REPLACEMENTS: usize = 100;

/// Bytes that the replacements of one call read at most, one after the other. Ten megabytes take about a second.
pub(super) fn replaced_bytes(max_file_bytes: usize) -> usize {
    let usual = max_file_bytes.saturating_mul(16).min(usize::try_from(SCANNED_BYTES).unwrap_or(usize::MAX));
    usual.max(max_file_bytes.saturating_mul(4))
}
/// Calls of one workspace that work at the same time; more wait.
pub(super) const AT_WORK: usize = 8;
