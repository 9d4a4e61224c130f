//! Rules of a dialect file that would have no effect, because the dialect's mechanism does not follow them.

use serde::{Deserialize as _, Serialize};
use toml::Table;
use toml::de::DeTable;

use super::{
    Additional, AnyOfStyle, Defaults, Dialect, EditRules, Lowering, NullStyle, RebuildRules, RefStyle,
    SchemaRules, Verdict,
};
use crate::schema::{Keyword, Kind};

/// What is wrong with the first rule of `file` that `dialect`, which was made from it, does not follow, with its line in `text`.
/// What a parent said is not held against the file, and a layer may say whatever some dialect follows.
pub(super) fn rule_without_effect(dialect: &Dialect, file: &Table, text: &str) -> Option<String> {
    let own = file.get("schema")?.as_table()?;
    let (path, cause) = idle_key(dialect, own).or_else(|| idle_verdict(dialect, own))?;
    let path: Vec<&str> = std::iter::once("schema").chain(path.iter().map(String::as_str)).collect();
    Some(match line_of(text, &path) {
        Some(line) => format!("line {line}: {cause}"),
        None => cause,
    })
}

/// Where a rule stands below `[schema]`, and what is wrong with it.
type Fault = (Vec<String>, String);

fn idle_key(dialect: &Dialect, own: &Table) -> Option<Fault> {
    let schema = &dialect.schema;
    let mechanism = schema.lowering.name();
    let known = keys(schema);
    for (key, value) in own {
        let fault = |cause: String| Some((vec![key.clone()], cause));
        let only = |other: &str| {
            fault(format!(
                "`schema.{key}` has no effect with `lowering = \"{mechanism}\"`: only `{other}` honours it; \
                 remove it, or write `lowering = \"{other}\"`"
            ))
        };
        if !known.contains(key) {
            return match mechanism_of(key) {
                Some(_) if dialect.layer => continue,
                Some(other) => only(other),
                None => fault(format!("unknown field `{key}` in `[schema]`; known: {}", known.join(", "))),
            };
        }
        match (&schema.lowering, key.as_str(), value.as_str()) {
            _ if dialect.layer => {}
            (Lowering::Edit(_), "refs", Some("inline")) => return only("rebuild"),
            (Lowering::Rebuild(_), "refs", Some("keep")) => {
                return fault(format!(
                    "`schema.refs = \"keep\"` has no effect with `lowering = \"{mechanism}\"`: write \"defs\" or \"inline\""
                ));
            }
            _ => {}
        }
    }
    None
}

fn idle_verdict(dialect: &Dialect, own: &Table) -> Option<Fault> {
    if dialect.layer {
        return None;
    }
    let schema = &dialect.schema;
    own.get("keywords")?.as_table()?.iter().find_map(|(name, verdict)| {
        let written = Verdict::deserialize(verdict.clone()).ok()?;
        let followed = followed(schema, name, written);
        let decided = decided_by(schema, name).map(|key| format!("; `schema.{key}` decides it"));
        let mechanism = schema.lowering.name();
        let cause = format!(
            "`schema.keywords.{name} = \"{}\"` has no effect with `lowering = \"{mechanism}\"`: write {} or remove it{}",
            verdict.as_str().unwrap_or_default(),
            serde_json::to_string(&followed).unwrap_or_default(),
            decided.unwrap_or_default()
        );
        (followed != written).then(|| (vec!["keywords".to_owned(), name.clone()], cause))
    })
}

/// The keys under which rules stand in a file.
fn keys(rules: &impl Serialize) -> Vec<String> {
    let rules = serde_json::to_value(rules).unwrap_or_default();
    rules.as_object().map(|rules| rules.keys().cloned().collect()).unwrap_or_default()
}

/// The mechanism that alone has a rule.
fn mechanism_of(key: &String) -> Option<&'static str> {
    let edit = Lowering::Edit(EditRules::default());
    let rebuild = Lowering::Rebuild(RebuildRules::default());
    [edit, rebuild].iter().find(|lowering| keys(lowering).contains(key)).map(Lowering::name)
}

/// What becomes of the keywords called `name`, where a file says `written`.
fn followed(schema: &SchemaRules, name: &str, written: Verdict) -> Verdict {
    match (&schema.lowering, Keyword::parse(name)) {
        (Lowering::None, _) => Verdict::Keep,
        (Lowering::Edit(_), Some(keyword)) if written == Verdict::Hint && !schema.text.mentions(keyword) => {
            Verdict::Keep
        }
        (Lowering::Edit(_), _) => written,
        (Lowering::Rebuild(rules), Some(keyword)) => followed_by_rebuild(schema, rules, keyword, written),
        (Lowering::Rebuild(_), None) => match (name, written) {
            ("unknown", Verdict::Keep | Verdict::Hint) => Verdict::Describe,
            ("annotations", Verdict::Describe) => Verdict::Drop,
            ("annotations", Verdict::Hint) => Verdict::Keep,
            _ => written,
        },
    }
}

fn followed_by_rebuild(
    schema: &SchemaRules,
    rules: &RebuildRules,
    keyword: Keyword,
    written: Verdict,
) -> Verdict {
    use Keyword as K;
    let keep_if = |kept: bool| if kept { Verdict::Keep } else { Verdict::Describe };
    match keyword {
        K::Enum if written == Verdict::Hint => Verdict::Hint,
        K::Type | K::Description | K::Properties | K::Required | K::Items | K::Enum => Verdict::Keep,
        K::AnyOf => keep_if(rules.any_of != AnyOfStyle::Never),
        K::Default => match schema.defaults {
            Defaults::Keep => Verdict::Keep,
            Defaults::Strip => Verdict::Drop,
            Defaults::Describe => Verdict::Describe,
        },
        K::AdditionalProperties => {
            keep_if(!matches!(rules.additional, Additional::Declared | Additional::Open))
        }
        K::Nullable => keep_if(rules.null == NullStyle::Nullable),
        K::Ref | K::Defs | K::Definitions => keep_if(schema.refs == RefStyle::Defs),
        K::Const | K::PrefixItems => keep_if(written == Verdict::Keep),
        _ => match (keyword.kind(), written) {
            (Kind::Annotation, Verdict::Describe) => Verdict::Drop,
            (Kind::Annotation | Kind::Hint, Verdict::Hint) => Verdict::Keep,
            (Kind::Annotation | Kind::Hint, _) => written,
            _ if !keyword.is_bound() && keyword != K::Format => Verdict::Describe,
            (_, Verdict::Drop) => Verdict::Describe,
            (_, Verdict::Hint) if !schema.text.mentions(keyword) => Verdict::Keep,
            _ => written,
        },
    }
}

/// The rule that decides about a keyword instead of its verdict.
fn decided_by(schema: &SchemaRules, name: &str) -> Option<&'static str> {
    schema.rebuild()?;
    match Keyword::parse(name)? {
        Keyword::Default => Some("defaults"),
        Keyword::AdditionalProperties => Some("additional"),
        Keyword::AnyOf => Some("any-of"),
        Keyword::Nullable => Some("null"),
        Keyword::Ref | Keyword::Defs | Keyword::Definitions => Some("refs"),
        _ => None,
    }
}

/// The line of `text` on which the key at `path` stands.
fn line_of(text: &str, path: &[&str]) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let mut table = Some(document.get_ref());
    let mut start = 0;
    for step in path {
        let (key, value) = table?.iter().find(|(key, _)| key.get_ref() == step)?;
        start = key.span().start;
        table = value.get_ref().as_table();
    }
    Some(text.get(..start)?.matches('\n').count() + 1)
}
