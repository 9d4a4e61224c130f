//! Descriptions, notes, defaults and other words of a position.

use std::borrow::Cow;

use serde_json::Value;

use super::Rebuild;
use super::position::Lowered;
use super::reader::view::View;
use crate::dialect::{AnyOfStyle, Verdict};
use crate::json::Json;
use crate::options::Defaults;
use crate::plan::Codec;
use crate::report::PathId;
use crate::schema::{Keyword, Kind};
use crate::text::{Note, compose};

impl<'a> Rebuild<'a, '_> {
    /// Writes descriptions, notes, defaults and other words onto a node.
    pub(crate) fn finish_words(
        &mut self,
        lowered: &mut Lowered<'a>,
        view: &mut View<'a>,
        has_description: bool,
        elsewhere: &mut Vec<Note<'a>>,
    ) {
        for (keyword, value, path) in std::mem::take(&mut view.hints) {
            self.hint(keyword, value, path, lowered, view);
        }
        let own = lowered.node.description.take();
        let outer = view.description.take();
        let notes = std::mem::take(&mut view.notes);
        if !has_description {
            elsewhere.extend(notes);
            return;
        }
        let description = match (outer, own) {
            (Some(outer), Some(own)) if !outer.contains(own.as_ref()) => {
                Some(Cow::Owned(if own.starts_with("Constraints: ") || own.starts_with("IMPORTANT: ") {
                    format!("{outer}\n\n{own}")
                } else {
                    format!("{outer}\n{own}")
                }))
            }
            (Some(outer), _) => Some(outer),
            (None, own) => own,
        };
        lowered.node.description = compose(self.rules.text, description, &notes);
    }

    /// Beside a reference only a description can stand.
    fn word_verdict(&self, keyword: Keyword, lowered: &Lowered<'a>) -> Verdict {
        match (self.rules.keywords.of(keyword), keyword.kind()) {
            (Verdict::Keep | Verdict::Hint, Kind::Annotation)
                if lowered.node.reference.is_some()
                    || (!lowered.node.branches.is_empty() && self.choices.any_of == AnyOfStyle::Alone) =>
            {
                Verdict::Drop
            }
            (Verdict::Keep | Verdict::Hint, _) if lowered.node.reference.is_some() => Verdict::Describe,
            (verdict, _) => verdict,
        }
    }

    fn hint(
        &mut self,
        keyword: Keyword,
        value: &'a Value,
        path: PathId,
        lowered: &mut Lowered<'a>,
        view: &mut View<'a>,
    ) {
        let name = keyword.name();
        match keyword {
            Keyword::Default => match self.defaults() {
                Defaults::Keep if lowered.codec == Codec::Same && lowered.node.reference.is_none() => {
                    lowered.node.keywords.push((name, Json::Same(value)));
                }
                Defaults::Keep | Defaults::Describe => {
                    view.notes.push(Note::Default(value));
                    self.described(path, name, Some(value), "defaults cannot be said here");
                }
                Defaults::Strip => {
                    self.dropped(path, name, Some(value), "defaults are stripped");
                }
            },
            _ => match self.word_verdict(keyword, lowered) {
                Verdict::Keep | Verdict::Hint => {
                    if lowered.node.keywords.iter().any(|(known, _)| *known == name) {
                        self.dropped(path, name, Some(value), "another one stands there");
                    } else {
                        lowered.node.keywords.push((name, Json::Same(value)));
                    }
                }
                Verdict::Describe if keyword.kind() == Kind::Hint => {
                    view.notes.push(Note::Keyword(name, value));
                    self.described(path, name, Some(value), "not a keyword of this dialect");
                }
                Verdict::Describe | Verdict::Drop => {
                    self.dropped(path, name, Some(value), "an annotation");
                }
            },
        }
    }
}
