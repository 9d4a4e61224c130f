//! The ids that belong to one session: taken out of what is recorded, put into what is replayed.

use gateway_protocol::{RawJson, RawObject, Request, RequestId, meta};
use serde::Deserialize;

/// The member of a notification that names its request.
pub(crate) const REQUEST_ID: &str = "requestId";

/// The id of a request, to be compared.
pub(crate) fn request_id(id: &RawJson) -> RequestId {
    id.read().unwrap_or_else(|_| RequestId::Text(id.as_str().to_owned()))
}

/// An entry of the parameters' `_meta`.
pub(crate) fn meta_entry(request: &Request, key: &str) -> Option<RawJson> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, rename = "_meta")]
        meta: RawObject<'a>,
    }
    let params = request.params.as_ref()?;
    let read: Params<'_> = params.read().ok()?;
    read.meta.get(key).map(|value| params.part(value))
}

/// Whether a request is of the modern era: it then carries its version.
pub(crate) fn is_modern(request: &Request) -> bool {
    meta_entry(request, meta::PROTOCOL_VERSION).is_some()
}

/// Takes a member out of parameters: its value, and the rest.
pub(crate) fn take(params: Option<&RawJson>, name: &str) -> Option<(RawJson, Option<RawJson>)> {
    let params = params?;
    let mut members = RawObject::parse(params).ok()?;
    let value = params.part(&members.remove(name)?);
    let rest = (!members.members().is_empty()).then(|| members.to_raw().ok());
    Some((value, rest.flatten()))
}

/// Takes an entry out of the `_meta` of parameters: its value, and the rest.
pub(crate) fn take_meta(params: Option<&RawJson>, key: &str) -> Option<(RawJson, Option<RawJson>)> {
    let (entries, without) = take(params, "_meta")?;
    let (value, rest) = take(Some(&entries), key)?;
    let params = match rest {
        Some(rest) => put(without.as_ref(), "_meta", &rest),
        None => without,
    };
    Some((value, params))
}

/// Parameters with a member more.
pub(crate) fn put(params: Option<&RawJson>, name: &str, value: &RawJson) -> Option<RawJson> {
    let empty = RawJson::empty_object();
    let mut members = RawObject::parse(params.unwrap_or(&empty)).ok()?;
    members.set(name, value).ok()?;
    members.to_raw().ok()
}

/// Parameters with an entry more in their `_meta`.
pub(crate) fn put_meta(params: Option<&RawJson>, key: &str, value: &RawJson) -> Option<RawJson> {
    let (entries, without) = match take(params, "_meta") {
        Some((entries, without)) => (Some(entries), without),
        None => (None, params.cloned()),
    };
    put(without.as_ref(), "_meta", &put(entries.as_ref(), key, value)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &'static str) -> RawJson {
        RawJson::parse(text).unwrap()
    }

    #[test]
    fn ids_are_taken_and_put_back() {
        let key = meta::SUBSCRIPTION_ID;
        let params = raw(r#"{"a":1,"_meta":{"io.modelcontextprotocol/subscriptionId":"x","b":2}}"#);
        let (id, rest) = take_meta(Some(&params), key).unwrap();
        assert_eq!((id.as_str(), rest.as_ref().unwrap().as_str()), (r#""x""#, r#"{"a":1,"_meta":{"b":2}}"#));
        let back = put_meta(rest.as_ref(), key, &raw("7")).unwrap();
        let expected = r#"{"a":1,"_meta":{"b":2,"io.modelcontextprotocol/subscriptionId":7}}"#;
        assert_eq!(back.as_str(), expected);
        let (_, nothing) = take(Some(&raw(r#"{"requestId":3}"#)), REQUEST_ID).unwrap();
        assert_eq!(nothing, None);
        assert_eq!(put(None, REQUEST_ID, &raw("4")).unwrap().as_str(), r#"{"requestId":4}"#);
        assert_eq!(take(Some(&raw("[1]")), REQUEST_ID), None);
    }
}
