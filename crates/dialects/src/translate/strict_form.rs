//! The form of a dialect that has the provider's guarantee, and the form without it.

use std::sync::{Arc, OnceLock};

use super::Translator;
use crate::dialect::{Dialect, DialectError, Dialects, Limits, StrictField, ToolShape};
use crate::options::{Options, Strict};

/// The strict form of a dialect that is not strict itself. Few lists have a tool that asks for it, so that it is made when one does.
#[derive(Clone, Debug)]
pub(super) struct StrictForm {
    name: String,
    /// The shape of definitions.
    shape: ToolShape,
    dialects: Dialects,
    found: OnceLock<Option<Arc<Dialect>>>,
}

impl StrictForm {
    /// The form that a dialect names; `None` if it names none or is strict itself.
    pub(super) fn of(dialects: &Dialects, dialect: &Dialect) -> Option<Self> {
        let name = dialect.tool.strict_dialect.as_ref().filter(|_| !is_strict(dialect))?;
        let (name, shape) = (name.clone(), dialect.tool.shape);
        Some(Self { name, shape, dialects: dialects.clone(), found: OnceLock::new() })
    }

    /// The dialect, or why there is none.
    pub(super) fn find(&self) -> Result<Option<&Arc<Dialect>>, DialectError> {
        if self.found.get().is_none() {
            let found = self.dialects.get(&self.name)?;
            // A dialect that inherits the strict form of another shape has none of its own.
            let own = Some(found).filter(|found| found.tool.shape == self.shape);
            self.found.get_or_init(|| own.map(Arc::new));
        }
        Ok(self.found.get().and_then(Option::as_ref))
    }
}

impl Translator {
    /// The dialect with the provider's guarantee; `None` if this one is strict itself, or has no such form.
    pub(super) fn strict(&self) -> Option<&Arc<Dialect>> {
        self.strict.as_ref()?.find().ok().flatten()
    }

    /// The dialects that tools of one list are written in, where there are several: strict, then plain.
    pub fn forms(&self) -> Vec<Arc<Dialect>> {
        let is_strict = is_strict(&self.dialect) || self.options.strict == Strict::Auto;
        let Some(plain) = self.plain.as_ref().filter(|_| is_strict) else { return Vec::new() };
        let strict = self.strict().unwrap_or(&self.dialect);
        if is_bounded(strict) { vec![Arc::clone(strict), Arc::clone(&plain.dialect)] } else { Vec::new() }
    }

    /// What translates the tools for which a list has no room among the strict ones; `None` if there are no such tools.
    pub(super) fn plain_of(
        dialects: &Dialects,
        dialect: &Arc<Dialect>,
        strict: Option<&StrictForm>,
        options: &Options,
    ) -> Result<Option<Box<Self>>, DialectError> {
        let dialect = match strict {
            Some(_) => Some(Arc::clone(dialect)),
            None if is_bounded(dialect) => plain_parent(dialects, dialect)?.map(Arc::new),
            None => None,
        };
        let options = Options { strict: Strict::AsNamed, ..options.clone() };
        Ok(dialect.map(|dialect| Box::new(Self { dialect, strict: None, plain: None, options })))
    }
}

fn is_strict(dialect: &Dialect) -> bool {
    dialect.tool.strict == StrictField::True
}

/// Whether one request takes only so many strict tools.
pub(super) fn is_bounded(dialect: &Dialect) -> bool {
    let Limits { strict_tools, strict_optional, strict_unions, .. } = dialect.limits;
    strict_tools > 0 || strict_optional > 0 || strict_unions > 0
}

/// The dialect without the guarantee that a strict one was made of, under the same layer.
fn plain_parent(dialects: &Dialects, strict: &Dialect) -> Result<Option<Dialect>, DialectError> {
    let layer = strict.layered_with.as_deref();
    let mut parent = strict.extends.clone();
    while let Some(name) = parent {
        let found = match layer {
            Some(layer) => dialects.layered(&name, layer)?,
            None => dialects.get(&name)?,
        };
        if !is_strict(&found) {
            return Ok(Some(found));
        }
        parent = found.extends;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::document::ToolDocument;

    #[test]
    fn the_strict_form_is_made_when_a_tool_asks_for_it() {
        let translator =
            Translator::new(&Dialects::builtin(), "openai-chat", Options::default()).expect("a dialect");
        let is_made = || translator.strict.as_ref().is_some_and(|strict| strict.found.get().is_some());
        let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
        let is_strict = |strict: Value| {
            let tool = json!([{"name": "t", "parameters": schema, "strict": strict}]).to_string();
            let document = ToolDocument::parse(&tool).expect("a document");
            translator.translate(&document.tools).tools.remove(0).strict
        };
        assert_eq!((is_strict(json!(false)), is_made()), (false, false));
        assert_eq!((is_strict(json!(true)), is_made()), (true, true));
    }
}
