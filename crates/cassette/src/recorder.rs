//! From messages that pass to a cassette.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use gateway_protocol::{
    Incoming, Notification, RawJson, Request, RequestId, Response, RpcError, meta, method,
};

use crate::cassette::{Cassette, Entry, Reply, Sent, ServerMessage};
use crate::draft::{Changes, Draft};
use crate::matching::REDACTED;
use crate::protocol_ids::{REQUEST_ID, meta_entry, put, request_id, take, take_meta};
use crate::secrets::{SHORTEST_NAMED, is_recognisable};

/// Finds the secrets of a JSON text; `None` if there are none.
pub type Redact = dyn Fn(&str) -> Option<Redacted> + Send + Sync;

/// A text without its secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redacted {
    /// The text, still JSON.
    pub text: String,
    /// What was removed from it.
    pub removed: Vec<String>,
}

/// On which stream a message of the server came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Channel {
    /// The only one that there is, as over stdio.
    Shared,
    /// That of the answer to this request.
    AnswerTo(RequestId),
    /// That of a session, beside all answers.
    Session,
}

/// Makes a cassette of the messages of one server and its clients.
///
/// Whoever uses it gives every message that it forwards, in order. A `peer` is a number for those with whom ids are
/// unique: a client over stdio, a session or a single request over HTTP.
pub struct Recorder {
    redact: Box<Redact>,
    /// Texts that are removed wherever they stand, in the order in which they were found.
    secrets: Vec<String>,
    /// How many of them are in changes that were handed out.
    known: usize,
    redacted: usize,
    entries: Vec<Entry>,
    /// The entries that are not in changes yet as they are now.
    changed: BTreeSet<usize>,
    in_flight: Vec<InFlight>,
    /// Who has sent something other than an answer.
    peers: BTreeSet<u64>,
    /// Requests for progress, also of calls that are over.
    tokens: HashMap<(u64, RequestId), usize>,
    /// What the server asked and was not answered yet.
    asked: HashMap<(u64, RequestId), Place>,
    /// Where something last began or ended.
    last: Option<usize>,
    streams: usize,
}

/// A request without an answer yet.
#[derive(Debug)]
struct InFlight {
    peer: u64,
    id: RequestId,
    entry: usize,
}

/// Where a message of the server stands in a cassette.
#[derive(Clone, Copy, Debug)]
struct Place {
    entry: usize,
    part: Part,
    index: usize,
}

/// Before or after the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Before,
    After,
}

/// The stream of a session, as a name in a cassette.
pub(crate) const SESSION: &str = "session";

impl fmt::Debug for Recorder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the secrets.
        formatter.debug_struct("Recorder").field("entries", &self.entries.len()).finish_non_exhaustive()
    }
}

impl Recorder {
    /// A recorder without messages.
    pub fn new(redact: Box<Redact>) -> Self {
        Self {
            redact,
            secrets: Vec::new(),
            known: 0,
            redacted: 0,
            entries: Vec::new(),
            changed: BTreeSet::new(),
            in_flight: Vec::new(),
            peers: BTreeSet::new(),
            tokens: HashMap::new(),
            asked: HashMap::new(),
            last: None,
            streams: 0,
        }
    }

    /// Removes this text wherever it stands as a word, if it has at least four characters.
    pub fn hide(&mut self, secret: &str) {
        // Words of JSON stand everywhere.
        if secret.len() >= SHORTEST_NAMED && !matches!(secret, "true" | "false" | "null") {
            self.remember(secret.to_owned());
        }
    }

