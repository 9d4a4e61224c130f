//! Schemas that references name where they stand. A dialect with definitions gets such a schema once, as one of them: generators
//! that repeat a type by pointing to its first use would have it written twice otherwise.

use serde_json::Value;

use super::Rebuild;
use super::reader::is_worth_sharing;
use crate::schema::{Holds, Source};

impl<'a> Rebuild<'a, '_> {
    /// Finds the schemas outside of tables of definitions that references name.
    pub(super) fn find_shared(&mut self) {
        self.find_references(self.root_source(), Holds::Schema);
    }

    /// Whether references name `schema` where it stands, and a definition of it is worth having.
    pub(super) fn is_shared(&self, schema: &Value) -> bool {
        self.shared.get(&std::ptr::from_ref(schema)).copied().unwrap_or_default()
    }

    /// Whether references name `schema` where it stands, and it is written out again for each of them.
    pub(super) fn is_repeated_in_full(&self, schema: &Value) -> bool {
        self.shared.get(&std::ptr::from_ref(schema)) == Some(&false)
    }

    /// Looks for references in `source`, which is what a member that holds such a thing has. Its depth is bounded by the budget.
    fn find_references(&mut self, source: Source<'a>, holds: Holds) {
        match source.schema {
            Value::Object(members) => {
                let resource = self.resolver.resource_of(source.schema, source.resource);
                let source = Source { resource, ..source };
                for (name, value) in members {
                    let inner = holds.inside(name);
                    if let Some(reference) = holds.reference_in(name, value) {
                        self.find_target(reference, resource);
                    } else if inner != Holds::Values && (value.is_object() || value.is_array()) {
                        let inside = self.inside(source, name, value);
                        self.find_references(inside, inner);
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let inside = self.item(source, index, item);
                    self.find_references(inside, Holds::Schema);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn find_target(&mut self, reference: &'a str, resource: usize) {
        let Some(target) = self.resolve(reference, resource) else { return };
        if !self.is_definition(target.path) {
            self.shared.insert(std::ptr::from_ref(target.schema), is_worth_sharing(target.schema));
        }
    }
}
