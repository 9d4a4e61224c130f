//! A schema as nodes that refer to each other, each part of the document once.
//!
//! What a keyword says about a value alone is left to the library, one small validator for each node; here is only
//! which schema applies to which part of a value.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use jsonschema::{Draft, Registry, Uri};
use serde_json::{Map, Value};

use super::{
    apply::Part,
    bounded::Spent,
    compile::library_options,
    patterns::{Pattern, Survey},
};

/// Keywords that look at the value itself.
const OWN_KEYWORDS: [&str; 21] = [
    "type",
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "contentEncoding",
    "contentMediaType",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "required",
    "dependentRequired",
    "dependencies",
];
/// What a document without a name is called.
const UNNAMED: &str = "json-schema:///";

pub(super) type NodeId = usize;
pub(super) type DocumentId = usize;

/// All schemas that can be reached from the root, which is the first.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    /// Documents that a dynamic reference can lead to.
    pub(super) anchored: HashSet<DocumentId>,
}

/// One schema.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// The verdict of a schema that is `true` or `false`.
    pub(super) fixed: Option<bool>,
    pub(super) document: DocumentId,
    /// The target of a schema that is nothing but a reference.
    pub(super) alias_of: Option<NodeId>,
    pub(super) own: Option<Own>,
    pub(super) all: Vec<NodeId>,
    pub(super) dynamic: Vec<DynamicReference>,
    pub(super) any: Vec<NodeId>,
    pub(super) one: Vec<NodeId>,
    pub(super) not: Option<NodeId>,
    pub(super) condition: Option<(NodeId, Option<NodeId>, Option<NodeId>)>,
    pub(super) dependent: Vec<(String, NodeId)>,
    pub(super) properties: HashMap<String, NodeId>,
    pub(super) patterns: Vec<(Arc<Pattern>, NodeId)>,
    pub(super) additional: Option<NodeId>,
    pub(super) names: Option<NodeId>,
    pub(super) prefix: Vec<NodeId>,
    pub(super) items: Option<NodeId>,
    pub(super) contains: Option<Contains>,
    pub(super) unevaluated_properties: Option<NodeId>,
    pub(super) unevaluated_items: Option<NodeId>,
}

#[derive(Debug)]
pub(super) struct Contains {
    pub(super) node: NodeId,
    pub(super) least: u64,
    pub(super) most: Option<u64>,
}

/// A reference whose target depends on the documents that were entered on the way.
#[derive(Debug)]
pub(super) struct DynamicReference {
    name: String,
    pub(super) fallback: NodeId,
    pub(super) targets: Vec<(DocumentId, NodeId)>,
}

/// The keywords of one schema that look at the value itself.
#[derive(Debug)]
pub(super) struct Own {
    pub(super) schema: Value,
    pub(super) pattern: Option<Arc<Pattern>>,
    draft: Draft,
    compiled: OnceLock<Option<jsonschema::Validator>>,
}

impl Own {
    fn new(schema: Map<String, Value>, pattern: Option<Arc<Pattern>>, draft: Draft) -> Self {
        Self { schema: Value::Object(schema), pattern, draft, compiled: OnceLock::new() }
    }

    /// All but the pattern; compiled when it is first needed, nothing when the library does not take it.
    pub(super) fn validator(&self) -> Option<&jsonschema::Validator> {
        let build = || {
            let options = library_options().with_draft(self.draft);
            if self.pattern.is_none() {
                return options.build(&self.schema).ok();
            }
            let mut rest = self.schema.clone();
            rest.as_object_mut()?.shift_remove("pattern");
            options.build(&rest).ok()
        };
        self.compiled.get_or_init(build).as_ref()
    }