    /// How many messages of clients there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is nothing yet.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// A message of a client.
    pub fn client(&mut self, peer: u64, message: &Incoming) {
        if !matches!(message, Incoming::Response(_)) {
            self.peers.insert(peer);
        }
        match message {
            Incoming::Request(request) => self.request(peer, request),
            Incoming::Notification(notification) => self.client_notification(peer, notification),
            Incoming::Response(Response { id, outcome }) => {
                let Some(place) = self.question(peer, id) else { return };
                let reply = match outcome {
                    Ok(result) => Reply { result: Some(self.clean(result)), error: None },
                    Err(error) => Reply { result: None, error: Some(self.clean_error(error)) },
                };
                if let Some(message) = self.message_mut(place) {
                    message.response = Some(reply);
                }
            }
        }
    }

    /// A message of the server.
    pub fn server(&mut self, peer: u64, channel: &Channel, message: &Incoming) {
        match message {
            Incoming::Response(response) => self.answer(peer, channel, response),
            Incoming::Notification(notification) => self.server_notification(peer, channel, notification),
            Incoming::Request(request) => {
                let sent = self.sent(&request.method, request.params.as_ref());
                let message = ServerMessage { request: Some(sent), ..ServerMessage::default() };
                if let Some(place) = self.place(peer, channel, message) {
                    self.asked.insert((peer, request_id(&request.id)), place);
                }
            }
        }
    }

    /// A request got no answer of MCP, but this.
    pub fn refused(&mut self, peer: u64, id: &RequestId, error: &RpcError) {
        let response = Response { id: id.clone(), outcome: Err(error.clone()) };
        self.answer(peer, &Channel::Shared, &response);
    }

    /// The client no longer waits for the answer to this request.
    pub fn abandoned(&mut self, peer: u64, id: &RequestId) {
        if let Some(index) = self.in_flight.iter().position(|one| one.peer == peer && one.id == *id) {
            let InFlight { entry, .. } = self.in_flight.remove(index);
            if let Some(entry) = self.entry_mut(entry) {
                entry.unanswered = true;
            }
        }
    }

    /// What was recorded so far.
    pub fn cassette(&self, by: &str, transport: &str) -> Cassette {
        let mut draft = Draft::default();
        draft.update(Changes {
            entries: (0..self.entries.len()).filter_map(|index| self.as_it_is(index)).collect(),
            secrets: self.secrets.clone(),
            redacted: self.redacted,
        });
        draft.cassette(by, transport)
    }

    /// What is new since this was last called. It is cheap, so that a [`Draft`] can be made of it where nobody waits.
    pub fn changes(&mut self) -> Changes {
        let changed = std::mem::take(&mut self.changed);
        let secrets = self.secrets.get(self.known..).unwrap_or_default().to_vec();
        self.known = self.secrets.len();
        let entries = changed.into_iter().filter_map(|index| self.as_it_is(index)).collect();
        Changes { entries, secrets, redacted: self.redacted }
    }

    /// An entry as it would be if the session ended now.
    fn as_it_is(&self, index: usize) -> Option<(usize, Entry)> {
        let mut entry = self.entries.get(index)?.clone();
        entry.unanswered |= self.is_open(index);
        Some((index, entry))
    }

    /// An entry that is going to change.
    fn entry_mut(&mut self, index: usize) -> Option<&mut Entry> {
        self.changed.insert(index);
        self.entries.get_mut(index)
    }

    /// The request of the server that this answer is for. Without a session each request over HTTP is a peer of its own, so
    /// an answer comes from one that said nothing else: it is for the newest question with its id.
    fn question(&mut self, peer: u64, id: &RequestId) -> Option<Place> {
        let mut key = (peer, id.clone());
        if !self.peers.contains(&peer) {
            let same = self.asked.iter().filter(|((_, asked), _)| asked == id);
            key.0 = same.max_by_key(|(_, place)| (place.entry, place.index)).map(|((peer, _), _)| *peer)?;
        }
        self.asked.remove(&key)
    }

    fn remember(&mut self, secret: String) {
        if self.secrets.contains(&secret) {
            return;
        }
        // Where the shorter one was taken out, the rest of the longer one would not be recognised.
        if self.secrets.iter().any(|known| secret.contains(known)) {
            self.changed.extend(0..self.entries.len());
        }
        self.secrets.push(secret);
    }

