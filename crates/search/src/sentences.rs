//! What a description says first: its first sentence, without the labels, headings and signs that authors put before it.

/// Letters of a description that are looked through, and of a sentence that are given.
const READ: usize = 4_000;
const LONGEST: usize = 240;

/// Words before a colon that announce a description and say nothing themselves.
const LABELS: &[&str] = &[
    "about",
    "action",
    "description",
    "function",
    "functionality",
    "goal",
    "objective",
    "overview",
    "purpose",
    "summary",
    "tool",
    "tool description",
    "usage",
    "use case",
    "what it does",
    "what this does",
    "what this tool does",
];

/// Words before a colon that begin another part of a description.
const SECTIONS: &[&str] = &[
    "args",
    "arguments",
    "example",
    "examples",
    "important",
    "input",
    "inputs",
    "note",
    "notes",
    "output",
    "parameters",
    "params",
    "raises",
    "returns",
    "warning",
];

/// The first sentence as it stands in the description; where there is only a heading, the heading.
pub(crate) fn lead(description: &str) -> &str {
    let text = beginning(description, READ);
    let mut heading = "";
    let mut rest = text;
    while !rest.is_empty() {
        let (line, below) = rest.split_at(rest.find('\n').map_or(rest.len(), |end| end + 1));
        let body = undecorated(line);
        match kind_of(line, body) {
            Line::Empty => {}
            Line::Heading => {
                if heading.is_empty() {
                    heading = unlabelled(body).unwrap_or(body).trim_end();
                }
            }
            Line::Text(said) => {
                // The paragraph goes on below: many descriptions are wrapped.
                // Decorations are only taken off in front, so that what is said reaches to the end of the line.
                let start = line.len().saturating_sub(said.len());
                return first_sentence(paragraph(rest.get(start..).unwrap_or(said)));
            }
        }
        rest = below;
    }
    beginning(heading, LONGEST)
}

/// The first sentence for people and models to read: on one line, without marks of emphasis.
pub(crate) fn sentence(description: &str) -> String {
    let lead = lead(description).replace("**", "");
    let words: Vec<&str> = lead.split_whitespace().collect();
    let text = without_closing_tag(&words.join(" ")).to_owned();
    if text.len() >= LONGEST - 1 && !ends_sentence(&text) { format!("{text}…") } else { text }
}

fn without_closing_tag(text: &str) -> &str {
    match text.rsplit_once("</") {
        Some((said, tag)) if tag.ends_with('>') && !tag.contains(' ') => said.trim_end(),
        _ => text,
    }
}

/// The first bytes of a text, without half a letter.
pub(crate) fn beginning(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

enum Line<'a> {
    /// Nothing to read: blank, a rule, a fence, a tag.
    Empty,
    /// A heading, or a label with nothing behind it.
    Heading,
    /// What is said, without a label in front.
    Text(&'a str),
}

fn kind_of<'a>(line: &str, body: &'a str) -> Line<'a> {
    if !body.contains(char::is_alphanumeric) {
        return Line::Empty;
    }
    let trimmed = line.trim();
    let is_bold = trimmed.len() > 4
        && trimmed.starts_with("**")
        && trimmed.ends_with("**")
        && !ends_sentence(trimmed.trim_end_matches('*'));
    let bare = body.trim_end().trim_end_matches('*').to_lowercase();
    let label = bare.strip_suffix(':').map(|label| label.trim_end_matches('*'));
    let is_decorated = !trimmed.starts_with(char::is_alphanumeric);
    let is_label = label.is_some_and(|label| {
        is_decorated && label.split_whitespace().count() <= 5
            || LABELS.contains(&label)
            || SECTIONS.contains(&label)
    });
    let is_bare_label = LABELS.contains(&bare.as_str());
    if trimmed.starts_with('#') || is_bold || is_label || is_bare_label {
        return Line::Heading;
    }
    Line::Text(unlabelled(body).unwrap_or(body))
}

/// A line without what only decorates its beginning: marks of lists and emphasis, numbers, pictures, tags.
fn undecorated(line: &str) -> &str {
    let mut body = line;
    loop {
        let before = body.len();
        body = body.trim_start_matches(|letter: char| {
            !letter.is_alphanumeric() && !"([{`\"'“‘<$@/~".contains(letter)
        });
        if body.starts_with('<')
            && let Some(end) = body.find('>')
        {
            body = body.get(end + 1..).unwrap_or_default();
        }
        let digits = body.trim_start_matches(|letter: char| letter.is_ascii_digit());
        if digits.len() < body.len()
            && let Some(item) = digits.strip_prefix(". ").or_else(|| digits.strip_prefix(") "))
        {
            body = item;
        }
        if body.len() == before {
            return body;
        }
    }
}

