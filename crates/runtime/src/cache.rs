//! Results that are kept for a while, for tools that only read.
//!
//! Nothing is kept unless the configuration says so. A pattern covers only tools that their server calls read-only; a tool
//! that is named exactly is covered whatever its server says. A tool that may run twice is not enough: to write the same
//! again after something else was written is a change. Failures and results that ask for more input are never kept.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gateway_config::CacheConfig;
use gateway_notation::pattern;
use gateway_protocol::{CallResultView, RawJson, ResultType};
use gateway_upstream::CatalogueTool;

use crate::digest::digest_of;
use crate::least_recently_used::LeastRecentlyUsed;
use crate::lock::locked;

/// Most results that are kept, however small they are.
const ENTRIES: usize = 10_000;

/// What an entry takes beside its result.
const OVERHEAD: usize = 128;

/// Results of calls.
#[derive(Debug)]
pub struct ResultCache {
    config: CacheConfig,
    kept: Mutex<LeastRecentlyUsed<Digest, Entry>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Debug)]
struct Entry {
    result: RawJson,
    since: Instant,
    until: Instant,
}

type Digest = [u8; 32];

/// A call whose result may be kept.
#[derive(Clone, Copy, Debug)]
pub struct Cacheable {
    digest: Digest,
    time: Duration,
}

/// What the cache has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheFigures {
    /// Results that were kept.
    pub hits: u64,
    /// Results that were not.
    pub misses: u64,
    /// Results that are kept now.
    pub entries: usize,
    /// Their bytes.
    pub bytes: usize,
}

