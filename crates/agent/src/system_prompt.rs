//! The instructions that a conversation begins with.

use std::fmt::Write as _;

use gateway_dialects::history::{Content, Message, Role};

/// How many tools the usual prompt names.
const NAMED: usize = 40;

/// Puts a prompt first, unless it is blank or the conversation has instructions already.
pub fn with_system_prompt(messages: &mut Vec<Message>, prompt: &str) {
    let has_one = messages.iter().any(|message| message.role == Role::System);
    if !prompt.trim().is_empty() && !has_one {
        messages.insert(0, Message::new(Role::System, Content::Text(prompt.to_owned())));
    }
}

/// The prompt where nobody gives one: it lists the tools, up to a number that fits into small models.
pub fn default_system_prompt<'a>(tools: impl IntoIterator<Item = &'a str>) -> String {
    let mut prompt = "You are a helpful assistant.".to_owned();
    let names: Vec<&str> = tools.into_iter().collect();
    if names.is_empty() {
        return prompt;
    }
    let (shown, rest) = names.split_at(names.len().min(NAMED));
    // Writing to a `String` cannot fail.
    let _ = write!(prompt, " Use the tools where they help. Available tools: {}", shown.join(", "));
    if !rest.is_empty() {
        let _ = write!(prompt, " and {} more", rest.len());
    }
    prompt.push('.');
    prompt
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(role: Role, text: &str) -> Message {
        Message::new(role, Content::Text(text.to_owned()))
    }

    #[test]
    fn a_prompt_is_put_first_once_and_only_if_it_says_something() {
        let user = || text(Role::User, "Hi");
        let after = |mut messages: Vec<Message>, prompt| {
            with_system_prompt(&mut messages, prompt);
            messages
        };
        assert_eq!(after(vec![user()], "Be brief."), [text(Role::System, "Be brief."), user()]);
        assert_eq!(after(vec![user()], " \n"), [user()]);
        let has_one = vec![text(Role::System, "Other."), user()];
        assert_eq!(after(has_one.clone(), "Be brief."), has_one);
    }

    #[test]
    fn the_usual_prompt_lists_the_tools() {
        assert_eq!(default_system_prompt([]), "You are a helpful assistant.");
        assert_eq!(
            default_system_prompt(["add", "echo"]),
            "You are a helpful assistant. Use the tools where they help. Available tools: add, echo."
        );
        let names: Vec<String> = (0..50).map(|number| format!("t{number}")).collect();
        let prompt = default_system_prompt(names.iter().map(String::as_str));
        assert!(prompt.ends_with(", t39 and 10 more."), "{prompt}");
    }
}
