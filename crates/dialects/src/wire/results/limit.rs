//! Long results: head and tail stay, the middle goes.

use super::arrange::Part;
use super::note;

/// Cuts the texts among `parts` to `most` characters together, the note of what was cut included where it fits.
/// Returns how many characters went.
pub(crate) fn cut(parts: &mut Vec<Part<'_>>, most: usize) -> Option<usize> {
    let total: usize = parts.iter().map(length).sum();
    if total <= most {
        return None;
    }
    let budget = most.saturating_sub(mark(total).chars().count());
    let tail = budget / 3;
    let gap = budget - tail..total - tail;
    let line = mark(gap.len());
    let mut start = 0;
    let mut marked = false;
    let mut kept = Vec::with_capacity(parts.len());
    for part in parts.drain(..) {
        let size = length(&part);
        let end = start + size;
        let whole = end <= gap.start || start >= gap.end;
        // What stays of a text that meets the gap.
        let mut shortened = |text: &str| {
            let head: String = text.chars().take(gap.start.saturating_sub(start)).collect();
            let tail: String = text.chars().skip(gap.end.saturating_sub(start)).collect();
            let middle = if std::mem::replace(&mut marked, true) { "" } else { &line };
            Some(head + middle + &tail).filter(|whole| !whole.is_empty())
        };
        kept.extend(match part {
            Part::Media(_) => Some(part),
            Part::Text(_) | Part::Document { .. } | Part::Data(_) if whole && size > 0 => Some(part),
            Part::Data(value) => shortened(&note::json_text(value)).map(Part::Text),
            Part::Text(text) => shortened(&text).map(Part::Text),
            Part::Document { uri, text } => shortened(&text).map(|text| Part::Document { uri, text }),
        });
        start = end;
    }
    *parts = kept;
    Some(gap.len())
}

fn mark(count: usize) -> String {
    format!("[… {count} characters cut …]")
}

fn length(part: &Part<'_>) -> usize {
    match part {
        Part::Text(text) | Part::Document { text, .. } => text.chars().count(),
        Part::Data(value) => note::json_text(value).chars().count(),
        Part::Media(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(parts: &[Part<'_>]) -> Vec<String> {
        parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.clone(),
                other => format!("{other:?}"),
            })
            .collect()
    }

    #[track_caller]
    fn check(given: &[&str], most: usize, expected: Option<(usize, &[&str])>) {
        let mut parts: Vec<Part<'_>> = given.iter().map(|text| Part::Text((*text).to_owned())).collect();
        let gone = cut(&mut parts, most);
        match expected {
            None => {
                assert_eq!((gone, texts(&parts)), (None, given.iter().map(ToString::to_string).collect()));
            }
            Some((count, expected)) => {
                assert_eq!(
                    (gone, texts(&parts)),
                    (Some(count), expected.iter().map(ToString::to_string).collect())
                );
            }
        }
    }

    #[test]
    fn head_and_tail_stay_on_character_boundaries() {
        check(&["short"], 5, None);
        let long = "ä".repeat(100);
        check(
            &[&long],
            54,
            Some((70, &[&format!("{}[… 70 characters cut …]{}", "ä".repeat(20), "ä".repeat(10))])),
        );
        check(
            &["head", &"x".repeat(200), "tail"],
            36,
            Some((196, &["head", "xxxx[… 196 characters cut …]", "tail"])),
        );
        check(&["abc", "def"], 1, Some((6, &["[… 6 characters cut …]"])));
    }
}
