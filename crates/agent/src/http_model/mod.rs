//! Models behind an API, over plain HTTP.

mod endpoint;
mod figures;
mod refusal;
mod reply;
mod retry;
mod secrets;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, Stream, StreamExt as _};
use gateway_builtin::http_client;
use gateway_config::{ModelKind, ModelSpec};
use gateway_dialects::Dialect;
use gateway_dialects::calls::text::Notations;
use gateway_dialects::requests::{ModelRequest, RenderedRequest, render_request};
use http::HeaderMap;
use reqwest::{Client, RequestBuilder, Response};
use serde_json::value::RawValue;
use url::Url;

use self::reply::{ReplyReader, whole_reply};
use self::retry::Patience;
use self::secrets::KeySecrets;
use crate::error::{ModelError, ModelFailure};
use crate::model::{Answer, Ask, Model};

pub(crate) use self::endpoint::{Endpoint, headers};
pub(crate) use self::figures::RequestFigures;
pub(crate) use self::refusal::refused;

/// A model behind an API.
#[derive(Debug)]
pub struct HttpModel {
    name: String,
    kind: ModelKind,
    /// What the API calls it.
    model: String,
    endpoint: Endpoint,
    headers: HeaderMap,
    secrets: Arc<KeySecrets>,
    dialects: ModelDialects,
    retries: u32,
    /// How long the API may send nothing.
    timeout: Duration,
    client: Client,
    figures: Arc<RequestFigures>,
}

/// The bytes of an answer, as they come.
pub type ProxiedBody = Pin<Box<dyn Stream<Item = Result<Bytes, String>> + Send>>;

/// How a model is spoken to.
#[derive(Clone, Debug)]
pub struct ModelDialects {
    /// The dialect of its conversations and tools.
    pub usual: Arc<Dialect>,
    /// The one for tools that the usual one did not write carefully enough.
    pub careful: Option<Arc<Dialect>>,
    /// In which notations it writes calls as text.
    pub notations: Notations,
    /// In which notations such calls are only reported, because nobody said whether it writes any.
    pub unread: Notations,
}

impl HttpModel {
    /// The model that the API of `spec` calls `model`.
    pub fn new(
        spec: &ModelSpec,
        (name, model): (&str, &str),
        dialects: ModelDialects,
        client: Client,
    ) -> Result<Self, String> {
        let headers = endpoint::headers(spec)?;
        let secrets = Arc::new(KeySecrets::of(&headers));
        Ok(Self {
            name: name.to_owned(),
            kind: spec.kind,
            model: model.to_owned(),
            endpoint: Endpoint::new(spec)?,
            headers,
            secrets,
            dialects,
            retries: spec.retries,
            timeout: spec.timeout,
            client,
            figures: Arc::default(),
        })
    }

    /// The same with counts that somebody else reads, too.
    #[must_use]
    pub(crate) fn counted(mut self, figures: Arc<RequestFigures>) -> Self {
        self.figures = figures;
        self
    }

    fn error(&self, failure: ModelFailure) -> ModelError {
        ModelError { model: self.name.clone(), kind: Some(self.kind), failure }
    }

    async fn begin(&self, ask: Ask<'_>) -> Result<Answer, ModelFailure> {
        let tools = ask.tools.map(|tools| serde_json::from_slice::<Box<RawValue>>(tools)).transpose();
        let tools = tools.map_err(|error| ModelFailure::Request(format!("the list of tools: {error}")))?;
        let request = ModelRequest {
            tools: tools.as_deref(),
            tool_choice: ask.tool_choice,
            settings: ask.settings,
            stream: ask.stream,
            ..ModelRequest::new(&self.model, ask.conversation)
        };
        let rendered = render_request(&self.dialects.usual, &request);
        let RenderedRequest { body, ignored, .. } =
            rendered.map_err(|error| ModelFailure::Request(error.to_string()))?;
        let response = self.send_with_patience(body.into(), ask.stream).await?;
        let protocol = self.dialects.usual.messages.protocol;
        let calls = reply::Calls { text: ask.text, ids_after: ask.calls_so_far };
        let events = if reply::is_whole(&response, protocol, ask.stream) {
            whole_reply(response, (protocol, &self.dialects.usual.label), calls, self.timeout).await?
        } else {
            ReplyReader::new(response, protocol, calls, self.timeout).events()
        };
        let (name, kind) = (self.name.clone(), Some(self.kind));
        let secrets = Arc::clone(&self.secrets);
        let events = events.map(move |event| {
            event.map_err(|failure| ModelError {
                model: name.clone(),
                kind,
                failure: refusal::hidden(failure, &secrets),
            })
        });
        Ok(Answer { events: Box::pin(events), ignored })
    }

