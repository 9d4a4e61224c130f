//! A running gateway, over its HTTP API.

use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url};
use serde_json::Value;

use crate::setup::ConfigFlags;

/// Flags that name a gateway.
#[derive(Debug, Args)]
pub(crate) struct RemoteFlags {
    /// The running gateway [default: `MCP_GATEWAY_URL`, else where the configuration says, else `http://127.0.0.1:8787`]
    #[arg(long, value_name = "URL", global = true)]
    url: Option<String>,
    /// The key that it wants [default: `MCP_GATEWAY_KEY`]
    #[arg(long, value_name = "KEY", global = true)]
    key: Option<String>,
}

impl RemoteFlags {
    /// The selected gateway; by default the one of this configuration.
    pub(crate) fn remote(&self, config: &ConfigFlags) -> Result<Remote> {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let url = self.url.clone().or_else(|| variable("MCP_GATEWAY_URL"));
        let explicit = url.is_some();
        let text = &url.unwrap_or_else(|| config.gateway_url());
        let mut base = Url::parse(text).with_context(|| format!("reading the gateway's URL `{text}`"))?;
        if !matches!(base.scheme(), "http" | "https") {
            bail!("the gateway's URL `{text}` must begin with http:// or https://");
        }
        // Joining a path replaces the last segment of the base unless it ends with `/`.
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        // An already installed provider is fine too.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .connect_timeout(CONNECT)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .context("making an HTTP client")?;
        Ok(Remote { client, base, key: self.key.clone().or_else(|| variable("MCP_GATEWAY_KEY")), explicit })
    }
}

/// How long the gateway may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(3);

/// A gateway that may be running.
#[derive(Debug)]
pub(crate) struct Remote {
    client: Client,
    base: Url,
    key: Option<String>,
    /// Whether it was named explicitly, so that there is no fallback.
    pub(crate) explicit: bool,
}

/// The outcome of a request.
pub(crate) enum Answer {
    /// It succeeded.
    Done(Response),
    /// It refused.
    Refused {
        /// Its status.
        status: StatusCode,
        /// Its error message.
        text: String,
    },
    /// Nothing listens there.
    Unreachable(anyhow::Error),
    /// Something else answers there.
    NotAGateway,
}

impl Remote {
    /// A request for the path with these segments.
    pub(crate) fn request(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, String)],
    ) -> Result<RequestBuilder> {
        let mut url = self.base.clone();
        url.path_segments_mut()
            .map_err(|()| anyhow!("the gateway's URL `{}` cannot have a path", self.base))?
            .pop_if_empty()
            .extend(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut request = self.client.request(method, url);
        if let Some(key) = &self.key {
            request = request.bearer_auth(key);
        }
        Ok(request)
    }

    /// Sends a request; `wait` limits the time until the response headers.
    pub(crate) async fn send(&self, request: RequestBuilder, wait: Duration) -> Result<Answer> {
        let response = match tokio::time::timeout(wait, request.send()).await {
            Err(_) => bail!("the gateway at {} gave no answer within {wait:?}", self.location()),
            Ok(Err(error)) if error.is_connect() => {
                return Ok(Answer::Unreachable(anyhow!(
                    "no gateway answers at {}: {}",
                    self.location(),
                    last_cause(&error)
                )));
            }
            Ok(Err(error)) => bail!("asking the gateway at {}: {}", self.location(), last_cause(&error)),
            Ok(Ok(response)) => response,
        };
        let status = response.status();
        if status.is_success() {
            return Ok(Answer::Done(response));
        }
        let body = read_body(response, wait).await?;
        // Errors of a gateway are objects with these two members.
        let body: Option<Value> = serde_json::from_slice(&body).ok();
        let member = |name: &str| body.as_ref()?.get(name)?.as_str().map(str::to_owned);
        Ok(match (member("error"), member("code")) {
            (Some(mut text), Some(_)) => {
                if status == StatusCode::UNAUTHORIZED {
                    text.push_str("; give the key with --key or MCP_GATEWAY_KEY");
                }
                Answer::Refused { status, text }
            }
            _ => Answer::NotAGateway,
        })
    }

    /// Its URL, for messages.
    pub(crate) fn location(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// The error for an address where something else answers.
    pub(crate) fn not_a_gateway(&self) -> anyhow::Error {
        anyhow!("what answers at {} is not a gateway; --url names another address", self.location())
    }
}

/// The root cause of an error, as text: a broken connection to a gateway must not look like a broken pipe of ours.
fn last_cause(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    last.to_string()
}

/// The largest response that is read.
const MOST_BYTES: usize = 256 << 20;

/// The whole body.
pub(crate) async fn read_body(mut response: Response, wait: Duration) -> Result<Vec<u8>> {
    let read = async {
        let mut body = Vec::new();
        while let Some(piece) = response
            .chunk()
            .await
            .map_err(|error| anyhow!("reading the gateway's answer: {}", last_cause(&error)))?
        {
            if body.len() + piece.len() > MOST_BYTES {
                bail!("the gateway's answer has more than {MOST_BYTES} bytes; --limit asks for less");
            }
            body.extend_from_slice(&piece);
        }
        Ok(body)
    };
    tokio::time::timeout(wait, read)
        .await
        .map_err(|_| anyhow!("the gateway's answer did not end within {wait:?}"))?
}
