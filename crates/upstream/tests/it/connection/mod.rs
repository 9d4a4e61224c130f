//! Connections against small scripted servers.

mod builtin;
mod era;
mod fixture;
mod http;
mod http_peer;
mod peer;
mod repeated;
mod sse;
mod stdio;
mod tree;