    /// Whether the part passes. What cannot be compiled refuses everything.
    pub(super) fn accepts(&self, part: Part<'_>, steps: &mut u64) -> Result<bool, Spent> {
        // A schema that is nothing but a pattern needs no validator.
        let is_more = self.pattern.is_none() || self.schema.as_object().is_none_or(|map| map.len() > 1);
        if is_more && !self.validator().is_some_and(|validator| validator.is_valid(&part.to_value())) {
            return Ok(false);
        }
        self.has_pattern(part, steps)
    }

    /// Whether a text has the pattern.
    pub(super) fn has_pattern(&self, part: Part<'_>, steps: &mut u64) -> Result<bool, Spent> {
        match (&self.pattern, part.text()) {
            (Some(pattern), Some(text)) => pattern.is_in(text, steps),
            _ => Ok(true),
        }
    }
}

impl Graph {
    /// Reads `schema` as `draft`, its patterns as they are known; the reason why not, when a reference leads nowhere.
    pub(super) fn new(schema: &Value, draft: Draft, known: &Survey) -> Result<Self, String> {
        let resource = draft.create_resource_ref(schema);
        let base = jsonschema::uri::from_str(resource.id().unwrap_or(UNNAMED).trim_end_matches('#'))
            .map_err(|error| error.to_string())?;
        let registry = Registry::new()
            .draft(draft)
            .add(base.as_str(), resource)
            .and_then(jsonschema::RegistryBuilder::prepare)
            .map_err(|error| error.to_string())?;
        let mut builder = Builder {
            registry: &registry,
            documents: Vec::new(),
            known: HashMap::new(),
            pending: Vec::new(),
            patterns: HashMap::new(),
            survey: known,
            count: 0,
        };
        let document = builder.document(&base);
        builder.place(schema, document, draft);
        builder.finish()
    }

    /// Whether the library takes all keywords.
    pub(super) fn is_sound(&self) -> bool {
        self.nodes.iter().all(|node| {
            let own = node.own.iter().filter_map(|own| own.pattern.as_ref());
            let mut patterns = own.chain(node.patterns.iter().map(|(pattern, _)| pattern));
            patterns.all(|pattern| pattern.is_sound()) && node.own.iter().all(|own| own.validator().is_some())
        })
    }
}

struct Builder<'a> {
    registry: &'a Registry<'a>,
    documents: Vec<Uri<String>>,
    known: HashMap<(usize, DocumentId, Draft), NodeId>,
    pending: Vec<(NodeId, &'a Value, DocumentId, Draft)>,
    patterns: HashMap<&'a str, Arc<Pattern>>,
    survey: &'a Survey,
    count: usize,
}

impl<'a> Builder<'a> {
    fn document(&mut self, base: &Uri<String>) -> DocumentId {
        if let Some(known) = self.documents.iter().position(|known| known == base) {
            return known;
        }
        self.documents.push(base.clone());
        self.documents.len() - 1
    }

    fn pattern(&mut self, text: &'a str) -> Arc<Pattern> {
        let known = self.survey.pattern(text);
        let make = || known.map_or_else(|| Arc::new(Pattern::new(text)), Arc::clone);
        Arc::clone(self.patterns.entry(text).or_insert_with(make))
    }

    /// The node of a schema, which is read later.
    fn place(&mut self, schema: &'a Value, document: DocumentId, draft: Draft) -> NodeId {
        let key = (std::ptr::from_ref(schema).addr(), document, draft);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let id = self.count;
        self.count += 1;
        self.known.insert(key, id);
        self.pending.push((id, schema, document, draft));
        id
    }

    fn finish(mut self) -> Result<Graph, String> {
        let mut nodes: Vec<Node> = Vec::new();
        let mut anchored = HashSet::new();
        // References that were looked up in documents that were known.
        let mut done: HashMap<NodeId, DocumentId> = HashMap::new();
        loop {
            while let Some((id, schema, document, draft)) = self.pending.pop() {
                let node = self.read(schema, document, draft)?;
                if nodes.len() <= id {
                    nodes.resize_with(id + 1, Node::default);
                }
                if let Some(place) = nodes.get_mut(id) {
                    *place = node;
                }
            }
            for (id, node) in nodes.iter_mut().enumerate() {
                let first = done.insert(id, self.documents.len()).unwrap_or_default();
                for reference in &mut node.dynamic {
                    for document in first..self.documents.len() {
                        if let Some(target) = self.anchor(&reference.name, document) {
                            reference.targets.push((document, target));
                            anchored.insert(document);
                        }
                    }
                }
            }
            if self.pending.is_empty() {
                return Ok(Graph { nodes, anchored });
            }
        }
    }

