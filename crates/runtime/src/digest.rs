//! One digest of several parts.

use sha2::{Digest as _, Sha256};

/// The SHA-256 of parts, each with its length before it, so that no other parts have the same digest.
pub fn digest_of(parts: &[&[u8]]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part.len().to_le_bytes());
        digest.update(part);
    }
    digest.finalize().into()
}
