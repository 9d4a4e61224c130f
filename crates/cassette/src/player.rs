//! From a cassette to the answers of a server.

use std::collections::HashMap;
use std::sync::Arc;

use gateway_protocol::{
    MODERN, Notification, RawJson, RawObject, Request, Response, RpcError, code, is_known_legacy, meta,
    method, write_error, write_response,
};
use serde_json::{Value, json};

use crate::cassette::{Cassette, Entry, Reply, Sent, ServerMessage};
use crate::matching::{Subject, described, differences, fits, listed, nearest};
use crate::protocol_ids::{REQUEST_ID, is_modern, meta_entry, put, put_meta, request_id, take};
use crate::recorder::SESSION;

/// How many methods are named in an error.
const METHODS: usize = 12;

/// A cassette that is ready to be played.
#[derive(Debug)]
pub struct Tape {
    entries: Vec<Entry>,
    subjects: Vec<Subject>,
    by_key: HashMap<String, Vec<usize>>,
    is_modern: bool,
}

impl From<Cassette> for Tape {
    fn from(cassette: Cassette) -> Self {
        let entries = cassette.entries;
        let subject = |entry: &Entry| match entry.sent() {
            Some(sent) => Subject::of(&sent.method, sent.params.as_ref()),
            None => Subject::of("", None),
        };
        let subjects: Vec<Subject> = entries.iter().map(subject).collect();
        let mut by_key: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, subject) in subjects.iter().enumerate() {
            by_key.entry(subject.key()).or_default().push(index);
        }
        let opens = |wanted: &str| {
            let good = |entry: &&Entry| entry.result.is_some();
            entries.iter().filter(good).filter_map(Entry::sent).any(|sent| sent.method == wanted)
        };
        let is_modern = !opens(method::INITIALIZE);
        Self { entries, subjects, by_key, is_modern }
    }
}

impl Tape {
    /// Whether the recorded server is of the modern era: no client opened a session.
    pub fn is_modern(&self) -> bool {
        self.is_modern
    }

    /// How many messages the server sends if every entry is played once.
    pub fn messages(&self) -> usize {
        self.entries.iter().map(|entry| entry.before.len() + 1 + entry.after.len()).sum()
    }
}

/// Where a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// To the client that sent this request, on the stream of its answer.
    Exchange(u64),
    /// To the client, on no request's stream.
    Session,
}

/// A message for a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Where it goes.
    pub to: Target,
    /// The message, on one line.
    pub text: Vec<u8>,
    /// Whether it answers the request of its exchange.
    pub is_answer: bool,
}

/// The server side of one session. Sessions of the same tape do not know of each other.
#[derive(Debug)]
pub struct Player {
    tape: Arc<Tape>,
    used: Vec<bool>,
    live: HashMap<u64, Live>,
    /// What the client was asked and has to answer before a call goes on.
    questions: HashMap<u64, Question>,
    asked: u64,
}

/// A request that is being answered.
#[derive(Debug)]
struct Live {
    entry: usize,
    id: RawJson,
    token: Option<RawJson>,
    /// Whether log messages are wanted.
    logs: bool,
    /// The next message of the entry.
    next: usize,
    /// The ids of what the client was asked meanwhile.
    asked: Vec<u64>,
}

/// A request of ours.
#[derive(Debug)]
struct Question {
    exchange: u64,
    method: String,
    recorded: Reply,
}

impl Player {
    /// A session at its beginning.
    pub fn new(tape: Arc<Tape>) -> Self {
        let used = vec![false; tape.entries.len()];
        Self { tape, used, live: HashMap::new(), questions: HashMap::new(), asked: 0 }
    }

    /// A request of the client, which is called `exchange` from now on.
    pub fn request(&mut self, exchange: u64, request: &Request) -> Vec<Output> {
        let subject = Subject::of(&request.method, request.params.as_ref());
        let Some(entry) = self.find(&subject, Kind::Request) else {
            return vec![self.unrecorded(exchange, request, &subject)];
        };
        let live = Live {
            entry,
            id: request.id.clone(),
            token: meta_entry(request, meta::PROGRESS_TOKEN),
            logs: !is_modern(request) || meta_entry(request, meta::LOG_LEVEL).is_some(),
            next: 0,
            asked: Vec::new(),
        };
        self.live.insert(exchange, live);
        let version = (request.method == method::INITIALIZE).then(|| requested_version(request)).flatten();
        self.go_on(exchange, version.as_deref())
    }

