//! Reading dialect files and resolving `extends`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use toml::{Table, Value};

use super::Dialect;
use super::effect::rule_without_effect;
use super::models::Models;

macro_rules! builtin {
    ($($name:literal),* $(,)?) => {
        /// The embedded files, parents before children.
        const BUILTIN: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../data/", $name, ".toml")))),*];
    };
}

builtin![
    "openai-chat",
    "anthropic",
    "anthropic-compat",
    "anthropic-strict",
    "argo",
    "azure-openai",
    "bedrock",
    "cohere",
    "deepseek",
    "openai-chat-strict",
    "deepseek-strict",
    "dial",
    "gemini",
    "gemini-json",
    "gemini-legacy",
    "gemini-bare",
    "google-compat",
    "groq",
    "openai-compatible",
    "llamacpp",
    "lmstudio",
    "mcp",
    "mistral",
    "moonshot",
    "ollama",
    "ollama-openai",
    "openai-compat",
    "openai-legacy",
    "openai-functions",
    "openai-reasoning",
    "openai-responses",
    "openai-responses-strict",
    "universal",
    "vertex",
    "vertex-json",
    "vllm",
    "xai",
];

/// A dialect or a layer could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DialectError {
    /// No dialect has this name.
    #[error("unknown dialect `{name}`; known: {}", known.join(", "))]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// No dialect is known for this model.
    #[error("no dialect is known for model `{model}`; name a dialect instead")]
    UnknownModel {
        /// The model id that was asked for.
        model: String,
    },
    /// Only layers go on top of a dialect.
    #[error("`{name}` is not a layer; layers: {}", known.join(", "))]
    NotALayer {
        /// The name that was asked for.
        name: String,
        /// The layers that exist.
        known: Vec<String>,
    },
    /// The dialect always adapts schemas to its provider.
    #[error("dialect `{name}` has no verbatim form; {} have one", known.join(", "))]
    NoVerbatim {
        /// The dialect.
        name: String,
        /// The dialects that have one.
        known: Vec<String>,
    },
    /// A file is not a dialect.
    #[error("dialect file `{origin}`: {cause}")]
    Malformed {
        /// Where the text came from.
        origin: String,
        /// What is wrong with it.
        cause: String,
    },
    /// `extends` names no dialect, or the chain bites its own tail.
    #[error("dialect `{name}` extends `{parent}`, which {problem}")]
    Parent {
        /// The dialect.
        name: String,
        /// What it extends.
        parent: String,
        /// What is wrong with that.
        problem: &'static str,
    },
}

/// All known dialects. Copies share what they know.
#[derive(Clone, Debug)]
pub struct Dialects {
    files: Arc<BTreeMap<String, Table>>,
    aliases: Arc<BTreeMap<String, String>>,
    pub(super) models: Arc<Models>,
}

impl Dialects {
    /// The embedded dialects.
    pub fn builtin() -> Self {
        let models = Models::parse(include_str!("../../data/models.toml"));
        debug_assert!(models.is_ok(), "embedded models: {models:?}");
        let models = Arc::new(models.unwrap_or_default());
        let mut dialects = Self { files: Arc::default(), aliases: Arc::default(), models };
        for (name, text) in BUILTIN {
            let file = text.parse().map_err(|error: toml::de::Error| error.to_string());
            let added = file.and_then(|file| dialects.insert(file));
            debug_assert!(added.is_ok(), "embedded dialect {name}: {added:?}");
        }
        dialects
    }

    /// Adds or replaces the dialect that `text` describes; `origin` is named in errors. Returns its name.
    pub fn add(&mut self, origin: &str, text: &str) -> Result<String, DialectError> {
        let malformed = |cause: String| DialectError::Malformed { origin: origin.to_owned(), cause };
        let file: Table = text.parse().map_err(|error: toml::de::Error| malformed(error.to_string()))?;
        let mut added = self.clone();
        let name = added.insert(file.clone()).map_err(malformed)?;
        let dialect = added.get(&name).map_err(|error| match error {
            DialectError::Malformed { cause, .. } => malformed(cause),
            other => other,
        })?;
        if let Some(cause) = rule_without_effect(&dialect, &file, text) {
            return Err(malformed(cause));
        }
        *self = added;
        Ok(name)
    }

    /// Adds or replaces a dialect that has not been checked yet.
    fn insert(&mut self, file: Table) -> Result<String, String> {
        let Some(Value::String(name)) = file.get("name") else {
            return Err("`name` is missing or not a string".to_owned());
        };
        let name = name.clone();
        for alias in file.get("aliases").and_then(Value::as_array).into_iter().flatten() {
            Arc::make_mut(&mut self.aliases)
                .extend(alias.as_str().map(|alias| (alias.to_owned(), name.clone())));
        }
        Arc::make_mut(&mut self.files).insert(name.clone(), file);
        Ok(name)
    }

    /// Adds rules for model ids; they are asked before those that are there.
    pub fn add_models(&mut self, origin: &str, text: &str) -> Result<(), DialectError> {
        let models = Models::parse(text)
            .map_err(|cause| DialectError::Malformed { origin: origin.to_owned(), cause })?;
        Arc::make_mut(&mut self.models).prepend(models);
        Ok(())
    }

