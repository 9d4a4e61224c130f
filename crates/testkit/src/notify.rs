//! Unsolicited messages and their receivers.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use gateway_protocol::{meta, method, write_notification};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::mpsc;

use crate::message::Message;
use crate::options::Serves;
use crate::stdout::Stdout;
use crate::stream::{NumberedStream, event};

/// Where messages go.
#[derive(Clone, Debug)]
pub(crate) enum Outbox {
    /// To the writer of a response body, as events.
    Events(mpsc::UnboundedSender<Bytes>),
    /// The same, but a client that lost the connection can ask for the rest.
    Numbered(Arc<NumberedStream>),
    /// To stdout, a line each.
    Stdout(Arc<Stdout>),
}

impl Outbox {
    /// Whether there is still a receiver.
    pub(crate) fn send(&self, message: &[u8]) -> bool {
        match self {
            Self::Events(sender) => sender.send(event(message)).is_ok(),
            Self::Numbered(stream) => {
                stream.send(message);
                true
            }
            Self::Stdout(stdout) => {
                stdout.write_line(message);
                true
            }
        }
    }

    /// Ends the connection, not the stream: the client has to reconnect for the rest.
    pub(crate) fn hang_up(&self) {
        if let Self::Numbered(stream) = self {
            stream.hang_up();
        }
    }

    /// Nothing more will be sent.
    pub(crate) fn finish(&self) {
        if let Self::Numbered(stream) = self {
            stream.finish();
        }
    }
}

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// The content of one resource.
    Resource(String),
}

impl Change {
    /// The notification of it, with these entries of `_meta`.
    pub(crate) fn notification(&self, entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut message = Vec::new();
        let mut write = |method: &str, params: &[(&str, &[u8])]| {
            write_notification(&mut message, method, params, entries);
        };
        match self {
            Self::Tools => write(method::TOOLS_CHANGED, &[]),
            Self::Prompts => write(method::PROMPTS_CHANGED, &[]),
            Self::Resources => write(method::RESOURCES_CHANGED, &[]),
            Self::Resource(uri) => {
                write(method::RESOURCE_UPDATED, &[("uri", json!(uri).to_string().as_bytes())]);
            }
        }
        message
    }
}

/// One `subscriptions/listen` of the modern era.
#[derive(Clone, Debug)]
pub(crate) struct Subscription {
    /// The id of the request, as received.
    pub(crate) id: String,
    pub(crate) outbox: Outbox,
    filter: Filter,
}

/// What a subscription asked for, as far as it is honoured.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
struct Filter {
    #[serde(skip_serializing_if = "is_false")]
    tools_list_changed: bool,
    #[serde(skip_serializing_if = "is_false")]
    prompts_list_changed: bool,
    #[serde(skip_serializing_if = "is_false")]
    resources_list_changed: bool,
    #[serde(skip_serializing_if = "HashSet::is_empty")]
    resource_subscriptions: HashSet<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl Subscription {
    /// What a `subscriptions/listen` asks for.
    pub(crate) fn from_message(serves: Serves, message: &Message<'_>, outbox: Outbox) -> Self {
        let filter = message.params.as_ref().and_then(|params| params.notifications);
        let filter: Filter =
            filter.and_then(|filter| serde_json::from_str(filter.get()).ok()).unwrap_or_default();
        let filter = match serves {
            Serves::Everything => filter,
            Serves::Tools => Filter { tools_list_changed: filter.tools_list_changed, ..Filter::default() },
        };
        Self { id: message.id_text().to_owned(), outbox, filter }
    }

    /// Acknowledges the subscription, with the filter that is honoured.
    pub(crate) fn acknowledge(&self) -> bool {
        let mut message = Vec::new();
        let filter = json!(self.filter).to_string();
        let params: [(&str, &[u8]); 1] = [("notifications", filter.as_bytes())];
        write_notification(&mut message, method::ACKNOWLEDGED, &params, &self.mark());
        self.outbox.send(&message)
    }

    /// Notifies about a change, if subscribed; false if the receiver is gone.
    pub(crate) fn notify(&self, change: &Change) -> bool {
        let wanted = match change {
            Change::Tools => self.filter.tools_list_changed,
            Change::Prompts => self.filter.prompts_list_changed,
            Change::Resources => self.filter.resources_list_changed,
            Change::Resource(uri) => self.filter.resource_subscriptions.contains(uri),
        };
        !wanted || self.outbox.send(&change.notification(&self.mark()))
    }

    fn mark(&self) -> [(&'static str, &[u8]); 1] {
        [(meta::SUBSCRIPTION_ID, self.id.as_bytes())]
    }
}