    /// A notification of the client.
    pub fn notification(&mut self, notification: &Notification) -> Vec<Output> {
        if notification.method == method::CANCELLED
            && let Some((id, _)) = take(notification.params.as_ref(), REQUEST_ID)
        {
            self.live.retain(|_, live| request_id(&live.id) != request_id(&id));
        }
        let subject = Subject::of(&notification.method, notification.params.as_ref());
        let Some(index) = self.find(&subject, Kind::Notification) else { return Vec::new() };
        let tape = Arc::clone(&self.tape);
        let mut out = Vec::new();
        if let Some(entry) = tape.entries.get(index) {
            for message in entry.before.iter().chain(&entry.after) {
                self.send(message, None, &mut out);
            }
        }
        out
    }

    /// What the client answers to a request of the server.
    pub fn response(&mut self, response: &Response) -> Vec<Output> {
        let Some(question) = response.id.number().and_then(|id| self.questions.remove(&id)) else {
            return Vec::new();
        };
        let given = match &response.outcome {
            Ok(result) => Reply { result: Some(result.clone()), error: None },
            Err(error) => Reply { result: None, error: Some(error.clone()) },
        };
        let (recorded, given) = (comparable(&question.recorded), comparable(&given));
        if fits(&recorded, &given) {
            return self.go_on(question.exchange, None);
        }
        let differences = differences(&recorded, &given);
        let message = format!(
            "the client answered the server's `{}` otherwise than recorded: {}; answer as recorded, or record it again",
            question.method,
            described(&differences)
        );
        let data = json!({"request": question.method, "differences": listed(&differences)});
        self.refuse(question.exchange, code::INVALID_PARAMS, message, &data).into_iter().collect()
    }

    /// The client no longer waits for the answer of an exchange.
    pub fn abandon(&mut self, exchange: u64) {
        self.live.remove(&exchange);
        self.questions.retain(|_, question| question.exchange != exchange);
    }

    /// The entry that answers: the first like it that was not used yet, else the last one.
    fn find(&mut self, subject: &Subject, kind: Kind) -> Option<usize> {
        let tape = Arc::clone(&self.tape);
        let is_kind = |index: &usize| tape.entries.get(*index).is_some_and(|entry| kind.is_of(entry));
        let same = tape.by_key.get(&subject.key()).map(Vec::as_slice).unwrap_or_default();
        let mut alike: Vec<usize> = same.iter().copied().filter(is_kind).collect();
        if alike.is_empty() {
            let fits = |(index, recorded): (usize, &Subject)| {
                (recorded.method == subject.method && fits(&recorded.params, &subject.params))
                    .then_some(index)
            };
            alike = tape.subjects.iter().enumerate().filter_map(fits).filter(is_kind).collect();
        }
        let unused = |index: &&usize| self.used.get(**index) == Some(&false);
        let index = *alike.iter().find(unused).or(alike.last())?;
        if let Some(used) = self.used.get_mut(index) {
            *used = true;
        }
        Some(index)
    }

    /// Sends what the entry of an exchange has next, until the client has to answer something or the entry is over.
    fn go_on(&mut self, exchange: u64, version: Option<&str>) -> Vec<Output> {
        let tape = Arc::clone(&self.tape);
        let mut out = Vec::new();
        let Some(entry) = self.live.get(&exchange).and_then(|live| tape.entries.get(live.entry)) else {
            return out;
        };
        loop {
            let Some(live) = self.live.get_mut(&exchange) else { return out };
            let Some(message) = entry.before.get(live.next) else { break };
            live.next += 1;
            if self.send(message, Some(exchange), &mut out) {
                return out;
            }
        }
        // A subscription lasts until its client ends it; that is no answer to wait for.
        let is_subscription = entry.stream.is_some() && entry.error.is_none();
        if entry.unanswered || is_subscription {
            return out;
        }
        let Some(live) = self.live.get(&exchange) else { return out };
        let mut text = Vec::new();
        match (&entry.result, &entry.error) {
            (Some(result), _) => write_response(&mut text, &live.id, &in_version(result, version)),
            (None, Some(error)) => write_error(&mut text, &live.id, error),
            (None, None) => return out,
        }
        out.push(Output { to: Target::Exchange(exchange), text, is_answer: true });
        for message in &entry.after {
            self.send(message, None, &mut out);
        }
        self.live.remove(&exchange);
        out
    }