    /// The target of dynamic references in a document; an empty name is that of a recursive reference.
    fn anchor(&mut self, name: &str, document: DocumentId) -> Option<NodeId> {
        let base = self.documents.get(document)?.clone();
        let resolved = self.registry.resolver(base).lookup(&format!("#{name}")).ok()?;
        let (contents, _, draft) = resolved.into_inner();
        is_anchor(contents, name).then(|| self.place(contents, document, draft))
    }

    fn lookup(&mut self, reference: &str, document: DocumentId) -> Result<(&'a Value, NodeId), String> {
        let base = self.documents.get(document).cloned().ok_or("a document that nobody knows")?;
        let target = self
            .registry
            .resolver(base)
            .lookup(reference)
            .map_err(|error| format!("`{reference}`: {error}"))?;
        let (contents, place, draft) = target.into_inner();
        let document = self.document(&place.base_uri());
        Ok((contents, self.place(contents, document, draft)))
    }

    fn read(&mut self, schema: &'a Value, document: DocumentId, draft: Draft) -> Result<Node, String> {
        let mut node = Node { document, ..Node::default() };
        match schema {
            Value::Bool(fixed) => node.fixed = Some(*fixed),
            Value::Object(map) => self.read_object(&mut node, map, document, draft)?,
            _ => return Err("a schema that is neither an object nor true or false".to_owned()),
        }
        Ok(node)
    }

    fn read_object(
        &mut self,
        node: &mut Node,
        map: &'a Map<String, Value>,
        document: DocumentId,
        draft: Draft,
    ) -> Result<(), String> {
        if let Some(Value::String(reference)) = map.get("$ref") {
            if !reference.is_empty() {
                let target = self.lookup(reference, document)?.1;
                node.all.push(target);
                node.alias_of = (map.len() == 1).then_some(target);
            }
            // Until draft-07 a reference hides what stands beside it.
            if matches!(draft, Draft::Draft4 | Draft::Draft6 | Draft::Draft7) {
                return Ok(());
            }
        }
        self.read_dynamic(node, map, document, draft)?;
        // Only what this draft knows.
        let at = |keyword: &str| map.get(keyword).filter(|_| draft.is_known_keyword(keyword));
        let own: Map<String, Value> = OWN_KEYWORDS
            .into_iter()
            .filter_map(|keyword| Some((keyword.to_owned(), own_part(keyword, at(keyword)?)?)))
            .collect();
        if !own.is_empty() {
            let pattern = at("pattern").and_then(Value::as_str).map(|text| self.pattern(text));
            node.own = Some(Own::new(own, pattern, draft));
        }
        for (text, part) in at("patternProperties").and_then(Value::as_object).into_iter().flatten() {
            node.patterns.push((self.pattern(text), self.place_inside(part, document, draft)?));
        }
        let mut place = |schema: &'a Value| self.place_inside(schema, document, draft);
        for (keyword, list) in [("allOf", &mut node.all), ("anyOf", &mut node.any), ("oneOf", &mut node.one)]
        {
            for part in at(keyword).and_then(Value::as_array).into_iter().flatten() {
                list.push(place(part)?);
            }
        }
        node.not = at("not").map(&mut place).transpose()?;
        if let Some(condition) = at("if") {
            let then = at("then").map(&mut place).transpose()?;
            let otherwise = at("else").map(&mut place).transpose()?;
            node.condition = Some((place(condition)?, then, otherwise));
        }
        for keyword in ["dependentSchemas", "dependencies"] {
            for (name, part) in at(keyword).and_then(Value::as_object).into_iter().flatten() {
                if !part.is_array() {
                    node.dependent.push((name.clone(), place(part)?));
                }
            }
        }
        for (name, part) in at("properties").and_then(Value::as_object).into_iter().flatten() {
            node.properties.insert(name.clone(), place(part)?);
        }
        node.additional = at("additionalProperties").map(&mut place).transpose()?;
        node.names = at("propertyNames").map(&mut place).transpose()?;
        let prefix = at("prefixItems").or_else(|| at("items")).and_then(Value::as_array);
        for part in prefix.into_iter().flatten() {
            node.prefix.push(place(part)?);
        }
        let rest = match at("items") {
            Some(Value::Array(_)) => at("additionalItems"),
            other => other,
        };
        node.items = rest.map(&mut place).transpose()?;
        if let Some(contains) = at("contains") {
            let bound = |keyword: &str| at(keyword).and_then(whole);
            node.contains = Some(Contains {
                node: place(contains)?,
                least: bound("minContains").unwrap_or(1),
                most: bound("maxContains"),
            });
        }
        node.unevaluated_properties = at("unevaluatedProperties").map(&mut place).transpose()?;
        node.unevaluated_items = at("unevaluatedItems").map(&mut place).transpose()?;
        Ok(())
    }

