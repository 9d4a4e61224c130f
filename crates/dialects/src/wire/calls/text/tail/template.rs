//! Templates of calls, compiled once.

use std::sync::LazyLock;

use crate::dialect::{Notation, NotationRule, end_of_turn};

/// One step of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// White space, or none.
    Space,
    /// These bytes.
    Literal(Box<[u8]>),
    /// The tool's name.
    Name,
    /// What tells this call from others, as part of its id.
    Id,
    /// A JSON object.
    Arguments,
    /// A JSON object with the members of a call.
    Call,
    /// Such objects, or a list of them.
    Calls,
    /// Any number of parameters.
    Parameters,
    /// The key of a parameter.
    Key,
    /// The value of a parameter, up to the literal that follows.
    Value,
    /// Python calls.
    Python,
    /// An XML element.
    Element,
}

/// The parts in braces.
const HOLES: [(&str, Step); 10] = [
    ("{name}", Step::Name),
    ("{id}", Step::Id),
    ("{arguments}", Step::Arguments),
    ("{call}", Step::Call),
    ("{calls}", Step::Calls),
    ("{parameters}", Step::Parameters),
    ("{key}", Step::Key),
    ("{value}", Step::Value),
    ("{python}", Step::Python),
    ("{element}", Step::Element),
];

/// Something that may stand at the end of a reply.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) kind: Kind,
    pub(super) steps: Vec<Step>,
    /// The steps of one parameter, where there are any.
    pub(super) parameter: Vec<Step>,
}

/// What a form is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// A call, or several.
    Call(Notation, &'static NotationRule),
    /// What begins a section, and what has to end it.
    SectionStart(Notation, &'static str),
    /// What ends the section that expects it.
    SectionEnd(Notation, &'static str),
    /// What may follow calls of a notation.
    After(Notation),
    /// The end of the turn.
    EndOfTurn,
}

impl Kind {
    /// The notation that it belongs to; `None` if it belongs to all.
    pub(super) fn notation(self) -> Option<Notation> {
        match self {
            Self::Call(notation, _)
            | Self::SectionStart(notation, _)
            | Self::SectionEnd(notation, _)
            | Self::After(notation) => Some(notation),
            Self::EndOfTurn => None,
        }
    }

    /// Whether calls may begin with it.
    pub(super) fn begins(self) -> bool {
        matches!(self, Self::Call(..) | Self::SectionStart(..))
    }
}

impl Form {
    /// Whether it may begin with `byte`.
    pub(super) fn starts_with(&self, byte: u8) -> bool {
        match self.steps.first() {
            Some(Step::Literal(literal)) => literal.first() == Some(&byte),
            Some(Step::Call) => byte == b'{',
            Some(Step::Calls) => byte == b'{' || byte == b'[',
            Some(Step::Element) => byte == b'<',
            Some(
                Step::Space
                | Step::Name
                | Step::Id
                | Step::Arguments
                | Step::Parameters
                | Step::Key
                | Step::Value
                | Step::Python,
            )
            | None => false,
        }
    }

    /// Whether it begins with a fence, which has to begin its line.
    pub(super) fn is_fenced(&self) -> bool {
        matches!(self.steps.first(), Some(Step::Literal(literal)) if literal.starts_with(b"```"))
    }
}

/// All forms of all notations.
pub(super) static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| {
    let marker = |kind, text: &str| Form { kind, steps: compile(text), parameter: Vec::new() };
    let mut forms = Vec::new();
    for (notation, rule) in Notation::all().filter_map(|notation| Some((notation, notation.rule()?))) {
        let parameter = || rule.parameter.as_deref().map(compile).unwrap_or_default();
        let call = |text: &String| Form {
            kind: Kind::Call(notation, rule),
            steps: compile(text),
            parameter: parameter(),
        };
        forms.extend(rule.calls.iter().map(call));
        for (start, end) in &rule.sections {
            forms.push(marker(Kind::SectionStart(notation, end), start));
            forms.push(marker(Kind::SectionEnd(notation, end), end));
        }
        forms.extend(rule.after.iter().map(|text| marker(Kind::After(notation), text)));
    }
    forms.extend(end_of_turn().iter().map(|text| marker(Kind::EndOfTurn, text)));
    forms
});

/// The steps of a template.
fn compile(template: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut literal = Vec::new();
    let mut rest = template;
    let end = |literal: &mut Vec<u8>, steps: &mut Vec<Step>| {
        if !literal.is_empty() {
            steps.push(Step::Literal(std::mem::take(literal).into()));
        }
    };
    while let Some(first) = rest.chars().next() {
        let hole = HOLES.iter().find(|(hole, _)| rest.starts_with(hole));
        let length = if let Some((hole, step)) = hole {
            end(&mut literal, &mut steps);
            steps.push(step.clone());
            hole.len()
        } else if first.is_whitespace() && !is_word_space(template, template.len() - rest.len()) {
            end(&mut literal, &mut steps);
            steps.push(Step::Space);
            rest.len() - rest.trim_start().len()
        } else {
            literal.extend_from_slice(first.to_string().as_bytes());
            first.len_utf8()
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    end(&mut literal, &mut steps);
    steps
}

/// Whether the space at `at` stands between two words, which it keeps apart: `commentary to=`.
fn is_word_space(template: &str, at: usize) -> bool {
    let word = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = template.as_bytes();
    word(at.checked_sub(1).and_then(|before| bytes.get(before))) && word(bytes.get(at + 1))
}

#[cfg(test)]
mod tests {
    use super::{FORMS, Kind, Step, compile};

    #[test]
    fn templates_become_steps() {
        let literal = |text: &str| Step::Literal(text.as_bytes().into());
        assert_eq!(
            compile("<a b=\"{name}\"> {parameters} </a>"),
            [
                literal("<a b=\""),
                Step::Name,
                literal("\">"),
                Step::Space,
                Step::Parameters,
                Step::Space,
                literal("</a>")
            ]
        );
        assert_eq!(compile("[{x}"), [literal("[{x}")]);
    }

    #[test]
    fn every_form_can_be_read() {
        for form in FORMS.iter() {
            // A form begins with a byte that says so, and ends where nothing is needed behind it.
            assert!((0..128).any(|byte| form.starts_with(byte)), "{form:?}");
            assert!(
                !matches!(form.steps.last(), Some(Step::Space | Step::Name | Step::Id | Step::Parameters)),
                "{form:?}"
            );
            let has = |step| form.steps.contains(&step);
            if matches!(form.kind, Kind::Call(..)) {
                let own = [Step::Call, Step::Calls, Step::Python, Step::Element]
                    .into_iter()
                    .filter(|step| has(step.clone()))
                    .count();
                let named = usize::from(has(Step::Name) && (has(Step::Arguments) || has(Step::Parameters)));
                assert_eq!(own + named, 1, "one mechanism: {form:?}");
            }
            if has(Step::Parameters) {
                assert!(matches!(form.parameter.first(), Some(Step::Literal(_))), "{form:?}");
                assert!(
                    form.parameter.contains(&Step::Key) && form.parameter.contains(&Step::Value),
                    "{form:?}"
                );
                assert!(matches!(form.parameter.last(), Some(Step::Literal(_))), "{form:?}");
            }
        }
    }
}
