//! Flags that choose and tune a dialect, shared by commands.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use gateway_config::read_regular_file;
use gateway_dialects::dialect::Compat;
use gateway_dialects::{
    Defaults, Dialect, DialectError, Dialects, EmptyRequired, Growth, Open, Options, Strict, Translator,
};

use crate::output::did_you_mean;
use crate::terminal::errors;

/// Flags of the translation.
#[derive(Debug, Args)]
pub(crate) struct TranslationFlags {
    /// What happens to `default`
    #[arg(long, value_parser = words(DEFAULTS))]
    defaults: Option<Defaults>,
    /// Which objects can carry properties that they do not declare
    #[arg(long, value_parser = words(OPEN), default_value = "declared")]
    open: Open,
    /// `auto`: strict for each tool that loses nothing by it
    #[arg(long, value_parser = words(STRICT), default_value = "as-named")]
    strict: Strict,
    /// Leave schemas as they came, though the provider may refuse some; for dialects that have such a form
    #[arg(long)]
    verbatim: bool,
    /// Whether the layer of the model's family applies: auto, off (the bare form, where the dialect has one), or a layer's name
    #[arg(long, default_value = "auto", value_name = "auto|off|LAYER")]
    compat: String,
    /// Hide a parameter from the model (repeatable)
    #[arg(long, value_name = "NAME")]
    hide: Vec<String>,
    /// Hide a parameter and fill it in on the way back (repeatable)
    #[arg(long, value_name = "NAME=JSON")]
    inject: Vec<String>,
    /// Description for tools without one; {name} stands for the tool's name
    #[arg(long, value_name = "TEXT")]
    description_fallback: Option<String>,
    /// What happens to `required: []`
    #[arg(long, value_parser = words(EMPTY_REQUIRED))]
    empty_required: Option<EmptyRequired>,
    /// Most tokens of a lowered schema, which is written out less far beyond them; off: any number; auto: twice those of the original and 300 [default: auto]
    #[arg(long, value_name = "N|off|auto", value_parser = budget)]
    budget: Option<Growth>,
    /// Most levels of nested schemas
    #[arg(long, value_name = "N")]
    max_depth: Option<usize>,
    /// Most schema nodes
    #[arg(long, value_name = "N")]
    max_nodes: Option<usize>,
    /// Most bytes of a schema
    #[arg(long, value_name = "N")]
    max_bytes: Option<usize>,
    #[command(flatten)]
    files: DialectFiles,
}

/// Which dialects are known.
#[derive(Debug, Args)]
pub(crate) struct DialectFiles {
    /// A dialect file to add to the built-in ones (repeatable)
    #[arg(long, value_name = "FILE")]
    dialect_file: Vec<PathBuf>,
}

impl DialectFiles {
    /// The built-in dialects and those of the caller's files.
    pub(crate) fn dialects(&self) -> Result<Dialects> {
        dialects_with(&self.dialect_file)
    }
}

/// The built-in dialects and those of files.
pub(crate) fn dialects_with(files: &[PathBuf]) -> Result<Dialects> {
    let mut dialects = Dialects::builtin();
    for path in files {
        let origin = path.display().to_string();
        let text = read_regular_file(path).with_context(|| format!("reading {origin}"))?;
        dialects.add(&origin, &text).map_err(explained)?;
    }
    Ok(dialects)
}

/// The dialect.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct Target {
    /// The dialect
    #[arg(long, value_name = "DIALECT")]
    pub(crate) to: Option<String>,
    /// A model id that chooses the dialect, or with --to only the layer of its family
    #[arg(long, value_name = "ID")]
    pub(crate) model: Option<String>,
}

/// The dialect, if any.
#[derive(Debug, Args)]
#[group(required = false, multiple = true)]
pub(crate) struct OptionalTarget {
    /// Show them in this dialect
    #[arg(long, value_name = "DIALECT")]
    to: Option<String>,
    /// Show them in the dialect of this model, or with --to with the layer of its family
    #[arg(long, value_name = "ID")]
    model: Option<String>,
}

impl OptionalTarget {
    pub(crate) fn target(&self) -> Option<Target> {
        (self.to.is_some() || self.model.is_some())
            .then(|| Target { to: self.to.clone(), model: self.model.clone() })
    }
}

/// The words of an option, each with its help and the value that it stands for.
pub(crate) type Words<T> = &'static [(&'static str, &'static str, T)];

/// Reads one of these words.
pub(crate) fn words<T: Copy + Send + Sync>(known: Words<T>) -> impl TypedValueParser<Value = T> {
    let shown = known.iter().map(|(word, help, _)| match *help {
        "" => PossibleValue::new(*word),
        help => PossibleValue::new(*word).help(help),
    });
    PossibleValuesParser::new(shown).try_map(|given| {
        let found = known.iter().find(|(word, ..)| *word == given);
        found.map(|(_, _, value)| *value).ok_or("not one of the words")
    })
}

