//! The instructions that a conversation begins with.

use crate::system_prompt::default_system_prompt;

/// The instructions for an empty conversation: those that somebody gave, else some that name the tools. Blank ones mean none.
pub(super) fn system_prompt(given: Option<&str>, tools: &[String]) -> Option<String> {
    match given {
        Some(text) if text.trim().is_empty() => None,
        Some(text) => Some(text.to_owned()),
        None => Some(default_system_prompt(tools.iter().map(String::as_str))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_counts_and_blank_means_none() {
        let tools = ["add".to_owned(), "echo".to_owned()];
        assert_eq!(system_prompt(Some("Be brief."), &tools).as_deref(), Some("Be brief."));
        assert_eq!(system_prompt(Some(" \n"), &tools), None);
        assert!(system_prompt(None, &tools).unwrap().contains("add, echo"));
    }
}
