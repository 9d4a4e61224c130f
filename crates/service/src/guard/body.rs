//! Reading a request's body: bounded in size and time, and long ones together with those of all others.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use gateway_upstream::{FREE_BYTES, Reservation, ResultBudget, needed};
use http::{HeaderMap, StatusCode, header};
use hyper::body::Body as HttpBody;

use super::linger::Arriving;
use crate::errors::{ApiError, code};
use gateway_runtime::context::holder;
use gateway_runtime::owner::Owner;

/// What bounds a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyLimits<'a> {
    /// Most bytes.
    pub(crate) bytes: usize,
    /// How long it may take to arrive.
    pub(crate) deadline: Duration,
    /// Counts long bodies while they are read.
    pub(crate) all: &'a ResultBudget,
    /// Who sends it.
    pub(crate) caller: Option<&'a Owner>,
}

/// Reads a whole body. Not cancel-safe: what was read is lost.
pub(crate) async fn read<B>(
    headers: &HeaderMap,
    body: &mut Arriving<B>,
    limits: BodyLimits<'_>,
) -> Result<Bytes, ApiError>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    let BodyLimits { bytes: limit, deadline, .. } = limits;
    let announced =
        headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced
        .is_some_and(|announced| usize::try_from(announced).map_or(true, |announced| announced > limit))
    {
        return Err(too_large(limit));
    }
    let collecting = async {
        let broken = |_| ApiError::bad_request("the body broke off");
        // Most bodies come in one piece, which is then not copied.
        let Some(first) = body.next_piece().await.transpose().map_err(broken)? else {
            return Ok(Bytes::new());
        };
        if first.len() > limit {
            return Err(too_large(limit));
        }
        // Taken only for long ones, and given back when they are there.
        let mut room = None;
        if first.len() > FREE_BYTES && !body.has_ended() {
            reserve(&mut room, limits, first.len()).await?;
        }
        let Some(mut piece) = body.next_piece().await.transpose().map_err(broken)? else { return Ok(first) };
        let expected = usize::try_from(body.expected()).unwrap_or(limit).min(limit);
        let mut whole = BytesMut::with_capacity(first.len() + piece.len() + expected);
        whole.extend_from_slice(&first);
        loop {
            if whole.len() + piece.len() > limit {
                return Err(too_large(limit));
            }
            whole.extend_from_slice(&piece);
            if whole.len() > FREE_BYTES && !body.has_ended() {
                reserve(&mut room, limits, whole.len()).await?;
            }
            match body.next_piece().await.transpose().map_err(broken)? {
                Some(next) => piece = next,
                None => return Ok(whole.freeze()),
            }
        }
    };
    let Ok(outcome) = tokio::time::timeout(deadline, collecting).await else {
        // Whoever was too slow is not waited for again.
        body.give_up();
        let message = format!("the body did not arrive within {} s", deadline.as_secs_f32());
        return Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, code::TIMEOUT, message));
    };
    outcome
}

/// The answer for a body that is too large.
fn too_large(limit: usize) -> ApiError {
    let message = format!("the body has more than {limit} bytes");
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, code::BODY_TOO_LARGE, message).with("limit", limit)
}

/// Reserves room for a long body before it is read on.
async fn reserve(
    room: &mut Option<Box<Reservation>>,
    limits: BodyLimits<'_>,
    read: usize,
) -> Result<(), ApiError> {
    let Some(bytes) = needed(read, limits.bytes) else { return Ok(()) };
    let room = room.get_or_insert_with(|| Box::new(limits.all.arriving(holder(limits.caller))));
    // Boxed: few bodies are long, and all requests would carry the future along.
    if bytes <= room.bytes() || Box::pin(room.grow(bytes)).await {
        return Ok(());
    }
    let message = format!(
        "there is no room for a body of more than {read} bytes: those that are being read already take what they may of {} bytes \
         (`limits.bodiesBytes`); nothing ran; try again later",
        limits.all.limit()
    );
    Err(ApiError { not_run: true, ..ApiError::overloaded(StatusCode::SERVICE_UNAVAILABLE, message, 1) })
}

#[cfg(test)]
mod tests {
    use axum_core::body::Body;
    use futures_util::{StreamExt as _, stream};

    use super::*;

