//! Positions that alternatives and conditions speak of as well.

use serde_json::Value;

use super::Rebuild;
use super::guard::Outline;
use super::position::{Location, Lowered};
use super::reader::gather::denied;
use super::reader::view::View;
use super::union::Alternative;
use crate::options::Open;
use crate::schema::{Keyword, Kind, Source, TypeSet};

impl<'a> Rebuild<'a, '_> {
    /// Whether the unions of `view` only say which of its properties go together.
    pub(crate) fn foldable(view: &View<'a>) -> bool {
        let declares =
            view.objects.iter().any(|part| part.properties.is_some_and(|properties| !properties.is_empty()));
        let names = ["required", "properties", "type", "title", "description", "not", "additionalProperties"];
        let is_plain = |branch: &Value| {
            branch.as_object().is_some_and(|map| map.keys().all(|key| names.contains(&key.as_str())))
        };
        declares
            && view.types == TypeSet::OBJECT
            && view.unions.iter().all(|union| union.branches.iter().all(is_plain))
    }

    /// What `may` hold beside `sources` and declares properties that must get through.
    pub(super) fn declaring(&self, sources: &[Source<'a>], may: &[Source<'a>]) -> Vec<Source<'a>> {
        // With all of them open, nothing is kept out.
        if may.is_empty() || self.options.open == Open::All {
            return Vec::new();
        }
        let given = |schema: &Value| sources.iter().any(|source| std::ptr::eq(source.schema, schema));
        let declares = |source: &&Source<'a>| can_declare(source.schema) && !given(source.schema);
        may.iter().filter(declares).copied().collect()
    }

    /// Any of `kinds`, each described by all of its sources; `may` hold as well.
    pub(crate) fn lower_any_of(
        &mut self,
        kinds: &[Vec<Source<'a>>],
        may: &[Source<'a>],
        location: Location,
    ) -> Lowered<'a> {
        if self.has_one_type()
            && let Some(mut lowered) = self.kinds_as_one_type(kinds, may, location)
        {
            self.spell_null(&mut lowered, None, None);
            return lowered;
        }
        let inside = Location { in_union: true, ..location };
        let mut alternatives = Vec::with_capacity(kinds.len());
        for sources in kinds {
            let lowered = self.lower(sources, may, inside);
            let mcp = sources.first().map_or_else(Outline::anything, |source| self.outline(*source));
            alternatives.push(Alternative::new(lowered, mcp));
        }
        let mut lowered = self.join(alternatives);
        self.spell_null(&mut lowered, None, None);
        lowered
    }
}

/// Whether a schema may declare properties, its own or those of items.
fn can_declare(schema: &Value) -> bool {
    schema.as_object().is_some_and(|map| {
        map.iter().any(|(name, value)| {
            !matches!(
                Keyword::parse(name).map(Keyword::kind),
                None | Some(Kind::String | Kind::Number | Kind::Annotation | Kind::Hint)
            ) && match name.as_str() {
                "type" | "enum" | "const" => false,
                "not" => denied(value).is_some(),
                _ => true,
            }
        })
    })
}
