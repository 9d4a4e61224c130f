//! A gateway that runs already, over its HTTP face.

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
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The key that it wants [default: `MCP_GATEWAY_KEY`]
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

impl RemoteFlags {
    /// The gateway that is meant; the one of this configuration where nobody says otherwise.
    pub(crate) fn remote(&self, config: &ConfigFlags) -> Result<Remote> {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let url = self.url.clone().or_else(|| variable("MCP_GATEWAY_URL"));
        let explicit = url.is_some();
        let text = &url.unwrap_or_else(|| config.gateway_url());
        let mut base = Url::parse(text).with_context(|| format!("reading the gateway's URL `{text}`"))?;
        if !matches!(base.scheme(), "http" | "https") {
            bail!("the gateway's URL `{text}` must begin with http:// or https://");
        }
        // Paths are added to the base, and only a last `/` keeps what stands before it.
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        // Somebody else may have installed a provider; then that one serves as well.
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
    /// Somebody named it, so nothing else will do.
    pub(crate) explicit: bool,
}

/// What came of asking it.
pub(crate) enum Answer {
    /// It did what it was asked.
    Done(Response),
    /// It refused, with its words.
    Refused {
        /// Its status.
        status: StatusCode,
        /// Its words.
        text: String,
    },
    /// Nobody is there.
    Nobody(anyhow::Error),
    /// Somebody else is there.
    Stranger,
}

impl Remote {
    /// A request for the path whose parts these are.
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

    /// Sends a request; `wait` is for the head of the answer.
    pub(crate) async fn send(&self, request: RequestBuilder, wait: Duration) -> Result<Answer> {
        let response = match tokio::time::timeout(wait, request.send()).await {
            Err(_) => bail!("the gateway at {} gave no answer within {wait:?}", self.place()),
            Ok(Err(error)) if error.is_connect() => {
                return Ok(Answer::Nobody(anyhow!(
                    "no gateway answers at {}: {}",
                    self.place(),
                    last_cause(&error)
                )));
            }
            Ok(Err(error)) => bail!("asking the gateway at {}: {}", self.place(), last_cause(&error)),
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
            _ => Answer::Stranger,
        })
    }

    /// Where it is, for people.
    pub(crate) fn place(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// The words for somebody else being there.
    pub(crate) fn stranger(&self) -> anyhow::Error {
        anyhow!("what answers at {} is not a gateway; --url names another address", self.place())
    }
}

/// What is at the bottom of an error, as text: a broken connection to a gateway must not look like a broken pipe of ours.
fn last_cause(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    last.to_string()
}

/// The most bytes of an answer that are read at once.
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
