//! What the object or array around a value says about it, besides the value's own name.

use std::{borrow::Cow, rc::Rc};

use super::{
    nesting::Ends,
    pairs::{self, members, strings},
    secret_names::{Kind, classify},
    value::looks_like_password,
    walk::unescape,
};

/// What the column headers of a table say about the cells below them.
pub(super) type Columns = Rc<[Option<Kind>]>;

/// An object or array that is being read.
pub(super) enum Container<'a> {
    Object(Object),
    Array(Array<'a>),
}

#[derive(Default)]
pub(super) struct Object {
    /// What the members say about a member called `value`.
    value: Option<Kind>,
    /// What the members say about text typed into an element of a page.
    typed: Option<Kind>,
    /// What the name of the object says about its strings.
    inside: Option<Kind>,
    is_web_key: bool,
    is_manifest: bool,
    columns: Option<Columns>,
}

#[derive(Default)]
pub(super) struct Array<'a> {
    /// The index of the element after this one.
    pub(super) next: usize,
    /// The previous element, if it is a string.
    pub(super) previous: Option<Cow<'a, str>>,
    pub(super) first: Option<Cow<'a, str>>,
    /// Whether it is an element of another array, like the pairs of a list.
    pub(super) is_nested: bool,
    /// Whether the lines of a private key are being read.
    pub(super) in_private_key: bool,
    inside: Option<Kind>,
    /// For a row of a table.
    row: Option<Columns>,
    /// For a list of rows.
    columns: Option<Columns>,
}

impl Object {
    /// The object at `start` of the JSON text, which is the member `key` of `parent`.
    pub(super) fn new(
        json: &str,
        start: usize,
        ends: &Ends,
        parent: Option<&Container<'_>>,
        key: &str,
    ) -> Self {
        let mut object = Self { inside: inside(parent, key), ..Self::default() };
        for (name, value) in members(json, start, ends) {
            match &*name {
                "kty" => object.is_web_key = true,
                "kind" if value == "\"Secret\"" => object.is_manifest = true,
                "columns" | "headers" | "header" | "fields" | "column_names" | "columnNames"
                    if value.starts_with('[') =>
                {
                    object.columns = columns(value);
                }
                _ => {}
            }
            object.value = object.value.or_else(|| pairs::kind_of_value(&name, value));
            object.typed = object.typed.or_else(|| pairs::kind_of_typed(&name, value));
        }
        object
    }

    /// What is known about the member of this name.
    pub(super) fn kind_of(&self, key: &str) -> Option<Kind> {
        self.value
            .filter(|_| pairs::is_value(key))
            .or_else(|| self.typed.filter(|_| matches!(key, "text" | "value" | "keys")))
            .or_else(|| classify(key))
            .or_else(|| {
                let is_private = matches!(key, "d" | "k" | "p" | "q" | "dp" | "dq" | "qi");
                (self.is_web_key && is_private).then_some(Kind::Secret)
            })
            .or(self.inside)
    }
}

impl Array<'_> {
    /// The array at `start` of the JSON text, which is the member `key` of the last of the `open` containers.
    pub(super) fn new(
        json: &str,
        start: usize,
        open: &mut [Container<'_>],
        key: &str,
        kind: Option<Kind>,
    ) -> Self {
        let mut array = Self {
            inside: kind.filter(|kind| *kind == Kind::Code).or_else(|| inside(open.last(), key)),
            ..Self::default()
        };
        match open.last_mut() {
            Some(Container::Object(object))
                if matches!(key, "rows" | "data" | "values" | "records" | "items") =>
            {
                array.columns.clone_from(&object.columns);
            }
            Some(Container::Array(rows)) => {
                array.is_nested = true;
                array.row.clone_from(&rows.columns);
                if rows.next == 1 && rows.columns.is_none() {
                    rows.columns = json.get(start..).and_then(columns).filter(is_header_row);
                }
            }
            Some(Container::Object(_)) | None => {}
        }
        array
    }

    /// What is known about the element that is being read.
    pub(super) fn kind_of_element(&self) -> Option<Kind> {
        let column = self.next.checked_sub(1);
        let cell = self.row.as_ref().zip(column).and_then(|(row, column)| row.get(column).copied().flatten());
        cell.or(self.inside)
    }
}

/// What the name of a container says about the strings in it.
fn inside(parent: Option<&Container<'_>>, key: &str) -> Option<Kind> {
    if let Some(Container::Object(Object { is_manifest: true, .. })) = parent
        && matches!(key, "data" | "stringData")
    {
        return Some(Kind::Password);
    }
    key.to_ascii_lowercase().ends_with("tokens").then_some(Kind::Random)
}

/// What the strings of an array say as headers of columns, if any of them names a secret.
fn columns(array: &str) -> Option<Columns> {
    let headers: Vec<Cow<'_, str>> = strings(array).map(unescape).collect();
    if headers.iter().any(|header| header.len() > 64 || looks_like_password(header) || header.contains('@')) {
        return None;
    }
    let kinds: Columns = headers.iter().map(|header| classify(header)).collect();
    kinds.iter().any(Option::is_some).then_some(kinds)
}

/// Whether a first row is the header of a table and not a name with its value.
fn is_header_row(columns: &Columns) -> bool {
    columns.len() > 2 || (columns.len() == 2 && columns.first().is_some_and(Option::is_none))
}
