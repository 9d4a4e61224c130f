//! A lowered schema node before it is written in a dialect's spelling.

use std::borrow::Cow;

use crate::dialect::{AnyOfStyle, NullStyle, RebuildRules};
use crate::json::{Entries, Json};
use crate::plan::NULL_TEXT;
use crate::schema::TypeSet;

/// One node of a lowered schema.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node<'a> {
    /// Types of values besides those of `branches` and `reference`.
    pub(crate) types: TypeSet,
    /// Anything at all: `{}`.
    pub(crate) free: bool,
    pub(crate) description: Option<Cow<'a, str>>,
    pub(crate) values: Option<Vec<Json<'a>>>,
    /// Write a single value as `const`.
    pub(crate) constant: bool,
    /// Other keywords, in the order in which they are written.
    pub(crate) keywords: Vec<(&'a str, Json<'a>)>,
    pub(crate) object: Option<Box<ObjectNode<'a>>>,
    pub(crate) array: Option<Box<ArrayNode<'a>>>,
    pub(crate) branches: Vec<Node<'a>>,
    pub(crate) reference: Option<usize>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ObjectNode<'a> {
    pub(crate) properties: Vec<(Cow<'a, str>, Node<'a>)>,
    pub(crate) required: Vec<Cow<'a, str>>,
    pub(crate) additional: Rest<'a>,
}

