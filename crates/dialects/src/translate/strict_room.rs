//! How many tools of one request can be strict. Providers count over all strict tools together, so that a tool can be strict
//! alone and not among others; those for which there is no room are sent in the plain form of the same provider.

use std::sync::Arc;

use serde_json::Value;

use super::{STRICT_LEFT_OUT, ToolTranslation, Translator};
use crate::dialect::{Dialect, DialectError, Dialects, Limits, StrictField};
use crate::document::ToolOrigin;
use crate::json::Json;
use crate::limits::{StrictCost, strict_cost};
use crate::options::{Options, Strict};

/// What one request still takes of strict tools. Tools are asked about in the order in which they matter.
#[derive(Clone, Debug)]
pub struct StrictRoom {
    /// What the provider takes in all.
    most: Limits,
    used: StrictCost,
}

impl StrictRoom {
    /// Room for any number of strict tools, as each of several lists of one tool has it.
    pub(crate) fn unlimited() -> Self {
        Self { most: Limits::default(), used: StrictCost::default() }
    }

    /// Takes what one more strict tool needs, or says why there is no room for it.
    fn take(&mut self, cost: StrictCost) -> Result<(), String> {
        let after = self.used + cost;
        let over = |count: usize, most: usize| most > 0 && count > most;
        let Limits { strict_tools, strict_optional, strict_unions, .. } = self.most;
        if over(after.tools, strict_tools) {
            return Err(format!("one request takes {strict_tools} strict tools"));
        }
        if over(after.optional, strict_optional) {
            return Err(format!(
                "the strict tools of one request take {strict_optional} optional parameters together"
            ));
        }
        if over(after.unions, strict_unions) {
            return Err(format!("the strict tools of one request take {strict_unions} unions together"));
        }
        self.used = after;
        Ok(())
    }
}

impl Translator {
    /// All that a request takes of strict tools.
    pub fn strict_room(&self) -> StrictRoom {
        let most = self.strict.as_ref().unwrap_or(&self.dialect).limits;
        StrictRoom { most, ..StrictRoom::unlimited() }
    }

    /// The dialects that tools of one list are written in, where there are several: strict, then plain.
    pub fn forms(&self) -> Vec<Arc<Dialect>> {
        let is_strict = self.dialect.tool.strict == StrictField::True || self.options.strict == Strict::Auto;
        let Some(plain) = self.plain.as_ref().filter(|_| is_strict) else { return Vec::new() };
        let strict =
            self.strict.as_ref().map_or_else(|| Arc::clone(&self.dialect), |strict| Arc::new(strict.clone()));
        vec![strict, Arc::clone(&plain.dialect)]
    }

    /// Translates a server's tool for a list, under a name that the dialect allows: strict as far as there is room, else plain.
    pub fn translate_within_room<'a>(
        &self,
        tool: &'a Value,
        name: &'a str,
        wire_name: &str,
        room: &mut StrictRoom,
    ) -> ToolTranslation<'a> {
        self.translate_listed(tool, name, wire_name, ToolOrigin::Server, room)
    }

    pub(super) fn translate_listed<'a>(
        &self,
        tool: &'a Value,
        name: &'a str,
        wire_name: &str,
        origin: ToolOrigin,
        room: &mut StrictRoom,
    ) -> ToolTranslation<'a> {
        let Some(plain) = &self.plain else { return self.translate_tool(tool, name, wire_name, origin) };
        let as_plain = |reason| {
            let mut translated = plain.translate_tool(tool, name, wire_name, origin);
            // This is the reason, whatever the plain form says of itself.
            translated.warnings.retain(|warning| !warning.starts_with(STRICT_LEFT_OUT));
            ToolTranslation { not_strict: Some(reason), ..translated }
        };
        // All tools of a strict dialect would be strict: where there is no room for any, none is tried.
        if let (None, Err(reason)) = (&self.strict, room.clone().take(StrictCost::ANY)) {
            return as_plain(reason);
        }
        let translated = self.translate_tool(tool, name, wire_name, origin);
        if !translated.strict {
            return translated;
        }
        let dialect = self.strict.as_ref().unwrap_or(&self.dialect);
        let schema = translated.schema(dialect).unwrap_or_default();
        match room.take(strict_cost(&Json::Same(&schema))) {
            Ok(()) => translated,
            Err(reason) => as_plain(reason),
        }
    }

    /// What translates the tools for which a strict dialect has no room; `None` if it has room for all.
    pub(super) fn plain_of(
        dialects: &Dialects,
        (dialect, strict): (&Dialect, Option<&Dialect>),
        options: &Options,
    ) -> Result<Option<Box<Self>>, DialectError> {
        let Limits { strict_tools, strict_optional, strict_unions, .. } = strict.unwrap_or(dialect).limits;
        if strict_tools == 0 && strict_optional == 0 && strict_unions == 0 {
            return Ok(None);
        }
        let dialect = if strict.is_some() { Some(dialect.clone()) } else { plain_parent(dialects, dialect)? };
        let options = Options { strict: Strict::AsNamed, ..options.clone() };
        let plain = |dialect| Self { dialect: Arc::new(dialect), strict: None, plain: None, options };
        Ok(dialect.map(plain).map(Box::new))
    }
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
        if found.tool.strict != StrictField::True {
            return Ok(Some(found));
        }
        parent = found.extends;
    }
    Ok(None)
}
