//! Which tools a model is sent when there are too many.

use gateway_config::ServiceConfig;
use gateway_testkit::models::{ModelServer, Reply, Script, Wire};
use serde_json::{Value, json};

use crate::gateway::{Gateway, spec, strict_model};

/// The names of the tools in a request.
fn sent(server: &ModelServer, request: usize) -> Vec<String> {
    server.requests()[request].tools().iter().map(|tool| tool.name.clone()).collect()
}

fn gateway(server: &ModelServer, most: usize, pinned: &[&str]) -> Gateway {
    let mut entry = spec("m", Wire::Chat, server);
    entry.tools.most = Some(most);
    entry.tools.pinned = pinned.iter().map(|name| (*name).to_owned()).collect();
    let mut config = ServiceConfig::default();
    config.models = vec![entry];
    Gateway::new(config)
}

fn conversation(texts: &[&str]) -> Value {
    let messages: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| {
            json!({"role": if index % 2 == 0 { "user" } else { "assistant" }, "content": text})
        })
        .collect();
    json!({"model": "m", "messages": messages})
}

#[tokio::test]
async fn the_tools_that_fit_the_question_are_sent() {
    for (question, first) in [
        ("What is the weather in Paris?", "get_weather"),
        ("Please multiply 3 by 4", "multiply"),
        ("Remember the text `x` under the key `k`: store it", "store_value"),
    ] {
        let server = strict_model(Wire::Chat, Script::new().reply(Reply::new().text("Ok."))).await;
        let gateway = gateway(&server, 1, &[]);
        gateway.whole(&conversation(&[question]), None).await.unwrap();
        assert_eq!(sent(&server, 0), [first], "{question}");
    }
}

#[tokio::test]
async fn pinned_tools_are_always_sent() {
    let server = strict_model(Wire::Chat, Script::new().reply(Reply::new().text("Ok."))).await;
    let gateway = gateway(&server, 2, &["demo/add"]);
    gateway.whole(&conversation(&["What is the weather in Paris?"]), None).await.unwrap();
    assert_eq!(sent(&server, 0), ["add", "get_weather"]);
}

#[tokio::test]
async fn all_rounds_have_the_same_tools_and_later_questions_append() {
    let script = Script::new()
        .reply(Reply::new().call("c1", "get_weather", json!({"location": "Paris"})))
        .reply(Reply::new().text("Sunny."))
        .reply(Reply::new().text("12."));
    let server = strict_model(Wire::Chat, script).await;
    let gateway = gateway(&server, 3, &[]);
    gateway.whole(&conversation(&["What is the weather in Paris?"]), None).await.unwrap();
    assert_eq!(server.requests()[0].body["tools"], server.requests()[1].body["tools"]);
    let longer = conversation(&["What is the weather in Paris?", "Sunny.", "Now multiply 3 by 4"]);
    gateway.whole(&longer, None).await.unwrap();
    let names = sent(&server, 2);
    assert_eq!(names[0], "get_weather", "what was sent before stays in front: {names:?}");
    assert!(names.contains(&"multiply".to_owned()), "{names:?}");
}

#[tokio::test]
async fn tokens_and_bytes_bound_the_list_too() {
    let server = strict_model(
        Wire::Chat,
        Script::new().reply(Reply::new().text("Ok.")).reply(Reply::new().text("Ok.")),
    )
    .await;
    for bytes in [false, true] {
        let mut entry = spec("m", Wire::Chat, &server);
        if bytes {
            entry.tools.bytes = Some(600);
        } else {
            entry.tools.tokens = Some(150);
        }
        let mut config = ServiceConfig::default();
        config.models = vec![entry];
        Gateway::new(config).whole(&conversation(&["What is the weather in Paris?"]), None).await.unwrap();
        let request = usize::from(bytes);
        let names = sent(&server, request);
        assert!(names.first().is_some_and(|name| name == "get_weather") && names.len() < 5, "{names:?}");
        let size = server.requests()[request].body["tools"].to_string().len();
        assert!(size <= 700, "{size}");
    }
}
