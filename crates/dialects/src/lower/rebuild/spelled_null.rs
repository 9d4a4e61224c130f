//! Null by a word, in dialects that have no other way to say it.

use std::borrow::Cow;

use serde_json::Value;

use super::Rebuild;
use super::position::Lowered;
use crate::dialect::{Defaults, NullStyle};
use crate::json::Json;
use crate::plan::{Codec, NULL_TEXT};
use crate::schema::{Members, Source, TypeSet};

impl<'a> Rebuild<'a, '_> {
    /// Says null by a word, where the dialect has no other way, for a position that is finished. Words are not needed where the
    /// description shows that null stands for leaving it out.
    pub(super) fn spell_null(
        &mut self,
        lowered: &mut Lowered<'a>,
        source: Option<&Source<'a>>,
        default: Option<&Value>,
    ) {
        let node = &mut lowered.node;
        if self.choices.null != NullStyle::Spelled || node.free || !node.types.contains(TypeSet::NULL) {
            return;
        }
        node.types = node.types.without(TypeSet::NULL);
        if matches!(lowered.codec, Codec::SpelledNull(_)) {
            return;
        }
        let codec = std::mem::take(&mut lowered.codec);
        lowered.codec = Codec::SpelledNull(Box::new(codec));
        for name in ["type", "enum"] {
            if let Some((source, value)) =
                source.and_then(|source| Some((source, source.schema.member(name)?)))
            {
                self.encoded(source.path, name, Some(value), "null is spelled (null)");
            }
        }
        let node = &mut lowered.node;
        if node.types == TypeSet::STRING && node.values.is_some() {
            let escaped = self.escaped_nulls(&lowered.node);
            if let Some(values) = &mut lowered.node.values {
                values.retain(|value| value.as_str() != Some(NULL_TEXT));
                values.push(Json::literal(NULL_TEXT));
                values.extend(escaped.into_iter().map(Json::literal));
            }
            lowered.node.constant = false;
            return;
        }
        let is_shown = default == Some(&Value::Null) && self.defaults() == Defaults::Describe;
        if !is_shown {
            node.add_words(Cow::Borrowed("Write (null) for null"));
        }
    }
}
