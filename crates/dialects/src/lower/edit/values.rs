//! Values and bounds that some compilers refuse.

use super::super::Lowerer;
use super::Draft;
use crate::json::Json;
use crate::report::Fate;
use crate::schema::{Keyword, TypeSet};
use serde_json::Value;
use std::borrow::Cow;

impl<'a> Lowerer<'a, '_> {
    /// A bound of integers as a whole number: what lies between two integers bounds nothing else.
    pub(super) fn edit_whole_bound(&mut self, keyword: Keyword, value: &'a Value, draft: &mut Draft<'a>) {
        let name = keyword.name();
        let fraction = value.as_f64().filter(|bound| bound.fract() != 0.0);
        let Some(bound) = fraction else {
            draft.out.push((Cow::Borrowed(name), Json::Same(value)));
            return;
        };
        let (inclusive, whole) = match keyword {
            Keyword::Minimum | Keyword::ExclusiveMinimum => ("minimum", bound.ceil()),
            _ => ("maximum", bound.floor()),
        };
        draft.changed = true;
        self.change(
            draft.path,
            name,
            Some(value),
            Fate::Rewritten,
            "the nearest whole number bounds the same",
        );
        if let Ok(whole) = format!("{whole}").parse::<i64>()
            && !draft.out.iter().any(|(known, _)| known == inclusive)
        {
            draft.out.push((Cow::Borrowed(inclusive), Json::Number(whole.into())));
        }
    }

    /// Values that the type forbids make a schema that some compilers refuse.
    pub(super) fn edit_enum(&mut self, name: &'a str, value: &'a Value, draft: &mut Draft<'a>) {
        let Value::Array(values) = value else { return };
        let kept: Vec<&'a Value> =
            values.iter().filter(|value| draft.types.contains(TypeSet::of(value))).collect();
        if kept.len() == values.len() && !values.is_empty() {
            draft.out.push((Cow::Borrowed(name), Json::Same(value)));
            return;
        }
        draft.changed = true;
        self.change(draft.path, name, Some(value), Fate::Rewritten, "values that nothing can have left out");
        if kept.is_empty() {
            // Nothing satisfied it before; now anything of the type does.
            draft.exact = false;
        } else {
            draft.out.push((Cow::Borrowed(name), Json::Array(kept.into_iter().map(Json::Same).collect())));
        }
    }

    /// Bounds that no value satisfies make a schema that some compilers refuse.
    pub(super) fn drop_contradictions(&mut self, draft: &mut Draft<'a>) {
        for (low, high) in [("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems")] {
            let bound = |name: &str| {
                let (_, json) = draft.out.iter().find(|(known, _)| known == name)?;
                match json {
                    Json::Same(value) => value.as_f64(),
                    Json::Number(number) => number.as_f64(),
                    _ => None,
                }
            };
            if let (Some(least), Some(most)) = (bound(low), bound(high))
                && least > most
            {
                for name in [low, high] {
                    draft.out.retain(|(known, _)| known != name);
                    // A whole bound may stand for an exclusive one.
                    let original = match name {
                        "minimum" => ["minimum", "exclusiveMinimum"],
                        "maximum" => ["maximum", "exclusiveMaximum"],
                        other => [other, other],
                    };
                    let original = original.into_iter().find_map(|name| draft.map.get_key_value(name));
                    if let Some((name, value)) = original {
                        self.remove(name, value, draft, "the bounds contradict each other");
                    }
                }
            }
        }
    }
}
