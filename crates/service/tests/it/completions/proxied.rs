//! proxied
