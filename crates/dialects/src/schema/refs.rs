//! Finding what a reference names inside one document.

use std::borrow::Cow;

use gateway_notation::pointer::unescape;
use serde_json::Value;

use super::{Holds, Members};
use crate::report::{PathId, Paths};

/// A schema and where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    pub(crate) schema: &'a Value,
    pub(crate) path: PathId,
    /// Which resource (`$id`) of the document it belongs to; 0 is the document itself.
    pub(crate) resource: usize,
    /// It is only asked whether it holds: it binds nothing, but the keys that it speaks of may come.
    pub(crate) asked: bool,
}

/// A resource of the document: the root, or a sub-schema with an `$id`.
#[derive(Debug)]
struct Resource<'a> {
    uri: String,
    source: Source<'a>,
}

#[derive(Debug)]
struct Anchor<'a> {
    name: &'a str,
    source: Source<'a>,
}

/// Resolves references of one document.
#[derive(Debug)]
pub(crate) struct Resolver<'a> {
    resources: Vec<Resource<'a>>,
    anchors: Vec<Anchor<'a>>,
    /// Old drafts: keywords beside `$ref` say nothing.
    pub(crate) ref_hides_siblings: bool,
    /// What was resolved lately: a reference that is written out many times is looked up once.
    recent: Vec<Option<Resolved<'a>>>,
}

/// What a reference names.
#[derive(Clone, Copy, Debug)]
struct Resolved<'a> {
    /// The address of the reference's text: no other text has it.
    address: usize,
    /// The resource in which it was read.
    from: usize,
    target: Source<'a>,
}

/// References that are remembered.
const MOST_RECENT: usize = 128;

fn ref_hides_siblings(schema: &Value) -> bool {
    let uri = schema.text("$schema").unwrap_or_default();
    uri.as_bytes()
        .windows(8)
        .any(|part| matches!(part, b"draft-03" | b"draft-04" | b"draft-06" | b"draft-07"))
}

impl<'a> Resolver<'a> {
    /// `indexed` says whether the document has ids or anchors below its root.
    pub(crate) fn new(root: &'a Value, indexed: bool, paths: &mut Paths<'a>) -> Self {
        let uri =
            root.member("$id").or_else(|| root.member("id")).and_then(Value::as_str).unwrap_or_default();
        let source = Source { schema: root, path: PathId::ROOT, resource: 0, asked: false };
        let mut resolver = Self {
            resources: vec![Resource { uri: without_fragment(uri).to_owned(), source }],
            anchors: Vec::new(),
            ref_hides_siblings: ref_hides_siblings(root),
            recent: Vec::new(),
        };
        if indexed {
            resolver.index(source, paths);
        }
        resolver
    }

    /// Whether any part of the document has an id of its own.
    pub(crate) fn has_resources(&self) -> bool {
        self.resources.len() > 1
    }

    /// The resource to which `schema` belongs, given that of its parent.
    pub(crate) fn resource_of(&self, schema: &Value, parent: usize) -> usize {
        if self.resources.len() == 1 {
            return parent;
        }
        self.resources
            .iter()
            .position(|resource| std::ptr::eq(resource.source.schema, schema))
            .unwrap_or(parent)
    }

    /// The same as [`Self::resolve`], for a reference that may be asked for many times.
    pub(crate) fn resolve_again(
        &mut self,
        reference: &'a str,
        from: usize,
        paths: &mut Paths<'a>,
    ) -> Option<Source<'a>> {
        let address = reference.as_ptr().addr();
        let slot = (address / 16) % MOST_RECENT;
        if let Some(Some(known)) = self.recent.get(slot)
            && known.address == address
            && known.from == from
        {
            return Some(known.target);
        }
        let target = self.resolve(reference, from, paths)?;
        if self.recent.is_empty() {
            self.recent.resize(MOST_RECENT, None);
        }
        if let Some(known) = self.recent.get_mut(slot) {
            *known = Some(Resolved { address, from, target });
        }
        Some(target)
    }

    /// What `reference` names when it is read inside `from`.
    pub(crate) fn resolve(&self, reference: &str, from: usize, paths: &mut Paths<'a>) -> Option<Source<'a>> {
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let resource = if uri.is_empty() {
            from
        } else {
            let base = self.resources.get(from).map_or("", |resource| resource.uri.as_str());
            let absolute = join(base, uri);
            self.resources.iter().position(|resource| {
                !resource.uri.is_empty() && (resource.uri == absolute || resource.uri == uri)
            })?
        };
        let mut found = self.resources.get(resource)?.source;
        let fragment = percent_decoded(fragment);
        if fragment.is_empty() {
            return Some(found);
        }
        let Some(pointer) = fragment.strip_prefix('/') else {
            let mut anchors = self.anchors.iter();
            let anchor = anchors.find(|known| known.source.resource == resource && known.name == fragment);
            return anchor.map(|anchor| anchor.source);
        };
        for step in pointer.split('/').map(unescape) {
            let (schema, path) = match found.schema {
                Value::Object(map) => {
                    let (name, schema) = Members::entry(map, step.as_ref())?;
                    (schema, paths.name(found.path, name))
                }
                Value::Array(items) => {
                    let index: usize = step.parse().ok()?;
                    (items.get(index)?, paths.index(found.path, index))
                }
                _ => return None,
            };
            found = Source { schema, path, resource: self.resource_of(schema, found.resource), asked: false };
        }
        (found.schema.is_object() || found.schema.is_boolean()).then_some(found)
    }

    /// Collects ids and anchors below `schema`. Depth is bounded by the budget, which is checked first.
    fn index(&mut self, source: Source<'a>, paths: &mut Paths<'a>) {
        match source.schema {
            Value::Object(map) => {
                let mut source = source;
                let id = map.member("$id").or_else(|| map.member("id")).and_then(Value::as_str);
                let hidden = self.ref_hides_siblings && map.has("$ref");
                if let Some(id) = id.filter(|_| !hidden) {
                    if let Some(name) = id.strip_prefix('#') {
                        self.anchors.push(Anchor { name, source });
                    } else if source.path != PathId::ROOT {
                        let base =
                            self.resources.get(source.resource).map_or("", |resource| resource.uri.as_str());
                        let uri = join(base, without_fragment(id));
                        source.resource = self.resources.len();
                        self.resources.push(Resource { uri, source });
                    }
                }
                for keyword in ["$anchor", "$dynamicAnchor"] {
                    if let Some(name) = map.text(keyword) {
                        self.anchors.push(Anchor { name, source });
                    }
                }
                for (name, child) in map.iter().filter(|(_, child)| child.is_object() || child.is_array()) {
                    match (Holds::of(name), child) {
                        // Data, not schemas: an `$id` in there names nothing.
                        (Holds::Values, _) => {}
                        (Holds::Table, Value::Object(table)) => {
                            let list = paths.name(source.path, name);
                            for (name, schema) in table {
                                let path = paths.name(list, name);
                                self.index(Source { schema, path, ..source }, paths);
                            }
                        }
                        // A reference may name a schema under any word.
                        (_, schema) => {
                            let path = paths.name(source.path, name);
                            self.index(Source { schema, path, ..source }, paths);
                        }
                    }
                }
            }
            Value::Array(items) => {
                for (index, schema) in items.iter().enumerate() {
                    let path = paths.index(source.path, index);
                    self.index(Source { schema, path, ..source }, paths);
                }
            }
            _ => {}
        }
    }
}