    /// The names of all dialects and layers, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// The names of the dialects that have a verbatim form, sorted.
    pub(crate) fn verbatim(&self) -> Vec<String> {
        let has_one = |name: &&str| self.get(name).is_ok_and(|dialect| dialect.schema.verbatim);
        self.names().filter(has_one).map(str::to_owned).collect()
    }

    /// The own name of the dialect that is called `name` or has it as an alias, then its aliases; none if there is no such
    /// dialect.
    pub fn names_of<'s>(&'s self, name: &str) -> impl Iterator<Item = &'s str> {
        let own = self.files.get_key_value(name).map(|(own, _)| own).or_else(|| self.aliases.get(name));
        let aliases = self.aliases.iter().filter(move |(_, of)| own == Some(*of)).map(|(alias, _)| alias);
        own.into_iter().chain(aliases).map(String::as_str)
    }

    /// The dialect called `name`, or that has it as an alias.
    pub fn get(&self, name: &str) -> Result<Dialect, DialectError> {
        let name = self.canonical(name)?;
        Self::build(name, self.resolved(name)?)
    }

    /// The dialect called `name` with the layer called `layer` on top.
    pub fn layered(&self, name: &str, layer: &str) -> Result<Dialect, DialectError> {
        let name = self.canonical(name)?;
        let layer = self.layer(layer)?;
        let mut table = self.resolved(name)?;
        // The layers that it extends come with it; the dialect below them is another one here.
        let layers: Vec<&Table> =
            self.lineage(layer)?.into_iter().take_while(|file| is_layer(file)).collect();
        for file in layers.into_iter().rev() {
            let mut rules = file.clone();
            // What else it says is about itself, or for a dialect that it is not.
            rules.retain(|key, _| key == "limits" || key == "schema");
            merge(&mut table, rules);
        }
        let mut dialect = Self::build(name, table)?;
        dialect.name = format!("{name}+{layer}");
        dialect.layered_with = Some(layer.to_owned());
        Ok(dialect)
    }

    fn canonical<'s>(&'s self, name: &'s str) -> Result<&'s str, DialectError> {
        if self.files.contains_key(name) {
            return Ok(name);
        }
        self.aliases.get(name).map(String::as_str).ok_or_else(|| DialectError::Unknown {
            name: name.to_owned(),
            known: self.files.keys().chain(self.aliases.keys()).cloned().collect(),
        })
    }

    /// The own name of the layer that is called `name` or has it as an alias.
    fn layer<'s>(&'s self, name: &'s str) -> Result<&'s str, DialectError> {
        let layers = || self.files.iter().filter(|(_, file)| is_layer(file)).map(|(name, _)| name);
        let own = self.canonical(name).ok().filter(|own| layers().any(|layer| layer == own));
        own.ok_or_else(|| DialectError::NotALayer {
            name: name.to_owned(),
            known: layers().cloned().collect(),
        })
    }

    /// The file called `name` merged over everything that it extends.
    fn resolved(&self, name: &str) -> Result<Table, DialectError> {
        let mut table = Table::new();
        let mut lineage = self.lineage(name)?.into_iter().rev().peekable();
        while let Some(file) = lineage.next() {
            let mut file = file.clone();
            if lineage.peek().is_some() {
                for key in ["aliases", "bare", "layer"] {
                    file.remove(key);
                }
            }
            merge(&mut table, file);
        }
        Ok(table)
    }

    /// The file called `name`, then what it extends, then what that extends.
    fn lineage(&self, name: &str) -> Result<Vec<&Table>, DialectError> {
        let mut names = vec![name];
        let mut files: Vec<&Table> = self.files.get(name).into_iter().collect();
        while let Some(parent) = files.last().and_then(|file| file.get("extends")).and_then(Value::as_str) {
            let child = names.last().copied().unwrap_or(name);
            let problem =
                |problem| DialectError::Parent { name: child.to_owned(), parent: parent.to_owned(), problem };
            let parent_name = self.canonical(parent).map_err(|_| problem("does not exist"))?;
            if names.contains(&parent_name) {
                return Err(problem("extends it in turn"));
            }
            names.push(parent_name);
            files.extend(self.files.get(parent_name));
        }
        Ok(files)
    }

    fn build(name: &str, table: Table) -> Result<Dialect, DialectError> {
        Dialect::deserialize(Value::Table(table))
            .map_err(|error| DialectError::Malformed { origin: name.to_owned(), cause: error.to_string() })
    }
}

fn is_layer(file: &Table) -> bool {
    file.get("layer").and_then(Value::as_bool) == Some(true)
}

/// Puts `over` on top of `base`: tables merge, everything else is replaced.
fn merge(base: &mut Table, over: Table) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Table(inner)), Value::Table(value)) => merge(inner, value),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BUILTIN, Dialects};

    #[test]
    fn every_embedded_rule_has_an_effect() {
        let mut dialects = Dialects::builtin();
        for (name, text) in BUILTIN {
            assert_eq!(dialects.add(name, text).map_err(|error| error.to_string()), Ok((*name).to_owned()));
        }
    }
}
