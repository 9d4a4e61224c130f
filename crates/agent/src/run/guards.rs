//! Models that make no progress: wrong calls in a row, and the same call again and again.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

/// Whether the loop goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    GoOn,
    /// It ends, and this is why.
    Stop(String),
}

impl Verdict {
    /// Why it ends, if it does.
    pub(super) fn reason(self) -> Option<String> {
        match self {
            Self::GoOn => None,
            Self::Stop(text) => Some(text),
        }
    }

    /// The first of two that stops.
    pub(super) fn or(self, other: Self) -> Self {
        if self == Self::GoOn { other } else { self }
    }
}

/// Counts bad calls in a row.
#[derive(Debug)]
pub(super) struct BadCalls {
    most: usize,
    count: usize,
}

impl BadCalls {
    pub(super) fn new(most: usize) -> Self {
        Self { most, count: 0 }
    }

    /// Takes what came of a call: why it was bad, if it was.
    pub(super) fn take(&mut self, reason: Option<&str>) -> Verdict {
        let Some(reason) = reason else {
            self.count = 0;
            return Verdict::GoOn;
        };
        self.count += 1;
        if self.count < self.most {
            return Verdict::GoOn;
        }
        let most = self.most;
        Verdict::Stop(format!(
            "I stopped because {most} tool calls in a row could not be made. The last one: {reason} How should I go on?"
        ))
    }
}

/// At so many equal calls with equal results the model gets a note.
const NOTED: usize = 3;

/// Counts equal calls with equal results. A call whose result changes is polling, and starts anew.
#[derive(Debug)]
pub(super) struct Repeats {
    most: usize,
    /// The result of each call, and how often it came in a row. Hashes do: what repeats is the model's own doing.
    seen: HashMap<u64, (u64, usize)>,
    hasher: RandomState,
}

impl Repeats {
    pub(super) fn new(most: usize) -> Self {
        Self { most, seen: HashMap::new(), hasher: RandomState::new() }
    }

    /// Takes a call and its result. Gives a note for the model, where it is due, and whether the loop goes on.
    pub(super) fn take(
        &mut self,
        (name, arguments): (&str, &str),
        result: &[u8],
    ) -> (Option<String>, Verdict) {
        let call = self.hasher.hash_one((name, arguments));
        let result = self.hasher.hash_one(result);
        let (before, count) = self.seen.entry(call).or_insert((result, 0));
        if *before != result {
            (*before, *count) = (result, 0);
        }
        *count += 1;
        let count = *count;
        if count >= self.most {
            let text = format!(
                "I stopped because the call of `{name}` with the same arguments gave the same result {count} times."
            );
            return (None, Verdict::Stop(text));
        }
        let note = (count == NOTED).then(|| {
            format!(
                "[This call with the same arguments has given the same result {count} times. Use what is known, or call \
                 something else.]"
            )
        });
        (note, Verdict::GoOn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_calls_count_in_a_row() {
        let mut bad = BadCalls::new(3);
        for reason in [Some("x"), Some("x"), None, Some("x"), Some("x")] {
            assert_eq!(bad.take(reason), Verdict::GoOn);
        }
        let Verdict::Stop(text) = bad.take(Some("No such tool.")) else { panic!("it goes on") };
        assert!(text.contains("3 tool calls") && text.contains("No such tool."), "{text}");
    }

    #[test]
    fn polling_goes_on_while_results_differ() {
        let mut repeats = Repeats::new(4);
        let call = ("status", "{}");
        for (result, noted) in
            [("a", false), ("a", false), ("a", true), ("b", false), ("b", false), ("b", true)]
        {
            let (note, verdict) = repeats.take(call, result.as_bytes());
            assert_eq!((note.is_some(), verdict), (noted, Verdict::GoOn), "{result}");
        }
        assert_eq!(repeats.take(("status", "{\"a\":1}"), b"b").1, Verdict::GoOn, "another call");
        assert!(matches!(repeats.take(call, b"b").1, Verdict::Stop(_)));
    }
}
