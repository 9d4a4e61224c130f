//! The definition around a lowered schema: descriptions, `required`, the provider's limits.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::shape::wrap;
use super::{ToolTranslation, Translator};
use crate::dialect::{Dialect, EmptyRequired, StrictField, ToolShape};
use crate::json::Json;
use crate::limits::{cut_descriptions, over_limit};
use crate::lower::{Excess, LoweredSchema};
use crate::report::{Changes, PathId};
use crate::schema::Members as _;
use crate::text::{Note, compose};
use crate::tokens::{Tokens, bytes_around, estimate, json_bytes};

impl Translator {
    #[expect(clippy::too_many_arguments, reason = "the parts of one definition")]
    pub(super) fn finish<'a>(
        &self,
        dialect: &Dialect,
        members: &'a Map<String, Value>,
        name: &'a str,
        wire_name: &str,
        has_schema: bool,
        carried: &[String],
        lowered: LoweredSchema<'a>,
        before: usize,
    ) -> ToolTranslation<'a> {
        let LoweredSchema { schema, mut plan, mut changes, tool_notes, excess } = lowered;
        if let Some(excess) = excess {
            return ToolTranslation::quarantined(name, excess.reason(&self.options));
        }
        plan.injected =
            self.options.injected.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let description = self.description(dialect, members, name, &tool_notes, &mut changes);
        let schema = schema.map(|schema| self.empty_required(dialect, schema, has_schema));
        let schema = schema.map(|schema| cut_descriptions(schema, &dialect.limits, &mut changes));
        if let Some(reason) = schema.as_ref().and_then(|schema| over_limit(schema, &dialect.limits)) {
            return ToolTranslation::quarantined(name, reason);
        }
        let written = schema.as_ref().map_or(0, json_bytes);
        if written > self.options.budget.bytes {
            return ToolTranslation::quarantined(name, Excess::Bytes.reason(&self.options));
        }
        if changes.report_bytes() > self.options.budget.bytes.saturating_mul(16) {
            return ToolTranslation::quarantined(name, Excess::Report.reason(&self.options));
        }
        let shown = if wire_name == name { Cow::Borrowed(name) } else { Cow::Owned(wire_name.to_owned()) };
        let carried = carried.iter().filter_map(|name| members.get_key_value(name));
        let definition = wrap(dialect, shown, description, schema, carried);
        let schema_key =
            if dialect.tool.shape == ToolShape::ToolSpec { "json" } else { &dialect.tool.schema_key };
        let tokens = Tokens { before, after: estimate(bytes_around(&definition, schema_key, written)) };
        ToolTranslation {
            name,
            wire_name: wire_name.to_owned(),
            definition: Some(definition),
            quarantine: None,
            plan,
            changes,
            tokens,
            strict: dialect.tool.strict == StrictField::True,
            not_strict: None,
            warnings: Vec::new(),
            strict_left_out: None,
        }
    }

    fn description<'a>(
        &self,
        dialect: &Dialect,
        members: &'a Map<String, Value>,
        name: &str,
        notes: &[Note<'a>],
        changes: &mut Changes<'a>,
    ) -> Option<Cow<'a, str>> {
        let own = description_of(members).filter(|text| !text.is_empty() || dialect.tool.blank_description);
        let title = || {
            let annotated = members.member("annotations").and_then(|annotations| annotations.member("title"));
            members.member("title").or(annotated).and_then(Value::as_str).filter(|title| !title.is_empty())
        };
        let base = own.or_else(title).map(Cow::Borrowed).or_else(|| {
            let template =
                self.options.description_fallback.as_ref().unwrap_or(&dialect.tool.description_fallback);
            (!template.is_empty()).then(|| Cow::Owned(template.replace("{name}", name)))
        });
        let limit = dialect.limits.description;
        let composed = compose(dialect.schema.text, base.clone(), notes);
        let text = match composed {
            Some(text) if limit > 0 && text.chars().count() > limit => {
                let reason = "the tool's own description: cut to the length that the provider takes";
                changes.cut(PathId::ROOT, members.get("description"), reason);
                Some(shortened(base, &text, notes, limit, dialect))
            }
            other => other,
        };
        text.or_else(|| dialect.tool.empty_description.then_some(Cow::Borrowed("")))
    }

    fn empty_required<'a>(&self, dialect: &Dialect, schema: Json<'a>, has_schema: bool) -> Json<'a> {
        let policy = self.options.empty_required.unwrap_or(dialect.tool.empty_required);
        if policy == EmptyRequired::Keep {
            return schema;
        }
        let (mut is_there, mut is_empty) = (false, false);
        schema.each_member(&mut |name, names| {
            is_there |= name == "required";
            is_empty |= name == "required" && names.is_empty_array();
        });
        let (remove, add) = match policy {
            EmptyRequired::Keep => (false, false),
            EmptyRequired::Omit => (is_empty, false),
            EmptyRequired::AddWhenSchemaMissing => (false, !is_there && !has_schema),
            EmptyRequired::Add => (false, !is_there),
        };
        if !remove && !add {
            return schema;
        }
        let mut entries = match schema.into_entries() {
            Ok(entries) => entries,
            Err(other) => return other,
        };
        if remove {
            entries.retain(|(key, _)| key != "required");
        } else {
            entries.push((Cow::Borrowed("required"), Json::Array(Vec::new())));
        }
        Json::Object(entries)
    }
}

pub(super) fn description_of(members: &Map<String, Value>) -> Option<&str> {
    members.text("description")
}

/// Cuts the server's own words first and the constraints last.
fn shortened<'a>(
    base: Option<Cow<'a, str>>,
    composed: &str,
    notes: &[Note<'a>],
    limit: usize,
    dialect: &Dialect,
) -> Cow<'a, str> {
    let length = composed.chars().count();
    let base = base.unwrap_or_default();
    let base_length = base.chars().count();
    let room = base_length.saturating_sub(length - limit + 1);
    let text = if room == 0 {
        composed.to_owned()
    } else {
        let cut: String = base.chars().take(room).collect();
        let cut = format!("{}…", cut.trim_end());
        compose(dialect.schema.text, Some(Cow::Owned(cut)), notes).unwrap_or_default().into_owned()
    };
    Cow::Owned(text.chars().take(limit).collect())
}
