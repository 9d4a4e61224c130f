//! A small HTTP server on this machine, for commands that stand between programs.

use std::convert::Infallible;
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use anyhow::{Context, Result};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, ORIGIN};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use reqwest::Url;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Connections at once; further ones wait.
const CONNECTIONS: usize = 256;
/// Messages that wait until the other side has taken those before them.
const PENDING: usize = 256;
/// Bytes of one message.
pub(crate) const LONGEST_MESSAGE: usize = 64 << 20;

/// A body whose parts come one after the other.
#[derive(Debug)]
pub(crate) struct Parts(mpsc::Receiver<Bytes>);

impl Parts {
    /// A body, and what it is filled with. Once nobody reads the body, that is closed.
    pub(crate) fn channel() -> (mpsc::Sender<Bytes>, Self) {
        let (sender, receiver) = mpsc::channel(PENDING);
        (sender, Self(receiver))
    }

    /// A body that is complete.
    pub(crate) fn whole(text: impl Into<Bytes>) -> Self {
        let (sender, body) = Self::channel();
        // There is room for one.
        let _ = sender.try_send(text.into());
        body
    }
}

impl Body for Parts {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut TaskContext<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|part| part.map(|part| Ok(Frame::data(part))))
    }
}

/// Listens on loopback; port 0 takes a free one.
pub(crate) async fn listen(port: u16) -> Result<(TcpListener, SocketAddr)> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let listener = TcpListener::bind(address).await;
    let listener = listener
        .with_context(|| format!("listening on {address}; --port names another port, 0 a free one"))?;
    let address = listener.local_addr().context("asking for the address that was bound")?;
    Ok((listener, address))
}

/// Answers requests until it is dropped.
pub(crate) async fn serve<W, F>(listener: TcpListener, work: W) -> Result<Infallible>
where
    W: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Response<Parts>> + Send + 'static,
{
    let mut connections = JoinSet::new();
    loop {
        if connections.len() >= CONNECTIONS {
            connections.join_next().await;
        }
        let stream = tokio::select! {
            accepted = listener.accept() => accepted.context("accepting a connection")?.0,
            Some(_) = connections.join_next() => continue,
        };
        let work = work.clone();
        let answer = service_fn(move |request: Request<Incoming>| {
            let work = work.clone();
            async move {
                if !is_local(request.headers()) {
                    return Ok::<_, Infallible>(plain(
                        StatusCode::FORBIDDEN,
                        "only programs on this machine may ask",
                    ));
                }
                Ok(work(request).await)
            }
        });
        // How a connection ends concerns only whoever opened it.
        connections.spawn(async move {
            drop(http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await);
        });
    }
}

/// Whether a request is meant for this machine and comes from no page of another.
fn is_local(headers: &HeaderMap) -> bool {
    let local = |host: Option<&str>| matches!(host, Some("localhost" | "127.0.0.1" | "[::1]"));
    let host = |name: &str| Url::parse(name).ok().is_some_and(|url| local(url.host_str()));
    let named = headers.get(HOST).and_then(|value| value.to_str().ok());
    let origin = headers.get(ORIGIN).map(|value| value.to_str().unwrap_or_default());
    named.is_some_and(|named| host(&format!("http://{named}"))) && origin.is_none_or(host)
}

/// The whole body, if it is not too long.
pub(crate) async fn whole_body(body: Incoming) -> Option<Bytes> {
    Limited::new(body, LONGEST_MESSAGE).collect().await.ok().map(http_body_util::Collected::to_bytes)
}

/// An answer in plain text.
pub(crate) fn plain(status: StatusCode, text: impl Into<Bytes>) -> Response<Parts> {
    answer(status, "text/plain; charset=utf-8", Parts::whole(text))
}

/// An answer of this type.
pub(crate) fn answer(status: StatusCode, kind: &'static str, body: Parts) -> Response<Parts> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_may_ask() {
        let headers = |host: &'static str, origin: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, http::HeaderValue::from_static(host));
            if let Some(origin) = origin {
                headers.insert(ORIGIN, http::HeaderValue::from_static(origin));
            }
            is_local(&headers)
        };
        assert!(headers("127.0.0.1:80", None) && headers("localhost:1", Some("http://localhost:3000")));
        assert!(!headers("evil.example", None) && !headers("localhost", Some("http://evil.example")));
        assert!(!headers("localhost", Some("null")) && !is_local(&HeaderMap::new()));
    }
}