    /// Sends a request that somebody else wrote until the API takes it, as often as is allowed, and gives the last answer whatever it is.
    /// Headers of the configuration win over `headers`.
    pub(crate) async fn forward(&self, body: Bytes, headers: &HeaderMap) -> Result<Response, ModelError> {
        let url = self.endpoint.url(&self.model, false);
        let mut patience = Patience::new(self.retries);
        loop {
            let request =
                self.client.post(url.clone()).headers(headers.clone()).headers(self.headers.clone());
            let answered = self.answered(request.body(body.clone()), &url).await;
            let failure = match &answered {
                Ok(response) => refused(response),
                Err(failure) => Some(failure.clone()),
            };
            let pause = failure.and_then(|failure| patience.next_pause(&failure));
            let Some(pause) = pause else { return answered.map_err(|failure| self.error(failure)) };
            tracing::warn!(model = %self.name, ?pause, "A request to the model is passed on again.");
            drop(answered);
            tokio::time::sleep(pause).await;
        }
    }

    /// An answer that no API should give.
    pub(crate) async fn unexpected(&self, response: Response) -> ModelError {
        let url = response.url().clone();
        self.error(refusal::read(response, self.timeout, &self.secrets).await.asked_at(&url))
    }

    /// The body of such an answer, which may send nothing for as long as the API may.
    pub(crate) fn body(&self, response: Response) -> ProxiedBody {
        let timeout = self.timeout;
        let pieces = Box::pin(response.bytes_stream());
        let body = futures_util::stream::unfold(Some(pieces), move |pieces| async move {
            let mut pieces = pieces?;
            match tokio::time::timeout(timeout, pieces.next()).await {
                Ok(Some(Ok(piece))) => Some((Ok(piece), Some(pieces))),
                Ok(Some(Err(error))) => Some((Err(http_client::explain(error)), None)),
                Ok(None) => None,
                Err(_) => Some((Err(ModelFailure::Timeout(timeout).to_string()), None)),
            }
        });
        body.boxed()
    }

    /// The body of such an answer that says why there is none. Errors like to repeat the key that they do not accept.
    pub(crate) async fn error_body(&self, response: Response) -> ProxiedBody {
        let read = refusal::first_bytes(response, self.timeout, &self.secrets).await;
        futures_util::stream::iter([Ok(read)]).boxed()
    }

    /// Sends a request until the API takes it, as often as is allowed.
    async fn send_with_patience(&self, body: Bytes, stream: bool) -> Result<Response, ModelFailure> {
        let mut patience = Patience::new(self.retries);
        loop {
            let failure = match self.send(body.clone(), stream).await {
                Ok(response) => return Ok(response),
                Err(failure) => refusal::hidden(failure, &self.secrets),
            };
            let Some(pause) = patience.next_pause(&failure) else { return Err(failure) };
            tracing::warn!(model = %self.name, %failure, ?pause, "Model is asked again.");
            tokio::time::sleep(pause).await;
        }
    }

    async fn send(&self, body: Bytes, stream: bool) -> Result<Response, ModelFailure> {
        let url = self.endpoint.url(&self.model, stream);
        let request = self.client.post(url.clone()).headers(self.headers.clone()).body(body);
        let response = self.answered(request, &url).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(refusal::read(response, self.timeout, &self.secrets).await.asked_at(&url))
    }

    /// The answer to a request, once it begins.
    async fn answered(&self, request: RequestBuilder, url: &Url) -> Result<Response, ModelFailure> {
        let response = tokio::time::timeout(self.timeout, request.send()).await;
        let answer = response.as_ref().ok().and_then(|answer| answer.as_ref().ok());
        self.figures.count(answer.map(|answer| answer.status().is_success()));
        let response = response.map_err(|_| ModelFailure::Timeout(self.timeout))?;
        response.map_err(|error| refusal::hidden(refusal::not_answered(error, url), &self.secrets))
    }
}

impl Model for HttpModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn dialect(&self) -> &Arc<Dialect> {
        &self.dialects.usual
    }

    fn notations(&self) -> Notations {
        self.dialects.notations
    }

    fn unread_notations(&self) -> Notations {
        self.dialects.unread
    }

    fn careful_dialect(&self) -> Option<Arc<Dialect>> {
        self.dialects.careful.clone()
    }

    fn ask<'a>(&'a self, ask: Ask<'a>) -> BoxFuture<'a, Result<Answer, ModelError>> {
        self.begin(ask).map(|begun| begun.map_err(|failure| self.error(failure))).boxed()
    }
}
