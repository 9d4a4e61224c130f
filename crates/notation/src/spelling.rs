//! Which name was meant by one that does not exist.

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
    // Of a short name, a third at most: too little is left in common otherwise.
    let allowed = (wanted.len() / 3).max(2).min((wanted.len() + 1) / 3);
    let mut near: Vec<(usize, usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let letters = letters(candidate);
            let is_part = contains(&letters, &wanted) || contains(&wanted, &letters);
            let apart = match is_part {
                _ if letters == wanted => 0,
                true => 1,
                // Lengths first: the distance is at least their difference, and takes the product of them to find.
                false if letters.len().abs_diff(wanted.len()) > allowed => return None,
                false => strsim::osa_distance(&wanted, &letters),
            };
            (apart <= allowed).then_some((apart, letters.len().abs_diff(wanted.len()), candidate))
        })
        .collect();
    // Of two parts of a name the longer one is nearer: `modell` is `model` rather than `mode`.
    near.sort_unstable();
    near.dedup_by(|a, b| a.2 == b.2);
    near.into_iter().take(MAX_OFFERED).map(|(.., candidate)| candidate).collect()
}

/// The question which of the nearest names was meant; `None` if none is near.
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    match nearest_names(name, candidates).as_slice() {
        [] => None,
        [one] => Some(format!("did you mean `{one}`?")),
        several => Some(format!("did you mean one of `{}`?", several.join("`, `"))),
    }
}

fn letters(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).take(MAX_LENGTH).collect()
}

/// Whether `part` stands in `whole`, and is long enough for that to mean something.
fn contains(whole: &str, part: &str) -> bool {
    part.len() >= 4 && whole.contains(part)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nearest_tool_names() {
        let tools = ["get_weather", "get_whether_report", "files__read_file", "delete_file", "x"];
        let cases: &[(&str, &[&str])] = &[
            ("get_wether", &["get_weather"]),
            ("Get-Weather", &["get_weather"]),
            ("read_file", &["files__read_file"]),
            ("get_waether", &["get_weather"]),
            ("unrelated", &[]),
            ("", &[]),
            ("y", &[]),
            ("axe", &[]),
        ];
        for (name, nearest) in cases {
            assert_eq!(nearest_names(name, tools), *nearest, "{name}");
        }
    }

    #[test]
    fn the_longer_part_of_a_name_is_nearer() {
        assert_eq!(nearest_names("modell", ["mode", "model", "meta"]), ["model", "mode"]);
    }

    #[test]
    fn the_question_names_what_is_near() {
        let tools = ["echo", "each", "add"];
        assert_eq!(did_you_mean("ad", tools).as_deref(), Some("did you mean `add`?"));
        assert_eq!(did_you_mean("eacho", tools).as_deref(), Some("did you mean one of `each`, `echo`?"));
        assert_eq!(did_you_mean("subtract", tools), None);
    }

    #[test]
    fn misspelt_fields_find_their_nearest() {
        let known = ["command", "args", "env", "timeout", "alwaysAllow", "connectTimeout"];
        let cases = [
            ("comand", Some("command")),
            ("cmomand", Some("command")),
            ("always_allow", Some("alwaysAllow")),
            ("connect-timeout", Some("connectTimeout")),
            ("Args", Some("args")),
            ("envs", Some("env")),
            ("zebra", None),
            ("x", None),
        ];
        for (word, expected) in cases {
            assert_eq!(nearest_names(word, known).first().copied(), expected, "{word}");
        }
    }

    proptest! {
        #[test]
        fn names_never_panic(name in ".{0,40}", other in ".{0,40}") {
            let _ = nearest_names(&name, [other.as_str()]);
            let own: Vec<&str> = if name.chars().any(char::is_alphanumeric) { vec![&name] } else { vec![] };
            prop_assert_eq!(nearest_names(&name, [name.as_str()]), own);
        }
    }
}
