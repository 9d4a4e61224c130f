//! A hostile MCP server and hostile callers: attacks on the gateway, each by name.
//!
//! An attack starts the gateway's binary in a directory of its own, does what an attacker would do, and reports whether
//! the gateway held. It sees the binary from outside: files, standard output, HTTP. What it checks is a property, such as "the
//! server never saw this value", not the text of a refusal.

mod arena;
mod attacks;
mod caller;
mod flood;
mod server;
mod session;
mod started;

pub use arena::Programs;
pub use attacks::ATTACKS;
pub use flood::{Flood, Measured, Times, measure_flood, run_busy, run_flood};
pub use server::{HostileServer, Stray, run_stray};
pub use started::{end_all, is_interrupted};

use arena::Arena;

/// How expensive an attack is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// A few seconds: for ordinary tests.
    Cheap,
    /// Much memory, many connections or much time.
    Expensive,
}

/// An attack.
#[derive(Clone, Copy, Debug)]
pub struct Attack {
    /// Its name on the command line.
    pub name: &'static str,
    /// What must hold.
    pub expected: &'static str,
    /// What it costs.
    pub cost: Cost,
    attempt: Attempt,
}

/// Returns what was seen if the arena has no breach afterwards.
type Attempt = fn(&Arena) -> anyhow::Result<String>;

/// The outcome of an attack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the gateway held.
    pub held: bool,
    /// What was seen.
    pub seen: String,
}

impl Attack {
    /// The attack of a name.
    pub fn find(name: &str) -> Option<&'static Self> {
        ATTACKS.iter().find(|attack| attack.name == name)
    }

    /// Runs the attack. One that cannot be run counts as not held.
    pub fn run(&self, programs: &Programs) -> Verdict {
        let attempt = || {
            let arena = Arena::new(programs)?;
            let seen = (self.attempt)(&arena)?;
            Ok((arena.breaches.take(), seen))
        };
        match attempt() {
            Ok((breaches, seen)) if breaches.is_empty() => Verdict { held: true, seen },
            Ok((breaches, _)) => Verdict { held: false, seen: breaches.join("; ") },
            Err::<_, anyhow::Error>(problem) => {
                Verdict { held: false, seen: format!("could not be carried out: {problem:#}") }
            }
        }
    }
}
