//! Tools of a fallback that are listed for a server that was never reached.

use std::collections::BTreeMap;

use gateway_testkit::Fixture;
use gateway_upstream::{
    CatalogueRules, ClashPolicy, Endpoint, Fallback, Fleet, FleetOptions, UpstreamId, UpstreamSpec,
};

use crate::fleet::{PATIENCE, quick, stdio};
use crate::scripted::scripted;

/// One that is never there, and one with a single tool that takes over for it.
fn specs() -> [UpstreamSpec; 2] {
    let command = "no-such-program-anywhere".to_owned();
    let nowhere = Endpoint::Stdio { command, args: Vec::new(), env: BTreeMap::new(), cwd: None };
    let mut main = quick(UpstreamSpec::new("main", nowhere));
    main.fallback = Some(Fallback::Server(UpstreamId::new("back")));
    [main, stdio("back", &Fixture::stdio().args(["--no-builtin"]).option("--tools", 1))]
}

/// The list over all servers, and to whom the bare name leads.
async fn listed(specs: [UpstreamSpec; 2], clash: ClashPolicy) -> (Vec<String>, String) {
    let mut options = FleetOptions::default();
    options.catalogue = CatalogueRules { clash, ..CatalogueRules::default() };
    let fleet = Fleet::start(specs.into(), options);
    // Whoever asks for the one waits for the other too.
    fleet.listed(&[UpstreamId::new("main")], PATIENCE).await;
    let catalogue = fleet.catalogue();
    let listed = catalogue.get("main", "tool_00000").unwrap();
    assert_eq!(listed.fallback_server, Some(UpstreamId::new("back")));
    assert_eq!(catalogue.resolve(None, "mcp__main__tool_00000").unwrap(), listed);
    let names = catalogue.listed().map(|tool| tool.public_name.clone()).collect();
    let whose = catalogue.resolve(None, "tool_00000").unwrap().server.to_string();
    fleet.shutdown(PATIENCE).await;
    (names, whose)
}

#[tokio::test(flavor = "multi_thread")]
async fn lent_tools_take_no_name_from_a_tool_that_is_there() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    for (policy, expected) in [
        (ClashPolicy::Prefix, names(&["tool_00000", "main__tool_00000"])),
        (ClashPolicy::First, names(&["tool_00000"])),
        (ClashPolicy::Error, names(&["tool_00000"])),
    ] {
        assert_eq!(listed(specs(), policy).await, (expected, "back".to_owned()), "{policy:?}");
    }
    // Where nobody else has the bare name, it is that of the missing server, as it always is.
    let [main, mut back] = specs();
    back.prefix = Some("other".to_owned());
    let expected = names(&["other__tool_00000", "tool_00000"]);
    assert_eq!(listed([main, back], ClashPolicy::Prefix).await, (expected, "main".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lent_where_no_call_would_be_taken_over() {
    let [mut main, back] = specs();
    main.fallback_on.unreachable = false;
    let fleet = Fleet::start(vec![main, back], FleetOptions::default());
    fleet.listed(&[], PATIENCE).await;
    let catalogue = fleet.catalogue();
    assert_eq!((catalogue.tools().len(), catalogue.tools_of("main").count()), (1, 0));
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fallback_tools_take_no_reserved_name() {
    let [main, _] = specs();
    let mut files = UpstreamSpec::new("files", Endpoint::Demo);
    files.disabled = true;
    let back = scripted("back", r#"answer '{"tools":[{"name":"files__t"},{"name":"main__t"}]}'"#);
    let fleet = Fleet::start(vec![files, main, back], FleetOptions::default());
    fleet.listed(&[UpstreamId::new("main"), UpstreamId::new("back")], PATIENCE).await;
    let catalogue = fleet.catalogue();
    let rows: Vec<_> = catalogue
        .tools()
        .iter()
        .map(|tool| {
            let given = tool.listed.then_some(tool.public_name.as_str());
            (
                tool.server.as_str(),
                tool.name.as_str(),
                given,
                tool.reserved_for.as_ref().map(UpstreamId::as_str),
            )
        })
        .collect();
    let expected = [
        ("back", "files__t", Some("back__files__t"), Some("files")),
        ("back", "main__t", Some("back__main__t"), Some("main")),
        ("main", "files__t", Some("main__files__t"), Some("files")),
        // Whoever takes over for `main` may use its names, for its tools.
        ("main", "main__t", Some("main__t"), None),
    ];
    assert_eq!(rows, expected);
    let whose = |name| catalogue.resolve(None, name).map(|tool| (tool.server.as_str(), tool.name.as_str()));
    assert!(whose("files__t").is_err(), "{:?}", whose("files__t"));
    assert_eq!(whose("main__files__t").unwrap(), ("main", "files__t"));
    assert_eq!(whose("back__files__t").unwrap(), ("back", "files__t"));
    fleet.shutdown(PATIENCE).await;
}
