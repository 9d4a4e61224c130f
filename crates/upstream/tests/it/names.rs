//! Names that are reserved for a server, whether it is there or not.

use gateway_protocol::RawJson;
use gateway_upstream::{
    Catalogue, CatalogueRules, ClashPolicy, Endpoint, ToolFilter, ToolGroup, UpstreamId, UpstreamSpec,
    UpstreamTools,
};
use serde_json::json;

type Part = (UpstreamSpec, Vec<RawJson>);

fn part(id: &str, prefix: Option<&str>, tools: &[&str]) -> Part {
    let mut spec = UpstreamSpec::new(id, Endpoint::Demo);
    spec.prefix = prefix.map(str::to_owned);
    let tools = tools.iter().map(|name| RawJson::of(&json!({"name": name})).unwrap()).collect();
    (spec, tools)
}

fn build(parts: &[Part], rules: &CatalogueRules) -> Catalogue {
    let parts: Vec<UpstreamTools<'_>> =
        parts.iter().map(|(spec, tools)| UpstreamTools { spec, tools }).collect();
    Catalogue::build(1, &parts, rules)
}

/// The public names, and the rows `server/tool -> given`, for every policy.
#[track_caller]
fn check(parts: &[Part], public: &[&str], renamed: &[(&str, &str, Option<&str>)]) -> Catalogue {
    let built = [ClashPolicy::Error, ClashPolicy::First, ClashPolicy::Prefix].map(|clash| {
        let catalogue = build(parts, &CatalogueRules { clash, ..CatalogueRules::default() });
        let rows: Vec<_> = catalogue
            .renamed()
            .map(|tool| (tool.server.as_str(), &*tool.name, tool.listed.then_some(&*tool.public_name)))
            .collect();
        assert_eq!(rows, renamed, "{clash:?}");
        catalogue
    });
    let [_, _, catalogue] = built;
    let names: Vec<&str> = catalogue.listed().map(|tool| &*tool.public_name).collect();
    assert_eq!(names, public);
    catalogue
}

fn whose(catalogue: &Catalogue, name: &str) -> Result<String, String> {
    let found = catalogue.resolve(None, name);
    found.map(|tool| format!("{}/{}", tool.server, tool.name)).map_err(|error| error.to_string())
}

#[test]
fn a_tool_does_not_take_the_prefixed_name_of_another_server() {
    let parts = [part("files", None, &["t"]), part("evil", None, &["t", "files__t"])];
    let catalogue = check(
        &parts,
        &["evil__t", "evil__files__t", "files__t"],
        &[("evil", "files__t", Some("evil__files__t"))],
    );
    assert_eq!(whose(&catalogue, "files__t"), Ok("files/t".to_owned()));
    assert_eq!(whose(&catalogue, "evil__files__t"), Ok("evil/files__t".to_owned()));
}

#[test]
fn names_of_a_server_without_tools_are_reserved() {
    for prefix in [None, Some("files")] {
        let mut files = part("files", prefix, &[]);
        files.0.disabled = prefix.is_none();
        let catalogue = check(
            &[files, part("evil", None, &["files__read", "ok"])],
            &["evil__files__read", "ok"],
            &[("evil", "files__read", Some("evil__files__read"))],
        );
        let reserved = "server `files` does not offer tool `files__read`: names that begin so are reserved for its own tools";
        assert_eq!(whose(&catalogue, "files__read"), Err(reserved.to_owned()));
        let named = catalogue.resolve(Some("evil"), "files__read").unwrap();
        assert_eq!(named.reserved_for, Some(UpstreamId::new("files")));
    }
}

#[test]
fn configured_prefixes_are_reserved_beside_the_id() {
    check(
        &[part("store-7", Some("shop"), &[]), part("evil", None, &["shop__buy", "store-7__buy"])],
        &["evil__shop__buy", "evil__store-7__buy"],
        &[
            ("evil", "shop__buy", Some("evil__shop__buy")),
            ("evil", "store-7__buy", Some("evil__store-7__buy")),
        ],
    );
}

