//! Reading the keywords of a schema into a view.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::Reader;
use super::view::{ArrayPart, Facet, ObjectPart, UnionPart, View};
use crate::json::Json;
use crate::report::PathId;
use crate::schema::repair::{Checked, check, type_alias};
use crate::schema::{Keyword, Kind, Members, Source, TypeSet};
use crate::text::Note;

impl<'a> Reader<'a, '_> {
    /// Adds what `source` says to `view`.
    pub(crate) fn gather(&mut self, source: Source<'a>, view: &mut View<'a>) {
        let map = match source.schema {
            Value::Object(map) => map,
            Value::Bool(true) => return,
            Value::Bool(false) => {
                view.impossible = true;
                return;
            }
            other => {
                // A type name instead of a schema is a common slip; anything else says nothing.
                if let Some(types) = other.as_str().and_then(type_alias).and_then(TypeSet::named) {
                    view.types = view.types.and(types);
                }
                self.rewritten(source.path, "", Some(other), "not a schema");
                return;
            }
        };
        let path = source.path;
        let source = Source { resource: self.resolver.resource_of(source.schema, source.resource), ..source };
        if self.resolver.ref_hides_siblings
            && let Some(Value::String(reference)) = map.member("$ref")
        {
            self.gather_reference(source, reference, view);
            self.gather_siblings(path, map, view);
            return;
        }
        let mut object: Option<ObjectPart<'a>> = None;
        let mut array: Option<ArrayPart<'a>> = None;
        let mut types = TypeSet::ALL;
        let mut nullable = false;
        let no_object = || ObjectPart::new(source);
        for (name, value) in map {
            let Some(keyword) = Keyword::parse(name) else {
                self.unknown_keyword(path, name, value, view);
                continue;
            };
            let repaired = match check(keyword, value) {
                Checked::Fine => None,
                Checked::Repaired(json) => {
                    self.rewritten(path, name, Some(value), "repaired: not what the keyword asks for");
                    Some(json)
                }
                Checked::Unusable => {
                    self.unusable(path, keyword, map, value, view);
                    continue;
                }
            };
            match keyword {
                Keyword::Type => types = named_types(&repaired.unwrap_or(Json::Same(value))),
                Keyword::Description => self.gather_description(path, value, view),
                Keyword::Enum => match value {
                    Value::Array(values) if values.is_empty() => {
                        let reason = "an empty list allows nothing; taken as absent";
                        self.rewritten(path, name, Some(value), reason);
                    }
                    Value::Array(values) => view.restrict_values(values.iter().collect()),
                    single => view.restrict_values(vec![single]),
                },
                Keyword::Const => {
                    view.constant = true;
                    view.restrict_values(vec![value]);
                }
                Keyword::Ref => {
                    if let Value::String(reference) = value {
                        self.gather_reference(source, reference, view);
                    }
                }
                Keyword::AllOf => {
                    if let Value::Array(members) = value {
                        self.rewritten(path, name, Some(value), "merged");
                        let list = self.inside(source, name, value);
                        for (index, schema) in members.iter().enumerate() {
                            let member = self.item(list, index, schema);
                            self.gather(member, view);
                        }
                    }
                }
                Keyword::AnyOf | Keyword::OneOf => {
                    if let Value::Array(branches) = value {
                        view.unions.push(UnionPart { keyword, branches, original: value, source });
                    }
                }
                Keyword::Properties => {
                    let part = object.get_or_insert_with(no_object);
                    part.properties = value.as_object();
                    // `required` inside `properties` is a slip of indentation.
                    if let Some(Value::Array(names)) = value.member("required") {
                        part.required.extend(names.iter().filter_map(Value::as_str));
                    }
                }
                Keyword::Required => {
                    let part = object.get_or_insert_with(no_object);
                    if let Value::Array(names) = value {
                        part.required.reserve(names.len());
                        part.required.extend(names.iter().filter_map(Value::as_str));
                    }
                }
                Keyword::AdditionalProperties => {
                    object.get_or_insert_with(no_object).additional = match (value, repaired) {
                        (Value::Object(_) | Value::Bool(_), _) => Some(value),
                        (_, Some(Json::Bool(false))) => Some(&Value::Bool(false)),
                        _ => Some(&Value::Bool(true)),
                    };
                }
                Keyword::PatternProperties => {
                    object.get_or_insert_with(no_object).patterns = value.as_object();
                }
                Keyword::PropertyNames => {
                    let part = object.get_or_insert_with(no_object);
                    part.names = Some(value);
                    part.implies_keys = true;
                }
                Keyword::Items | Keyword::PrefixItems | Keyword::AdditionalItems => {
                    let part = array.get_or_insert(ArrayPart { source, prefix: None, items: None });
                    match (keyword, value) {
                        (Keyword::PrefixItems | Keyword::Items, Value::Array(prefix)) => {
                            part.prefix = Some((keyword.name(), prefix));
                        }
                        (Keyword::AdditionalItems, _) => {
                            // It speaks only beside the list form of `items`.
                            if map.member("items").is_some_and(Value::is_array) {
                                part.items = Some((keyword.name(), value));
                            } else {
                                let reason = "says nothing without a list of items";
                                self.rewritten(path, name, Some(value), reason);
                            }
                        }
                        _ => part.items = Some((keyword.name(), value)),
                    }
                }
                Keyword::Nullable => {
                    nullable = value == &Value::Bool(true);
                    self.rewritten(path, name, Some(value), "said by the type");
                }
                Keyword::If => {
                    if map.has("then") || map.has("else") {
                        let condition = self.inside(source, name, value);
                        view.conditional.push(Source { asked: true, ..condition });
                    }
                    self.describe(path, name, value, view, "conditions cannot be said here");
                }
                Keyword::Then | Keyword::Else if !map.has("if") => {
                    self.rewritten(path, name, Some(value), "says nothing without if");
                }
                Keyword::Then | Keyword::Else => {
                    view.conditional.push(self.inside(source, name, value));
                    self.describe(path, name, value, view, "conditions cannot be said here");
                }
                Keyword::DependentSchemas | Keyword::Dependencies => {
                    let part = object.get_or_insert_with(no_object);
                    if let Value::Object(members) = value {
                        part.implies_keys = true;
                        let list = self.inside(source, name, value);
                        for (key, member) in members.iter().filter(|(_, member)| member.is_object()) {
                            view.conditional.push(self.inside(list, key, member));
                        }
                    }
                    self.describe(path, name, value, view, "dependencies cannot be said here");
                }
                Keyword::UnevaluatedProperties => {
                    let part = object.get_or_insert_with(no_object);
                    if part.additional.is_none()
                        && value != &Value::Bool(false)
                        && !map.has("additionalProperties")
                    {
                        part.additional = Some(&Value::Bool(true));
                    }
                    self.describe(path, name, value, view, "cannot be said here");
                }
                _ if keyword.is_bound() || keyword == Keyword::Format => {
                    if keyword == Keyword::MinProperties {
                        object.get_or_insert_with(no_object).implies_keys = true;
                    }
                    let repaired = repaired.unwrap_or(Json::Same(value));
                    self.add_facet(Facet { keyword, value: repaired, original: value, path }, view);
                }
                Keyword::DependentRequired => {
                    object.get_or_insert_with(no_object).implies_keys = true;
                    self.describe(path, name, value, view, "cannot be said here");
                }
                Keyword::Contains => {
                    let contained = self.inside(source, name, value);
                    view.contained.push(Source { asked: true, ..contained });
                    self.describe(path, name, value, view, "cannot be said here");
                }
                Keyword::Not => match denied(value) {
                    // What is denied twice must hold.
                    Some(schema) => {
                        self.rewritten(path, name, Some(value), "denied twice: merged");
                        let once = self.inside(source, name, value);
                        let twice = self.inside(once, name, schema);
                        self.gather(twice, view);
                    }
                    None => self.describe(path, name, value, view, "cannot be said here"),
                },
                Keyword::Defs | Keyword::Definitions => self.spread_definitions(path, name, value),
                _ => match keyword.kind() {
                    Kind::Annotation | Kind::Hint => view.hints.push((keyword, value, path)),
                    Kind::Any | Kind::String | Kind::Number | Kind::Array | Kind::Object => {
                        self.describe(path, name, value, view, "cannot be said here");
                    }
                },
            }
        }
        if array.as_ref().is_some_and(|part| part.prefix.is_some_and(|(name, _)| name == "items")) {
            // The list form of `items` under 2020-12, or beside `prefixItems`, still means positions.
            self.rewritten(path, "items", map.member("items"), "a list of items means positions");
        }
        if nullable {
            types = types.or(TypeSet::NULL);
        }
        view.types = view.types.and(types);
        push_part(&mut view.objects, object);
        push_part(&mut view.arrays, array);
    }

    /// Reads what stands beside a reference and says nothing about values.
    pub(crate) fn gather_siblings(&mut self, path: PathId, map: &'a Map<String, Value>, view: &mut View<'a>) {
        for (name, value) in map {
            match Keyword::parse(name) {
                Some(Keyword::Description) => self.gather_description(path, value, view),
                Some(Keyword::Ref) => {}
                Some(Keyword::Defs | Keyword::Definitions) => self.spread_definitions(path, name, value),
                Some(keyword) if matches!(keyword.kind(), Kind::Annotation | Kind::Hint) => {
                    view.hints.push((keyword, value, path));
                }
                _ => self.rewritten(path, name, Some(value), "this draft ignores it beside $ref"),
            }
        }
    }

    fn spread_definitions(&mut self, path: PathId, name: &'a str, value: &'a Value) {
        self.rewritten(path, name, Some(value), "what is used is written where it is needed");
    }

    fn gather_description(&mut self, path: PathId, value: &'a Value, view: &mut View<'a>) {
        match value {
            Value::String(text) if !text.is_empty() => view.add_description(Cow::Borrowed(text)),
            Value::String(_) | Value::Null => {}
            other => {
                self.rewritten(path, "description", Some(other), "repaired: not text");
                view.add_description(Cow::Owned(other.to_string()));
            }
        }
    }

    fn gather_reference(&mut self, source: Source<'a>, reference: &'a str, view: &mut View<'a>) {
        let original = source.schema.member("$ref");
        let Some(target) = self.resolve(reference, source.resource) else {
            self.described(source.path, "$ref", original, "names nothing in this schema");
            if let Some(original) = original {
                view.notes.push(Note::Keyword("$ref", original));
            }
            return;
        };
        if !self.chain.follow(target.schema) {
            view.cut = Some(target);
            self.encoded(source.path, "$ref", original, "JSON text: written out no further");
            return;
        }
        self.rewritten(source.path, "$ref", original, "written out");
        self.gather(Source { asked: source.asked, ..target }, view);
    }
}

/// Adds what one source says. Nearly always there is only one: the list is made no larger than that.
fn push_part<T>(parts: &mut Vec<T>, part: Option<T>) {
    if let Some(part) = part {
        if parts.is_empty() {
            parts.reserve_exact(1);
        }
        parts.push(part);
    }
}

/// What a schema denies, where it says nothing else.
pub(crate) fn denied(schema: &Value) -> Option<&Value> {
    let map = schema.as_object().filter(|map| map.len() == 1)?;
    map.member("not").filter(|inner| inner.is_object())
}

fn named_types(names: &Json<'_>) -> TypeSet {
    let read = |name: &str| TypeSet::named(name).unwrap_or(TypeSet::NONE);
    if !names.is_array() {
        return names.as_str().map_or(TypeSet::ALL, read);
    }
    let mut types = TypeSet::NONE;
    names.each_item(&mut |name| types = types.or(name.as_str().map_or(TypeSet::NONE, read)));
    types
}
