//! Sessions are recorded and played again.

#![expect(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "helpers of tests, called with `json!`"
)]

mod playing;
mod recording;
mod secrets;
mod sessions;

use std::sync::Arc;

use gateway_cassette::{Cassette, Channel, Player, Recorder, Tape, Target};
use gateway_protocol::{Incoming, RequestId, parse_message};
use serde_json::{Value, json};

/// One message on its way.
#[derive(Clone, Debug)]
enum Step {
    Client(Value),
    Server(Value),
    /// On the stream of the answer to this request.
    On(u64, Value),
    Session(Value),
}
use Step::{Client, On, Server, Session};

fn message(value: &Value) -> Incoming {
    parse_message(value.to_string().into()).unwrap()
}

fn recorder(steps: &[Step]) -> Recorder {
    let mut recorder = Recorder::new(Box::new(|_| None));
    record_into(&mut recorder, steps);
    recorder
}

fn record_into(recorder: &mut Recorder, steps: &[Step]) {
    for step in steps {
        match step {
            Client(value) => recorder.client(0, &message(value)),
            Server(value) => recorder.server(0, &Channel::Shared, &message(value)),
            On(id, value) => recorder.server(0, &Channel::AnswerTo(RequestId::Number(*id)), &message(value)),
            Session(value) => recorder.server(0, &Channel::Session, &message(value)),
        }
    }
}

/// What these messages become, also once they were written and read.
fn recorded(steps: &[Step]) -> Cassette {
    let cassette = recorder(steps).cassette("test", "stdio");
    assert_eq!(Cassette::parse(&cassette.to_text().unwrap()).unwrap(), cassette);
    cassette
}

/// The entries as JSON.
fn entries(steps: &[Step]) -> Value {
    serde_json::to_value(recorded(steps)).unwrap()["entries"].clone()
}

/// A session that is played.
struct Played {
    player: Player,
    exchanges: u64,
}

impl Played {
    fn of(steps: &[Step]) -> Self {
        Self::from(recorded(steps))
    }

    fn from(cassette: Cassette) -> Self {
        Self { player: Player::new(Arc::new(Tape::from(cassette))), exchanges: 0 }
    }

    /// Sends a message as the client: what comes back, in order. What is not on the stream of this request is marked.
    fn send(&mut self, value: &Value) -> Vec<Value> {
        let outputs = match message(value) {
            Incoming::Request(request) => {
                self.exchanges += 1;
                self.player.request(self.exchanges, &request)
            }
            Incoming::Notification(notification) => self.player.notification(&notification),
            Incoming::Response(response) => self.player.response(&response),
        };
        let shown = outputs.into_iter().map(|output| {
            let text: Value = serde_json::from_slice(&output.text).unwrap();
            assert!(!output.text.contains(&b'\n'));
            match output.to {
                Target::Exchange(exchange) if exchange == self.exchanges => text,
                Target::Exchange(exchange) => json!({"exchange": exchange, "message": text}),
                Target::Session => json!({"session": text}),
            }
        });
        shown.collect()
    }
}

fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    let mut message = json!({"jsonrpc": "2.0", "id": id.into(), "method": method});
    if !params.is_null() {
        message["params"] = params;
    }
    message
}

fn call(id: impl Into<Value>, name: &str, arguments: Value) -> Value {
    request(id, "tools/call", json!({"name": name, "arguments": arguments}))
}

fn notification(method: &str, params: Value) -> Value {
    let mut message = json!({"jsonrpc": "2.0", "method": method});
    if !params.is_null() {
        message["params"] = params;
    }
    message
}

fn result(id: impl Into<Value>, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "result": result})
}

fn error(id: impl Into<Value>, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "error": {"code": code, "message": message}})
}
