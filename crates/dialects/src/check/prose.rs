//! What descriptions say that the schema should.

/// Words after which the allowed values follow.
const LISTS: [&str; 9] = [
    "one of:",
    "one of ",
    "either ",
    "allowed values",
    "possible values",
    "valid values",
    "valid options",
    "must be one of",
    "options are",
];

/// Words that name a default.
const DEFAULTS: [&str; 4] = ["defaults to ", "default is ", "default: ", "default value is "];

/// At least two quoted values behind words that announce a list.
pub(super) fn lists_values(description: &str) -> bool {
    let lower = description.to_lowercase();
    LISTS.iter().filter_map(|words| lower.split_once(words)).any(|(_, rest)| {
        let sentence = rest.split(['\n', ';']).next().unwrap_or_default();
        ['"', '\'', '`'].iter().any(|quote| sentence.matches(*quote).count() >= 4)
    })
}

/// The default that a description names.
pub(super) fn named_default(description: &str) -> Option<&str> {
    let lower = description.to_ascii_lowercase();
    let start = DEFAULTS.iter().find_map(|words| lower.find(words).map(|at| at + words.len()))?;
    let rest = description.get(start..)?.trim_start();
    let end =
        rest.find(|char: char| char.is_whitespace() || matches!(char, ',' | ';' | ')')).unwrap_or(rest.len());
    let value = rest.get(..end)?.trim_matches(|char: char| matches!(char, '"' | '\'' | '`' | '.' | ':'));
    let unclear = ["the", "a", "an", "current", "none", "null", "no", "all", "your", "now", "today"];
    (!value.is_empty() && !unclear.contains(&value.to_ascii_lowercase().as_str())).then_some(value)
}

/// A tool name that does not say what the tool does.
pub(super) fn is_vague_tool(name: &str) -> bool {
    let bare = name.trim_end_matches(|char: char| char.is_ascii_digit() || matches!(char, '_' | '-'));
    let vague =
        ["tool", "run", "do", "test", "function", "func", "action", "execute", "call", "handler", "process"];
    bare.chars().count() < 3 || vague.contains(&bare.to_ascii_lowercase().as_str())
}

/// A parameter name that does not say what goes in.
pub(super) fn is_vague_parameter(name: &str) -> bool {
    let bare = name.trim_end_matches(|char: char| char.is_ascii_digit() || matches!(char, '_' | '-'));
    let numbered = bare.len() < name.len();
    let vague = ["arg", "args", "param", "params", "parameter", "value", "input", "foo", "bar", "tmp", "var"];
    let letter = name.chars().count() == 1 && !matches!(name, "x" | "y" | "z" | "q");
    let lower = bare.to_ascii_lowercase();
    letter || (vague.contains(&lower.as_str()) && (numbered || !matches!(lower.as_str(), "value" | "input")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_values_are_seen() {
        assert!(lists_values("The unit, one of 'celsius' or 'fahrenheit'"));
        assert!(lists_values("Possible values: \"a\", \"b\""));
        assert!(!lists_values("One of the user's documents"));
        assert!(!lists_values("A 'quoted' or 'other' word"));
    }

    #[test]
    fn defaults_are_seen() {
        assert_eq!(named_default("How many (defaults to 10)."), Some("10"));
        assert_eq!(named_default("Mode. Default: `fast`, slower otherwise"), Some("fast"));
        assert_eq!(named_default("Defaults to the current directory"), None);
        assert_eq!(named_default("No word of it"), None);
    }

    #[test]
    fn vague_names_are_seen() {
        assert!(is_vague_tool("tool_1") && is_vague_tool("x") && !is_vague_tool("get_weather"));
        assert!(is_vague_parameter("arg1") && is_vague_parameter("p") && is_vague_parameter("value2"));
        assert!(!is_vague_parameter("value") && !is_vague_parameter("x") && !is_vague_parameter("city"));
    }
}
