//! Conversations that the gateway keeps, over scripted models.

mod broken_off;
mod long;
mod slow_store;
mod turns;

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use gateway_agent::Store;
use gateway_agent::conversations::{
    Chat, ChatItem, ChatStream, Conversations, ConversationsError, MessageRange,
};
use gateway_config::ServiceConfig;
use gateway_runtime::context::RequestContext;
use gateway_runtime::owner::Owner;
use gateway_testkit::models::{ModelServer, Reply, Script, Wire};
use serde_json::{Value, json};

use crate::gateway::{Gateway, spec, strict_model};

/// One conversation of a gateway with the demo tools, in front of the models `m`, `m1`, `m2` and so on.
pub(crate) struct Kept {
    pub(crate) gateway: Gateway,
    pub(crate) conversations: Conversations,
    pub(crate) id: String,
    /// Models that live as long as the gateway.
    pub(crate) servers: Vec<ModelServer>,
}

impl Kept {
    pub(crate) async fn over(wire: Wire, server: &ModelServer) -> Self {
        Self::with(&[(wire, server)], |_| {}).await
    }

    pub(crate) async fn with(
        models: &[(Wire, &ModelServer)],
        change: impl FnOnce(&mut ServiceConfig),
    ) -> Self {
        let mut config = ServiceConfig::default();
        let name = |index: usize| if index == 0 { "m".to_owned() } else { format!("m{index}") };
        config.models = models
            .iter()
            .enumerate()
            .map(|(index, (wire, server))| spec(&name(index), *wire, server))
            .collect();
        config.agent.system_prompt = Some("Be brief.".to_owned());
        change(&mut config);
        let gateway = Gateway::new(config);
        let conversations = conversations_of(&gateway);
        Self::begun(gateway, conversations).await
    }

    /// A conversation of a gateway.
    pub(crate) async fn begun(gateway: Gateway, conversations: Conversations) -> Self {
        let created = conversations.create(&RequestContext::new(None), &Bytes::new()).await.unwrap();
        let created: Value = serde_json::from_slice(&created.body).unwrap();
        let id = created["id"].as_str().unwrap().to_owned();
        Self { gateway, conversations, id, servers: Vec::new() }
    }

    /// Sends a message with further members of the request.
    pub(crate) async fn send(&self, text: &str, members: Value) -> Result<Chat, ConversationsError> {
        let mut request = json!({"message": {"role": "user", "content": text}});
        request.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let body = Bytes::from(request.to_string());
        self.conversations.chat(RequestContext::new(None), &self.id, &body, None, None).await
    }

    /// The answer to a message.
    pub(crate) async fn ask(&self, text: &str, stream: bool) -> Result<String, ConversationsError> {
        match self.send(text, json!({"stream": stream})).await? {
            Chat::Whole(body) => {
                let whole: Value = serde_json::from_slice(&body).unwrap();
                assert_eq!(whole["conversation_id"], self.id);
                assert_eq!(whole.as_object().unwrap().len(), 2, "{whole}");
                Ok(whole["content"].as_str().unwrap().to_owned())
            }
            Chat::Stream(items) => {
                let text = collected(items).await?;
                let events: Vec<Value> = text
                    .split("\n\n")
                    .filter_map(|event| serde_json::from_str(event.strip_prefix("data: ")?).ok())
                    .collect();
                Ok(events
                    .iter()
                    .filter_map(|event| event["choices"][0]["delta"]["content"].as_str())
                    .collect())
            }
        }
    }

    /// The conversation as callers read it.
    pub(crate) async fn read(&self) -> Value {
        let context = RequestContext::new(None);
        let shown = self.conversations.get(&context, &self.id, MessageRange::default()).await.unwrap();
        serde_json::from_slice(&shown.body).unwrap()
    }

    /// Its messages, without the ids of requests.
    pub(crate) async fn messages(&self) -> Vec<Value> {
        let mut messages: Vec<Value> = serde_json::from_value(self.read().await["messages"].take()).unwrap();
        for message in &mut messages {
            message.as_object_mut().unwrap().remove("correlation_id");
        }
        messages
    }
}

/// The conversations of a gateway.
pub(crate) fn conversations_of(gateway: &Gateway) -> Conversations {
    conversations_in(gateway, gateway.completions.store().clone())
}

/// The same in another store.
pub(crate) fn conversations_in(gateway: &Gateway, store: Store) -> Conversations {
    let completions = &gateway.completions;
    let models = Arc::clone(completions.models());
    Conversations::new(gateway.runtime.clone(), store, models, Arc::clone(completions.results()))
}

/// All bytes of a stream, or why it failed.
pub(crate) async fn collected(mut items: ChatStream) -> Result<String, ConversationsError> {
    let mut text = Vec::new();
    while let Some(item) = items.next().await {
        match item {
            ChatItem::Bytes(bytes) => text.extend_from_slice(&bytes),
            ChatItem::Failed { error, .. } => {
                assert!(items.next().await.is_none(), "something follows the failure");
                return Err(error);
            }
        }
    }
    Ok(String::from_utf8(text).unwrap())
}

/// A caller with a key.
pub(crate) fn caller(name: &str) -> RequestContext {
    RequestContext::new(Some(Owner::caller(name)))
}

/// A model that adds two numbers with the demo's tool, and says the sum.
pub(crate) fn adding() -> Script {
    Script::new()
        .reply(Reply::new().text("Let me add.").call("call_1", "add", json!({"a": 15, "b": 27})))
        .reply(Reply::new().text("The sum is 42."))
        .last(gateway_testkit::models::Step::reply(Reply::new().text("And on.")))
}

pub(crate) async fn adding_model(wire: Wire) -> ModelServer {
    strict_model(wire, adding()).await
}