    /// The node of a schema that stands inside another one, which may be a document or a draft of its own.
    fn place_inside(
        &mut self,
        schema: &'a Value,
        document: DocumentId,
        draft: Draft,
    ) -> Result<NodeId, String> {
        let draft = draft.detect(schema);
        let resource = draft.create_resource_ref(schema);
        let document = match (resource.id(), self.documents.get(document)) {
            (Some(id), Some(base)) => {
                let base =
                    self.registry.resolve_uri(&base.borrow(), id).map_err(|error| error.to_string())?;
                self.document(&base)
            }
            _ => document,
        };
        Ok(self.place(schema, document, draft))
    }

    fn read_dynamic(
        &mut self,
        node: &mut Node,
        map: &'a Map<String, Value>,
        document: DocumentId,
        draft: Draft,
    ) -> Result<(), String> {
        let reference = match draft {
            Draft::Draft4 | Draft::Draft6 | Draft::Draft7 => None,
            Draft::Draft201909 => map.get("$recursiveRef"),
            _ => map.get("$dynamicRef"),
        };
        let Some(Value::String(reference)) = reference else { return Ok(()) };
        let (contents, fallback) = self.lookup(reference, document)?;
        let name = reference.rsplit_once('#').map_or("", |(_, name)| name);
        let wanted = if draft == Draft::Draft201909 { "" } else { name };
        if is_anchor(contents, wanted) {
            node.dynamic.push(DynamicReference { name: wanted.to_owned(), fallback, targets: Vec::new() });
        } else {
            node.all.push(fallback);
        }
        Ok(())
    }
}

fn is_anchor(schema: &Value, name: &str) -> bool {
    if name.is_empty() {
        schema.get("$recursiveAnchor") == Some(&Value::Bool(true))
    } else {
        schema.get("$dynamicAnchor").and_then(Value::as_str) == Some(name)
    }
}

/// What of a keyword's value looks at the instance itself.
fn own_part(keyword: &str, value: &Value) -> Option<Value> {
    if keyword != "dependencies" {
        return Some(value.clone());
    }
    let lists = value.as_object()?.iter().filter(|(_, part)| part.is_array());
    let lists: Map<String, Value> = lists.map(|(name, part)| (name.clone(), part.clone())).collect();
    (!lists.is_empty()).then_some(Value::Object(lists))
}

/// A count, which may be written as `2.0`.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0)?;
        format!("{number:.0}").parse().ok()
    })
}
