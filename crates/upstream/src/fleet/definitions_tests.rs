use super::*;
use crate::catalogue::DefinitionPart;
use crate::log_lines::log_lines;
use crate::spec::{Endpoint, UpstreamSpec};

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

fn known(entries: &[RawJson]) -> Known {
    Known { fingerprints: fingerprints_of(&spec(), entries), unverified: false }
}

fn changed(entries: &[RawJson]) -> Compared {
    let now = fingerprints_of(&spec(), entries);
    let earlier = known(&tools(entries.len(), "one"));
    compare(earlier, &now, OnDefinitionChange::Block, || by_name(entries, name_of))
}

#[test]
fn each_definition_is_read_once_however_many_changed() {
    const COUNT: usize = 3_000;
    let entries = tools(COUNT, "two");
    let mut reads = 0;
    let now = fingerprints_of(&spec(), &entries);
    let compared = compare(known(&tools(COUNT, "one")), &now, OnDefinitionChange::Block, || {
        by_name(&entries, |entry| {
            reads += 1;
            name_of(entry)
        })
    });
    assert_eq!((compared.found.len(), compared.listed.withheld.len(), reads), (COUNT, COUNT, COUNT));
    let last = compared.listed.withheld.last_key_value().unwrap();
    let expected = Withheld::new(
        now.get("t02999").unwrap(),
        "tool `t02999` changed its description".to_owned(),
        entries.last(),
    );
    assert_eq!(last, (&"t02999".to_owned(), &expected));
}

#[test]
fn no_definition_is_read_where_nothing_is_withheld() {
    let entries = tools(3, "two");
    let now = fingerprints_of(&spec(), &entries);
    let compared = compare(known(&tools(3, "one")), &now, OnDefinitionChange::Warn, || panic!("not asked"));
    assert_eq!((compared.found.len(), compared.listed.withheld.len()), (3, 0));
}

#[test]
fn what_is_kept_for_review_is_bounded_as_a_whole() {
    let long = "x".repeat(60 << 10);
    let compared = changed(&tools(40, &long));
    let kept = compared.listed.withheld.values().filter(|withheld| withheld.definition.is_some());
    assert_eq!((kept.count(), compared.listed.withheld.len()), (17, 40));
}

#[test]
fn names_without_end_are_forgotten_and_new_ones_withheld() {
    let first = fingerprints_of(&spec(), &tools(1, "one"));
    let fingerprint = first.values().next().unwrap().clone();
    let many = |from: usize| -> BTreeMap<String, String> {
        (from..from + 20_000).map(|number| (format!("n{number}"), fingerprint.clone())).collect()
    };
    let mut remembered = Known { fingerprints: first, unverified: false };
    for round in 0..3 {
        let compared =
            compare(remembered, &many(round * 20_000), OnDefinitionChange::Block, HashMap::default);
        assert_eq!((compared.found, compared.listed.unverified), (Vec::new(), round == 2));
        let Listed { fingerprints, unverified, .. } = compared.listed;
        remembered = Known { fingerprints, unverified };
    }
    assert_eq!(remembered.fingerprints, many(40_000));
    // The tool of before may be another one now.
    let now = fingerprints_of(&spec(), &tools(1, "two"));
    let compared = compare(remembered, &now, OnDefinitionChange::Block, HashMap::default);
    let kinds: Vec<_> = compared.found.into_iter().map(|notice| notice.change.kind).collect();
    assert_eq!(kinds, [DefinitionChangeKind::Unverified]);
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
    let found = changed(&entries).found;
    let lines = logged(found.clone());
    let all = upstream.health().changes_fingerprint().unwrap();
    let expected = format!(
        "Tool definitions changed. upstream=up changed=3000 change=tool `t00000` changed its description; \
         tool `t00001` changed its description; tool `t00002` changed its description; and 2997 more \
         blocked=true fingerprint={all}"
    );
    assert_eq!(lines, [expected]);
    assert_eq!(logged(found), Vec::<String>::new(), "each change once");
    assert_eq!(upstream.notices().len(), 3_000);
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
