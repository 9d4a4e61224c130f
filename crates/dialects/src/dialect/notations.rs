//! How models write calls as text, as data.

use std::fmt;
use std::ops::BitOrAssign;
use std::str::FromStr;
use std::sync::LazyLock;

use gateway_notation::pattern;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::SerializeSeq as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How tool use is written in plain text: one entry of `data/notations.toml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Notation {
    /// `<tool><parameter>value</parameter></tool>`
    Xml,
    /// `{"type":"tool_use","name":…,"input":…}`
    Json,
    /// Any other entry, which [`Notation::named`] finds.
    Other(NotationId),
}

/// Which entry of the table a notation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NotationId(u8);

impl Notation {
    /// All notations, in the order of the data.
    pub fn all() -> impl Iterator<Item = Self> {
        (0_u8..).zip(&TABLE.notation).map(|(index, _)| Self::at(index))
    }

    /// The notation of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|notation| notation.name() == name)
    }

    /// The word for it in requests, configurations and answers.
    pub fn name(self) -> &'static str {
        // Two of them have names that do not need the table.
        match self {
            Self::Xml => "xml",
            Self::Json => "json",
            Self::Other(_) => self.rule().map_or("", |rule| &rule.name),
        }
    }

    /// Where the notation is defined: the documentation, model card or chat template.
    pub fn source(self) -> &'static str {
        self.rule().map_or("", |rule| &rule.source)
    }

    /// The notation of results, for a model that writes `notations`: what its chat template has, where calls in this one are a habit.
    #[must_use]
    pub fn of_results(self, notations: Notations) -> Self {
        let own = self.rule().into_iter().flat_map(|rule| &rule.results_as);
        let own = own.filter_map(|name| Self::named(name)).find(|other| notations.contains(*other));
        own.unwrap_or(self)
    }

    pub(crate) fn rule(self) -> Option<&'static NotationRule> {
        TABLE.notation.get(usize::from(self.index()))
    }

    fn at(index: u8) -> Self {
        match index {
            0 => Self::Xml,
            1 => Self::Json,
            other => Self::Other(NotationId(other)),
        }
    }

    fn index(self) -> u8 {
        match self {
            Self::Xml => 0,
            Self::Json => 1,
            Self::Other(NotationId(index)) => index,
        }
    }
}

/// A set of notations.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Notations(u64);

impl Notations {
    /// No notation.
    pub const NONE: Self = Self(0);

    /// Every notation.
    pub fn all() -> Self {
        Notation::all().collect()
    }

    /// Those that the family of this model writes, by data; none for models whose calls are native.
    pub fn of_model(id: &str) -> Self {
        let lower = id.trim().to_lowercase();
        if TABLE.hosted.iter().any(|prefix| lower.starts_with(prefix.as_str())) {
            return Self::NONE;
        }
        let own = lower.rsplit('/').next().unwrap_or(&lower);
        let writes = |notation: &Notation| {
            let rule = notation.rule();
            rule.is_some_and(|rule| rule.models.iter().any(|wanted| pattern::matches(wanted, own)))
        };
        Notation::all().filter(writes).collect()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0 == 0
    }

    /// Whether `notation` is one of them.
    pub fn contains(self, notation: Notation) -> bool {
        self.0 & Self::from(notation).0 != 0
    }

    /// The notations, in the order of the data.
    pub fn iter(self) -> impl Iterator<Item = Notation> {
        Notation::all().filter(move |notation| self.contains(*notation))
    }
}

impl BitOrAssign for Notations {
    fn bitor_assign(&mut self, others: Self) {
        self.0 |= others.0;
    }
}

impl From<Notation> for Notations {
    fn from(notation: Notation) -> Self {
        Self(1_u64.checked_shl(u32::from(notation.index())).unwrap_or_default())
    }
}

impl FromIterator<Notation> for Notations {
    fn from_iter<I: IntoIterator<Item = Notation>>(notations: I) -> Self {
        Self(notations.into_iter().fold(0, |all, notation| all | Self::from(notation).0))
    }
}

impl fmt::Debug for Notations {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.iter().map(Notation::name)).finish()
    }
}

impl Serialize for Notations {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        self.iter().try_for_each(|notation| list.serialize_element(notation.name()))?;
        list.end()
    }
}

impl<'de> Deserialize<'de> for Notations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let words = deserializer.deserialize_any(Words)?;
        words
            .iter()
            .map(|word| Notation::named(word).ok_or_else(|| D::Error::custom(UnknownNotation::new(word))))
            .collect()
    }
}

/// In which notation calls are taken out of a reply's text.
///
/// ```
/// use gateway_dialects::calls::text::{Notation, Notations, TextCalls};
///
/// let both: TextCalls = "hermes,fenced-json".parse()?;
/// let hermes = Notation::named("hermes").ok_or("no such notation")?;
/// assert!(both.notations(Notations::NONE).contains(hermes));
/// assert_eq!("auto".parse::<TextCalls>()?.notations(hermes.into()), hermes.into(), "what the model writes");
/// assert!("klingon".parse::<TextCalls>().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TextCalls {
    /// In none: text is text.
    #[default]
    Off,
    /// In those of the model, if its data names any, else in all.
    Auto,
    /// In XML only.
    Xml,
    /// In JSON only.
    Json,
    /// In these, which are not one of the two above alone.
    Named(Notations),
}