fn budget(given: &str) -> Result<Growth, &'static str> {
    Growth::parse(given).ok_or("expected a number of tokens, off or auto")
}

const DEFAULTS: Words<Defaults> =
    &[("keep", "", Defaults::Keep), ("strip", "", Defaults::Strip), ("describe", "", Defaults::Describe)];
const OPEN: Words<Open> = &[("declared", "", Open::Declared), ("all", "", Open::All)];
const STRICT: Words<Strict> = &[("as-named", "", Strict::AsNamed), ("auto", "", Strict::Auto)];
const EMPTY_REQUIRED: Words<EmptyRequired> =
    &[("keep", "", EmptyRequired::Keep), ("omit", "", EmptyRequired::Omit), ("add", "", EmptyRequired::Add)];

impl TranslationFlags {
    /// The built-in dialects and those of the caller's files.
    pub(crate) fn dialects(&self) -> Result<Dialects> {
        self.files.dialects()
    }

    pub(crate) fn options(&self) -> Result<Options> {
        let mut options = Options::default();
        options.defaults = self.defaults;
        options.open = self.open;
        options.strict = self.strict;
        options.verbatim = self.verbatim;
        options.empty_required = self.empty_required;
        options.hidden.clone_from(&self.hide);
        for pair in &self.inject {
            let Some((name, json)) = pair.split_once('=') else {
                bail!("--inject {pair}: expected NAME=JSON");
            };
            crate::input::check_unrepeated(&format!("--inject {name}"), json)?;
            let value = serde_json::from_str(json)
                .with_context(|| format!("--inject {pair}: reading the value as JSON"))?;
            options.injected.insert(name.to_owned(), value);
        }
        options.description_fallback.clone_from(&self.description_fallback);
        let budget = &mut options.budget;
        budget.growth = self.budget.unwrap_or_default();
        budget.depth = self.max_depth.unwrap_or(budget.depth);
        budget.nodes = self.max_nodes.unwrap_or(budget.nodes);
        budget.bytes = self.max_bytes.unwrap_or(budget.bytes);
        Ok(options)
    }

    pub(crate) fn translator(&self, target: &Target) -> Result<Translator> {
        let dialects = self.dialects()?;
        let dialect = self.dialect(&dialects, target)?;
        if let (Some(_), Some(model)) = (&target.to, &target.model)
            && dialects.for_model(model).is_err()
        {
            let _ = writeln!(errors(), "warning: no rule knows the model `{model}`, so it changes nothing");
        }
        let options = self.options()?;
        let translator = Translator::with(&dialects, dialect, options.clone()).map_err(explained)?;
        if let Some(warning) = options.warning() {
            let _ = writeln!(errors(), "warning: {warning}");
        }
        Ok(translator)
    }

    /// A translator; `None` if only a model is named, and no rule knows it.
    pub(crate) fn translator_if_known(&self, target: &Target) -> Result<Option<Translator>> {
        let is_unknown = |model: &String| self.dialects().is_ok_and(|known| known.for_model(model).is_err());
        if target.to.is_none() && target.model.as_ref().is_some_and(is_unknown) {
            return Ok(None);
        }
        self.translator(target).map(Some)
    }

    /// A translator into the dialect called `name`.
    pub(crate) fn translator_for(&self, dialects: &Dialects, name: &str) -> Result<Translator> {
        let target = Target { to: Some(name.to_owned()), model: None };
        let dialect = self.dialect(dialects, &target)?;
        Translator::with(dialects, dialect, self.options()?).map_err(explained)
    }

    /// Whether the layer of the model's family applies.
    pub(crate) fn compat(&self) -> Compat {
        match self.compat.as_str() {
            "auto" => Compat::Auto,
            "off" => Compat::Off,
            name => Compat::Named(name.to_owned()),
        }
    }

    fn dialect(&self, dialects: &Dialects, target: &Target) -> Result<Dialect> {
        dialects.choose(target.to.as_deref(), target.model.as_deref(), &self.compat()).map_err(explained)
    }
}

/// `error` with what to try next.
pub(crate) fn explained(error: DialectError) -> anyhow::Error {
    match &error {
        DialectError::Unknown { name, known } => {
            let guess = did_you_mean(name, known.iter().map(String::as_str));
            let guess = guess.map_or_else(String::new, |guess| format!(" {guess}"));
            anyhow!("unknown dialect `{name}`;{guess} `mcp-tool-gateway dialects` lists them all")
        }
        DialectError::UnknownModel { model } => anyhow!(
            "no dialect is known for model `{model}`; choose one with --to, \
             `mcp-tool-gateway dialects` lists them"
        ),
        DialectError::NoVerbatim { name, known } => {
            anyhow!("--verbatim: `{name}` has no verbatim form; use one of {}", known.join(", "))
        }
        DialectError::NotALayer { name, known } => {
            anyhow!("`{name}` is not a layer; use auto, off or one of {}", known.join(", "))
        }
        _ => anyhow::Error::new(error),
    }
}
