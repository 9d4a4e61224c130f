//! The endpoint over HTTP: Streamable HTTP in both eras, and the transport with two addresses before it.

use gateway_protocol::{Incoming, RpcError, code, header, parse_strict_message};
use http::{HeaderValue, StatusCode};

use crate::endpoint::Endpoint;
use crate::http_request::HttpRequest;
use crate::response::{Refused, Response, empty, not_acceptable, takes_events};
use crate::view::View;
use crate::{legacy, modern};

/// What is asked of the endpoint: each has a method and a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `POST /mcp`: a message, or several.
    Post,
    /// `GET /mcp`: the stream of a legacy session.
    Get,
    /// `DELETE /mcp`: the end of a legacy session.
    Delete,
    /// `GET /mcp/events`: the stream of the oldest clients.
    Events,
    /// `POST /mcp/api`: a message of the oldest clients.
    Api,
}

impl Endpoint {
    /// Answers a request over HTTP.
    pub async fn answer(&self, operation: Operation, request: HttpRequest) -> Response {
        let answer = match operation {
            Operation::Post => self.post(request).await,
            Operation::Get => self.get(&request),
            Operation::Delete if request.is_modern() => {
                Ok(not_allowed("Method not allowed: there are no sessions in this version"))
            }
            Operation::Delete => legacy::delete(self, &request),
            Operation::Events => self.view(&request).and_then(|_| legacy::events(self, &request)),
            Operation::Api => legacy::api(self, request),
        };
        answer.unwrap_or_else(Response::from)
    }

    async fn post(&self, request: HttpRequest) -> Result<Response, Refused> {
        if let Some(batch) = legacy::Batch::read(&request.body) {
            self.view(&request)?;
            return Box::pin(legacy::post_batch(self, request, batch)).await;
        }
        let incoming =
            parse_strict_message(request.body.clone()).map_err(|error| Refused::unreadable(&error))?;
        let view = self.view(&request)?;
        let params = match &incoming {
            Incoming::Request(request) => request.params.as_ref(),
            Incoming::Notification(notification) => notification.params.as_ref(),
            Incoming::Response(_) => None,
        };
        // A session that a modern client remembers of old times says nothing about this request.
        if !modern::is_meant(params, request.version()) {
            return Box::pin(legacy::post(self, request, &view, incoming)).await;
        }
        match incoming {
            Incoming::Request(asked) => Box::pin(modern::post(self, request, view, asked)).await,
            Incoming::Notification(_) | Incoming::Response(_) => Ok(empty(StatusCode::ACCEPTED)),
        }
    }

    fn get(&self, request: &HttpRequest) -> Result<Response, Refused> {
        self.view(request)?;
        if !takes_events(&request.headers) {
            return Err(not_acceptable(None));
        }
        if !request.headers.contains_key(&header::SESSION) || request.is_modern() {
            // Streams without a session are those of the modern era, and they begin with a POST.
            return Ok(not_allowed("Method not allowed: send `subscriptions/listen`"));
        }
        legacy::get(self, request)
    }

    fn view(&self, request: &HttpRequest) -> Result<View, Refused> {
        let (fleet, name) = (self.fleet(), request.name.as_deref());
        View::named(fleet, name).ok_or_else(|| {
            let (name, known) = (name.unwrap_or_default(), View::names(fleet));
            let message = format!("no group or server is called `{name}`; there are: {known}");
            Refused::new(StatusCode::NOT_FOUND, None, RpcError::new(code::INVALID_REQUEST, message))
        })
    }
}

fn not_allowed(message: &str) -> Response {
    let error = RpcError::new(code::INVALID_REQUEST, message);
    let mut response = Response::from(Refused::new(StatusCode::METHOD_NOT_ALLOWED, None, error));
    response.headers_mut().insert(http::header::ALLOW, HeaderValue::from_static("POST"));
    response
}
