//! Servers that send more than a listing may hold, or ask without end.

use gateway_protocol::ListKind;
use gateway_testkit::eventually;
use gateway_upstream::{Fleet, UpstreamHealth, UpstreamSpec};

use crate::fleet::{PATIENCE, start};
use crate::scripted::scripted;

/// Lists the tools of one server; gives its health once that failed or succeeded.
async fn listed(spec: UpstreamSpec) -> (Fleet, UpstreamHealth) {
    let fleet = start(vec![spec]);
    fleet.listed(&[], PATIENCE).await;
    let health = fleet.health_of("up").unwrap();
    (fleet, health)
}

/// Pages without end, each with one tool of ten kilobytes.
const ENDLESS: &str = r#"answer "{\"tools\":[{\"name\":\"t$id\",\"description\":\"$(printf %010000d 0)\"}],\"prompts\":[{\"name\":\"p$id\",\"description\":\"$(printf %010000d 0)\"}],\"nextCursor\":\"c$id\"}""#;

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_without_end_is_refused_by_its_bytes() {
    let mut spec = scripted("up", ENDLESS);
    spec.limits.listing_bytes = 50_000;
    let (fleet, health) = listed(spec).await;
    let expected = "MCP_LISTING_TOO_LARGE: more than 50000 bytes of tools in one listing, by page 3; \
                    `limits.listingBytes` of the server sets the bound";
    assert_eq!((health.reason.as_deref(), health.tools), (Some(expected), None));
    let error = fleet.entries("up", ListKind::Prompts, PATIENCE).await.unwrap_err();
    assert!(error.to_string().contains("more than 50000 bytes of prompts in one listing"), "{error}");
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_cursor_is_refused() {
    let list = r#"answer "{\"tools\":[],\"nextCursor\":\"$(printf %070000d "$id")\"}""#;
    let (fleet, health) = listed(scripted("up", list)).await;
    let expected =
        "MCP_PAGINATION_CURSOR_TOO_LARGE: the cursor of page 1 has 70000 bytes, at most 65536 are taken";
    assert_eq!((health.reason.as_deref(), health.tools), (Some(expected), None));
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_earlier_list_stays_where_a_new_one_is_too_large() {
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("large");
    let list = format!(
        r#"if [ -e '{}' ]; then {ENDLESS}; else answer '{{"tools":[{{"name":"small"}}]}}'; fi"#,
        marker.display()
    );
    let mut spec = scripted("up", &list);
    spec.limits.listing_bytes = 50_000;
    let (fleet, health) = listed(spec).await;
    assert_eq!((health.reason, health.tools), (None, Some(1)));
    std::fs::write(&marker, "").unwrap();
    fleet.refresh("up").unwrap();
    eventually(PATIENCE, "the error", || fleet.health_of("up").unwrap().reason.is_some()).await.unwrap();
    let catalogue = fleet.catalogue();
    let names: Vec<&str> = catalogue.listed().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["small"]);
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_nobody_answers_are_counted() {
    let list = r#"i=0; while [ $i -lt 1000 ]; do i=$((i+1));
        echo "{\"jsonrpc\":\"2.0\",\"id\":\"s$i\",\"method\":\"sampling/createMessage\",\"params\":{}}"; done;
        answer '{"tools":[{"name":"t"}]}'"#;
    let (fleet, health) = listed(scripted("up", list)).await;
    assert_eq!(health.tools, Some(1), "{health:?}");
    let refused = || fleet.health_of("up").unwrap().refused_requests;
    eventually(PATIENCE, "all refusals", || refused() == 1_000).await.unwrap();
    fleet.shutdown(PATIENCE).await;
}
