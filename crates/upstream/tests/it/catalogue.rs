//! One list over all upstreams: names, order, rules, lookups, changes.

use std::collections::BTreeMap;

use gateway_protocol::RawJson;
use gateway_upstream::{
    Catalogue, CatalogueRules, ClashOutcome, ClashPolicy, Endpoint, Fingerprint, HttpMode, Importance,
    LookupError, ToolFilter, ToolGroup, UpstreamId, UpstreamSpec, UpstreamTools, canonical_splits,
};
use serde_json::{Value, json};

/// One upstream with its tools.
struct Part {
    spec: UpstreamSpec,
    tools: Vec<RawJson>,
}

fn part(id: &str, tools: &[&str]) -> Part {
    definitions(
        id,
        &tools
            .iter()
            .map(|name| json!({"name": name, "inputSchema": {"type": "object"}}))
            .collect::<Vec<_>>(),
    )
}

fn definitions(id: &str, tools: &[Value]) -> Part {
    Part {
        spec: UpstreamSpec::new(id, Endpoint::Demo),
        tools: tools.iter().map(|tool| RawJson::of(tool).unwrap()).collect(),
    }
}

impl Part {
    fn with(mut self, change: impl FnOnce(&mut UpstreamSpec)) -> Self {
        change(&mut self.spec);
        self
    }
}

fn build(parts: &[Part], rules: &CatalogueRules) -> Catalogue {
    let parts: Vec<UpstreamTools<'_>> =
        parts.iter().map(|part| UpstreamTools { spec: &part.spec, tools: &part.tools }).collect();
    Catalogue::build(7, &parts, rules)
}

fn by_policy(clash: ClashPolicy, parts: &[Part]) -> Catalogue {
    build(parts, &CatalogueRules { clash, ..CatalogueRules::default() })
}

fn public_names(catalogue: &Catalogue) -> Vec<&str> {
    catalogue.listed().map(|tool| tool.public_name.as_str()).collect()
}

fn words(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn order_is_by_server_then_as_listed() {
    let parts = [part("web", &["z", "a"]), part("files", &["read", "list"]), part("db", &[])];
    let catalogue = build(&parts, &CatalogueRules::default());
    assert_eq!(public_names(&catalogue), ["read", "list", "z", "a"]);
    assert_eq!(catalogue.version(), 7);
    assert_eq!(catalogue.servers(), ["db", "files", "web"].map(UpstreamId::new));
    let mut other_way = parts;
    other_way.reverse();
    assert_eq!(build(&other_way, &CatalogueRules::default()).tools(), catalogue.tools());
}

#[test]
fn clashes_follow_the_policy() {
    let parts = || [part("b", &["read", "only_b"]), part("a", &["read", "only_a"]), part("c", &["read"])];
    let cases: [(ClashPolicy, ClashOutcome, &[&str]); 3] = [
        (ClashPolicy::Error, ClashOutcome::NotListed, &["only_a", "only_b"]),
        (ClashPolicy::Prefix, ClashOutcome::Prefixed, &["a__read", "only_a", "b__read", "only_b", "c__read"]),
        (ClashPolicy::First, ClashOutcome::FirstWins, &["only_a", "read", "only_b"]),
    ];
    for (policy, outcome, expected) in cases {
        let catalogue = by_policy(policy, &parts());
        assert_eq!(public_names(&catalogue), expected, "{policy:?}");
        let [clash] = catalogue.clashes() else { panic!("{:?}", catalogue.clashes()) };
        assert_eq!((clash.name.as_str(), clash.outcome), ("read", outcome));
        // In the order of the configuration, not of the list.
        assert_eq!(clash.servers, ["b", "a", "c"].map(UpstreamId::new));
        // Whatever the policy, each tool is reached by naming its server.
        for server in ["a", "b", "c"] {
            assert_eq!(
                catalogue.resolve(Some(server), "read").unwrap().server.as_str(),
                server,
                "{policy:?}"
            );
            assert_eq!(
                catalogue.resolve(None, &format!("mcp__{server}__read")).unwrap().server.as_str(),
                server
            );
        }
    }
    assert_eq!(by_policy(ClashPolicy::First, &parts()).resolve(None, "read").unwrap().server.as_str(), "b");
}

#[test]
fn a_bare_name_that_clashes_never_reaches_the_wrong_server() {
    // As the list has them; those that are in no list by their canonical names.
    let cases = [
        (ClashPolicy::Error, "mcp__My Server (prod)!__read, mcp__a.b__read"),
        (ClashPolicy::Prefix, "My_Server__prod____read, a.b__read"),
    ];
    for (policy, names) in cases {
        let catalogue = by_policy(policy, &[part("a.b", &["read"]), part("My Server (prod)!", &["read"])]);
        let error = catalogue.resolve(None, "read").unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("tool `read` is offered by several servers; name the server or use one of: {names}")
        );
        let LookupError::Ambiguous { candidates, .. } = error else { panic!("{error}") };
        for candidate in candidates {
            let found = catalogue.resolve(None, &candidate.to_string()).unwrap();
            assert_eq!((&found.server, &found.name), (&candidate.server, &candidate.own_name));
        }
    }
}