/// What an object says about properties that it does not declare.
#[derive(Clone, Debug, Default)]
pub(crate) enum Rest<'a> {
    /// Nothing.
    #[default]
    Unsaid,
    /// Forbidden.
    Closed,
    /// Allowed, with any value.
    Open,
    /// Allowed, with such values.
    Each(Box<Node<'a>>),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ArrayNode<'a> {
    pub(crate) prefix: Vec<Node<'a>>,
    pub(crate) items: Option<Node<'a>>,
}

impl<'a> Node<'a> {
    pub(crate) fn of(types: TypeSet) -> Self {
        Self { types, ..Self::default() }
    }

    /// Anything at all.
    pub(crate) fn anything() -> Self {
        Self { types: TypeSet::ALL, free: true, ..Self::default() }
    }

    /// A reference to the definition with this number.
    pub(crate) fn reference(index: usize) -> Self {
        Self { reference: Some(index), ..Self::default() }
    }

    /// A list of such items.
    pub(crate) fn list(items: Self) -> Self {
        let array = ArrayNode { prefix: Vec::new(), items: Some(items) };
        Self { array: Some(Box::new(array)), ..Self::of(TypeSet::ARRAY) }
    }

    /// Whether null is among the values.
    pub(crate) fn takes_null(&self) -> bool {
        self.free || self.types.contains(TypeSet::NULL) || self.branches.iter().any(Node::takes_null)
    }

    /// Adds a line to the description.
    pub(crate) fn add_words(&mut self, words: Cow<'a, str>) {
        self.description = Some(match self.description.take() {
            Some(own) => Cow::Owned(format!("{own}\n{words}")),
            None => words,
        });
    }

    /// Takes null as well.
    pub(crate) fn accept_null(&mut self) {
        if !self.takes_null() {
            self.types = self.types.or(TypeSet::NULL);
        }
    }

    /// Whether [`Self::or_spelled_null`] puts the word where the model can see it.
    pub(crate) fn shows_spelled_null(&self) -> bool {
        let others = self.types.without(TypeSet::NULL);
        let plain = self.branches.is_empty() && self.reference.is_none() && !others.is_empty();
        !(self.free || (plain && self.takes_any_text(others)))
    }

    /// Free text takes the word for null as it is.
    fn takes_any_text(&self, types: TypeSet) -> bool {
        self.values.is_none()
            && types.contains(TypeSet::STRING)
            && self
                .keywords
                .iter()
                .all(|(name, _)| !matches!(*name, "pattern" | "minLength" | "maxLength" | "format"))
    }

    /// The same node, and the word for null. `escaped` are texts that it takes as well: they stand for texts of its own that
    /// could be mistaken for that word.
    pub(crate) fn or_spelled_null(mut self, escaped: &[&'static str]) -> Self {
        let words = || {
            let escaped = escaped.iter().map(|text| Json::literal(text));
            std::iter::once(Json::literal(NULL_TEXT)).chain(escaped).collect::<Vec<_>>()
        };
        if self.free {
            return self;
        }
        if self.branches.is_empty() && self.reference.is_none() {
            let others = self.types.without(TypeSet::NULL);
            if others.is_empty() {
                self.types = TypeSet::STRING.or(TypeSet::NULL);
                self.values = Some(words());
                return self;
            }
            if self.takes_any_text(others) {
                return self;
            }
            match &mut self.values {
                Some(values) if others == TypeSet::STRING => {
                    values.retain(|value| value.as_str() != Some(NULL_TEXT));
                    values.extend(words());
                    self.constant = false;
                    return self;
                }
                _ => {}
            }
        }
        let null = self.types.contains(TypeSet::NULL);
        let spelled = Node { values: Some(words()), ..Node::of(TypeSet::STRING) };
        if !self.branches.is_empty() {
            self.branches.push(spelled);
            return self;
        }
        self.types = self.types.without(TypeSet::NULL);
        let description = self.description.take();
        Node {
            types: if null { TypeSet::NULL } else { TypeSet::NONE },
            description,
            branches: vec![self, spelled],
            ..Node::default()
        }
    }
}

impl RebuildRules {
    /// Whether null stands in a list of types, beside `others`.
    pub(super) fn lists_null(&self, others: TypeSet) -> bool {
        self.null == NullStyle::TypeList
            && self.type_lists
            && (self.container_type_lists || !others.meets(TypeSet::CONTAINERS))
    }
}

/// Writes nodes in a dialect's spelling.
pub(crate) struct Writer<'r> {
    pub(crate) choices: &'r RebuildRules,
    /// Names of definitions.
    pub(crate) names: &'r [String],
}

impl Writer<'_> {
    /// Takes what `node` holds: it is moved into the result, not copied.
    pub(crate) fn write<'a>(&self, node: &mut Node<'a>) -> Json<'a> {
        if node.free {
            let mut out = Vec::with_capacity(1 + node.keywords.len());
            Self::annotate(&mut out, node);
            return Json::Object(out);
        }
        if let Some(index) = node.reference {
            return self.write_reference(node, index);
        }
        if !node.branches.is_empty() {
            return self.write_union(node);
        }
        let null = node.types.contains(TypeSet::NULL);
        let others = node.types.without(TypeSet::NULL);
        if null && !others.is_empty() && self.null_needs_branch(node, others) {
            let description = node.description.take();
            node.types = others;
            let branches = vec![std::mem::take(node)];
            let mut union = Node { types: TypeSet::NULL, description, branches, ..Node::default() };
            return self.write_union(&mut union);
        }
        let room = 2
            + usize::from(node.types.contains(TypeSet::NULL))
            + usize::from(node.values.is_some())
            + if node.object.is_some() { 3 } else { 0 }
            + if node.array.is_some() { 2 } else { 0 };
        let mut out: Entries<'a> = Vec::with_capacity(room + node.keywords.len());
        let nullable = null && self.choices.null == NullStyle::Nullable;
        let written = if nullable && !others.is_empty() { others } else { node.types };
        self.write_type(&mut out, written, node.values.is_some());
        if nullable {
            out.push((Cow::Borrowed("nullable"), Json::Bool(true)));
        }
        Self::describe(&mut out, node);
        if let Some(mut values) = node.values.take() {
            if null && !nullable {
                values.push(Json::Null);
                node.constant = false;
            }
            if node.constant && values.len() == 1 {
                out.extend(values.pop().map(|value| (Cow::Borrowed("const"), value)));
            } else {
                out.push((Cow::Borrowed("enum"), Json::Array(values)));
            }
        }
        out.extend(node.keywords.drain(..).map(|(name, value)| (Cow::Borrowed(name), value)));
        if let Some(object) = &mut node.object {
            self.write_object(&mut out, object);
        }
        if let Some(array) = &mut node.array {
            self.write_array(&mut out, array);
        }
        Json::Object(out)
    }

    fn null_needs_branch(&self, node: &Node<'_>, others: TypeSet) -> bool {
        match self.choices.null {
            NullStyle::Nullable | NullStyle::Spelled => false,
            NullStyle::Branch => node.values.is_none() || self.choices.type_required,
            NullStyle::TypeList => !self.choices.lists_null(others),
        }
    }

    fn write_type(&self, out: &mut Entries<'_>, types: TypeSet, has_values: bool) {
        let Some(first) = types.names().next() else { return };
        let json = if types.count() == 1 {
            Json::literal(first)
        } else if self.choices.type_lists {
            Json::Array(types.names().map(Json::literal).collect())
        } else if has_values {
            // Values speak for themselves where a list of types is not taken.
            return;
        } else {
            Json::literal(first)
        };
        out.push((Cow::Borrowed("type"), json));
    }

    fn describe<'a>(out: &mut Entries<'a>, node: &mut Node<'a>) {
        if let Some(description) = node.description.take() {
            out.push((Cow::Borrowed("description"), Json::Text(description)));
        }
    }

    fn annotate<'a>(out: &mut Entries<'a>, node: &mut Node<'a>) {
        Self::describe(out, node);
        out.extend(node.keywords.drain(..).map(|(name, value)| (Cow::Borrowed(name), value)));
    }

    fn write_reference<'a>(&self, node: &mut Node<'a>, index: usize) -> Json<'a> {
        let name = self.names.get(index).map_or("", String::as_str);
        let target = (Cow::Borrowed("$ref"), Json::from(["#/$defs/", name].concat()));
        let null = node.types.contains(TypeSet::NULL);
        if !null && (node.description.is_none() || self.choices.ref_siblings) {
            let mut out = vec![target];
            Self::describe(&mut out, node);
            return Json::Object(out);
        }
        let mut out = Vec::with_capacity(2);
        Self::describe(&mut out, node);
        let mut branches = vec![Json::Object(vec![target])];
        if null {
            branches.push(Json::object([("type", Json::literal("null"))]));
        }
        out.push((Cow::Borrowed("anyOf"), Json::Array(branches)));
        Json::Object(out)
    }

    fn write_union<'a>(&self, node: &mut Node<'a>) -> Json<'a> {
        let mut out = Vec::with_capacity(2);
        let null = node.types.contains(TypeSet::NULL);
        if self.choices.any_of == AnyOfStyle::Alone {
            push_down(node);
        } else {
            Self::annotate(&mut out, node);
        }
        if null
            && self.choices.null == NullStyle::Nullable
            && let Some(first) = node.branches.first_mut()
        {
            first.types = first.types.or(TypeSet::NULL);
        }
        let mut branches = Vec::with_capacity(node.branches.len() + 1);
        branches.extend(node.branches.iter_mut().map(|branch| self.write(branch)));
        if null && self.choices.null != NullStyle::Nullable {
            branches.push(Json::object([("type", Json::literal("null"))]));
        }
        out.push((Cow::Borrowed("anyOf"), Json::Array(branches)));
        Json::Object(out)
    }

    fn write_object<'a>(&self, out: &mut Entries<'a>, object: &mut ObjectNode<'a>) {
        let member = |(name, node): &mut (Cow<'a, str>, Node<'a>)| (std::mem::take(name), self.write(node));
        let properties = object.properties.iter_mut().map(member).collect();
        out.push((Cow::Borrowed("properties"), Json::Object(properties)));
        if !object.required.is_empty() || self.choices.all_required {
            let names = object.required.drain(..).map(Json::Text).collect();
            out.push((Cow::Borrowed("required"), Json::Array(names)));
        }
        let additional = match &mut object.additional {
            Rest::Unsaid => return,
            Rest::Closed => Json::Bool(false),
            Rest::Open => Json::Bool(true),
            Rest::Each(node) => self.write(node),
        };
        out.push((Cow::Borrowed("additionalProperties"), additional));
    }

    fn write_array<'a>(&self, out: &mut Entries<'a>, array: &mut ArrayNode<'a>) {
        if !array.prefix.is_empty() {
            let prefix = array.prefix.iter_mut().map(|node| self.write(node)).collect();
            out.push((Cow::Borrowed("prefixItems"), Json::Array(prefix)));
        }
        if let Some(items) = &mut array.items {
            out.push((Cow::Borrowed("items"), self.write(items)));
        }
    }
}

/// Moves what stands beside `anyOf` into the branches.
fn push_down(node: &mut Node<'_>) {
    if let Some(description) = node.description.take() {
        // Beside alternatives with words of their own it is said once, in front; otherwise by each of them.
        if node.branches.iter().any(|branch| branch.description.is_some()) {
            if let Some(first) = node.branches.first_mut() {
                let own = first.description.replace(description);
                if let Some(own) = own {
                    first.add_words(own);
                }
            }
        } else {
            for branch in &mut node.branches {
                branch.description = Some(description.clone());
            }
        }
    }
    let keywords = std::mem::take(&mut node.keywords);
    if let Some(first) = node.branches.first_mut() {
        for (name, value) in keywords {
            if !first.keywords.iter().any(|(known, _)| *known == name) {
                first.keywords.push((name, value));
            }
        }
    }
}
