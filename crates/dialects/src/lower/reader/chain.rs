//! References inside one another, and how far they are written out.

use serde_json::Value;

/// How far references are written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    /// How often a definition may contain itself.
    pub(crate) unroll: usize,
    /// How many references may be inside one another. Definitions that all refer to each other make a long chain before one
    /// contains itself; the first way through them would take all the room.
    pub(crate) chain: usize,
}

/// References inside one another that are written out at most.
const LONGEST_CHAIN: usize = 64;

impl Reach {
    pub(crate) const fn new(unroll: usize) -> Self {
        Self { unroll, chain: LONGEST_CHAIN }
    }

    /// The next shorter one, where `longest` chains were met.
    pub(crate) fn shorter(self, longest: usize) -> Option<Self> {
        if let Some(unroll) = self.unroll.checked_sub(1) {
            return Some(Self { unroll, ..self });
        }
        // A chain ends with one reference more than it may have before that: a limit that no chain has met changes nothing.
        let chain = [16, 8, 4, 2, 1].into_iter().find(|chain| *chain < self.chain && chain + 1 < longest)?;
        Some(Self { chain, ..self })
    }
}

/// References that are being written out, each inside the one before.
#[derive(Debug)]
pub(crate) struct Chain<'a> {
    targets: Vec<&'a Value>,
    pub(crate) reach: Reach,
    /// The most references that have been inside one another.
    pub(crate) longest: usize,
}

impl<'a> Chain<'a> {
    pub(crate) const fn new(reach: Reach) -> Self {
        Self { targets: Vec::new(), reach, longest: 0 }
    }

    /// Steps into `target`; `false` where it is not written out there.
    pub(crate) fn follow(&mut self, target: &'a Value) -> bool {
        let times = self.targets.iter().filter(|known| std::ptr::eq(**known, target)).count();
        if times > self.reach.unroll || self.targets.len() > self.reach.chain {
            return false;
        }
        self.targets.push(target);
        self.longest = self.longest.max(self.targets.len());
        true
    }

    pub(crate) fn len(&self) -> usize {
        self.targets.len()
    }

    /// Steps back out to where the chain was `length` long.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.targets.truncate(length);
    }

    /// The next shorter reach that changes something.
    pub(crate) fn shorter(&self) -> Option<Reach> {
        self.reach.shorter(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::Reach;

    #[test]
    fn a_shorter_reach_changes_something() {
        let whole = Reach { unroll: 1, chain: 64 };
        let once = Reach { unroll: 0, chain: 64 };
        let chain = |chain| Some(Reach { unroll: 0, chain });
        assert_eq!(whole.shorter(1), Some(once));
        assert_eq!(once.shorter(18), chain(16));
        assert_eq!(once.shorter(17), chain(8));
        assert_eq!(once.shorter(3), chain(1));
        assert_eq!(once.shorter(2), None);
        assert_eq!(Reach { unroll: 0, chain: 2 }.shorter(64), chain(1));
        assert_eq!(Reach { unroll: 0, chain: 1 }.shorter(64), None);
    }
}