#[test]
fn the_configured_order_decides_who_is_first() {
    let rules = CatalogueRules {
        clash: ClashPolicy::First,
        order: ["z", "a"].map(UpstreamId::new).to_vec(),
        ..CatalogueRules::default()
    };
    let catalogue = build(&[part("a", &["t"]), part("z", &["t"])], &rules);
    assert_eq!(catalogue.by_public_name("t").unwrap().server.as_str(), "z");
}

#[test]
fn a_configured_prefix_stands_always_and_is_a_valid_name() {
    let prefixed = part("My Server/1", &["read"]).with(|spec| spec.prefix = Some("My Server/1".to_owned()));
    let catalogue = build(&[prefixed, part("b", &["read"])], &CatalogueRules::default());
    assert_eq!(public_names(&catalogue), ["My_Server_1__read", "read"]);
    assert_eq!(catalogue.clashes(), []);
    // The bare name is b's public name.
    assert_eq!(catalogue.resolve(None, "read").unwrap().server.as_str(), "b");
}

#[test]
fn a_prefixed_name_that_meets_another_of_the_same_server_is_nobodys() {
    let parts = [part("a", &["t"]), part("b", &["t", "b__t"])];
    let catalogue = by_policy(ClashPolicy::Prefix, &parts);
    assert_eq!(public_names(&catalogue), ["a__t"]);
    let outcomes: Vec<(&str, ClashOutcome)> =
        catalogue.clashes().iter().map(|clash| (clash.name.as_str(), clash.outcome)).collect();
    assert_eq!(outcomes, [("t", ClashOutcome::Prefixed), ("b__t", ClashOutcome::NotListed)]);
    assert_eq!(catalogue.resolve(Some("b"), "b__t").unwrap().name, "b__t");
}

#[test]
fn names_lead_to_tools() {
    let parts = [part("a", &["b__c", "x"]), part("a__b", &["c", "y"]), part("git", &["log__all"])];
    let catalogue = build(&parts, &CatalogueRules::default());
    let cases = [
        (None, "x", Ok("a/x")),
        (None, "log__all", Ok("git/log__all")),
        (None, "mcp__git__log__all", Ok("git/log__all")),
        (None, "mcp__a__x", Ok("a/x")),
        (None, "mcp__a__b__y", Ok("a__b/y")),
        (Some("git"), "mcp__git__log__all", Ok("git/log__all")),
        (Some("a"), "b__c", Ok("a/b__c")),
        (
            None,
            "mcp__a__b__c",
            Err("tool `mcp__a__b__c` is offered by several servers; name the server or use one of: b__c, c"),
        ),
        (None, "nope", Err("no server has a tool `nope`")),
        (None, "mcp__git__nope", Err("server `git` has no tool `nope`")),
        (Some("git"), "x", Err("server `git` has no tool `x`")),
        (Some("git"), "mcp__a__x", Err("server `git` has no tool `mcp__a__x`")),
        (Some("nope"), "x", Err("no server is called `nope`; there are: a, a__b, git")),
    ];
    for (server, name, expected) in cases {
        let found = catalogue.resolve(server, name).map(|tool| format!("{}/{}", tool.server, tool.name));
        let found = found.map_err(|error| error.to_string());
        assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{server:?} {name}");
    }
}