fn without_fragment(uri: &str) -> &str {
    uri.split_once('#').map_or(uri, |(uri, _)| uri)
}

/// `reference` read relative to `base`, as far as ids inside one document need it.
fn join(base: &str, reference: &str) -> String {
    if reference.contains("://") || reference.starts_with("urn:") || base.is_empty() {
        return reference.to_owned();
    }
    let (scheme_end, path_start) = match base.find("://") {
        Some(at) => (
            at + 3,
            base.get(at + 3..).and_then(|rest| rest.find('/')).map_or(base.len(), |slash| at + 3 + slash),
        ),
        None => (0, 0),
    };
    let origin = base.get(..path_start.max(scheme_end)).unwrap_or_default();
    if reference.starts_with('/') {
        return format!("{origin}{reference}");
    }
    let path = base.get(path_start..).unwrap_or_default();
    let folder = path.rfind('/').map_or("/", |slash| path.get(..=slash).unwrap_or("/"));
    let mut segments: Vec<&str> = Vec::new();
    let joined = format!("{folder}{reference}");
    for segment in joined.split('/') {
        match segment {
            "." => {}
            ".." => {
                segments.pop();
            }
            other => segments.push(other),
        }
    }
    format!("{origin}{}", segments.join("/"))
}

pub(crate) fn percent_decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut ahead = rest.clone();
            let digits = (ahead.next(), ahead.next());
            if let (Some(high), Some(low)) = digits
                && let (Some(high), Some(low)) = (char::from(high).to_digit(16), char::from(low).to_digit(16))
            {
                bytes.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                rest = ahead;
                continue;
            }
        }
        bytes.push(byte);
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Resolver;
    use crate::report::Paths;

    #[track_caller]
    fn check(root: &Value, reference: &str, expected: Option<(&str, &Value)>) {
        let mut paths = Paths::default();
        let resolver = Resolver::new(root, true, &mut paths);
        let found = resolver.resolve(reference, 0, &mut paths);
        let found = found.map(|source| (paths.pointer(source.path), source.schema));
        assert_eq!(found.as_ref().map(|(path, schema)| (path.as_str(), *schema)), expected);
    }

    #[test]
    fn pointers_decode_percent_and_tilde() {
        let root = json!({"$defs": {"a/b": {"type": "string"}, "c~d": {"type": "null"}, "e%f": {"type": "array"}, "g h": true}});
        check(&root, "#/$defs/a~1b", Some(("/$defs/a~1b", &json!({"type": "string"}))));
        check(&root, "#/%24defs/c~0d", Some(("/$defs/c~0d", &json!({"type": "null"}))));
        check(&root, "#/$defs/e%25f", Some(("/$defs/e%f", &json!({"type": "array"}))));
        check(&root, "#/$defs/g%20h", Some(("/$defs/g h", &json!(true))));
    }

    #[test]
    fn any_location_can_be_named() {
        let root = json!({"properties": {"a": {"anyOf": [{"type": "null"}, {"type": "string"}]}}});
        check(&root, "#/properties/a/anyOf/1", Some(("/properties/a/anyOf/1", &json!({"type": "string"}))));
        check(&root, "#", Some(("", &root)));
        check(&root, "#/properties/a/anyOf/2", None);
        check(&root, "#/properties/a/anyOf", None);
        check(&root, "http://elsewhere.example/schema", None);
    }

    #[test]
    fn anchors_and_ids_are_found() {
        let root = json!({
            "$id": "http://example.com/root.json",
            "$defs": {"a": {"$anchor": "here", "type": "string"}, "b": {"$id": "item.json", "$defs": {"c": {"type": "null"}}}}
        });
        check(&root, "#here", Some(("/$defs/a", &json!({"$anchor": "here", "type": "string"}))));
        check(&root, "item.json#/$defs/c", Some(("/$defs/b/$defs/c", &json!({"type": "null"}))));
        check(&root, "http://example.com/root.json#/$defs/a/type", None);
    }
}
