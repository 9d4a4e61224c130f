//! The protocol versions. No other crate knows version strings.

/// The newest version that opens with `initialize`.
pub const LATEST_LEGACY: &str = "2025-11-25";

/// The version without sessions, in which every request stands alone.
pub const MODERN: &str = "2026-07-28";

/// What a missing version header means on Streamable HTTP.
pub const PLAIN_HTTP_DEFAULT: &str = "2025-03-26";

const LEGACY: &[&str] = &["2024-11-05", "2025-03-26", "2025-06-18", LATEST_LEGACY];

/// Which generation of MCP a server speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Era {
    /// Opened by `initialize`.
    Legacy {
        /// The version that both sides agreed on.
        version: String,
    },
    /// Every request carries its own version.
    Modern {
        /// The version.
        version: String,
    },
}

impl Era {
    /// The version in use.
    pub fn version(&self) -> &str {
        match self {
            Self::Legacy { version } | Self::Modern { version } => version,
        }
    }

    /// The word for people: `legacy` or `modern`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Legacy { .. } => "legacy",
            Self::Modern { .. } => "modern",
        }
    }

    /// Whether it is the modern era.
    pub fn is_modern(&self) -> bool {
        matches!(self, Self::Modern { .. })
    }
}

/// All supported versions, the newest first.
pub fn supported_versions() -> Vec<&'static str> {
    std::iter::once(MODERN).chain(LEGACY.iter().rev().copied()).collect()
}

/// Whether a stream of this legacy version begins with an empty event, so that a caller can reconnect before the first
/// message.
pub fn primes_streams(version: &str) -> bool {
    version >= LATEST_LEGACY
}

/// Whether this legacy version allows batches of messages in an array. Only one version does.
pub fn allows_batches(version: &str) -> bool {
    version == "2025-03-26"
}

/// Whether this legacy version is supported.
pub fn is_known_legacy(version: &str) -> bool {
    LEGACY.contains(&version)
}

/// Whether the version belongs to the modern era. Versions are dates, so they compare as strings.
pub fn is_modern(version: &str) -> bool {
    version >= MODERN
}

/// The version to answer an `initialize` for `requested` with: the same if it is supported, else our newest.
pub fn negotiate_legacy(requested: &str) -> &'static str {
    LEGACY.iter().copied().find(|known| *known == requested).unwrap_or(LATEST_LEGACY)
}
