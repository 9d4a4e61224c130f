//! What happened to every keyword.

use gateway_notation::pointer;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::tokens::value_bytes;

/// What became of a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Fate {
    /// It says the same elsewhere.
    Kept,
    /// It is said in another way, with the same meaning.
    Rewritten,
    /// Values travel in another form, and the plan turns them back.
    Encoded,
    /// A description says it.
    Described,
    /// It went away: a pure annotation, what a bare form leaves out, or the end of a description that was too long.
    Dropped,
}

impl Fate {
    /// The word in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Rewritten => "rewritten",
            Self::Encoded => "encoded",
            Self::Described => "described",
            Self::Dropped => "dropped",
        }
    }
}

/// A location in the original schema, cheap to copy and extend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PathId(u32);

impl PathId {
    pub(crate) const ROOT: Self = Self(0);
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'a> {
    Name(&'a str),
    Index(usize),
}

/// All locations seen so far, each as a step from its parent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Paths<'a> {
    steps: Vec<Location<'a>>,
}

#[derive(Clone, Copy, Debug)]
struct Location<'a> {
    parent: PathId,
    step: Step<'a>,
    /// How long the pointer is.
    length: usize,
}

impl<'a> Paths<'a> {
    pub(crate) fn name(&mut self, parent: PathId, name: &'a str) -> PathId {
        self.push(parent, Step::Name(name))
    }

    pub(crate) fn index(&mut self, parent: PathId, index: usize) -> PathId {
        self.push(parent, Step::Index(index))
    }

    fn push(&mut self, parent: PathId, step: Step<'a>) -> PathId {
        let own = match step {
            Step::Name(name) => name.len() + 1,
            Step::Index(_) => 3,
        };
        let length = self.length(parent) + own;
        self.steps.push(Location { parent, step, length });
        PathId(u32::try_from(self.steps.len()).unwrap_or(u32::MAX))
    }

    /// The last step of `path`.
    pub(crate) fn last(&self, path: PathId) -> Option<(PathId, Step<'a>)> {
        self.location(path).map(|location| (location.parent, location.step))
    }

    fn location(&self, path: PathId) -> Option<&Location<'a>> {
        self.steps.get((path.0 as usize).checked_sub(1)?)
    }

    fn length(&self, path: PathId) -> usize {
        self.location(path).map_or(0, |location| location.length)
    }

    /// The JSON Pointer of `path`.
    pub(crate) fn pointer(&self, path: PathId) -> String {
        let mut steps = Vec::new();
        let mut at = path;
        while let Some((parent, step)) = self.last(at) {
            steps.push(step);
            at = parent;
        }
        let mut text = String::new();
        for step in steps.iter().rev() {
            match step {
                Step::Name(name) => pointer::push(&mut text, name),
                Step::Index(index) => pointer::push(&mut text, &index.to_string()),
            }
        }
        text
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) path: PathId,
    pub(crate) keyword: &'a str,
    pub(crate) value: Option<&'a Value>,
    pub(crate) fate: Fate,
    pub(crate) reason: &'static str,
}

/// The changes of one tool.
#[derive(Clone, Debug, Default)]
pub struct Changes<'a> {
    pub(crate) paths: Paths<'a>,
    pub(crate) entries: Vec<Entry<'a>>,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Change<'c> {
    /// JSON Pointer into the original input schema, to the node that had the keyword.
    pub path: String,
    /// The keyword.
    pub keyword: &'c str,
    /// Its value in the original, if it was there.
    pub value: Option<&'c Value>,
    /// What became of it.
    pub fate: Fate,
    /// Why.
    pub reason: &'c str,
}

impl Change<'_> {
    /// Roughly how many bytes it takes in a report.
    pub fn report_bytes(&self) -> usize {
        let value = self.value.map_or(4, value_bytes);
        self.path.len() + self.keyword.len() + self.reason.len() + value + 64
    }
}

impl<'a> Changes<'a> {
    /// Notes that the end of a description was cut off.
    pub(crate) fn cut(&mut self, path: PathId, value: Option<&'a Value>, reason: &'static str) {
        self.entries.push(Entry { path, keyword: "description", value, fate: Fate::Dropped, reason });
    }
}

impl Changes<'_> {
    /// The changes below `/keyword/name`, as if that were the root.
    pub(crate) fn inside(mut self, keyword: &str, name: &str) -> Self {
        let is = |step: Step<'_>, text: &str| matches!(step, Step::Name(own) if own == text);
        // Parents come before their children.
        let mut depths: Vec<Outside> = vec![Outside::Root];
        for location in &mut self.paths.steps {
            let parent = depths.get(location.parent.0 as usize).copied().unwrap_or(Outside::Elsewhere);
            let own = match parent {
                Outside::Root if is(location.step, keyword) => Outside::Keyword,
                Outside::Keyword if is(location.step, name) => Outside::NewRoot,
                Outside::NewRoot => {
                    location.parent = PathId::ROOT;
                    Outside::Inside
                }
                Outside::Inside => Outside::Inside,
                Outside::Root | Outside::Keyword | Outside::Elsewhere => Outside::Elsewhere,
            };
            depths.push(own);
        }
        self.entries.retain_mut(|entry| match depths.get(entry.path.0 as usize) {
            Some(Outside::NewRoot) => {
                entry.path = PathId::ROOT;
                true
            }
            Some(Outside::Inside) => true,
            _ => false,
        });
        self
    }
}

/// How a location lies to a new root of the paths.
#[derive(Clone, Copy)]
enum Outside {
    Root,
    Keyword,
    NewRoot,
    Inside,
    Elsewhere,
}

impl Changes<'_> {
    /// An empty report with room for what a schema of `nodes` nodes brings.
    pub(crate) fn with_room(nodes: usize) -> Self {
        Self {
            paths: Paths { steps: Vec::with_capacity(2 * nodes + 8) },
            entries: Vec::with_capacity(nodes + 8),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All changes, in the order in which they were made.
    pub fn iter(&self) -> impl Iterator<Item = Change<'_>> {
        self.entries.iter().map(|entry| Change {
            path: self.paths.pointer(entry.path),
            keyword: entry.keyword,
            value: entry.value,
            fate: entry.fate,
            reason: entry.reason,
        })
    }

    /// How many locations of the schema were visited.
    pub(crate) fn visited(&self) -> usize {
        self.paths.steps.len()
    }

    /// Roughly how long the report is.
    pub(crate) fn report_bytes(&self) -> usize {
        self.entries.iter().map(|entry| self.paths.length(entry.path) + 100).sum()
    }

    /// How many changes have this fate.
    pub fn count(&self, fate: Fate) -> usize {
        self.entries.iter().filter(|entry| entry.fate == fate).count()
    }
}

impl Serialize for Changes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}
