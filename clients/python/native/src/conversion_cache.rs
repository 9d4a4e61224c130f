//! The cache of conversions: a program converts the same tools for every request that it sends.
//!
//! What a list gave is kept from its second conversion on, beside a copy of the list, which whatever comes later is compared with. Nobody
//! outside has either: callers get a copy. Only plain objects are kept, so that no code of Python runs while the cache is locked.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, Hash as _, Hasher as _, RandomState};
use std::sync::{Arc, LazyLock, Mutex};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList, PyString};

use crate::plain_objects::{CollectorPause, Template, is_plain};

/// How many bytes of lists and of what they gave are kept, roughly. Where there are more, an eighth is evicted: what was not used for longest.
const BYTES: usize = 64 << 20;
/// How many lists are remembered that were converted once; the older half of them goes at once.
const SEEN: usize = 16_384;

/// Of so many tools a key knows something.
const LOOKED_AT: usize = 16;

/// What a conversion left out: which tool, and why.
pub(crate) type Omitted = Vec<(String, String)>;

static CACHE: LazyLock<Mutex<Cache>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Cache {
    /// Lists that were converted, by their key.
    seen: HashSet<u64>,
    /// The same, of those before.
    seen_before: HashSet<u64>,
    conversions: HashMap<u64, Conversion>,
    /// Bytes of `conversions`.
    bytes: usize,
    /// Counts uses.
    clock: u64,
    hasher: RandomState,
}

struct Conversion {
    tools: Template,
    options: Template,
    answer: Arc<Template>,
    omitted: Omitted,
    /// When it was used last.
    used: u64,
}

impl Conversion {
    fn bytes(&self) -> usize {
        self.tools.bytes() + self.options.bytes() + self.answer.bytes()
    }
}

/// What is known of a list before it is converted.
pub(crate) enum Lookup<'py> {
    /// It gives this.
    Hit(Bound<'py, PyAny>, Omitted),
    /// It was converted before, so that this time will be kept.
    Second(Slot),
    /// Nothing.
    Miss,
}

/// Where a conversion will be kept.
pub(crate) struct Slot {
    key: u64,
    /// The tools, which nobody can change any more.
    pub(crate) tools: Template,
    /// The options, likewise.
    pub(crate) options: Template,
}

/// Looks for an earlier conversion of a list with the same options.
pub(crate) fn find<'py>(tools: &Bound<'py, PyAny>, options: &Bound<'py, PyDict>) -> PyResult<Lookup<'py>> {
    let _pause = CollectorPause::new(tools.py());
    match look_up(tools, options) {
        Some(Found::Answer(answer, omitted)) => Ok(Lookup::Hit(answer.copy(tools.py())?, omitted)),
        Some(Found::Seen(key)) if is_plain(tools) && is_plain(options) => {
            Ok(match (Template::new(tools)?, Template::new(options)?) {
                (Some(tools), Some(options)) => Lookup::Second(Slot { key, tools, options }),
                _ => Lookup::Miss,
            })
        }
        Some(Found::Seen(_)) | None => Ok(Lookup::Miss),
    }
}

enum Found {
    Answer(Arc<Template>, Omitted),
    Seen(u64),
}

fn look_up(tools: &Bound<'_, PyAny>, options: &Bound<'_, PyDict>) -> Option<Found> {
    // Whoever cannot have the cache at once goes without.
    let mut cache = CACHE.try_lock().ok()?;
    let key = key_of(&cache.hasher, tools, options)?;
    let was_seen = cache.seen.contains(&key) || cache.seen_before.contains(&key);
    cache.clock += 1;
    let clock = cache.clock;
    if let Some(conversion) = cache.conversions.get_mut(&key) {
        if conversion.tools.is_same(tools) && conversion.options.is_same(options) {
            conversion.used = clock;
            return Some(Found::Answer(Arc::clone(&conversion.answer), conversion.omitted.clone()));
        }
        // Lists with one key that take turns are not copied every time.
        if was_seen {
            cache.seen.remove(&key);
            cache.seen_before.remove(&key);
            return None;
        }
    }
    if was_seen {
        return Some(Found::Seen(key));
    }
    if cache.seen.len() >= SEEN / 2 {
        cache.seen_before = std::mem::take(&mut cache.seen);
    }
    cache.seen.insert(key);
    None
}

/// What tells most lists apart at a glance: options, and of some tools the name and how long the description is. `None` for what is no list
/// of named tools.
fn key_of(hasher: &RandomState, tools: &Bound<'_, PyAny>, options: &Bound<'_, PyDict>) -> Option<u64> {
    let list = tools.cast_exact::<PyList>().ok().filter(|list| !list.is_empty())?;
    let mut hash = hasher.build_hasher();
    list.len().hash(&mut hash);
    for tool in list.iter().step_by(list.len() / LOOKED_AT + 1) {
        let tool = tool.cast_into_exact::<PyDict>().ok()?;
        let text = |name| tool.get_item(name).ok().flatten()?.cast_into_exact::<PyString>().ok();
        text(pyo3::intern!(tools.py(), "name"))?.hash().ok()?.hash(&mut hash);
        text(pyo3::intern!(tools.py(), "description")).and_then(|text| text.len().ok()).hash(&mut hash);
    }
    for (name, value) in options {
        name.cast_exact::<PyString>().ok()?.hash().ok()?.hash(&mut hash);
        let is_scalar = value.is_exact_instance_of::<PyString>() || value.is_exact_instance_of::<PyInt>();
        is_scalar.then(|| value.hash().ok()).hash(&mut hash);
    }
    Some(hash.finish())
}

impl Slot {
    /// Keeps what the list gave.
    pub(crate) fn keep(self, answer: &Bound<'_, PyAny>, omitted: &Omitted) -> PyResult<()> {
        let Some(answer) = Template::new(answer)? else { return Ok(()) };
        let Self { key, tools, options } = self;
        let omitted = omitted.clone();
        let conversion = Conversion { tools, options, answer: Arc::new(answer), omitted, used: 0 };
        let evicted = match CACHE.try_lock() {
            Ok(mut cache) => cache.insert(key, conversion),
            Err(_) => vec![conversion],
        };
        // Only now, as the cache is no longer locked.
        drop(evicted);
        Ok(())
    }
}

impl Cache {
    /// Keeps a conversion, and gives what had to make room.
    fn insert(&mut self, key: u64, mut conversion: Conversion) -> Vec<Conversion> {
        self.clock += 1;
        conversion.used = self.clock;
        self.bytes += conversion.bytes();
        let mut evicted: Vec<Conversion> = self.conversions.insert(key, conversion).into_iter().collect();
        self.bytes -= evicted.iter().map(Conversion::bytes).sum::<usize>();
        if self.bytes > BYTES {
            let mut by_use: Vec<(u64, u64)> =
                self.conversions.iter().map(|(key, one)| (one.used, *key)).collect();
            by_use.sort_unstable();
            for (_, key) in by_use {
                if self.bytes <= BYTES - BYTES / 8 {
                    break;
                }
                if let Some(conversion) = self.conversions.remove(&key) {
                    self.bytes -= conversion.bytes();
                    evicted.push(conversion);
                }
            }
        }
        evicted
    }
}
