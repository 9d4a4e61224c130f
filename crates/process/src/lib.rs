//! Runs programs, and ends them with everything that they started.
//!
//! What it is: spawning a program with its streams, its process tree, the keeper that stands above it on Linux, and the
//! hiding of its secrets in what it writes. What it is not: it knows neither MCP nor what the program is for. Servers over
//! stdio and commands of registered tools are both run by it.

#[cfg(target_os = "linux")]
mod executable;
#[cfg(target_os = "linux")]
mod keeper;
#[cfg(target_os = "linux")]
mod kept;
mod process;
mod program;
#[cfg(target_os = "linux")]
mod reaper;
mod secrets;
mod table;

pub use process::{Process, SpawnError, enable_keepers, run_as_keeper};
pub use program::{Program, Streams};
pub use secrets::Secrets;
