//! Models on this machine that nobody has configured.

use std::time::Duration;

use futures_util::future::join_all;
use gateway_config::{ModelKind, ModelSpec, ollama_address, server_address};

use super::{client, listing};

/// How long a server may take to say which models it has. It is on this machine, if it is there at all, and somebody waits.
const PATIENCE: Duration = Duration::from_millis(700);

/// The same for a server that somebody has named: it is there, and may be far away or busy.
const PATIENCE_IF_NAMED: Duration = Duration::from_secs(2);

/// Where the usual model servers listen, with the name that their models get here.
const USUAL: [(&str, ModelKind, &str); 7] = [
    ("ollama", ModelKind::Ollama, "http://127.0.0.1:11434"),
    ("lm-studio", ModelKind::OpenAi, "http://127.0.0.1:1234/v1"),
    ("llama.cpp", ModelKind::OpenAi, "http://127.0.0.1:8080/v1"),
    ("vllm", ModelKind::OpenAi, "http://127.0.0.1:8000/v1"),
    ("jan", ModelKind::OpenAi, "http://127.0.0.1:1337/v1"),
    ("koboldcpp", ModelKind::OpenAi, "http://127.0.0.1:5001/v1"),
    ("sglang", ModelKind::OpenAi, "http://127.0.0.1:30000/v1"),
];

/// A server that may have models.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LocalServer {
    /// Its entry, which stands for all models that it lists.
    pub spec: ModelSpec,
    /// How long it may take to list them.
    pub patience: Duration,
}

/// Where models may be found that nobody has configured: the usual servers on this machine, with Ollama at `ollama_host` if that is
/// given.
pub fn usual_local_servers(ollama_host: Option<&str>) -> Vec<LocalServer> {
    let usual = USUAL.iter().map(|(name, kind, address)| match (kind, ollama_host) {
        (ModelKind::Ollama, Some(host)) => local(name, *kind, &ollama_address(host), PATIENCE_IF_NAMED),
        _ => local(name, *kind, address, PATIENCE),
    });
    usual.collect()
}

/// The same for addresses that somebody names (a URL, or host and port), each as the API of Ollama and as that of OpenAI.
pub fn local_servers_at<'a>(addresses: impl IntoIterator<Item = &'a str>) -> Vec<LocalServer> {
    let both = addresses.into_iter().flat_map(|address| {
        let address = server_address(address);
        let bare = address.strip_suffix("/v1").unwrap_or(&address);
        let of_openai = format!("{bare}/v1");
        [
            local("ollama", ModelKind::Ollama, bare, PATIENCE_IF_NAMED),
            local("local", ModelKind::OpenAi, &of_openai, PATIENCE_IF_NAMED),
        ]
    });
    both.collect()
}

/// Asks these servers at once which models they have; those that answer, each with its models. Of several APIs at one address, the first
/// that answers counts.
pub async fn find_local_models(servers: Vec<LocalServer>) -> Vec<(ModelSpec, Vec<String>)> {
    let asked = servers.into_iter().map(|LocalServer { spec, patience }| async move {
        let client = client(&spec);
        let names = tokio::time::timeout(patience, listing::fetch(&spec, &client)).await.ok().flatten()?;
        (!names.is_empty()).then_some((spec, names))
    });
    let mut found: Vec<(ModelSpec, Vec<String>)> = Vec::new();
    for (spec, names) in join_all(asked).await.into_iter().flatten() {
        let is_known = |known: &ModelSpec| authority(&known.base_url) == authority(&spec.base_url);
        if !found.iter().any(|(known, _)| is_known(known)) {
            found.push((spec, names));
        }
    }
    found
}

/// The first model that can answer: servers list models that only make embeddings too.
pub fn first_chat_model(names: &[String]) -> Option<&String> {
    const OTHER: [&str; 3] = ["embed", "rerank", "whisper"];
    let is_other = |name: &str| OTHER.iter().any(|word| name.to_lowercase().contains(word));
    names.iter().find(|name| !is_other(name)).or(names.first())
}

fn local(name: &str, kind: ModelKind, address: &str, patience: Duration) -> LocalServer {
    let mut spec = ModelSpec::at(name, kind, address);
    spec.lists_models = true;
    LocalServer { spec, patience }
}

fn authority(address: &str) -> Option<String> {
    url::Url::parse(address).ok().map(|url| url.authority().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(servers: &[LocalServer]) -> Vec<(&str, Duration)> {
        servers.iter().map(|server| (server.spec.base_url.as_str(), server.patience)).collect()
    }

    #[test]
    fn servers_that_somebody_names_have_more_time() {
        let usual = usual_local_servers(None);
        assert_eq!(asked(&usual)[..2], [(USUAL[0].2, PATIENCE), (USUAL[1].2, PATIENCE)]);
        let named = usual_local_servers(Some("box"));
        let expected = [("http://box:11434", PATIENCE_IF_NAMED), (USUAL[1].2, PATIENCE)];
        assert_eq!(asked(&named)[..2], expected);
        assert_eq!((usual.len(), named.len()), (USUAL.len(), USUAL.len()));
    }

    #[test]
    fn an_address_may_be_a_host_and_a_port() {
        for address in ["127.0.0.1:18555", "http://127.0.0.1:18555/", "http://127.0.0.1:18555/v1"] {
            let servers = local_servers_at([address]);
            let expected = ["http://127.0.0.1:18555", "http://127.0.0.1:18555/v1"];
            assert_eq!(asked(&servers), expected.map(|url| (url, PATIENCE_IF_NAMED)), "{address}");
        }
    }

    #[test]
    fn a_model_for_embeddings_is_not_asked_to_chat() {
        let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let first = |all: &[&str]| first_chat_model(&names(all)).cloned();
        assert_eq!(first(&["nomic-embed-text:latest", "qwen3:8b"]).as_deref(), Some("qwen3:8b"));
        assert_eq!(first(&["my-embedder"]).as_deref(), Some("my-embedder"));
        assert_eq!(first(&[]), None);
    }
}
