//! What is written of a recording.

use std::fmt;

use gateway_protocol::{RawJson, RpcError};

use crate::cassette::{Cassette, Entry, FORMAT, Recorded, Sent, ServerMessage};
use crate::matching::REDACTED;
use crate::secrets::{Secret, without};

/// What is new in a recording.
pub struct Changes {
    pub(crate) entries: Vec<(usize, Entry)>,
    pub(crate) secrets: Vec<String>,
    /// How many secrets the recorder took out so far.
    pub(crate) redacted: usize,
}

/// A cassette that grows. Each entry is searched when it changes, and later only for secrets that were found since.
#[derive(Debug, Default)]
pub struct Draft {
    entries: Vec<Hidden>,
    secrets: Vec<Secret>,
    redacted: usize,
}

/// An entry without secrets.
#[derive(Debug, Default)]
struct Hidden {
    entry: Entry,
    /// How many secrets were taken out here that were found elsewhere.
    count: usize,
}

impl fmt::Debug for Changes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the secrets.
        formatter.debug_struct("Changes").field("entries", &self.entries.len()).finish_non_exhaustive()
    }
}

impl Changes {
    /// Whether nothing is new.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.secrets.is_empty()
    }
}

impl Draft {
    /// Takes in what is new.
    pub fn update(&mut self, changes: Changes) {
        let Changes { entries, secrets, redacted } = changes;
        self.redacted = redacted;
        let new: Vec<Secret> = secrets.iter().map(|secret| Secret::new(secret)).collect();
        self.secrets.extend(new.iter().cloned());
        let mut is_changed = vec![false; self.entries.len()];
        for (index, entry) in entries {
            if index >= self.entries.len() {
                self.entries.resize_with(index + 1, Hidden::default);
            }
            if let Some(changed) = is_changed.get_mut(index) {
                *changed = true;
            }
            if let Some(place) = self.entries.get_mut(index) {
                *place = Hidden { entry, count: 0 };
                place.hide(&self.secrets);
            }
        }
        if new.is_empty() {
            return;
        }
        for (known, is_changed) in self.entries.iter_mut().zip(is_changed) {
            if !is_changed {
                known.hide(&new);
            }
        }
    }

    /// The cassette so far.
    pub fn cassette(&self, by: &str, transport: &str) -> Cassette {
        let hidden: usize = self.entries.iter().map(|hidden| hidden.count).sum();
        let redacted = self.redacted + hidden;
        let recorded = Recorded { by: by.to_owned(), transport: transport.to_owned(), redacted };
        let entries = self.entries.iter().map(|hidden| hidden.entry.clone()).collect();
        Cassette { cassette: FORMAT, recorded, entries }
    }
}

impl Hidden {
    /// Takes these secrets out of all that the entry holds.
    fn hide(&mut self, secrets: &[Secret]) {
        let count = &mut self.count;
        let mut hide = |json: &mut RawJson| {
            let (hidden, found) = without(json, secrets);
            *json = hidden;
            *count += found;
        };
        let Entry { request, notification, before, result, error, after, .. } = &mut self.entry;
        hide_in([request, notification], &mut hide);
        for ServerMessage { request, notification, response, .. } in before.iter_mut().chain(after) {
            hide_in([request, notification], &mut hide);
            if let Some(reply) = response {
                reply.result.iter_mut().for_each(&mut hide);
                hide_in_error(reply.error.as_mut(), &mut hide);
            }
        }
        result.iter_mut().for_each(&mut hide);
        hide_in_error(error.as_mut(), &mut hide);
    }
}

fn hide_in(sent: [&mut Option<Sent>; 2], hide: &mut impl FnMut(&mut RawJson)) {
    sent.into_iter().flatten().filter_map(|sent| sent.params.as_mut()).for_each(hide);
}

fn hide_in_error(error: Option<&mut RpcError>, hide: &mut impl FnMut(&mut RawJson)) {
    if let Some(error) = error {
        let mut message = RawJson::text(&error.message);
        hide(&mut message);
        error.message = message.read().unwrap_or_else(|_| REDACTED.to_owned());
        error.data.iter_mut().for_each(hide);
    }
}