impl TextCalls {
    /// The values that have a word of their own for `/execute`, which takes no others.
    pub const WORDS: [(&'static str, Self); 4] =
        [("off", Self::Off), ("auto", Self::Auto), ("xml", Self::Xml), ("json", Self::Json)];

    /// The notations that are read, for a model whose data names `of_model`.
    pub fn notations(self, of_model: Notations) -> Notations {
        match self {
            Self::Off => Notations::NONE,
            Self::Auto if of_model.is_empty() => Notations::all(),
            Self::Auto => of_model,
            Self::Xml => Notation::Xml.into(),
            Self::Json => Notation::Json.into(),
            Self::Named(notations) => notations,
        }
    }

    fn of_words(words: &[&str]) -> Result<Self, UnknownNotation> {
        if let [only] = words
            && let Some((_, value)) = Self::WORDS.iter().find(|(word, _)| word == only)
        {
            return Ok(*value);
        }
        let named = words.iter().map(|word| Notation::named(word).ok_or_else(|| UnknownNotation::new(word)));
        Ok(named.collect::<Result<Notations, _>>()?.into())
    }
}

impl From<Notations> for TextCalls {
    fn from(notations: Notations) -> Self {
        match notations {
            Notations::NONE => Self::Off,
            one if one == Notation::Xml.into() => Self::Xml,
            one if one == Notation::Json.into() => Self::Json,
            several => Self::Named(several),
        }
    }
}

impl FromStr for TextCalls {
    type Err = UnknownNotation;

    /// `off`, `auto`, or names of notations with commas between them.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::of_words(&text.split(',').map(str::trim).collect::<Vec<_>>())
    }
}

impl<'de> Deserialize<'de> for TextCalls {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let words = deserializer.deserialize_any(Words)?;
        Self::of_words(&words.iter().map(String::as_str).collect::<Vec<_>>()).map_err(D::Error::custom)
    }
}

impl Serialize for TextCalls {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (Self::WORDS.iter().find(|(_, value)| value == self), self) {
            (Some((word, _)), _) => serializer.serialize_str(word),
            (None, other) => other.notations(Notations::NONE).serialize(serializer),
        }
    }
}

/// A word names no notation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is no notation of calls in text; known: off, auto, {}", known.join(", "))]
#[non_exhaustive]
pub struct UnknownNotation {
    /// The word.
    pub word: String,
    /// The notations that exist.
    pub known: Vec<&'static str>,
}

impl UnknownNotation {
    fn new(word: &str) -> Self {
        Self { word: word.chars().take(64).collect(), known: Notation::all().map(Notation::name).collect() }
    }
}

/// One word, or a list of words.
struct Words;

impl<'de> Visitor<'de> for Words {
    type Value = Vec<String>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name of a notation, or a list of names")
    }

    fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Self::Value, E> {
        Ok(vec![word.to_owned()])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut words = Vec::new();
        while let Some(word) = list.next_element()? {
            words.push(word);
        }
        Ok(words)
    }
}

/// The table of notations.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Table {
    end_of_turn: Vec<String>,
    hosted: Vec<String>,
    notation: Vec<NotationRule>,
}

/// What the data says of one notation; the head of the file explains it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct NotationRule {
    name: String,
    source: String,
    #[serde(default)]
    models: Vec<String>,
    pub(crate) calls: Vec<String>,
    pub(crate) parameter: Option<String>,
    pub(crate) id: Option<String>,
    #[serde(default)]
    pub(crate) suffix: String,
    #[serde(default)]
    pub(crate) keys: CallKeys,
    #[serde(default)]
    pub(crate) sections: Vec<(String, String)>,
    #[serde(default)]
    pub(crate) after: Vec<String>,
    #[serde(default)]
    pub(crate) reasoning: Vec<(String, String)>,
    pub(crate) result: String,
    pub(crate) result_with_id: Option<String>,
    /// Notations in which results are written instead, for models that write these too.
    #[serde(default)]
    results_as: Vec<String>,
}

impl NotationRule {
    /// Whether its calls may stand in a section that `marker` ends.
    pub(crate) fn ends_section(&self, marker: &str) -> bool {
        self.sections.iter().any(|(_, end)| end == marker)
    }
}

/// The members of a call that is a JSON object; it has no others.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CallKeys {
    pub(crate) name: String,
    /// Those that may hold the arguments, of which one must be there.
    pub(crate) arguments: Vec<String>,
    /// Those that may stand beside.
    pub(crate) beside: Vec<String>,
    /// What `type` must be; absent: it may be anything or missing.
    #[serde(rename = "type")]
    pub(crate) kind: Option<String>,
}

impl Default for CallKeys {
    fn default() -> Self {
        let words = |words: [&str; 2]| words.map(str::to_owned).to_vec();
        let (arguments, beside) = (words(["arguments", "parameters"]), words(["id", "type"]));
        Self { name: "name".to_owned(), arguments, beside, kind: None }
    }
}

