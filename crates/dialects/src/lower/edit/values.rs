//! Values and bounds that some compilers refuse.

use super::{Edit, NodeEdit};
use crate::json::Json;
use crate::schema::{Keyword, TypeSet};
use serde_json::Value;
use std::borrow::Cow;

impl<'a> Edit<'a, '_> {
    /// A bound of integers as a whole number: what lies between two integers bounds nothing else.
    pub(super) fn edit_whole_bound(&mut self, keyword: Keyword, node: &mut NodeEdit<'a>) {
        let fraction = node.value.as_f64().filter(|bound| bound.fract() != 0.0);
        let Some(bound) = fraction else {
            node.keep();
            return;
        };
        let (inclusive, whole) = match keyword {
            Keyword::Minimum | Keyword::ExclusiveMinimum => ("minimum", bound.ceil()),
            _ => ("maximum", bound.floor()),
        };
        self.rewrite(node, "the nearest whole number bounds the same");
        if let Ok(whole) = format!("{whole}").parse::<i64>()
            && !node.out.iter().any(|(known, _)| known == inclusive)
        {
            node.out.push((Cow::Borrowed(inclusive), Json::Number(whole.into())));
        }
    }

    /// Values that the type forbids make a schema that some compilers refuse.
    pub(super) fn edit_enum(&mut self, node: &mut NodeEdit<'a>) {
        let Value::Array(values) = node.value else { return };
        let kept: Vec<&'a Value> =
            values.iter().filter(|value| node.types.contains(TypeSet::of(value))).collect();
        if kept.len() == values.len() && !values.is_empty() {
            node.keep();
            return;
        }
        self.rewrite(node, "values that nothing can have left out");
        if kept.is_empty() {
            // Nothing satisfied it before; now anything of the type does.
            node.exact = false;
        } else {
            node.write(Json::Array(kept.into_iter().map(Json::Same).collect()));
        }
    }

    /// Bounds that no value satisfies make a schema that some compilers refuse.
    pub(super) fn drop_contradictions(&mut self, node: &mut NodeEdit<'a>) {
        for (low, high) in [("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems")] {
            let bound = |name: &str| node.out.iter().find(|(known, _)| known == name)?.1.as_f64();
            if let (Some(least), Some(most)) = (bound(low), bound(high))
                && least > most
            {
                for name in [low, high] {
                    node.out.retain(|(known, _)| known != name);
                    // A whole bound may stand for an exclusive one.
                    let original = match name {
                        "minimum" => ["minimum", "exclusiveMinimum"],
                        "maximum" => ["maximum", "exclusiveMaximum"],
                        other => [other, other],
                    };
                    let original = original.into_iter().find_map(|name| node.map.get_key_value(name));
                    if let Some((name, value)) = original {
                        (node.name, node.value) = (name, value);
                        self.remove(node, "the bounds contradict each other");
                    }
                }
            }
        }
    }
}