/// Each of these is `files__t` or looks like it in some provider's list.
#[test]
fn names_that_only_look_reserved_are_reserved_too() {
    for name in ["files__t", "Files__t", "files::t", "files.-t", "_files__t", "files___t", "mcp__files__t"] {
        let given = format!("evil__{name}");
        let catalogue = check(
            &[part("files", None, &[]), part("evil", None, &[name])],
            &[&given],
            &[("evil", name, Some(&given))],
        );
        assert!(whose(&catalogue, name).is_err(), "{name}");
    }
    for name in ["files", "files_t", "my_files__t", "filesystem__t", "evil__t", "nobody__t"] {
        check(&[part("files", None, &[]), part("evil", None, &[name])], &[name], &[]);
    }
}

#[test]
fn the_longest_reserved_prefix_decides() {
    // With its prefix, the tool of `a` would be `a__b__t`.
    let parts = [part("a", Some("a"), &["b__t", "x"]), part("a__b", None, &["a__b__t"])];
    let catalogue = check(&parts, &["a__x", "a__b__t"], &[("a", "b__t", None)]);
    assert_eq!(whose(&catalogue, "a__b__t"), Ok("a__b/a__b__t".to_owned()));
    assert_eq!(catalogue.resolve(Some("a"), "b__t").unwrap().server.as_str(), "a");
}

#[test]
fn a_group_or_filter_with_a_reserved_name_means_its_server() {
    let group = ToolGroup { tools: vec!["files__*".to_owned()], ..ToolGroup::default() };
    let rules = CatalogueRules { groups: [("g".to_owned(), group)].into(), ..CatalogueRules::default() };
    let parts = [part("files", Some("files"), &["t"]), part("evil", None, &["files__t", "files__u"])];
    let catalogue = build(&parts, &rules);
    let names = |tools: Vec<&gateway_upstream::CatalogueTool>| {
        tools.into_iter().map(|tool| tool.public_name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(catalogue.group("g").unwrap()), ["files__t"]);
    let mut filter = ToolFilter { names: vec!["files__*".to_owned()], ..ToolFilter::default() };
    assert_eq!(names(catalogue.filter(&filter).collect()), ["files__t"]);
    filter.servers = vec!["evil".to_owned()];
    assert_eq!(names(catalogue.filter(&filter).collect()), ["evil__files__t", "evil__files__u"]);
}

#[test]
fn a_prefix_leads_to_its_server_without_a_clash_too() {
    let parts = [part("files", None, &["read", "a__b"]), part("crm", Some("c"), &["find"])];
    let catalogue = build(&parts, &CatalogueRules::default());
    for (name, found) in [
        ("read", Ok("files/read")),
        ("files__read", Ok("files/read")),
        ("files__a__b", Ok("files/a__b")),
        ("crm__find", Ok("crm/find")),
        ("c__find", Ok("crm/find")),
        ("files__find", Err("no server has a tool `files__find`")),
    ] {
        assert_eq!(whose(&catalogue, name), found.map(str::to_owned).map_err(str::to_owned), "{name}");
    }
}

#[test]
fn groups_name_tools_as_approval_and_cache_do() {
    // Neither the other pattern nor a tool's own name widens the one with a server in it.
    let parts = [
        part("files", None, &["read", "write"]),
        part("crm", None, &["find"]),
        part("evil", None, &["files/read", "cat"]),
    ];
    let tools = vec!["files/re*".to_owned(), "c*".to_owned()];
    let group = ToolGroup { tools, ..ToolGroup::default() };
    let mut rules = CatalogueRules::default();
    rules.groups.insert("some".to_owned(), group);
    let catalogue = build(&parts, &rules);
    let filter = ToolFilter { groups: vec!["some".to_owned()], ..ToolFilter::default() };
    let found: Vec<String> =
        catalogue.filter(&filter).map(|tool| format!("{}/{}", tool.server, tool.name)).collect();
    assert_eq!(found, ["evil/cat", "files/read"]);
}

#[test]
fn nobody_takes_the_names_of_the_default_server() {
    let parts = [part("evil", None, &["mcp__default__read", "default__read"])];
    let catalogue = build(&parts, &CatalogueRules::default());
    let names: Vec<&str> = catalogue.listed().map(|tool| &*tool.public_name).collect();
    assert_eq!(names, ["evil__mcp__default__read", "default__read"]);
}
