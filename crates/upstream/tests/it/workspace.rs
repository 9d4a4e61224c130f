//! The built-in server `workspace` among all upstreams.

use std::time::Duration;

use gateway_upstream::{CallOptions, Endpoint, Fleet, FleetOptions, UpstreamSpec, WorkspaceSpec};
use serde_json::{Value, json};

#[tokio::test]
async fn a_fleet_lists_and_calls_it_like_all_others() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("note.txt"), "hello\n").unwrap();
    let spec = UpstreamSpec::new("files", Endpoint::Workspace(WorkspaceSpec::new(folder.path())));
    let fleet = Fleet::start(vec![spec], FleetOptions::default());
    fleet.listed(&fleet.ids(), Duration::from_secs(30)).await;
    let catalogue = fleet.catalogue();
    let tool = catalogue.get("files", "read_file").unwrap();
    let arguments = gateway_protocol::RawJson::of(&json!({"path": "note.txt"})).unwrap();
    let result = fleet.call(tool, Some(&arguments), &CallOptions::default()).await.unwrap();
    assert_eq!(
        result.read::<Value>().unwrap(),
        json!({"content": [{"type": "text", "text": "hello\n"}], "resultType": "complete"})
    );
    assert_eq!(catalogue.tools().len(), 8);
}
