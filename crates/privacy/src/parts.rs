//! Texts that are read one after the other, such as the blocks of a message.

use crate::counts::Counts;
use crate::detector::Detector;

impl Detector {
    /// Masks what is found only if texts are read as one: what begins in one of them and ends in another, or follows a word of the one
    /// before. Such a finding becomes a mask in the first and is cut from the rest. `None` if nothing is found.
    ///
    /// Each text has to be masked by itself before. What lies within one that looks like JSON is left to the search that knows JSON.
    pub fn mask_joined<T: AsRef<str>>(&self, texts: &[T]) -> Option<(Vec<String>, Counts)> {
        if texts.len() < 2 {
            return None;
        }
        let mut starts = Vec::with_capacity(texts.len());
        let mut joined = String::new();
        for text in texts {
            starts.push(joined.len());
            joined.push_str(text.as_ref());
        }
        // The last of empty texts at one position is the one that is not.
        let text_at = |position: usize| starts.partition_point(|start| *start <= position) - 1;
        let is_json = |index: usize| texts.get(index).is_some_and(|text| looks_like_json(text.as_ref()));
        let mut counts = Counts::default();
        let mut found = self.find(&joined);
        found.retain(|finding| {
            let first = text_at(finding.range.start);
            first != text_at(finding.range.end - 1) || !is_json(first)
        });
        if found.is_empty() {
            return None;
        }
        let mut found = found.iter().inspect(|finding| counts.add(finding.kind)).peekable();
        let mut masked = Vec::with_capacity(texts.len());
        let mut position = 0;
        for (index, start) in starts.iter().enumerate() {
            let end = starts.get(index + 1).copied().unwrap_or(joined.len());
            let mut text = String::new();
            // A finding that began before goes on as far as `position`.
            position = position.max(*start);
            while let Some(finding) = found.next_if(|finding| finding.range.start < end) {
                text.push_str(joined.get(position..finding.range.start).unwrap_or_default());
                text.push_str(finding.kind.mask());
                position = finding.range.end;
            }
            text.push_str(joined.get(position..end).unwrap_or_default());
            masked.push(text);
        }
        drop(found);
        Some((masked, counts))
    }
}

/// Whether a text begins as data does.
fn looks_like_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(texts: &[&str], expected: Option<&[&str]>) {
        let masked = Detector::default().mask_joined(texts);
        let masked = masked.as_ref().map(|(masked, _)| masked.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(masked.as_deref(), expected, "{texts:?}");
    }

    #[test]
    fn what_goes_over_several_texts_is_masked_in_the_first() {
        check(&["card 4242 4242 ", "4242 4242 ok"], Some(&["card [card]", " ok"]));
        check(&["a", "anna@exam", "", "ple.com"], Some(&["[email]", "", "", ""]));
        check(&["4242 ", "4242 42", "42 4242, bob@", "example.org"], Some(&["[card]", "", ", [email]", ""]));
        check(&["my SSN is ", "536904399"], Some(&["my SSN is ", "[ssn]"]));
        check(&["card 4242 4242 4242 4242"], None);
        check(&["nothing ", "at all"], None);
        check(&["phone ", "{\"order\": 4155552671}"], None);
    }
}