    /// Sends a message of the server; whether its answer has to be awaited.
    fn send(&mut self, message: &ServerMessage, exchange: Option<u64>, out: &mut Vec<Output>) -> bool {
        if let Some(sent) = &message.notification {
            self.notify(sent, message.stream.as_deref(), exchange, out);
            return false;
        }
        let Some(sent) = &message.request else { return false };
        self.asked += 1;
        if let Some(live) = exchange.and_then(|exchange| self.live.get_mut(&exchange)) {
            live.asked.push(self.asked);
        }
        let mut members = vec![("jsonrpc", json!("2.0")), ("id", json!(self.asked))];
        members.push(("method", json!(sent.method)));
        out.push(Output {
            to: self.targets(message.stream.as_deref(), exchange).pop().unwrap_or(Target::Session),
            text: written(&members, sent.params.as_ref()),
            is_answer: false,
        });
        // Servers ask for roots and for life on their own, not for the sake of a call.
        let concerns_call = !matches!(sent.method.as_str(), method::LIST_ROOTS | method::PING);
        match (exchange, &message.response) {
            (Some(exchange), Some(recorded)) if concerns_call => {
                let question = Question { exchange, method: sent.method.clone(), recorded: recorded.clone() };
                self.questions.insert(self.asked, question);
                true
            }
            _ => false,
        }
    }

    fn notify(&mut self, sent: &Sent, stream: Option<&str>, exchange: Option<u64>, out: &mut Vec<Output>) {
        let live = exchange.and_then(|exchange| self.live.get(&exchange));
        let mut params = sent.params.clone();
        match sent.method.as_str() {
            method::PROGRESS if !has_token(sent) => {
                // Nobody asked for it, or its call is over.
                let Some(token) = live.and_then(|live| live.token.clone()) else { return };
                params = put(params.as_ref(), meta::PROGRESS_TOKEN, &token);
            }
            method::LOG_MESSAGE if live.is_some_and(|live| !live.logs) => return,
            method::CANCELLED => {
                let number =
                    take(params.as_ref(), REQUEST_ID).and_then(|(number, _)| number.read::<usize>().ok());
                let meant = number.and_then(|number| live?.asked.get(number.checked_sub(1)?).copied());
                // Older cassettes do not say which.
                let id = RawJson::of(&meant.unwrap_or(self.asked)).ok();
                params = id.and_then(|id| put(params.as_ref(), REQUEST_ID, &id));
            }
            _ => {}
        }
        let members = [("jsonrpc", json!("2.0")), ("method", json!(sent.method))];
        for to in self.targets(stream, exchange) {
            let params = match self.subscription(to) {
                Some(id) => put_meta(params.as_ref(), meta::SUBSCRIPTION_ID, &id),
                None => params.clone(),
            };
            out.push(Output { to, text: written(&members, params.as_ref()), is_answer: false });
        }
    }

    /// Where a message of a stream goes; nowhere if nobody opened it.
    fn targets(&self, stream: Option<&str>, exchange: Option<u64>) -> Vec<Target> {
        match (stream, exchange) {
            (None, Some(exchange)) => vec![Target::Exchange(exchange)],
            (None, None) | (Some(SESSION), _) => vec![Target::Session],
            (Some(name), _) => {
                let stream =
                    |live: &Live| self.tape.entries.get(live.entry).and_then(|entry| entry.stream.as_deref());
                let mut open: Vec<u64> = self
                    .live
                    .iter()
                    .filter(|(_, live)| stream(live) == Some(name))
                    .map(|(one, _)| *one)
                    .collect();
                open.sort_unstable();
                open.into_iter().map(Target::Exchange).collect()
            }
        }
    }

    /// The id of the subscription that a message goes to.
    fn subscription(&self, to: Target) -> Option<RawJson> {
        let Target::Exchange(exchange) = to else { return None };
        let live = self.live.get(&exchange)?;
        let entry = self.tape.entries.get(live.entry)?;
        entry.stream.is_some().then(|| live.id.clone())
    }