    fn request(&mut self, peer: u64, request: &Request) {
        let id = request_id(&request.id);
        if let Some(token) = meta_entry(request, meta::PROGRESS_TOKEN) {
            self.tokens.insert((peer, request_id(&token)), self.entries.len());
        }
        self.in_flight.push(InFlight { peer, id, entry: self.entries.len() });
        let params = request.params.as_ref();
        let params = match take(params, "_meta") {
            Some((_, rest)) => rest,
            None => params.cloned(),
        };
        let sent = self.sent(&request.method, params.as_ref());
        let stream = (request.method == method::LISTEN).then(|| {
            self.streams += 1;
            format!("listen-{}", self.streams)
        });
        self.push(Entry { request: Some(sent), stream, ..Entry::default() });
    }

    fn push(&mut self, entry: Entry) {
        self.last = Some(self.entries.len());
        self.changed.insert(self.entries.len());
        self.entries.push(entry);
    }

    fn client_notification(&mut self, peer: u64, notification: &Notification) {
        let mut params = notification.params.clone();
        if notification.method == method::CANCELLED
            && let Some((id, rest)) = take(params.as_ref(), REQUEST_ID)
        {
            self.abandoned(peer, &request_id(&id));
            params = rest;
        }
        let sent = self.sent(&notification.method, params.as_ref());
        self.push(Entry { notification: Some(sent), ..Entry::default() });
    }

    fn answer(&mut self, peer: u64, channel: &Channel, response: &Response) {
        // Some servers cannot say which request they refuse; over HTTP the stream says it.
        let mut id = &response.id;
        if let (RequestId::Null, Channel::AnswerTo(request)) = (id, channel) {
            id = request;
        }
        let same = |one: &InFlight| {
            one.peer == peer
                && (one.id == *id || (one.id.number().is_some() && one.id.number() == id.number()))
        };
        let Some(index) = self.in_flight.iter().position(same) else { return };
        let InFlight { entry: at, .. } = self.in_flight.remove(index);
        let (result, error) = match &response.outcome {
            Ok(result) => (Some(self.clean(result)), None),
            Err(error) => (None, Some(self.clean_error(error))),
        };
        if let Some(entry) = self.entry_mut(at) {
            (entry.result, entry.error) = (result, error);
        }
        self.last = Some(at);
    }

    fn server_notification(&mut self, peer: u64, channel: &Channel, notification: &Notification) {
        let params = notification.params.as_ref();
        let progress = (notification.method == method::PROGRESS)
            .then(|| take(params, meta::PROGRESS_TOKEN))
            .flatten()
            .and_then(|(token, rest)| Some((*self.tokens.get(&(peer, request_id(&token)))?, rest)));
        if let Some((entry, rest)) = progress {
            let sent = self.sent(&notification.method, rest.as_ref());
            let message = ServerMessage { notification: Some(sent), ..ServerMessage::default() };
            self.add(entry, message);
            return;
        }
        let mut params = params.cloned();
        let mut channel = channel.clone();
        if let Some((id, rest)) = take_meta(params.as_ref(), meta::SUBSCRIPTION_ID) {
            // Over stdio this is how a stream is known.
            channel = Channel::AnswerTo(request_id(&id));
            params = rest;
        }
        if notification.method == method::CANCELLED
            && let Some((id, rest)) = take(params.as_ref(), REQUEST_ID)
        {
            params = rest;
            if let Some(place) = self.asked.remove(&(peer, request_id(&id)))
                && place.part == Part::Before
                && self.is_open(place.entry)
            {
                // Ids are not recorded, so it says which of the entry's questions it gives up.
                let number = RawJson::of(&self.number_of(place)).ok();
                let named = number.and_then(|number| put(params.as_ref(), REQUEST_ID, &number));
                let sent = self.sent(&notification.method, named.as_ref());
                let message = ServerMessage { notification: Some(sent), ..ServerMessage::default() };
                self.add(place.entry, message);
                return;
            }
        }
        let sent = self.sent(&notification.method, params.as_ref());
        self.place(peer, &channel, ServerMessage { notification: Some(sent), ..ServerMessage::default() });
    }

