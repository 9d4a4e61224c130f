//! A conversation as one JSON object, for people and other programs.

use std::fmt;

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{
    head::{Head, Size},
    id::ConversationId,
    types::{Conversation, TurnLease},
};
use crate::record::{write_display, write_string};

/// Members that are not ours, as another program has written them.
pub(crate) type Others = Vec<(String, Box<RawValue>)>;

/// The conversation as a JSON object, its messages and metadata as they are.
pub(crate) fn write(conversation: &Conversation, others: &Others) -> Vec<u8> {
    let length: usize = conversation.messages.iter().map(|message| message.get().len() + 1).sum();
    let mut out = Vec::with_capacity(512 + length + conversation.metadata.get().len());
    write_display(&mut out, format_args!("{{\"id\":\"{}\",\"title\":", conversation.id));
    write_string(&mut out, &conversation.title);
    out.extend_from_slice(b",\"messages\":");
    write_array(&mut out, conversation.messages.iter().map(|message| &**message));
    write_display(
        &mut out,
        format_args!(
            ",\"created_at\":\"{:.6}\",\"updated_at\":\"{:.6}\",\"owner\":",
            conversation.created_at, conversation.updated_at
        ),
    );
    match &conversation.owner {
        Some(owner) => write_string(&mut out, owner),
        None => out.extend_from_slice(b"null"),
    }
    write_display(&mut out, format_args!(",\"version\":{},\"turn\":", conversation.version));
    match &conversation.turn {
        Some(turn) => write_turn(&mut out, turn),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b",\"metadata\":");
    out.extend_from_slice(conversation.metadata.get().as_bytes());
    for (name, value) in others {
        out.push(b',');
        write_string(&mut out, name);
        out.push(b':');
        out.extend_from_slice(value.get().as_bytes());
    }
    out.push(b'}');
    out
}

fn write_array<'a>(out: &mut Vec<u8>, values: impl IntoIterator<Item = &'a RawValue>) {
    out.push(b'[');
    for (index, value) in values.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(value.get().as_bytes());
    }
    out.push(b']');
}

fn write_turn(out: &mut Vec<u8>, turn: &TurnLease) {
    out.extend_from_slice(b"{\"holder\":");
    write_string(out, &turn.holder);
    write_display(out, format_args!(",\"until\":\"{:.6}\"}}", turn.until));
}

/// The lease as JSON text.
pub(crate) fn turn_to_json(turn: &TurnLease) -> String {
    let mut out = Vec::new();
    write_turn(&mut out, turn);
    String::from_utf8(out).unwrap_or_default()
}

/// The lease of a JSON text; `None` if it is none.
pub(crate) fn turn_of_json(json: &str) -> Option<TurnLease> {
    #[derive(serde::Deserialize)]
    struct Turn {
        holder: String,
        until: String,
    }
    let turn: Turn = serde_json::from_str(json).ok()?;
    Some(TurnLease { holder: turn.holder, until: turn.until.parse::<Timestamp>().ok()? })
}

/// `{}`.
pub(crate) fn empty_object() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// A conversation as it was written, by us or by another program.
#[derive(Debug)]
pub(crate) struct Document<'a>(Vec<(String, &'a RawValue)>);

const OURS: &[&str] =
    &["id", "title", "messages", "created_at", "updated_at", "owner", "version", "turn", "metadata"];

impl<'a> Document<'a> {
    /// `None` if it is no JSON object.
    pub(crate) fn parse(json: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(json).ok()
    }

    /// Everything but the messages. `None` if something is missing or is not what it should be.
    pub(crate) fn head(&self, id: ConversationId) -> Option<Head> {
        if self.read::<String>("id")?.parse() != Ok(id) {
            return None;
        }
        Some(Head {
            id,
            owner: self.read::<Option<String>>("owner").flatten().map(Into::into),
            title: self.read("title")?,
            created_at: moment(&self.read::<String>("created_at")?)?,
            updated_at: moment(&self.read::<String>("updated_at")?)?,
            // Other programs may not count versions.
            version: self.read("version").unwrap_or(1),
            turn: self.member("turn").and_then(|turn| turn_of_json(turn.get())),
            metadata: self.member("metadata").map_or_else(empty_object, ToOwned::to_owned),
            messages: Size::of(self.messages()?),
        })
    }

    pub(crate) fn messages(&self) -> Option<Vec<&'a RawValue>> {
        serde_json::from_str(self.member("messages")?.get()).ok()
    }

    /// Members that are not ours.
    pub(crate) fn others(&self) -> Others {
        let others = self.0.iter().filter(|(name, _)| !OURS.contains(&&**name));
        others.map(|(name, value)| (name.clone(), (*value).to_owned())).collect()
    }

    fn member(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    fn read<T: Deserialize<'a>>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.member(name)?.get()).ok()
    }
}

/// A time in microseconds. One without a zone is UTC.
fn moment(text: &str) -> Option<i64> {
    let local = |text: &str| text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok();
    let moment = text.parse::<Timestamp>().ok().or_else(|| Some(local(text)?.timestamp()));
    moment.map(Timestamp::as_microsecond)
}

impl<'de: 'a, 'a> Deserialize<'de> for Document<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(Members).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "6f1c2a9e-0b4d-4c8e-9a57-2f6d0f1b7c3d";

    fn read(json: &str) -> Option<(Conversation, Others)> {
        let document = Document::parse(json.as_bytes())?;
        let head = document.head(ID.parse().unwrap())?;
        let messages = document.messages()?.into_iter().map(ToOwned::to_owned).collect();
        Some((head.with(messages), document.others()))
    }

    #[test]
    fn a_document_of_another_program_is_read_and_keeps_what_is_not_ours() {
        let json = format!(
            r#"{{"messages": [ {{"n":1e400}} , 2], "id":"{ID}","created_at":"2026-11-03T10:00:00","model":{{"x": 1.0}},"title":"T","updated_at":"2026-11-03T12:00:00.5+02:00"}}"#
        );
        let (conversation, others) = read(&json).unwrap();
        let expected = format!(
            r#"{{"id":"{ID}","title":"T","messages":[{{"n":1e400}},2],"created_at":"2026-11-03T10:00:00.000000Z","updated_at":"2026-11-03T10:00:00.500000Z","owner":null,"version":1,"turn":null,"metadata":{{}},"model":{{"x": 1.0}}}}"#
        );
        assert_eq!(String::from_utf8(write(&conversation, &others)).unwrap(), expected);
        let (again, others) = read(&expected).unwrap();
        assert_eq!(String::from_utf8(write(&again, &others)).unwrap(), expected);
    }

    #[test]
    fn what_is_damaged_is_not_read() {
        let whole = format!(
            r#"{{"id":"{ID}","title":"T","messages":[],"created_at":"2026-11-03T10:00:00Z","updated_at":"2026-11-03T10:00:00Z"}}"#
        );
        assert!(read(&whole).is_some());
        for (from, to) in [
            (ID, "6f1c2a9e-0b4d-4c8e-9a57-2f6d0f1b7c3e"),
            ("\"T\"", "7"),
            ("[]", "{}"),
            ("created_at", "creation"),
            ("2026-11-03T10", "yesterday"),
            ("{", "["),
            ("}", ""),
        ] {
            assert!(read(&whole.replace(from, to)).is_none(), "{from} -> {to}");
        }
    }
}