/// What stands behind a label that announces a description; `None` if there is no such label.
fn unlabelled(body: &str) -> Option<&str> {
    let (label, said) = body.split_once(':')?;
    let label = label.trim_matches(|letter: char| letter.is_whitespace() || letter == '*').to_lowercase();
    let said = undecorated(said);
    (LABELS.contains(&label.as_str()) && !said.is_empty()).then_some(said)
}

/// The lines up to a blank one, a heading or an item of a list.
fn paragraph(text: &str) -> &str {
    let mut length = text.find('\n').unwrap_or(text.len());
    while let Some(below) = text.get(length + 1..) {
        let end = below.find('\n').unwrap_or(below.len());
        let line = below.get(..end).unwrap_or_default();
        let goes_on = line
            .trim_start()
            .starts_with(|letter: char| letter.is_alphanumeric() || "(`\"'".contains(letter));
        if !goes_on || length > LONGEST || matches!(kind_of(line, line), Line::Heading) {
            break;
        }
        length += 1 + end;
    }
    text.get(..length).unwrap_or(text)
}

fn first_sentence(text: &str) -> &str {
    let text = beginning(text, LONGEST);
    let ends = text.char_indices().filter(|(_, letter)| ".!?。！？".contains(*letter));
    for (at, letter) in ends {
        let end = at + letter.len_utf8();
        let (said, after) = text.split_at(end);
        let is_wide = !letter.is_ascii();
        if (is_wide || after.is_empty() || after.starts_with(char::is_whitespace)) && !is_abbreviated(said) {
            return said;
        }
    }
    text.trim_end()
}

/// Whether a full stop belongs to an abbreviation.
fn is_abbreviated(said: &str) -> bool {
    let last = said.rsplit(|letter: char| letter.is_whitespace() || letter == '(').next().unwrap_or_default();
    matches!(
        last.to_lowercase().as_str(),
        "e.g." | "i.e." | "eg." | "ie." | "vs." | "etc." | "incl." | "approx." | "no."
    )
}

fn ends_sentence(text: &str) -> bool {
    text.ends_with(['.', '!', '?', '。', '！', '？'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(description: &str, expected: &str) {
        assert_eq!(sentence(description), expected, "{description}");
    }

    #[test]
    fn the_first_sentence_is_given() {
        check("Adds two numbers. More.", "Adds two numbers.");
        check("Adds two numbers", "Adds two numbers");
        check("\n    Reads a file that is\n    on the disk. Fast.\n", "Reads a file that is on the disk.");
        check("Sends (e.g. by mail) a text. Then waits.", "Sends (e.g. by mail) a text.");
        check("Takes version 1.2 of it! Yes", "Takes version 1.2 of it!");
        check("查询天气。返回结果", "查询天气。");
        check("", "");
        check(" -- \n\n***\n", "");
    }

    #[test]
    fn labels_headings_and_signs_are_not_the_sentence() {
        check("🎯 Purpose:\nLists the boards of a user.", "Lists the boards of a user.");
        check("🎯 Purpose: Lists the boards.\n\n📋 Usage: …", "Lists the boards.");
        check("**Purpose:** Lists the boards.", "Lists the boards.");
        check("**Purpose**: Lists the boards.", "Lists the boards.");
        check("# Get weather\n\nGives the weather.", "Gives the weather.");
        check("## Description\nGives the weather.\n## Usage\nNone", "Gives the weather.");
        check("**Weather tool**\n\nGives the weather", "Gives the weather");
        check("---\nGives the weather", "Gives the weather");
        check("<usecase>Gives the weather.</usecase>", "Gives the weather.");
        check("<description>\n  Gives the weather.\n</description>", "Gives the weather.");
        check("- Executes a **bash** command. Stateful.", "Executes a bash command.");
        check("1. Opens a file. 2. Closes it.", "Opens a file.");
        check("⚠️ DESTRUCTIVE: Deletes a tag. For ever.", "DESTRUCTIVE: Deletes a tag.");
        check("[DEPRECATED] Use another one.", "[DEPRECATED] Use another one.");
        check("Lists files:\n- one\n- two", "Lists files:");
        check("# Only a heading", "Only a heading");
        check("Purpose:", "Purpose:");
    }

    #[test]
    fn lists_are_no_part_of_the_sentence() {
        check("Converts a file into\n- text\n- pictures", "Converts a file into");
        check("Converts a file.\nArgs:\n  path: where", "Converts a file.");
        check("Converts a file\nArgs:\n  path: where", "Converts a file");
    }

    #[test]
    fn long_ones_are_cut_between_letters() {
        let shown = sentence(&"ä".repeat(5_000));
        assert_eq!(shown.chars().filter(|letter| *letter == 'ä').count(), 120);
        assert!(shown.ends_with('…'));
    }
}
