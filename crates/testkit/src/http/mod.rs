//! The fixture over HTTP.

mod answer;
mod body;
mod checks;
mod sse;
mod streamable;

use std::convert::Infallible;
use std::io::{self, Write as _};
use std::net::Ipv4Addr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::options::Transport;
use crate::server::Server;
use answer::plain;
use body::Body;

/// One HTTP request, its body read.
#[derive(Debug)]
pub(crate) struct HttpRequest {
    pub(crate) headers: HeaderMap,
    pub(crate) query: String,
    pub(crate) body: Bytes,
}

/// One TCP connection: the exit status of the process once its answers are sent, if it is to exit.
pub(crate) type ExitWhenClosed = OnceLock<i32>;

/// Serves forever.
pub(crate) async fn serve(server: Arc<Server>) -> io::Result<()> {
    let listener = bind(server.options.port).await?;
    let path = if server.options.transport == Transport::Sse { "sse" } else { "mcp" };
    let address = listener.local_addr()?;
    {
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "listening on http://{address}/{path}")?;
        stdout.flush()?;
    }
    loop {
        let (stream, _) = listener.accept().await?;
        // Small answers must not wait for the next acknowledgement.
        stream.set_nodelay(true)?;
        let tasks = server.tasks.clone();
        tasks.spawn(serve_connection(Arc::clone(&server), stream));
    }
}

/// Binds the port; one that a previous process just used may need a moment.
async fn bind(port: u16) -> io::Result<TcpListener> {
    let start = Instant::now();
    loop {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            Err(error)
                if error.kind() == io::ErrorKind::AddrInUse && start.elapsed() < Duration::from_secs(10) =>
            {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            outcome => return outcome,
        }
    }
}

async fn serve_connection(server: Arc<Server>, stream: tokio::net::TcpStream) {
    let exit = Arc::new(ExitWhenClosed::new());
    let service = service_fn(|request| {
        let (server, exit) = (Arc::clone(&server), Arc::clone(&exit));
        async move {
            Ok::<_, Infallible>(handle(&server, request, &exit).await.unwrap_or_else(|refused| *refused))
        }
    });
    // A client that disconnects is not an error.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
    if let Some(code) = exit.get() {
        std::process::exit(*code);
    }
}

/// A refusal in place of an answer.
pub(crate) type Refused = Box<Response<Body>>;

async fn handle(
    server: &Arc<Server>,
    request: Request<Incoming>,
    exit: &ExitWhenClosed,
) -> Result<Response<Body>, Refused> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| plain(400, "the body broke off"))?;
    let request = HttpRequest {
        headers: parts.headers,
        query: parts.uri.query().unwrap_or_default().to_owned(),
        body: body.to_bytes(),
    };
    let path = parts.uri.path();
    if server.wire_log.is_on() {
        log_request(server, &parts.method, path, &request);
    }
    checks::check_caller(&server.options, &request.headers)?;
    Ok(match (server.options.transport, path, &parts.method) {
        (Transport::Http, "/mcp" | "/moved", &Method::POST) => {
            streamable::post(server, request, exit, path).await?
        }
        (Transport::Http, "/mcp" | "/moved", &Method::GET) => streamable::get(server, &request)?,
        (Transport::Http, "/mcp" | "/moved", &Method::DELETE) => streamable::delete(server, &request)?,
        (Transport::Sse, "/sse", &Method::GET) => sse::open(server),
        (Transport::Sse, "/messages", &Method::POST) => sse::post(server, &request),
        (_, "/mcp" | "/moved" | "/sse" | "/messages", _) => plain(405, "method not allowed"),
        (_, "/admin/forget-sessions", &Method::POST) => {
            server.subscribers.forget_sessions();
            plain(200, "forgotten")
        }
        (_, "/admin/change-tools", &Method::POST) => {
            server.change_tools(1);
            plain(200, "changed")
        }
        _ => plain(404, "not found"),
    })
}

fn log_request(server: &Server, method: &Method, path: &str, request: &HttpRequest) {
    let headers: serde_json::Map<String, serde_json::Value> = request
        .headers
        .iter()
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into()))
        .collect();
    let body = std::str::from_utf8(&request.body).unwrap_or("");
    let message = serde_json::from_str::<&serde_json::value::RawValue>(body)
        .map_or("null".to_owned(), |raw| raw.get().replace(['\n', '\r'], " "));
    server.wire_log.append(&format!(
        r#"{{"http":"{method}","path":{},"headers":{},"message":{message}}}"#,
        serde_json::json!(path),
        serde_json::json!(headers)
    ));
}
