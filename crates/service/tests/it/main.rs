//! The service over real sockets, with the built-in demo server behind it.

mod client;
mod drain;
mod guard;
mod logs;
mod operations;
mod wrong_requests;
