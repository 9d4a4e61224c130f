//! The built-in server.

use gateway_upstream::{Endpoint, UpstreamSpec};

use super::peer::{open, request};

#[tokio::test]
async fn the_demo_is_called_in_process() {
    let connection =
        open(&UpstreamSpec::new("demo", Endpoint::Demo)).await.expect("the demo is always there");
    assert_eq!((connection.transport(), connection.era().name()), ("builtin", "modern"));
    let params = [("name", b"\"add\"".as_slice()), ("arguments", b"{\"a\":2,\"b\":3}".as_slice())];
    let result = connection.request(request("tools/call", &params)).await.expect("adding works");
    assert!(result.as_str().contains('5'), "{result}");
    assert!(!connection.is_ended());
    connection.close().await;
    assert_eq!(connection.ended().await, "closed by the gateway");
    assert!(connection.request(request("tools/list", &[])).await.is_err());
}