    /// The answer to a request that is like nothing recorded.
    fn unrecorded(&mut self, exchange: u64, request: &Request, subject: &Subject) -> Output {
        let wanted = request.method.as_str();
        let error = if wanted == method::PING {
            let mut text = Vec::new();
            write_response(&mut text, &request.id, &RawJson::empty_object());
            return Output { to: Target::Exchange(exchange), text, is_answer: true };
        } else if wanted == method::INITIALIZE && self.tape.is_modern {
            let data = json!({"supported": [MODERN], "requested": requested_version(request)});
            let message = format!("the recorded server speaks {MODERN}, which begins without `{wanted}`");
            with_data(code::UNSUPPORTED_VERSION, message, &data)
        } else {
            self.unlike(subject)
        };
        let mut text = Vec::new();
        write_error(&mut text, &request.id, &error);
        Output { to: Target::Exchange(exchange), text, is_answer: true }
    }

    fn unlike(&self, subject: &Subject) -> RpcError {
        let requests = || {
            let all = self.tape.subjects.iter().enumerate();
            all.filter(|(index, _)| {
                self.tape.entries.get(*index).is_some_and(|entry| entry.request.is_some())
            })
        };
        let Some((index, differences)) = nearest(subject, requests()) else {
            let mut methods: Vec<&str> = requests().map(|(_, subject)| subject.method.as_str()).collect();
            methods.sort_unstable();
            methods.dedup();
            methods.truncate(METHODS);
            let message = format!("no `{}` was recorded, only {}", subject.method, methods.join(", "));
            return RpcError::new(code::METHOD_NOT_FOUND, message);
        };
        let entry = index + 1;
        let message = format!(
            "no `{}` like this was recorded; the nearest is entry {entry} of the cassette: {}",
            subject.method,
            described(&differences)
        );
        let params = self.tape.subjects.get(index).map(|recorded| recorded.params.clone());
        let nearest = json!({"entry": entry, "method": subject.method, "params": params});
        let data = json!({"nearest": nearest, "differences": listed(&differences)});
        with_data(code::INVALID_PARAMS, message, &data)
    }

    fn refuse(&mut self, exchange: u64, code: i64, message: String, data: &Value) -> Option<Output> {
        let live = self.live.remove(&exchange)?;
        let mut text = Vec::new();
        write_error(&mut text, &live.id, &with_data(code, message, data));
        Some(Output { to: Target::Exchange(exchange), text, is_answer: true })
    }
}

/// What kind of message an entry has.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Request,
    Notification,
}

impl Kind {
    fn is_of(self, entry: &Entry) -> bool {
        match self {
            Self::Request => entry.request.is_some(),
            Self::Notification => entry.notification.is_some(),
        }
    }
}

fn with_data(code: i64, message: String, data: &Value) -> RpcError {
    RpcError { code, message, data: RawJson::of(data).ok() }
}

/// A message with these members and parameters.
fn written(members: &[(&str, Value)], params: Option<&RawJson>) -> Vec<u8> {
    let mut text = b"{".to_vec();
    for (name, value) in members {
        text.extend_from_slice(format!("\"{name}\":{value},").as_bytes());
    }
    match params {
        Some(params) => {
            text.extend_from_slice(b"\"params\":");
            text.extend_from_slice(params.as_bytes());
        }
        None => drop(text.pop()),
    }
    text.push(b'}');
    text
}

fn has_token(sent: &Sent) -> bool {
    take(sent.params.as_ref(), meta::PROGRESS_TOKEN).is_some()
}

fn requested_version(request: &Request) -> Option<String> {
    let params: Value = request.params.as_ref()?.read().ok()?;
    Some(params.get("protocolVersion")?.as_str()?.to_owned())
}

/// The recorded answer to `initialize` in the version that the client asks for, if there is one like it.
fn in_version(result: &RawJson, version: Option<&str>) -> RawJson {
    let Some(version) = version.filter(|version| is_known_legacy(version)) else { return result.clone() };
    let mut members = match RawObject::parse(result) {
        Ok(members) if members.get("protocolVersion").is_some() => members,
        _ => return result.clone(),
    };
    let changed = members.set("protocolVersion", &RawJson::text(version)).and_then(|()| members.to_raw());
    changed.unwrap_or_else(|_| result.clone())
}

/// What of an answer counts: of an error its code, of a result all but `_meta`.
fn comparable(reply: &Reply) -> Value {
    if let Some(error) = &reply.error {
        return json!({"error": {"code": error.code}});
    }
    let mut result: Value = reply.result.as_ref().and_then(|result| result.read().ok()).unwrap_or_default();
    if let Some(members) = result.as_object_mut() {
        members.remove("_meta");
    }
    json!({"result": result})
}
