//! Resources over plain HTTP.

use gateway_testkit::Fixture;
use serde_json::json;

use crate::client::Service;
use crate::turns::fixture;

#[tokio::test]
async fn resources_are_listed_and_read_over_plain_http() {
    let servers = vec![fixture("plain", &Fixture::stdio()), fixture("every", &Fixture::stdio().everything())];
    let service = Service::with_servers(servers, |_| {}).await;
    let listed = service.get("/resources").await.json();
    let row = |name: &str| {
        listed["servers"].as_array().unwrap().iter().find(|row| row["server"] == name).unwrap().clone()
    };
    assert_eq!(row("every")["resources"][0]["uri"], "test://static-text", "{listed}");
    assert_eq!(row("every")["resourceTemplates"][0]["uriTemplate"], "test://template/{id}/data");
    assert_eq!(row("plain")["resources"], json!([]));

    // By its URI, by a template, and by naming the server.
    for (query, text) in [
        ("uri=test://static-text", "This is the content of the static text resource."),
        ("uri=test://template/7/data", "Data for ID: 7"),
        ("uri=test%3A%2F%2Fstatic-text&server=every", "This is the content of the static text resource."),
    ] {
        let answer = service.get(&format!("/resources/read?{query}")).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert!(answer.json()["contents"][0]["text"].as_str().unwrap().contains(text), "{}", answer.body);
    }
    let last = service.get("/logs?tool=resources/read").await.json();
    assert_eq!(
        (&last[0]["server"], &last[0]["input"]),
        (&json!("every"), &json!({"uri": "test://static-text"}))
    );
}

#[tokio::test]
async fn a_resource_that_nobody_has_is_not_found() {
    let one = || fixture("one", &Fixture::stdio().everything());
    let service =
        Service::with_servers(vec![one(), fixture("two", &Fixture::stdio().everything())], |_| {}).await;
    for (query, status, code) in [
        ("uri=test://nothing", 404, "RESOURCE_NOT_FOUND"),
        // The server itself says so.
        ("uri=test://nothing&server=one", 404, "RESOURCE_NOT_FOUND"),
        ("uri=test://static-text", 400, "VALIDATION_ERROR"),
        ("uri=test://static-text&server=three", 400, "SERVER_NOT_FOUND"),
        ("", 400, "VALIDATION_ERROR"),
    ] {
        let answer = service.get(&format!("/resources/read?{query}")).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{query}: {}", answer.body);
    }
    let several = service.get("/resources/read?uri=test://static-text").await.json();
    assert_eq!(several["candidates"], json!(["one", "two"]));
    let entries = service.get("/logs?tool=resources/read&status=error").await.json();
    let codes: Vec<&str> =
        entries.as_array().unwrap().iter().filter_map(|entry| entry["code"].as_str()).collect();
    // An unknown server and a missing parameter are refused before anything is looked for.
    let expected = ["RESOURCE_NOT_FOUND", "RESOURCE_NOT_FOUND", "VALIDATION_ERROR", "VALIDATION_ERROR"];
    assert_eq!(codes, expected, "{entries}");
}