    /// Puts a message where it belongs: to the request on whose stream it came, else to what was going on.
    fn place(&mut self, peer: u64, channel: &Channel, mut message: ServerMessage) -> Option<Place> {
        let own = match channel {
            Channel::AnswerTo(id) => {
                self.in_flight.iter().find(|one| one.peer == peer && one.id == *id).map(|one| one.entry)
            }
            Channel::Shared | Channel::Session => None,
        };
        if *channel == Channel::Session {
            message.stream = Some(SESSION.to_owned());
        }
        let at = match own {
            Some(own) => match self.entries.get(own).and_then(|entry| entry.stream.clone()) {
                // What comes on the stream of a subscription was caused by something else, except for its beginning.
                Some(stream) => {
                    let going_on = self.going_on();
                    if going_on != Some(own)
                        && self.entries.get(own).is_some_and(|entry| !entry.before.is_empty())
                    {
                        message.stream = Some(stream);
                        going_on
                    } else {
                        Some(own)
                    }
                }
                None => Some(own),
            },
            None => self.going_on(),
        };
        Some(self.add(at?, message))
    }

    /// The entry that is at work: the newest request without an answer, else where something last happened.
    fn going_on(&self) -> Option<usize> {
        let is_call =
            |one: &&InFlight| self.entries.get(one.entry).is_some_and(|entry| entry.stream.is_none());
        self.in_flight.iter().rev().find(is_call).map(|one| one.entry).or(self.last)
    }

    fn is_open(&self, entry: usize) -> bool {
        self.in_flight.iter().any(|one| one.entry == entry)
    }

    /// Which question of its entry this is, counted from 1.
    fn number_of(&self, place: Place) -> usize {
        let before = self.entries.get(place.entry).and_then(|entry| entry.before.get(..=place.index));
        before.unwrap_or_default().iter().filter(|message| message.request.is_some()).count()
    }

    fn add(&mut self, entry: usize, message: ServerMessage) -> Place {
        let is_open = self.is_open(entry);
        let part = if is_open { Part::Before } else { Part::After };
        let mut index = 0;
        if let Some(entry) = self.entry_mut(entry) {
            let list = if is_open { &mut entry.before } else { &mut entry.after };
            index = list.len();
            list.push(message);
        }
        Place { entry, part, index }
    }

    fn message_mut(&mut self, place: Place) -> Option<&mut ServerMessage> {
        let entry = self.entry_mut(place.entry)?;
        let list = if place.part == Part::Before { &mut entry.before } else { &mut entry.after };
        list.get_mut(place.index)
    }

    fn sent(&mut self, method: &str, params: Option<&RawJson>) -> Sent {
        Sent { method: method.to_owned(), params: params.map(|params| self.clean(params)) }
    }

    fn clean_error(&mut self, error: &RpcError) -> RpcError {
        let message = self.clean(&RawJson::text(&error.message));
        RpcError {
            code: error.code,
            message: message.read().unwrap_or_else(|_| REDACTED.to_owned()),
            data: error.data.as_ref().map(|data| self.clean(data)),
        }
    }

    /// The text without its secrets, which are remembered.
    fn clean(&mut self, json: &RawJson) -> RawJson {
        let Some(Redacted { text, removed }) = (self.redact)(json.as_str()) else { return json.clone() };
        self.redacted += removed.len();
        for secret in removed {
            if is_recognisable(&secret) {
                self.remember(secret);
            }
        }
        RawJson::parse(text).unwrap_or_else(|_| RawJson::text(REDACTED))
    }
}
