//! Reading a request's body: bounded in size and time.

use std::time::Duration;

use axum::body::HttpBody;
use bytes::{Buf as _, Bytes, BytesMut};
use http::{HeaderMap, StatusCode, header};

use super::linger::Arriving;
use crate::errors::{ApiError, code};

/// Reads a whole body. Not cancel-safe: what was read is lost.
pub(crate) async fn read<B>(
    headers: &HeaderMap,
    body: &mut Arriving<B>,
    limit: usize,
    deadline: Duration,
) -> Result<Bytes, ApiError>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    let announced =
        headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced
        .is_some_and(|announced| usize::try_from(announced).map_or(true, |announced| announced > limit))
    {
        return Err(too_large(limit));
    }
    let Ok(outcome) = tokio::time::timeout(deadline, collect(body, limit)).await else {
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

async fn collect<B: HttpBody<Data = Bytes> + Unpin>(
    body: &mut Arriving<B>,
    limit: usize,
) -> Result<Bytes, ApiError> {
    let broken = |_| ApiError::bad_request("the body broke off");
    // Most bodies come in one piece, which is then not copied.
    let Some(first) = body.next_piece().await.transpose().map_err(broken)? else {
        return Ok(Bytes::new());
    };
    if first.len() > limit {
        return Err(too_large(limit));
    }
    let Some(second) = body.next_piece().await.transpose().map_err(broken)? else { return Ok(first) };
    let expected = body.expected().min(u64::try_from(limit).unwrap_or(u64::MAX));
    let mut whole =
        BytesMut::with_capacity(first.len() + second.len() + usize::try_from(expected).unwrap_or_default());
    whole.extend_from_slice(&first);
    let mut piece = second;
    loop {
        if whole.len() + piece.remaining() > limit {
            return Err(too_large(limit));
        }
        whole.extend_from_slice(&piece);
        match body.next_piece().await.transpose().map_err(broken)? {
            Some(next) => piece = next,
            None => return Ok(whole.freeze()),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use futures_util::stream;

    use super::*;

    async fn check(pieces: &[&'static str], limit: usize) -> Result<String, StatusCode> {
        let pieces: Vec<Result<&'static str, std::io::Error>> =
            pieces.iter().map(|piece| Ok(*piece)).collect();
        let body = Body::from_stream(stream::iter(pieces));
        let mut body = Arriving::new(&HeaderMap::new(), body);
        let outcome = read(&HeaderMap::new(), &mut body, limit, Duration::from_secs(5)).await;
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
            let outcome = read(&headers, &mut body, 4, Duration::from_secs(5)).await;
            // A number that does not fit is no number: the server in front of us has refused it already.
            let refused = announced.parse::<u64>().is_ok();
            assert_eq!(outcome.is_err(), refused, "{announced}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_body_is_given_up() {
        let body = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
        let mut body = Arriving::new(&HeaderMap::new(), body);
        let error = read(&HeaderMap::new(), &mut body, 4, Duration::from_secs(5)).await.unwrap_err();
        assert_eq!(
            (error.status, error.message.as_str()),
            (StatusCode::REQUEST_TIMEOUT, "the body did not arrive within 5 s")
        );
    }
}
