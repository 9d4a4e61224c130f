//! Conversions that are kept: a program converts the same tools for every request that it sends.
//!
//! What a list gave is kept from its second conversion on, beside a copy of the list, which whatever comes later is compared with. Nobody
//! outside has either: callers get a copy. Only plain objects are kept, so that no code of Python runs while the table is locked.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, LazyLock, Mutex};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::Omitted;
use crate::plain::Template;

/// How many values are kept, of lists and of what they gave: about 64 MB of them. Half of it is dropped at once, the half that was not used for longest.
const VALUES: usize = 800_000;
/// How many lists are remembered that were converted once; the older half of them goes at once.
const ONCE: usize = 16_384;

static KEPT: LazyLock<Mutex<Kept>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Kept {
    /// Lists that were converted, by their key.
    once: HashSet<u64>,
    /// The same, of those before.
    once_before: HashSet<u64>,
    /// What was used lately.
    young: HashMap<u64, Conversion>,
    /// What was used before, and not since.
    old: HashMap<u64, Conversion>,
    /// Values in `young`.
    values: usize,
    hasher: RandomState,
}

struct Conversion {
    tools: Template,
    options: Template,
    answer: Arc<Template>,
    omitted: Omitted,
}

impl Conversion {
    fn values(&self) -> usize {
        self.tools.values() + self.options.values() + self.answer.values()
    }
}

/// What is known of a list before it is converted.
pub(crate) enum Known<'py> {
    /// It gives this.
    Answer(Bound<'py, PyAny>, Omitted),
    /// It was converted before, so that this time will be kept.
    Again(Place),
    /// Nothing.
    New,
}

/// Where a conversion will be kept.
pub(crate) struct Place {
    key: u64,
    /// The tools, which nobody can change any more.
    pub(crate) tools: Template,
    options: Template,
}

/// Looks for an earlier conversion of a list with the same options.
pub(crate) fn find<'py>(tools: &Bound<'py, PyAny>, options: &Bound<'py, PyDict>) -> PyResult<Known<'py>> {
    match look_up(tools, options) {
        Some(Found::Answer(answer, omitted)) => Ok(Known::Answer(answer.copy(tools.py())?, omitted)),
        Some(Found::Once(key)) => Ok(match (Template::new(tools)?, Template::new(options)?) {
            (Some(tools), Some(options)) => Known::Again(Place { key, tools, options }),
            _ => Known::New,
        }),
        None => Ok(Known::New),
    }
}

enum Found {
    Answer(Arc<Template>, Omitted),
    Once(u64),
}

fn look_up(tools: &Bound<'_, PyAny>, options: &Bound<'_, PyDict>) -> Option<Found> {
    // Whoever cannot have the table at once goes without.
    let mut kept = KEPT.try_lock().ok()?;
    let kept = &mut *kept;
    let key = key_of(&kept.hasher, tools, options)?;
    if let Some(conversion) = kept.old.remove(&key) {
        kept.values += conversion.values();
        kept.young.insert(key, conversion);
    }
    let is_same =
        |conversion: &&Conversion| conversion.tools.is_same(tools) && conversion.options.is_same(options);
    if let Some(conversion) = kept.young.get(&key).filter(is_same) {
        return Some(Found::Answer(Arc::clone(&conversion.answer), conversion.omitted.clone()));
    }
    if kept.once.contains(&key) || kept.once_before.contains(&key) {
        return Some(Found::Once(key));
    }
    if kept.once.len() >= ONCE / 2 {
        kept.once_before = std::mem::take(&mut kept.once);
    }
    kept.once.insert(key);
    None
}

/// What tells most lists apart at a glance; `None` for what is no list of named tools.
fn key_of(hasher: &RandomState, tools: &Bound<'_, PyAny>, options: &Bound<'_, PyDict>) -> Option<u64> {
    let list = tools.cast_exact::<PyList>().ok()?;
    let name = |index| {
        let tool = list.get_item(index).ok()?;
        let name = tool.cast_exact::<PyDict>().ok()?.get_item("name").ok()??;
        name.cast_exact::<PyString>().ok()?.hash().ok()
    };
    let end = list.len().checked_sub(1)?;
    let dialect = options.get_item("to").ok()?;
    let dialect = dialect.and_then(|dialect| dialect.cast_exact::<PyString>().ok()?.hash().ok());
    Some(hasher.hash_one((list.len(), name(0)?, name(end)?, dialect, options.len())))
}

impl Place {
    /// Keeps what the list gave.
    pub(crate) fn keep(self, answer: &Bound<'_, PyAny>, omitted: &Omitted) -> PyResult<()> {
        let Some(answer) = Template::new(answer)? else { return Ok(()) };
        let Self { key, tools, options } = self;
        let conversion = Conversion { tools, options, answer: Arc::new(answer), omitted: omitted.clone() };
        // What goes away does so when the table is no longer locked.
        let _dropped = insert(key, conversion);
        Ok(())
    }
}

/// Puts a conversion into the table, and gives what had to make room.
fn insert(key: u64, conversion: Conversion) -> Vec<Conversion> {
    let values = conversion.values();
    let Ok(mut kept) = KEPT.try_lock() else { return vec![conversion] };
    if values > VALUES / 2 {
        return vec![conversion];
    }
    let mut dropped = Vec::new();
    if kept.values + values > VALUES / 2 {
        let young = std::mem::take(&mut kept.young);
        dropped.extend(std::mem::replace(&mut kept.old, young).into_values());
        kept.values = 0;
    }
    kept.values += values;
    if let Some(before) = kept.young.insert(key, conversion) {
        kept.values -= before.values();
        dropped.push(before);
    }
    dropped
}