impl ResultCache {
    /// An empty cache.
    pub fn new(config: CacheConfig) -> Self {
        let kept = Mutex::new(LeastRecentlyUsed::new(ENTRIES, config.bytes));
        Self { config, kept, hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    /// Whether the result of this call may be kept, and under which key. Definitions and injected parameters belong to it:
    /// a changed tool is another one.
    pub fn cacheable(&self, tool: &CatalogueTool, arguments: &RawJson) -> Option<Cacheable> {
        let time = self.time(tool)?;
        let injected =
            if tool.injected.is_empty() { Vec::new() } else { serde_json::to_vec(&tool.injected).ok()? };
        let fingerprint = tool.fingerprint.hex();
        let (server, name) = (tool.server.as_str().as_bytes(), tool.name.as_bytes());
        let digest = digest_of(&[server, name, fingerprint.as_bytes(), &injected, arguments.as_bytes()]);
        Some(Cacheable { digest, time })
    }

    /// How long results of a tool are kept.
    fn time(&self, tool: &CatalogueTool) -> Option<Duration> {
        if self.config.tools.is_empty() {
            return None;
        }
        let name = format!("{}/{}", tool.server, tool.name);
        let covers = |wanted: &str| {
            wanted == name || (tool.read_only && !tool.destructive && pattern::matches(wanted, &name))
        };
        let (_, time) = self.config.tools.iter().find(|(pattern, _)| covers(pattern))?;
        (!time.is_zero()).then_some(*time)
    }

    /// The result of an earlier call and its age.
    pub fn get(&self, call: &Cacheable, now: Instant) -> Option<(RawJson, Duration)> {
        let found = (locked(&self.kept).get(&call.digest))
            .filter(|entry| now < entry.until)
            .map(|entry| (entry.result.clone(), now.saturating_duration_since(entry.since)));
        let count = if found.is_some() { &self.hits } else { &self.misses };
        count.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// Keeps a result, unless it says that something went wrong, or is too large.
    pub fn put(&self, call: &Cacheable, result: &RawJson, now: Instant) {
        let view = CallResultView::of(result);
        let size = result.len() + OVERHEAD;
        if view.is_error || view.result_type != ResultType::Complete || size > self.config.bytes / 8 {
            return;
        }
        // A copy: the result is a slice of all that the server sent at once.
        let Ok(result) = RawJson::parse(result.as_bytes().to_vec()) else { return };
        let mut kept = locked(&self.kept);
        if !kept.has_room(size) {
            kept.retain(|_, entry| now < entry.until);
        }
        kept.insert(call.digest, Entry { result, since: now, until: now + call.time }, size);
    }

    /// What the cache has done.
    pub fn figures(&self) -> CacheFigures {
        let kept = locked(&self.kept);
        CacheFigures {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            entries: kept.len(),
            bytes: kept.bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use gateway_upstream::{Catalogue, CatalogueRules, Endpoint, UpstreamSpec, UpstreamTools};

    use super::*;

    fn tool(name: &str, annotations: &str) -> CatalogueTool {
        let text =
            format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"annotations":{annotations}}}"#);
        let spec = UpstreamSpec::new("docs", Endpoint::Demo);
        let tools = [RawJson::parse(text).unwrap()];
        let parts = [UpstreamTools { spec: &spec, tools: &tools }];
        Catalogue::build(1, &parts, &CatalogueRules::default()).tools()[0].clone()
    }

    fn cache(tools: &[(&str, u64)], bytes: usize) -> ResultCache {
        let tools =
            tools.iter().map(|(pattern, time)| ((*pattern).to_owned(), Duration::from_secs(*time))).collect();
        ResultCache::new(CacheConfig { tools, bytes })
    }

    fn json(text: &str) -> RawJson {
        RawJson::parse(text.to_owned()).unwrap()
    }

    #[test]
    fn patterns_cover_what_only_reads_and_names_cover_anything() {
        let check = |tools: &[(&str, u64)], name: &str, annotations: &str, expected: Option<u64>| {
            let time = cache(tools, 1 << 20).time(&tool(name, annotations));
            assert_eq!(time, expected.map(Duration::from_secs), "{tools:?} {name} {annotations}");
        };
        let reads = r#"{"readOnlyHint":true}"#;
        check(&[], "get", reads, None);
        check(&[("docs/*", 5)], "get", reads, Some(5));
        check(&[("docs/*", 5)], "get", "{}", None);
        check(&[("docs/*", 5)], "put", r#"{"idempotentHint":true}"#, None);
        check(&[("docs/put", 5)], "put", "{}", Some(5));
        check(&[("other/*", 5)], "get", reads, None);
        check(&[("docs/get", 0), ("*", 5)], "get", reads, None);
    }

    #[test]
    fn a_result_is_kept_for_its_time_and_for_its_arguments() {
        let cache = cache(&[("*", 60)], 1 << 20);
        let tool = tool("get", r#"{"readOnlyHint":true}"#);
        let call = cache.cacheable(&tool, &json(r#"{"id":1}"#)).unwrap();
        let other = cache.cacheable(&tool, &json(r#"{"id":2}"#)).unwrap();
        let start = Instant::now();
        assert!(cache.get(&call, start).is_none());
        cache.put(&call, &json(r#"{"content":[]}"#), start);
        let later = start + Duration::from_secs(59);
        let (result, age) = cache.get(&call, later).unwrap();
        assert_eq!((result.as_str(), age.as_secs()), (r#"{"content":[]}"#, 59));
        assert!(cache.get(&other, later).is_none());
        assert!(cache.get(&call, start + Duration::from_mins(1)).is_none());
        assert_eq!((cache.figures().hits, cache.figures().misses), (1, 3));
    }

    #[test]
    fn what_went_wrong_is_never_kept() {
        let cache = cache(&[("*", 60)], 1 << 20);
        let call = cache.cacheable(&tool("get", r#"{"readOnlyHint":true}"#), &json("{}")).unwrap();
        let now = Instant::now();
        for result in [r#"{"content":[],"isError":true}"#, r#"{"resultType":"input_required"}"#] {
            cache.put(&call, &json(result), now);
            assert!(cache.get(&call, now).is_none(), "{result}");
        }
    }

    #[test]
    fn the_cache_is_bounded_and_the_longest_unused_goes_first() {
        let cache = cache(&[("*", 60)], 100_000);
        let tool = tool("get", r#"{"readOnlyHint":true}"#);
        let call = |id: usize| cache.cacheable(&tool, &json(&format!("{{\"id\":{id}}}"))).unwrap();
        let result = json(&format!("{{\"content\":[],\"x\":\"{}\"}}", "x".repeat(1_000)));
        let now = Instant::now();
        cache.put(&call(0), &result, now);
        for id in 1..1_000 {
            cache.put(&call(id), &result, now);
            assert!(cache.get(&call(0), now).is_some(), "used all the time, at {id}");
        }
        let figures = cache.figures();
        assert!(figures.bytes <= 100_000 && figures.entries > 50, "{figures:?}");
        assert!(cache.get(&call(1), now).is_none());
        cache.put(&call(5_000), &json(&format!("\"{}\"", "x".repeat(20_000))), now);
        assert!(cache.get(&call(5_000), now).is_none(), "too large for so small a cache");
    }
}
