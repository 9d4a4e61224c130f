//! Name patterns in the query language of the log.

/// The pattern in SQLite's `GLOB` language, in which `[` is special too.
pub(crate) fn to_glob(pattern: &str) -> String {
    pattern.replace('[', "[[]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_wildcards_are_special_in_a_glob() {
        assert_eq!(to_glob("a?[b]*"), "a?[[]b]*");
    }
}