impl CallKeys {
    /// Whether a call may have this member.
    pub(crate) fn allows(&self, key: &str) -> bool {
        let listed = |keys: &[String]| keys.iter().any(|known| known == key);
        key == self.name
            || listed(&self.arguments)
            || listed(&self.beside)
            || (key == "type" && self.kind.is_some())
    }
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let read = toml::from_str(include_str!("../../data/notations.toml"));
    debug_assert!(read.is_ok(), "embedded notations: {read:?}");
    read.unwrap_or_default()
});

/// Markers at which models end their turn.
pub(crate) fn end_of_turn() -> &'static [String] {
    &TABLE.end_of_turn
}

#[cfg(test)]
mod tests {
    use super::{Notation, Notations, TABLE, TextCalls};

    #[test]
    fn the_two_with_names_in_the_code_come_first() {
        let names: Vec<&str> = TABLE.notation.iter().map(|rule| rule.name.as_str()).collect();
        assert_eq!(names.get(..2), Some(["xml", "json"].as_slice()));
        assert!(names.len() <= 64, "a set of them is one number");
        assert_eq!(Notation::all().map(Notation::name).collect::<Vec<_>>(), names);
        for notation in Notation::all() {
            assert_eq!(Notation::named(notation.name()), Some(notation));
            assert!(!notation.source().is_empty(), "{}", notation.name());
        }
    }

    #[test]
    fn text_calls_are_words_or_names() {
        for (text, expected) in TextCalls::WORDS {
            assert_eq!(text.parse(), Ok(expected));
            assert_eq!(serde_json::to_value(expected).unwrap(), text);
        }
        let two = TextCalls::Named(
            ["xml", "hermes"].map(|name| Notation::named(name).unwrap()).into_iter().collect(),
        );
        assert_eq!("hermes, xml".parse(), Ok(two));
        assert_eq!(serde_json::from_str::<TextCalls>("[\"hermes\",\"xml\"]").unwrap(), two);
        assert_eq!(serde_json::to_string(&two).unwrap(), "[\"xml\",\"hermes\"]");
        assert_eq!(serde_json::from_str::<TextCalls>("[\"json\"]").unwrap(), TextCalls::Json);
        let error = "hermes,auto".parse::<TextCalls>().unwrap_err().to_string();
        assert!(
            error.starts_with("`auto` is no notation of calls in text; known: off, auto, xml, json,"),
            "{error}"
        );
        assert_eq!(TextCalls::from(Notations::NONE), TextCalls::Off);
        assert_eq!(TextCalls::from(Notations::from(Notation::Xml)), TextCalls::Xml);
    }

    #[track_caller]
    fn check(model: &str, names: &[&str]) {
        let got: Vec<&str> = Notations::of_model(model).iter().map(Notation::name).collect();
        assert_eq!(got, names, "{model}");
    }

    #[test]
    fn local_families_write_calls_as_text() {
        check("Qwen/Qwen2.5-7B-Instruct", &["fenced-json", "bare-json", "hermes"]);
        check("qwen3:8b", &["fenced-json", "bare-json", "hermes"]);
        for bare in ["qwen", "qwen:latest", "qwen.gguf", "Qwen-7B-Chat-Q4_K_M.gguf"] {
            check(bare, &["fenced-json", "bare-json", "hermes"]);
        }
        check("qwen3-coder:30b", &["fenced-json", "bare-json", "hermes", "qwen3-coder"]);
        check("NousResearch/Hermes-3-Llama-3.1-8B", &["fenced-json", "bare-json", "hermes"]);
        check("llama3.1:8b", &["fenced-json", "bare-json", "llama-python-tag"]);
        check(
            "meta-llama/Llama-3.2-3B-Instruct",
            &["fenced-json", "bare-json", "llama-python-tag", "pythonic"],
        );
        check("mistral:7b", &["fenced-json", "bare-json", "mistral"]);
        check("devstral:24b", &["mistral-args"]);
        check("deepseek-r1:14b", &["fenced-json", "bare-json", "deepseek-v3"]);
        check("deepseek-ai/DeepSeek-V3.1", &["deepseek-v3.1"]);
        check("kimi-k2-instruct", &["kimi-k2"]);
        check("glm-4.5-air", &["glm-4.5"]);
        check("MiniMaxAI/MiniMax-M2", &["minimax-m2"]);
        check("lfm2-1.2b", &["lfm2"]);
        check("gemma3:12b", &["fenced-json", "bare-json", "tool-code"]);
        check("phi4-mini:3.8b", &["fenced-json", "bare-json", "functools"]);
        check("openai/gpt-oss-20b", &["harmony"]);
        for hosted in [
            "gpt-5",
            "claude-sonnet-4",
            "gemini-2.5-pro",
            "grok-4",
            "mistral-large-latest",
            "deepseek-chat",
            "command-r",
            "qwen-max",
            "qwen-plus-latest",
            "qwen.qwen3-32b-v1:0",
            "local-model",
        ] {
            check(hosted, &[]);
        }
        check("openrouter/qwen/qwen3-coder", &[]);
        check("groq/llama-3.3-70b-versatile", &[]);
    }
}
