//! Reading which calls run, and which somebody has to approve.

use std::time::Duration;

use super::section::Section;
use super::{ApprovalConfig, Approver};
use crate::spec::Approval;

const DAY: Duration = Duration::from_hours(24);

/// Reads the block `approval`.
pub(super) fn read_approval(config: &mut ApprovalConfig, section: &Section<'_>) {
    section.warn_of_unknown(&[
        "default",
        "tools",
        "approver",
        "wait",
        "expiry",
        "pending",
        "pendingPerCaller",
    ]);
    config.default = word(section, "default").unwrap_or(config.default);
    if let Some(approver) = approver(section) {
        config.approver = approver;
    }
    if let Some(time) = section.time("wait", Duration::ZERO..=DAY) {
        config.wait = time;
    }
    if let Some(time) = section.time("expiry", Duration::from_secs(1)..=DAY) {
        config.expiry = time;
    }
    config.expiry = config.expiry.max(config.wait);
    if let Some(count) = section.count("pending", 1..=100_000) {
        config.pending = count;
    }
    config.pending_per_caller = section.count("pendingPerCaller", 1..=100_000);
    let Some(tools) = section.object("tools") else { return };
    for pattern in tools.members.keys() {
        if !pattern.contains('/') && pattern != "*" {
            tools.error(pattern, "must name a server and a tool, such as `files/write` or `files/*`");
        } else if let Some(approval) = word(&tools, pattern) {
            config.tools.push((pattern.clone(), approval));
        }
    }
}

fn approver(section: &Section<'_>) -> Option<Approver> {
    match section.get("approver")?.as_str() {
        Some("caller") => Some(Approver::Caller),
        Some("admin") => Some(Approver::Admin),
        _ => {
            section.error("approver", "must be \"caller\" or \"admin\"");
            None
        }
    }
}

fn word(section: &Section<'_>, name: &str) -> Option<Approval> {
    let given = section.get(name)?;
    let found = given.as_str().and_then(|text| Approval::WORDS.iter().find(|(word, _)| *word == text));
    if found.is_none() {
        section.error(name, "must be \"allow\", \"ask\" or \"deny\"");
    }
    found.map(|(_, approval)| *approval)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use serde_json::Value;

    use super::super::section::Notes;
    use super::*;

    fn read(text: &str) -> (ApprovalConfig, Vec<String>) {
        let Ok(Value::Object(members)) = serde_json::from_str(text) else { panic!("{text}") };
        let notes =
            Notes { file: "x", document: None, errors: RefCell::default(), warnings: RefCell::default() };
        let mut config = ApprovalConfig::default();
        let section = Section { notes: &notes, pointer: "/approval".to_owned(), members: &members };
        read_approval(&mut config, &section);
        let errors = notes.errors.borrow().iter().map(ToString::to_string).collect();
        (config, errors)
    }

    #[test]
    fn a_policy_is_read() {
        let text = r#"{"default": "ask", "tools": {"files/read*": "allow", "*": "deny"}, "approver": "admin", "wait": "2m", "expiry": 60, "pending": 5, "pendingPerCaller": 2}"#;
        let tools = vec![("files/read*".to_owned(), Approval::Allow), ("*".to_owned(), Approval::Deny)];
        let expected = ApprovalConfig {
            default: Approval::Ask,
            tools,
            approver: Approver::Admin,
            wait: Duration::from_mins(2),
            expiry: Duration::from_mins(2),
            pending: 5,
            pending_per_caller: Some(2),
        };
        assert_eq!(read(text), (expected, Vec::new()));
        let (_, errors) =
            read(r#"{"default": "maybe", "approver": "me", "tools": {"write": "ask", "a/b": true}}"#);
        assert_eq!(
            errors,
            [
                "x: approval.default: must be \"allow\", \"ask\" or \"deny\"",
                "x: approval.approver: must be \"caller\" or \"admin\"",
                "x: approval.tools.write: must name a server and a tool, such as `files/write` or `files/*`",
                "x: approval.tools.a/b: must be \"allow\", \"ask\" or \"deny\"",
            ]
        );
    }
}