#[test]
fn a_tool_cannot_take_the_canonical_name_of_another_servers() {
    let disguised = ["mcp__bank__pay", "mcp__bank__later", "mcp__evil__pay", "mcp__nobody__pay"];
    for policy in [ClashPolicy::Prefix, ClashPolicy::First, ClashPolicy::Error] {
        let catalogue = by_policy(policy, &[part("evil", &disguised), part("bank", &["pay"])]);
        let expected =
            ["pay", "evil__mcp__bank__pay", "evil__mcp__bank__later", "mcp__evil__pay", "mcp__nobody__pay"];
        assert_eq!(public_names(&catalogue), expected, "{policy:?}");
        let whose = |name: &str| catalogue.resolve(None, name).map(|tool| tool.server.as_str().to_owned());
        assert_eq!(whose("mcp__bank__pay").unwrap(), "bank");
        let later = whose("mcp__bank__later").unwrap_err();
        assert_eq!(later.to_string(), "server `bank` has no tool `later`", "it may come");
        assert_eq!(whose("mcp__evil__mcp__bank__pay").unwrap(), "evil");
        assert_eq!(whose("evil__mcp__bank__later").unwrap(), "evil");
        assert_eq!(whose("mcp__evil__pay").unwrap(), "evil");
        assert_eq!(whose("mcp__nobody__pay").unwrap(), "evil");
    }
}

