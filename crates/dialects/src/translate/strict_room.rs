//! How many tools of one request can be strict. Providers count over all strict tools together, so that a tool can be strict
//! alone and not among others; those for which there is no room are sent in the plain form of the same provider.

use serde_json::Value;

use super::strict_form::is_bounded;
use super::{ToolTranslation, Translator};
use crate::dialect::Limits;
use crate::document::ToolOrigin;
use crate::json::Json;
use crate::limits::{StrictCost, strict_cost};

/// What one request still takes of strict tools: at first, all that its provider takes. Tools are asked about in the order in which
/// they matter.
#[derive(Clone, Debug, Default)]
pub struct StrictRoom {
    used: StrictCost,
    /// Whether there is room for any number.
    is_unlimited: bool,
}

impl StrictRoom {
    /// Room for any number of strict tools, as each of several lists of one tool has it.
    pub(crate) fn unlimited() -> Self {
        Self { is_unlimited: true, ..Self::default() }
    }

    /// Room for no strict tool, wherever a provider takes only so many.
    pub fn spent() -> Self {
        Self { used: StrictCost::ALL, ..Self::default() }
    }

    /// Takes what one more strict tool needs, or says why there is no room for it in a request that takes `most`.
    fn take(&mut self, cost: StrictCost, most: &Limits) -> Result<(), String> {
        let after = self.used + cost;
        let over = |count: usize, most: usize| most > 0 && count > most && !self.is_unlimited;
        let Limits { strict_tools, strict_optional, strict_unions, .. } = *most;
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
            let translated = plain.translate_alone(tool, name, wire_name, origin);
            // This is the reason, whatever the plain form says of itself.
            ToolTranslation { not_strict: Some(reason), strict_left_out: None, ..translated }
        };
        // All tools of a strict dialect would be strict: where there is no room for any, none is tried.
        if self.strict.is_none()
            && let Err(reason) = room.clone().take(StrictCost::ANY, &self.dialect.limits)
        {
            return as_plain(reason);
        }
        let translated = self.translate_tool(tool, name, wire_name, origin);
        if !translated.strict {
            return translated;
        }
        let dialect = self.strict().unwrap_or(&self.dialect);
        if !is_bounded(dialect) {
            return translated;
        }
        let schema = translated.schema(dialect).unwrap_or_default();
        match room.take(strict_cost(&Json::Same(&schema)), &dialect.limits) {
            Ok(()) => translated,
            Err(reason) => as_plain(reason),
        }
    }
}
