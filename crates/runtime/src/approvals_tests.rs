//! Which calls wait, how many, and for whom.

use std::time::Duration;

use super::*;
use gateway_upstream::{Catalogue, CatalogueRules, Endpoint, UpstreamSpec, UpstreamTools};

#[track_caller]
fn check(
    own: &[(&str, Approval)],
    always: &[&str],
    all: &[(&str, Approval)],
    default: Approval,
    expected: Approval,
) {
    let mut spec = UpstreamSpec::new("files", Endpoint::Demo);
    spec.tools.approval = own.iter().map(|(pattern, approval)| ((*pattern).to_owned(), *approval)).collect();
    spec.tools.always_allow = always.iter().map(|name| (*name).to_owned()).collect();
    let tools = [RawJson::parse(r#"{"name":"write","inputSchema":{}}"#.to_owned()).unwrap()];
    let part = UpstreamTools { spec: &spec, tools: &tools };
    let catalogue = Catalogue::build(1, &[part], &CatalogueRules::default());
    let mut config = ApprovalConfig { default, ..ApprovalConfig::default() };
    config.tools = all.iter().map(|(pattern, approval)| ((*pattern).to_owned(), *approval)).collect();
    let found = policy(&config, catalogue.get("files", "write").unwrap());
    assert_eq!(found, expected, "{own:?} {always:?} {all:?} {default:?}");
}

#[test]
fn a_denial_stands_above_all_and_a_server_above_the_rest() {
    use Approval::{Allow, Ask, Deny};
    check(&[], &[], &[], Allow, Allow);
    check(&[], &[], &[], Ask, Ask);
    check(&[], &["write"], &[], Ask, Allow);
    check(&[], &["wr*"], &[("*", Ask)], Deny, Allow);
    check(&[], &["write"], &[("files/*", Deny)], Allow, Deny);
    check(&[("write", Deny)], &["write"], &[("*", Allow)], Allow, Deny);
    check(&[("w*", Ask)], &[], &[("*", Allow)], Allow, Ask);
    check(&[("*", Ask), ("write", Allow)], &[], &[("*", Ask)], Deny, Allow);
    check(&[], &[], &[("files/read", Ask), ("files/w*", Ask), ("*", Allow)], Allow, Ask);
    check(&[], &[], &[("other/*", Deny)], Allow, Allow);
    check(&[], &[], &[("files/w?ite", Deny)], Allow, Deny);
    check(&[], &[], &[("files/write?", Deny)], Allow, Allow);
}

#[tokio::test(start_paused = true)]
async fn what_waits_is_bounded_and_grows_old() {
    let approvals = Approvals::default();
    let mut config = ApprovalConfig { pending: 2, ..ApprovalConfig::default() };
    config.expiry = Duration::from_mins(1);
    let context = RequestContext::new(None);
    let catalogue = catalogue();
    let tool = catalogue.get("files", "write").unwrap();
    let enter = |text: &str| {
        let arguments = RawJson::parse(text.to_owned()).unwrap();
        approvals.enter(tool, &arguments, &context, &config).map(|(id, _)| id)
    };
    let (first, second) = (enter("1").unwrap(), enter("2").unwrap());
    assert!(first != second && first.len() == 32);
    assert_eq!(enter("1"), Ok(first.clone()), "the same call has the same place");
    assert_eq!(enter("3"), Err(Full::All), "there is no room");
    assert_eq!(approvals.list(&config).len(), 2);
    assert!(!approvals.take(&first), "nobody approved it");
    assert!(approvals.decide(&first, Verdict::Approved, &config));
    assert!(approvals.take(&first) && !approvals.take(&first), "it is used once");
    assert!(approvals.decide(&second, Verdict::Denied, &config));
    assert!(!approvals.decide(&second, Verdict::Approved, &config), "it is gone");
    let third = enter("3").unwrap();
    tokio::time::advance(Duration::from_secs(61)).await;
    assert!(!approvals.decide(&third, Verdict::Approved, &config), "it is too old");
}
fn catalogue() -> Catalogue {
    let spec = UpstreamSpec::new("files", Endpoint::Demo);
    let tools = [RawJson::parse(r#"{"name":"write","inputSchema":{}}"#.to_owned()).unwrap()];
    let part = UpstreamTools { spec: &spec, tools: &tools };
    Catalogue::build(1, &[part], &CatalogueRules::default())
}

#[tokio::test(start_paused = true)]
async fn a_caller_leaves_room_for_others() {
    let (approvals, catalogue) = (Approvals::default(), catalogue());
    let tool = catalogue.get("files", "write").unwrap();
    let config = ApprovalConfig { pending: 7, ..ApprovalConfig::default() };
    let enter = |caller: Option<&str>, text: &str| {
        let context = RequestContext::new(caller.map(Owner::caller));
        let arguments = RawJson::parse(text.to_owned()).unwrap();
        approvals.enter(tool, &arguments, &context, &config).map(|(id, _)| id)
    };
    let first = enter(Some("ann"), "1").unwrap();
    assert!(enter(Some("ann"), "2").is_ok());
    assert_eq!(enter(Some("ann"), "3"), Err(Full::Share(2)));
    assert_eq!(enter(Some("ann"), "1"), Ok(first.clone()), "what waits is found");
    assert!(enter(Some("bob"), "1").is_ok(), "others have their own share");
    assert!(approvals.decide(&first, Verdict::Denied, &config));
    assert!(enter(Some("ann"), "3").is_ok(), "and what is decided gives room");
    for text in ["1", "2", "3", "4"] {
        assert!(enter(None, text).is_ok(), "who has no name has no share");
    }
    assert_eq!(enter(None, "5"), Err(Full::All));
    assert_eq!(enter(Some("bob"), "2"), Err(Full::All));
    let config = ApprovalConfig { pending_per_caller: Some(100), ..config };
    assert_eq!(config.share(), 7, "a share is not more than all");
}

#[test]
fn equal_calls_are_one_however_they_are_spelled() {
    let catalogue = catalogue();
    let tool = catalogue.get("files", "write").unwrap();
    let context = RequestContext::new(None);
    let digest = |text: &str| call_digest(tool, &RawJson::parse(text.to_owned()).unwrap(), &context);
    let first = digest(r#"{"a":1,"b":["\u0078",{"c":2,"d":3}]}"#);
    assert_eq!(digest(r#" { "b" : ["x", {"d":3, "c":2}], "a":1 } "#), first);
    for other in [
        r#"{"a":1.0,"b":["x",{"c":2,"d":3}]}"#,
        r#"{"a":1,"b":[{"c":2,"d":3},"x"]}"#,
        r#"{"a":1,"a":2,"b":["x",{"c":2,"d":3}]}"#,
    ] {
        assert_ne!(digest(other), first, "{other}");
    }
    assert_ne!(digest("12345678901234567890123"), digest("12345678901234567890124"));
}

#[test]
fn people_see_what_runs() {
    let seen = |text: &str| shown(&RawJson::parse(text.to_owned()).unwrap());
    let text = r#"{"n": 12345678901234567890123, "t": "\u0072m"}"#;
    assert_eq!(seen(text), (r#"{"n":12345678901234567890123,"t":"rm"}"#.to_owned(), true));
    // Requests with a repeated member are refused before; if one came this far, the last would run.
    assert_eq!(seen(r#"{"n": 1, "n": 2}"#), (r#"{"n":2}"#.to_owned(), true));
}