#[test]
fn canonical_names_are_split_at_existing_servers_only() {
    let servers = ["a", "a__b", "_"];
    let cases: [(&str, &[(&str, &str)]); 6] = [
        ("mcp__a__b__c", &[("a", "b__c"), ("a__b", "c")]),
        ("mcp__a__b", &[("a", "b")]),
        ("mcp__a__", &[]),
        ("mcp__x__y", &[]),
        ("a__b", &[]),
        ("mcp_____x", &[("_", "x")]),
    ];
    for (name, expected) in cases {
        let found: Vec<(&str, &str)> = canonical_splits(name, |server| servers.contains(&server)).collect();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn bad_entries_are_left_out_with_a_reason() {
    let tools = [
        json!("text"),
        json!({"description": "nameless"}),
        json!({"name": ""}),
        json!({"name": 5}),
        json!({"name": "ok"}),
        json!({"name": "ok", "description": "again"}),
        json!({"name": "secret_read"}),
        json!({"name": "other"}),
    ];
    let part = definitions("s", &tools).with(|spec| {
        spec.tools.allow = words(&["ok", "secret_*"]);
        spec.tools.deny = words(&["secret*"]);
    });
    let catalogue = build(&[part], &CatalogueRules::default());
    assert_eq!(public_names(&catalogue), ["ok"]);
    let reasons: Vec<String> = catalogue
        .left_out()
        .iter()
        .map(|left| format!("{} {} {}", left.index, left.name.as_deref().unwrap_or("-"), left.reason))
        .collect();
    assert_eq!(
        reasons,
        [
            "0 - the entry is not an object",
            "1 - the tool has no name",
            "2 - the tool has no name",
            "3 - the tool has no name",
            "5 ok the server has another tool of this name",
            "6 secret_read the configuration denies it (`tools.deny`)",
            "7 other the configuration does not allow it (`tools.allow`)",
        ]
    );
    assert_eq!(
        catalogue.resolve(None, "other").unwrap_err().to_string(),
        "server `s` does not offer tool `other`: the configuration does not allow it (`tools.allow`)"
    );
}

#[test]
fn invalid_header_annotations_cost_the_tool_only_over_http() {
    let tools = [
        json!({"name": "bad", "inputSchema": {"properties": {"o": {"type": "object", "x-mcp-header": "O"}}}}),
        json!({"name": "good", "inputSchema": {"properties": {"r": {"type": "string", "x-mcp-header": "Region"}}}}),
    ];
    let local = build(&[definitions("s", &tools)], &CatalogueRules::default());
    assert_eq!(public_names(&local), ["bad", "good"]);
    assert_eq!(local.tools()[0].header_parameters, []);
    let remote = definitions("s", &tools).with(|spec| {
        spec.endpoint =
            Endpoint::Http { url: "http://h/mcp".to_owned(), headers: BTreeMap::new(), mode: HttpMode::Auto };
    });
    let remote = build(&[remote], &CatalogueRules::default());
    assert_eq!(public_names(&remote), ["good"]);
    assert_eq!(remote.tools()[0].header_parameters[0].header, "mcp-param-region");
    assert!(remote.left_out()[0].reason.to_string().contains("x-mcp-header"));
}

#[test]
fn hints_have_the_defaults_of_the_specification() {
    let cases = [
        (json!({}), (false, true, false)),
        (json!({"readOnlyHint": true}), (true, false, true)),
        (json!({"readOnlyHint": true, "destructiveHint": true}), (true, false, true)),
        (json!({"idempotentHint": true}), (false, true, true)),
        (json!({"destructiveHint": false}), (false, false, false)),
        (json!({"readOnlyHint": "yes", "idempotentHint": 1}), (false, true, false)),
        (json!("odd"), (false, true, false)),
    ];
    for (annotations, expected) in cases {
        let catalogue = build(
            &[definitions("s", &[json!({"name": "t", "annotations": annotations})])],
            &CatalogueRules::default(),
        );
        let tool = &catalogue.tools()[0];
        assert_eq!((tool.read_only, tool.destructive, tool.idempotent), expected, "{annotations}");
    }
    let configured = part("s", &["run", "stop"]).with(|spec| spec.tools.idempotent = words(&["r*"]));
    let catalogue = build(&[configured], &CatalogueRules::default());
    assert_eq!(catalogue.tools().iter().map(|tool| tool.idempotent).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn labels_come_from_configuration_first_and_definition_second() {
    let tools = [
        json!({"name": "read_file", "title": "Read", "_meta": {"category": "io", "importance": "high", "tags": ["x"]}}),
        json!({"name": "write", "annotations": {"title": "Write", "category": "danger"}, "_meta": {"_fastmcp": {"tags": ["f"]}}}),
    ];
    let part = definitions("s", &tools).with(|spec| {
        spec.tools.categories =
            [("read_*".to_owned(), "files".to_owned()), ("r*".to_owned(), "no".to_owned())].into();
        spec.tools.importance = [("write".to_owned(), Importance::Low)].into();
        spec.tools.tags = [("*".to_owned(), words(&["x", "all"]))].into();
        spec.tools.pin = words(&["w*"]);
    });
    let catalogue = build(&[part], &CatalogueRules::default());
    let labels: Vec<_> = catalogue
        .tools()
        .iter()
        .map(|tool| {
            let tags: Vec<&str> = tool.tags.iter().map(|tag| &**tag).collect();
            (tool.title.as_deref(), tool.category.as_deref(), tool.importance, tool.pinned, tags)
        })
        .collect();
    assert_eq!(
        labels,
        [
            (Some("Read"), Some("files"), Importance::High, false, vec!["all", "x"]),
            (Some("Write"), Some("danger"), Importance::Low, true, vec!["all", "f", "x"]),
        ]
    );
}

#[test]
fn overrides_leave_the_original_alone() {
    let original = r#"{"name":"t","description":"old","big":12345678901234567890123,"annotations":{"readOnlyHint":false,"x":1}}"#;
    let part = Part {
        spec: UpstreamSpec::new("s", Endpoint::Demo),
        tools: vec![RawJson::parse(original.to_owned()).unwrap()],
    }
    .with(|spec| {
        let Value::Object(overrides) =
            json!({"description": "new", "name": "evil", "annotations": {"readOnlyHint": true}})
        else {
            unreachable!()
        };
        spec.tools.overrides = [("t".to_owned(), overrides)].into();
    });
    let catalogue = build(&[part], &CatalogueRules::default());
    let tool = &catalogue.tools()[0];
    assert_eq!(tool.definition.as_str(), original);
    assert_eq!(
        tool.shown().as_str(),
        r#"{"name":"t","description":"new","big":12345678901234567890123,"annotations":{"readOnlyHint":true,"x":1}}"#
    );
    assert!(tool.read_only);
}

#[test]
fn hidden_and_injected_parameters_are_not_shown() {
    let tool = json!({"name": "t", "inputSchema": {
        "type": "object",
        "properties": {"db_index": {"type": "integer"}, "token": {"type": "string"}, "query": {"type": "string"}},
        "required": ["db_index", "query"],
    }});
    let part = definitions("s", &[tool]).with(|spec| {
        spec.tools.hidden = [("*".to_owned(), words(&["db_index"]))].into();
        let value = |value: Value| value.as_object().unwrap().clone();
        spec.tools.injected = [
            ("*".to_owned(), value(json!({"token": "general"}))),
            ("t".to_owned(), value(json!({"token": "sesame"}))),
        ]
        .into();
    });
    let catalogue = build(&[part], &CatalogueRules::default());
    let tool = &catalogue.tools()[0];
    assert_eq!(Value::Object(tool.injected.clone()), json!({"token": "sesame"}));
    let shown: Value = tool.without_hidden().read().unwrap();
    assert_eq!(
        shown["inputSchema"],
        json!({"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]})
    );
    let debug = format!("{catalogue:?}");
    assert!(debug.contains("token") && !debug.contains("sesame"), "{debug}");
}

#[test]
fn filters_hold_together() {
    let files = part("files", &["read_file", "write_file"]).with(|spec| {
        spec.tools.categories = [("*".to_owned(), "io".to_owned())].into();
        spec.tools.importance =
            [("read_*".to_owned(), Importance::High), ("write_*".to_owned(), Importance::Low)].into();
        spec.tools.tags = [("read_*".to_owned(), words(&["safe"]))].into();
    });
    let web = part("web", &["fetch", "read_file"]);
    let rules = CatalogueRules {
        clash: ClashPolicy::First,
        groups: [
            (
                "coding".to_owned(),
                ToolGroup {
                    tools: words(&["mcp__files__write*"]),
                    servers: words(&["we*"]),
                    ..ToolGroup::default()
                },
            ),
            ("safe".to_owned(), ToolGroup { tags: words(&["safe"]), ..ToolGroup::default() }),
        ]
        .into(),
        ..CatalogueRules::default()
    };
    let catalogue = build(&[files, web], &rules);
    let none = ToolFilter::default;
    let cases: [(ToolFilter, &[&str]); 11] = [
        (none(), &["files/read_file", "files/write_file", "web/fetch"]),
        (ToolFilter { servers: words(&["web"]), ..none() }, &["web/fetch", "web/read_file"]),
        (
            ToolFilter { servers: words(&["*"]), ..none() },
            &["files/read_file", "files/write_file", "web/fetch"],
        ),
        (ToolFilter { names: words(&["read_*"]), ..none() }, &["files/read_file"]),
        (ToolFilter { categories: words(&["i?"]), ..none() }, &["files/read_file", "files/write_file"]),
        (ToolFilter { importance: Some(Importance::High), ..none() }, &["files/read_file"]),
        (ToolFilter { importance: Some(Importance::Normal), ..none() }, &["files/read_file", "web/fetch"]),
        (ToolFilter { tags: words(&["safe", "other"]), ..none() }, &["files/read_file"]),
        (ToolFilter { groups: words(&["coding"]), ..none() }, &["files/write_file", "web/fetch"]),
        (ToolFilter { names: words(&["*_file"]), tags: words(&["safe"]), ..none() }, &["files/read_file"]),
        (ToolFilter { servers: words(&["web"]), tags: words(&["safe"]), ..none() }, &[]),
    ];
    for (filter, expected) in cases {
        let found: Vec<String> =
            catalogue.filter(&filter).map(|tool| format!("{}/{}", tool.server, tool.name)).collect();
        assert_eq!(found, expected, "{filter:?}");
    }
    let group: Vec<&str> = catalogue.group("safe").unwrap().iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(group, ["read_file"]);
    assert!(catalogue.group("nope").is_none());
}

fn fingerprint(tool: &str) -> Fingerprint {
    let part = Part {
        spec: UpstreamSpec::new("s", Endpoint::Demo),
        tools: vec![RawJson::parse(tool.to_owned()).unwrap()],
    };
    build(&[part], &CatalogueRules::default()).tools()[0].fingerprint
}

/// Remembered fingerprints must stay comparable over versions of the gateway.
#[test]
fn fingerprints_stay_the_same() {
    let found = fingerprint(
        r#"{"name":"t","description":"d","inputSchema":{"type":"object","n":1.5,"x":[true,null]}}"#,
    );
    insta::assert_snapshot!(found.to_string());
    assert_eq!(found.hex().len(), 64);
}

/// A definition too deep for the parser is kept and still known by its text.
#[test]
fn endless_schemas_are_taken_as_they_are() {
    let deep = |leaf: &str| {
        format!(r#"{{"name":"t","inputSchema":{}{leaf}{}}}"#, r#"{"items":"#.repeat(300), "}".repeat(300))
    };
    assert_eq!(fingerprint(&deep("1")), fingerprint(&deep("1")));
    assert_ne!(fingerprint(&deep("1")), fingerprint(&deep("2")));
}

#[test]
fn definitions_share_the_bytes_of_their_listing() {
    let listing = RawJson::parse(r#"{"tools":[{"name":"a"},{"name":"b"}]}"#.to_owned()).unwrap();
    let page = gateway_protocol::parse_list(gateway_protocol::ListKind::Tools, &listing).unwrap();
    let part = Part { spec: UpstreamSpec::new("s", Endpoint::Demo), tools: page.entries };
    let catalogue = build(&[part], &CatalogueRules::default());
    let whole = listing.as_bytes().as_ptr_range();
    for tool in catalogue.tools() {
        assert!(whole.contains(&tool.definition.as_bytes().as_ptr()), "{}", tool.name);
    }
}
