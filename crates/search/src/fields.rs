//! The words of one tool, field by field, and what each counts.

use std::collections::BTreeMap;

use gateway_protocol::{RawJson, RawObject};
use serde::Deserialize;

use crate::sentences::{beginning, lead};
use crate::words::{Word, is_stop_word, words};

/// A tool to be found, or that was found.
#[derive(Clone, Copy, Debug)]
pub struct ToolEntry<'a> {
    /// The name under which it is published.
    pub name: &'a str,
    /// Whose it is.
    pub server: &'a str,
    /// Its definition.
    pub definition: &'a RawJson,
}

/// Where a word stands in a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Name,
    Title,
    Server,
    /// The first sentence of the description.
    Lead,
    Description,
    Parameter,
}

pub(crate) const FIELDS: usize = 6;

impl Field {
    const ALL: [Self; FIELDS] =
        [Self::Name, Self::Title, Self::Server, Self::Lead, Self::Description, Self::Parameter];

    /// How much a word counts here, and how much the length of the field takes from it.
    const fn weight(self) -> (f32, f32) {
        match self {
            Self::Name => (4.0, 0.5),
            // Who names a server means all its tools alike, also those whose own names do not repeat it.
            Self::Server => (4.0, 0.0),
            Self::Title | Self::Lead => (1.5, 0.5),
            Self::Description => (0.5, 0.75),
            Self::Parameter => (0.4, 0.75),
        }
    }

    /// How surely a tool is about a word that stands here.
    const fn strength(self) -> f32 {
        match self {
            Self::Name | Self::Title | Self::Server => 1.0,
            Self::Lead => 0.9,
            Self::Description => 0.6,
            Self::Parameter => 0.5,
        }
    }

    /// Whether it says what the tool is called, so that beginnings and slips are looked for here.
    const fn is_name(self) -> bool {
        matches!(self, Self::Name | Self::Title | Self::Server)
    }
}

/// Bounds, so that no definition makes an index large: words of each field, letters of a description, parameters.
const FIELD_WORDS: usize = 400;
const DESCRIPTION: usize = 4_000;
const PARAMETERS: usize = 200;

/// The words of a tool, field by field, as they were written.
#[derive(Debug)]
pub(crate) struct Fields([Vec<String>; FIELDS]);

/// What a term is to one tool.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Found {
    pub(crate) weight: f32,
    /// The part of the tool's name that the term makes up.
    pub(crate) of_name: f32,
    /// How surely the tool is about it, up to one: in the name certainly, in the name of a parameter perhaps.
    pub(crate) strength: f32,
}

/// The members of a definition that people look for.
#[derive(Default, Deserialize)]
struct Definition<'a> {
    name: Option<String>,
    title: Option<String>,
    description: Option<String>,
    annotations: Option<Annotations>,
    #[serde(borrow, rename = "inputSchema")]
    input: Option<Input<'a>>,
}

#[derive(Default, Deserialize)]
struct Annotations {
    title: Option<String>,
}

#[derive(Default, Deserialize)]
struct Input<'a> {
    #[serde(borrow)]
    properties: Option<RawObject<'a>>,
}

impl Fields {
    pub(crate) fn of(entry: &ToolEntry<'_>) -> Self {
        let read: Definition<'_> = entry.definition.read().unwrap_or_default();
        // The name that its author gave it: a prefix that keeps names apart says nothing about the tool.
        let name = read.name.as_deref().unwrap_or(entry.name);
        let title =
            read.title.or(read.annotations.and_then(|annotations| annotations.title)).unwrap_or_default();
        let description = read.description.unwrap_or_default();
        let description = beginning(&description, DESCRIPTION);
        let lead = lead(description);
        let (labels, rest) = description.split_once(lead).unwrap_or(("", description));
        let properties = read.input.and_then(|input| input.properties).unwrap_or_default();
        let parameters: Vec<&str> =
            properties.members().iter().take(PARAMETERS).map(|(name, _)| name.as_ref()).collect();
        let server_words = words(entry.server, FIELD_WORDS);
        // Nearly every server says that it is one.
        let server_words =
            server_words.into_iter().filter(|word| word.plain != "mcp" && word.plain != "server");
        let texts = |text: &str| -> Vec<String> {
            let kept = words(text, FIELD_WORDS).into_iter().filter(|word| !is_stop_word(&word.plain));
            kept.flat_map(parts).collect()
        };
        Self([
            words(name, FIELD_WORDS).into_iter().flat_map(parts).collect(),
            texts(&title),
            server_words.flat_map(parts).collect(),
            texts(lead),
            [texts(labels), texts(rest)].concat(),
            texts(&parameters.join(" ")),
        ])
    }

    /// All words with whether they stand where the tool is named, in the order of the fields.
    pub(crate) fn words(&self) -> impl Iterator<Item = (&str, bool)> {
        let fields = Field::ALL.into_iter().zip(&self.0);
        fields.flat_map(|(field, list)| list.iter().map(move |word| (word.as_str(), field.is_name())))
    }

    /// The words of the server's name.
    pub(crate) fn server(&self) -> impl Iterator<Item = &str> {
        let [_, _, server, ..] = &self.0;
        server.iter().map(String::as_str)
    }

    /// What each term counts, in the order of the terms. `term_of` says which term a word is a form of.
    pub(crate) fn weights(
        &self,
        averages: &[f32; FIELDS],
        term_of: impl Fn(&str) -> u32,
    ) -> BTreeMap<u32, Found> {
        let mut found: BTreeMap<u32, Found> = BTreeMap::new();
        for ((field, list), average) in Field::ALL.into_iter().zip(&self.0).zip(averages) {
            let (weight, shrink) = field.weight();
            let length = if *average > 0.0 { count(list.len()) / average } else { 1.0 };
            let each = weight / (1.0 - shrink + shrink * length);
            for word in list {
                let known = found.entry(term_of(word)).or_default();
                known.weight += each;
                known.strength = known.strength.max(field.strength());
                if field == Field::Name {
                    known.of_name += 1.0 / count(list.len());
                }
            }
        }
        found
    }
}

fn parts(word: Word) -> impl Iterator<Item = String> {
    // A compound in a name is looked for by its pieces; in a text `GitHub` is one word for those who ask.
    std::iter::once(word.plain).chain(word.pieces)
}

/// How long each field is on average.
pub(crate) fn averages(tools: &[Fields]) -> [f32; FIELDS] {
    let mut sums = [0_usize; FIELDS];
    for tool in tools {
        for (sum, list) in sums.iter_mut().zip(&tool.0) {
            *sum += list.len();
        }
    }
    sums.map(|sum| count(sum) / count(tools.len().max(1)))
}

/// A count in the arithmetic of scores, where the last digits of large counts do not matter.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of tools and words are far below 2^24, and scores are estimates"
)]
pub(crate) fn count(number: usize) -> f32 {
    number as f32
}