    fn limits(bytes: usize, all: &ResultBudget) -> BodyLimits<'_> {
        BodyLimits { bytes, deadline: Duration::from_secs(5), all, caller: None }
    }

    async fn check(pieces: &[&'static str], limit: usize) -> Result<String, StatusCode> {
        let pieces: Vec<Result<&'static str, std::io::Error>> =
            pieces.iter().map(|piece| Ok(*piece)).collect();
        let body = Body::from_stream(stream::iter(pieces));
        let mut body = Arriving::new(&HeaderMap::new(), body);
        let outcome = read(&HeaderMap::new(), &mut body, limits(limit, &ResultBudget::default())).await;
        outcome.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).map_err(|error| error.status)
    }

    #[tokio::test]
    async fn bodies_are_put_together_and_bounded() {
        assert_eq!(check(&[], 4).await.as_deref(), Ok(""));
        assert_eq!(check(&["abcd"], 4).await.as_deref(), Ok("abcd"));
        assert_eq!(check(&["ab", "", "cd"], 4).await.as_deref(), Ok("abcd"));
        assert_eq!(check(&["abcde"], 4).await, Err(StatusCode::PAYLOAD_TOO_LARGE));
        assert_eq!(check(&["ab", "cd", "e"], 4).await, Err(StatusCode::PAYLOAD_TOO_LARGE));
    }

    #[tokio::test]
    async fn an_announced_size_is_refused_unread() {
        let mut headers = HeaderMap::new();
        for announced in ["5", "99999999999999999999", "18446744073709551615"] {
            headers.insert(header::CONTENT_LENGTH, announced.parse().unwrap());
            let mut body = Arriving::new(&headers, Body::from("x"));
            let outcome = read(&headers, &mut body, limits(4, &ResultBudget::default())).await;
            // A number that does not fit is no number: the server in front of us has refused it already.
            let refused = announced.parse::<u64>().is_ok();
            assert_eq!(outcome.is_err(), refused, "{announced}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_body_is_given_up() {
        let body = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
        let mut body = Arriving::new(&HeaderMap::new(), body);
        let budget = ResultBudget::default();
        let error = read(&HeaderMap::new(), &mut body, limits(4, &budget)).await.unwrap_err();
        assert_eq!(
            (error.status, error.message.as_str()),
            (StatusCode::REQUEST_TIMEOUT, "the body did not arrive within 5 s")
        );
    }

    /// A body whose pieces come as they are sent.
    fn fed() -> (tokio::sync::mpsc::UnboundedSender<Bytes>, Arriving<Body>) {
        let (sender, mut pieces) = tokio::sync::mpsc::unbounded_channel::<Bytes>();
        let pieces = stream::poll_fn(move |task| pieces.poll_recv(task)).map(Ok::<_, std::io::Error>);
        (sender, Arriving::new(&HeaderMap::new(), Body::from_stream(pieces)))
    }

    #[tokio::test(start_paused = true)]
    async fn long_bodies_of_all_callers_are_counted_while_they_are_read() {
        let budget = ResultBudget::with_patience(1 << 20, Duration::from_secs(2));
        let (headers, ann, bob) = (HeaderMap::new(), Owner::caller("ann"), Owner::caller("bob"));
        let of = |caller| BodyLimits { caller: Some(caller), ..limits(1 << 20, &budget) };
        let piece = Bytes::from(vec![b' '; 200_000]);
        let (first, mut slow) = fed();
        first.send(piece.clone()).unwrap();
        first.send(piece.clone()).unwrap();
        let mut reading = Box::pin(read(&headers, &mut slow, of(&ann)));
        assert!(futures_util::poll!(&mut reading).is_pending());
        assert_eq!(budget.used(), 512 << 10, "what came, in steps");
        let (second, mut more) = fed();
        second.send(piece.clone()).unwrap();
        let refused = read(&headers, &mut more, of(&ann)).await.unwrap_err();
        assert_eq!(
            (refused.status, refused.code, refused.retry_after, refused.not_run),
            (StatusCode::SERVICE_UNAVAILABLE, code::OVERLOADED, Some(1), true)
        );
        let message = "there is no room for a body of more than 200000 bytes: those that are being read already take what they \
                       may of 1048576 bytes (`limits.bodiesBytes`); nothing ran; try again later";
        assert_eq!(refused.message, message);
        let mut other = Arriving::new(&headers, Body::from(piece.clone()));
        assert_eq!(
            read(&headers, &mut other, of(&bob)).await.map(|body| body.len()).map_err(|error| error.message),
            Ok(200_000)
        );
        let mut short = Arriving::new(&headers, Body::from("{}"));
        assert_eq!(
            read(&headers, &mut short, of(&ann)).await.map(|body| body.len()).map_err(|error| error.message),
            Ok(2)
        );
        drop(first);
        assert_eq!(reading.await.map(|body| body.len()).map_err(|error| error.message), Ok(400_000));
        assert_eq!(budget.used(), 0, "it is there");
    }
}
