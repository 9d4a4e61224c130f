//! Resources of the gateway itself.

use gateway_upstream::{Endpoint, FleetOptions, RegisteredResource, ResourceContents, UpstreamSpec};
use serde_json::{Value, json};

use super::wire::{Caller, Era};
use crate::client::Service;

fn text(about: &Value, text: &str) -> RegisteredResource {
    RegisteredResource::new(about, ResourceContents::Text(text.to_owned())).unwrap()
}

#[tokio::test]
async fn resources_and_templates_are_listed_and_read() {
    for era in [Era::Legacy, Era::Modern] {
        let options = FleetOptions::default();
        let registry = options.registry.clone();
        let specs = vec![UpstreamSpec::new("demo", Endpoint::Demo)];
        let service = Service::with_fleet(specs, options, |_| {}).await;
        let today = json!({"uri": "notes://today", "name": "today", "mimeType": "text/plain"});
        let notes = json!({"uriTemplate": "notes://{day}", "name": "notes", "description": "By day"});
        let shout = json!({"uriTemplate": "shout://{word}/now", "name": "shout"});
        registry.register_resource(text(&today, "{day} stays")).unwrap();
        registry.register_resource(text(&notes, "notes of {day}")).unwrap();
        let function = ResourceContents::function(|arguments: serde_json::Map<String, Value>| async move {
            let word = arguments["word"].as_str().unwrap_or_default().to_uppercase();
            Ok(json!({"text": word, "mimeType": "text/x-loud"}))
        });
        registry.register_resource(RegisteredResource::new(&shout, function).unwrap()).unwrap();

        let caller = Caller::open(&service, era, "/mcp", "").await;
        let listed = caller.ask("resources/list", json!({})).await;
        assert_eq!(listed.result()["resources"], json!([today]), "{era:?}");
        let templates = caller.ask("resources/templates/list", json!({})).await;
        assert_eq!(templates.result()["resourceTemplates"], json!([notes, shout]), "{era:?}");
        for (uri, expected) in [
            (
                "notes://today",
                json!({"uri": "notes://today", "mimeType": "text/plain", "text": "{day} stays"}),
            ),
            ("notes://monday", json!({"uri": "notes://monday", "text": "notes of monday"})),
            ("shout://hey/now", json!({"uri": "shout://hey/now", "mimeType": "text/x-loud", "text": "HEY"})),
        ] {
            let read = caller.ask("resources/read", json!({"uri": uri})).await;
            assert_eq!(read.result()["contents"], json!([expected]), "{era:?}");
        }
        let miss = caller.ask("resources/read", json!({"uri": "notes://a/b"})).await;
        let code = if era == Era::Legacy { -32_002 } else { -32_602 };
        assert_eq!(miss.error(), (code, "Resource 'notes://a/b' not found"), "{era:?}");

        assert!(registry.unregister_resource("notes://today"));
        let listed = caller.ask("resources/list", json!({})).await;
        assert_eq!(listed.result()["resources"], json!([]), "{era:?}");
    }
}
