use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gateway_config::{Endpoint, UpstreamSpec};
use gateway_protocol::RawJson;

use super::*;
use crate::catalogue::DefinitionPart;
use crate::fleet::memory::Memory;
use crate::log_lines::log_lines;

fn tool(number: usize, description: &str) -> RawJson {
    RawJson::parse(format!(r#"{{"name":"t{number:05}","description":"{description}"}}"#)).unwrap()
}

fn tools(count: usize, description: &str) -> Vec<RawJson> {
    (0..count).map(|number| tool(number, description)).collect()
}

fn spec() -> UpstreamSpec {
    let mut spec = UpstreamSpec::new("up", Endpoint::Demo);
    spec.tools.on_definition_change = OnDefinitionChange::Block;
    spec
}

fn known(entries: &[RawJson]) -> OfUpstream {
    let mut known = OfUpstream::default();
    assert_eq!(list(&mut known, entries), Vec::new());
    known
}

fn listing(entries: &[RawJson]) -> ToolListing {
    ToolListing::read(&spec(), entries, None, 0)
}

/// What is found in one more listing.
fn list(known: &mut OfUpstream, entries: &[RawJson]) -> Vec<DefinitionNotice> {
    compare(known, &current(&listing(entries)), OnDefinitionChange::Block).0
}

#[test]
fn what_is_unaccepted_stands_beside_its_definition() {
    const COUNT: usize = 3_000;
    let entries = tools(COUNT, "two");
    let mut known = known(&tools(COUNT, "one"));
    let found = list(&mut known, &entries);
    assert_eq!((found.len(), known.unaccepted.len()), (COUNT, COUNT));
    let last = known.unaccepted.last_key_value().unwrap();
    let expected = Unaccepted::new(
        &current(&listing(&entries)).get("t02999").unwrap().fingerprint,
        "tool `t02999` changed its description".to_owned(),
        entries.last(),
    );
    assert_eq!(last, (&"t02999".to_owned(), &expected));
}

#[test]
fn what_comes_and_goes_is_not_reported() {
    let mut known = known(&tools(2, "one"));
    assert_eq!(list(&mut known, &[tool(1, "one"), tool(2, "one")]), Vec::new());
    let found = list(&mut known, &[tool(0, "two")]);
    let changes: Vec<String> = found.iter().map(|notice| notice.change.to_string()).collect();
    assert_eq!(
        changes,
        ["tool `t00000` changed its description"],
        "what was gone is compared when it is back"
    );
}

#[test]
fn nothing_is_unaccepted_where_changes_are_only_reported() {
    let (mut known, entries) = (known(&tools(3, "one")), tools(3, "two"));
    let listing = listing(&entries);
    let now = current(&listing);
    let (found, is_changed) = compare(&mut known, &now, OnDefinitionChange::Warn);
    assert_eq!((found.len(), known.unaccepted.len(), is_changed), (3, 0, true));
    assert_eq!(compare(&mut known, &now, OnDefinitionChange::Warn), (Vec::new(), false));
}

#[test]
fn what_is_kept_for_review_is_bounded_as_a_whole() {
    let long = "x".repeat(60 << 10);
    let mut known = known(&tools(40, "one"));
    list(&mut known, &tools(40, &long));
    let kept = known.unaccepted.values().filter(|unaccepted| unaccepted.definition.is_some());
    assert_eq!((kept.count(), known.unaccepted.len()), (17, 40));
}

/// Lists other names again and again, and gives whether new tools have to be accepted after each of three listings.
fn invent(known: &mut OfUpstream, count: usize, name: impl Fn(usize) -> String) -> [bool; 3] {
    let definition = tool(1, "one");
    let listing = listing(std::slice::from_ref(&definition));
    let fingerprint = || current(&listing).into_values().next().unwrap();
    [0, 1, 2].map(|round| {
        let names = (round * count..(round + 1) * count).map(&name);
        let now = names.map(|name| (tool_key(&name).into_owned(), fingerprint())).collect();
        let (found, _) = compare(known, &now, OnDefinitionChange::Block);
        assert_eq!(found, Vec::new());
        known.unverified
    })
}

#[test]
fn names_without_end_are_forgotten_and_new_ones_unaccepted() {
    let mut known = known(&tools(1, "one"));
    assert_eq!(invent(&mut known, 20_000, |number| format!("n{number}")), [false, false, true]);
    let remembered: Vec<_> = known.fingerprints.keys().cloned().collect();
    let mut expected: Vec<_> = (40_000..60_000).map(|number| format!("n{number}")).collect();
    expected.sort_unstable();
    assert_eq!(remembered, expected);
    // The tool of before may be another one now.
    let kinds: Vec<_> =
        list(&mut known, &tools(1, "two")).into_iter().map(|notice| notice.change.kind).collect();
    assert_eq!(kinds, [DefinitionChangeKind::Unverified]);
}

#[test]
fn long_names_without_end_are_bounded_in_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("servers.json");
    let memory = Memory::open(Some(&path));
    let name = |number: usize| format!("n{number}{}", "x".repeat(1_500));
    let rounds = memory.change(&spec(), |known| (invent(known, 13_000, name), true));
    assert_eq!(rounds, [false, false, true]);
    memory.write();
    let size = std::fs::metadata(&path).unwrap().len();
    assert!(size < 5 << 20, "{size} bytes for 13,000 tools");
    // What is read from the file is what was written.
    let read = Memory::open(Some(&path)).change(&spec(), |known| (known.fingerprints.clone(), false));
    assert!(read.keys().all(|key| key.len() < 140), "{:?}", read.keys().next());
    assert_eq!(read.len(), 13_000);
}

#[test]
fn a_list_that_is_full_by_itself_forgets_nothing() {
    let name = |number: usize| format!("{number}{}", "x".repeat(200));
    let mut known = OfUpstream::default();
    let all = |number: usize| name(number % 40_000);
    assert_eq!(invent(&mut known, 40_000, all), [false; 3]);
    assert_eq!(known.fingerprints.len(), 40_000);
}

#[test]
fn long_names_are_told_apart_and_their_changes_found() {
    let long = |end: &str, description: &str| {
        let name = format!("{}{end}", "n".repeat(1_500));
        RawJson::parse(format!(r#"{{"name":"{name}","description":"{description}"}}"#)).unwrap()
    };
    let mut known = known(&[long("a", "one"), long("b", "one")]);
    let found = list(&mut known, &[long("a", "one"), long("b", "two"), long("c", "one")]);
    let tools: Vec<_> = found.iter().map(|notice| (notice.change.tool.as_str(), notice.blocked)).collect();
    let name = format!("{}b", "n".repeat(1_500));
    assert_eq!(tools, [(name.as_str(), true)]);
    let (key, unaccepted) = known.unaccepted.pop_first().unwrap();
    assert_eq!((key.as_str(), known.unaccepted.len()), (tool_key(&name).as_ref(), 0));
    assert_eq!(unaccepted.change, format!("tool `{key}` changed its description"));
}

/// While one thread hashes, another one goes on with the tasks of the only worker.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn others_run_while_a_big_listing_is_hashed() {
    let fleet = crate::fleet::Fleet::start(vec![spec()], crate::fleet::FleetOptions::default());
    let turns = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&turns);
    let other = tokio::spawn(async move {
        loop {
            counter.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    });
    let (shared, upstream) = (Arc::clone(&fleet.shared), fleet.upstream("up").unwrap());
    let listing = tokio::spawn(async move {
        let entries = tools(2_000, &"x".repeat(8 << 10));
        let before = turns.load(Ordering::Relaxed);
        let listing = ToolListing::read(&upstream.spec, entries, None, 0);
        shared.compare_definitions(&upstream, &listing).await;
        turns.load(Ordering::Relaxed) - before
    });
    assert_ne!(listing.await.unwrap(), 0);
    other.abort();
    fleet.shutdown(std::time::Duration::ZERO).await;
}

#[test]
fn many_changes_are_one_line_of_the_log() {
    let (upstream, _commands) = Upstream::new(spec(), None);
    let entries = tools(3_000, "two");
    let logged = |found: Vec<DefinitionNotice>| {
        log_lines(|| {
            let fresh = replace_notices(&upstream, found);
            if !fresh.is_empty() {
                log(&upstream, &fresh);
            }
        })
    };
    let found = list(&mut known(&tools(3_000, "one")), &entries);
    let lines = logged(found.clone());
    let all = upstream.health().changes_fingerprint().unwrap();
    let expected = format!(
        "Tool definitions changed. upstream=up changed=3000 change=tool `t00000` changed its description; \
         tool `t00001` changed its description; tool `t00002` changed its description; and 2997 more \
         blocked=true fingerprint={all}"
    );
    assert_eq!(lines, [expected]);
    assert_eq!(logged(found), Vec::<String>::new(), "each change once");
    assert_eq!(upstream.facts().notices.len(), 3_000);
}

#[test]
fn a_long_name_does_not_fill_the_log() {
    let change = |tool: String| DefinitionChange {
        tool,
        kind: DefinitionChangeKind::Changed { parts: vec![DefinitionPart::Schema] },
    };
    let texts = ["x".repeat(1 << 20), "u".to_owned()].map(|tool| change(tool).to_string());
    let expected = format!("tool `{}…; tool `u` changed its schema", "x".repeat(194));
    assert_eq!(first_few(texts.into_iter()), expected);
}
