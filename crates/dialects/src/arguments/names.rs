//! Which tool was meant, when the one that was called does not exist.

/// Characters of a name that are compared; longer names are no typing errors.
const MAX_LENGTH: usize = 128;
/// Names offered at most.
const MAX_OFFERED: usize = 3;

/// The candidates that look most like `name`, best first, at most three.
///
/// Case and punctuation are ignored, so `get-Weather` finds `get_weather`; a name that is a whole part of a
/// longer one (`read_file` in `files__read_file`) is near as well.
pub fn nearest_names<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = letters(name);
    if wanted.is_empty() {
        return Vec::new();
    }
    let allowed = (wanted.len() / 3).max(2);
    let mut near: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let letters = letters(candidate);
            let apart = if contains(&letters, &wanted) || contains(&wanted, &letters) {
                1
            } else {
                distance(&wanted, &letters, allowed)?
            };
            Some((if letters == wanted { 0 } else { apart.max(1) }, candidate))
        })
        .collect();
    near.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.cmp(b.1)));
    near.dedup_by(|a, b| a.1 == b.1);
    near.into_iter().take(MAX_OFFERED).map(|(_, candidate)| candidate).collect()
}

/// What to tell a model that called a tool that does not exist.
pub fn unknown_tool_text(name: &str, nearest: &[&str]) -> String {
    match nearest {
        [] => format!("Tool not found: {name}"),
        [one] => format!("Tool not found: {name}. Did you mean `{one}`?"),
        several => format!("Tool not found: {name}. Did you mean one of `{}`?", several.join("`, `")),
    }
}

fn letters(name: &str) -> Vec<char> {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).take(MAX_LENGTH).collect()
}

/// Whether `part` stands in `whole`, and is long enough for that to mean something.
fn contains(whole: &[char], part: &[char]) -> bool {
    part.len() >= 4 && whole.windows(part.len()).any(|window| window == part)
}

/// Insertions, deletions, replacements and swaps of neighbours between two names, when at most `allowed`.
fn distance(a: &[char], b: &[char], allowed: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > allowed {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (row, x) in a.iter().enumerate() {
        let mut current = vec![row + 1];
        let mut left = row + 1;
        for (column, y) in b.iter().enumerate() {
            let cell = |line: &[usize], at: usize| line.get(at).copied().unwrap_or(usize::MAX / 2);
            let replaced = cell(&above, column) + usize::from(x != y);
            let mut best = replaced.min(cell(&above, column + 1) + 1).min(left + 1);
            let swapped = row > 0 && column > 0 && a.get(row - 1) == Some(y) && b.get(column - 1) == Some(x);
            if swapped {
                best = best.min(cell(&before, column - 1) + 1);
            }
            current.push(best);
            left = best;
        }
        before = std::mem::replace(&mut above, current);
    }
    above.last().copied().filter(|apart| *apart <= allowed)
}
