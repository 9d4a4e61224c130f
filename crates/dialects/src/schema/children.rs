//! The schemas directly inside a schema.

use gateway_notation::pointer;
use serde_json::Value;

use super::Holds;
use crate::report::Step;

/// A schema inside another one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Child<'a> {
    pub(crate) keyword: &'a str,
    /// Where it stands in the keyword's value; `None` if it is that value.
    pub(crate) step: Option<Step<'a>>,
    pub(crate) schema: &'a Value,
}

impl Child<'_> {
    /// The pointer to it, where `parent` is that to the schema around it.
    pub(crate) fn pointer(&self, parent: &str) -> String {
        match self.step {
            None => format!("{parent}/{}", self.keyword),
            Some(Step::Name(name)) => format!("{parent}/{}/{}", self.keyword, pointer::escape(name)),
            Some(Step::Index(index)) => format!("{parent}/{}/{index}", self.keyword),
        }
    }
}

/// Every schema directly inside `schema`, in order. Members of `dependencies` that list names are none.
///
/// ```ignore
/// for child in children(schema) {
///     visit(child.schema, &child.pointer(pointer));
/// }
/// ```
pub(crate) fn children(schema: &Value) -> impl Iterator<Item = Child<'_>> {
    let is_schema = |child: &Child<'_>| child.schema.is_object() || child.schema.is_boolean();
    schema.as_object().into_iter().flatten().flat_map(|(name, value)| held(name, value)).filter(is_schema)
}

/// The schemas in the value of `keyword`, and whatever stands where one should.
pub(crate) fn held<'a>(keyword: &'a str, value: &'a Value) -> impl Iterator<Item = Child<'a>> {
    let (own, list, table) = match (Holds::of(keyword), value) {
        (Holds::List | Holds::SchemaOrList, Value::Array(list)) => (None, Some(list), None),
        (Holds::Schema | Holds::SchemaOrList, _) => (Some(value), None, None),
        (Holds::Table, Value::Object(table)) => (None, None, Some(table)),
        (Holds::List | Holds::Table | Holds::Values | Holds::Nothing, _) => (None, None, None),
    };
    let own = own.into_iter().map(move |schema| Child { keyword, step: None, schema });
    let list = list.into_iter().flatten().enumerate();
    let list = list.map(move |(index, schema)| Child { keyword, step: Some(Step::Index(index)), schema });
    let table = table.into_iter().flatten();
    let table = table.map(move |(name, schema)| Child { keyword, step: Some(Step::Name(name)), schema });
    own.chain(list).chain(table)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::children;

    #[test]
    fn names_and_values_are_no_schemas() {
        let schema = json!({
            "type": "object",
            "properties": {"default": {"type": "string"}, "a/b": true},
            "dependencies": {"a": {}, "b": ["a"]},
            "dependentRequired": {"a": ["b"]},
            "items": [{}, false],
            "additionalItems": {},
            "anyOf": [{}],
            "not": {},
            "default": {"items": {}},
            "enum": [{}],
            "x-own": {"items": {}}
        });
        let found: Vec<String> = children(&schema).map(|child| child.pointer("")).collect();
        assert_eq!(
            found,
            [
                "/properties/default",
                "/properties/a~1b",
                "/dependencies/a",
                "/items/0",
                "/items/1",
                "/additionalItems",
                "/anyOf/0",
                "/not"
            ]
        );
    }
}
