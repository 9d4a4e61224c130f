//! How much work a request may take.

/// Units for one visited schema node; one byte of output is one unit.
const NODE: usize = 64;

/// Work that may still be done. One unit is about what one byte of output costs.
///
/// The budget of [`Options`](crate::Options) bounds one schema in one dialect. This bounds many schemas in many dialects together,
/// for callers who choose how many there are.
#[derive(Clone, Debug)]
pub struct Work {
    left: usize,
}

/// The work that was asked for is more than may be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this takes more work than one request may take")]
pub struct TooMuchWork;

impl Work {
    /// Work without a bound.
    pub const fn unlimited() -> Self {
        Self { left: usize::MAX }
    }

    /// At most so many units.
    pub const fn at_most(units: usize) -> Self {
        Self { left: units }
    }

    /// Takes `units` from what is left. Once it is not enough, nothing is left.
    pub(crate) fn spend(&mut self, units: usize) -> Result<(), TooMuchWork> {
        if self.left == usize::MAX {
            return Ok(());
        }
        if let Some(left) = self.left.checked_sub(units) {
            self.left = left;
            Ok(())
        } else {
            self.left = 0;
            Err(TooMuchWork)
        }
    }
}

/// The units for `nodes` visited nodes.
pub(crate) fn node_units(nodes: usize) -> usize {
    nodes.saturating_mul(NODE)
}
