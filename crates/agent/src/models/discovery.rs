//! Models on this machine that nobody has configured.

use std::time::Duration;

use futures_util::future::join_all;
use gateway_config::{ModelKind, ModelSpec};

use super::{client, listing};

/// How long a server may take to say which models it has. It is on this machine, and somebody waits.
const PATIENCE: Duration = Duration::from_millis(700);

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

/// The port of Ollama.
const OLLAMA_PORT: u16 = 11_434;

/// Where models may be found that nobody has configured: the usual servers on this machine, with Ollama at `ollama_host` if that is
/// given.
pub fn usual_local_servers(ollama_host: Option<&str>) -> Vec<ModelSpec> {
    let usual = USUAL.iter().map(|(name, kind, address)| match (kind, ollama_host) {
        (ModelKind::Ollama, Some(host)) => local(name, *kind, &ollama_address(host)),
        _ => local(name, *kind, address),
    });
    usual.collect()
}

/// The same for addresses that somebody names, each as the API of Ollama and as that of OpenAI.
pub fn local_servers_at<'a>(addresses: impl IntoIterator<Item = &'a str>) -> Vec<ModelSpec> {
    let both = addresses.into_iter().flat_map(|address| {
        let address = address.trim_end_matches('/');
        let bare = address.strip_suffix("/v1").unwrap_or(address);
        [local("ollama", ModelKind::Ollama, bare), local("local", ModelKind::OpenAi, &format!("{bare}/v1"))]
    });
    both.collect()
}

/// Asks these servers at once which models they have; those that answer, each with its models. Of several APIs at one address, the first
/// that answers counts.
pub async fn find_local_models(servers: Vec<ModelSpec>) -> Vec<(ModelSpec, Vec<String>)> {
    let asked = servers.into_iter().map(|spec| async move {
        let client = client(&spec);
        let names = tokio::time::timeout(PATIENCE, listing::fetch(&spec, &client)).await.ok().flatten()?;
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

fn local(name: &str, kind: ModelKind, address: &str) -> ModelSpec {
    let mut spec = ModelSpec::at(name, kind, address);
    spec.lists_models = true;
    spec
}

/// The address that `OLLAMA_HOST` means. Its server listens where the same variable says, so it may name all interfaces.
fn ollama_address(host: &str) -> String {
    let host = host.trim();
    let (has_scheme, address) = if host.contains("://") {
        (true, host.to_owned())
    } else if let Some(port) = host.strip_prefix(':') {
        (false, format!("http://127.0.0.1:{port}"))
    } else {
        (false, format!("http://{host}"))
    };
    let Ok(mut url) = url::Url::parse(&address) else { return address };
    let is_everywhere = matches!(url.host(), Some(url::Host::Ipv4(ip)) if ip.is_unspecified())
        || matches!(url.host(), Some(url::Host::Ipv6(ip)) if ip.is_unspecified());
    if is_everywhere {
        let _ = url.set_host(Some("127.0.0.1"));
    }
    // A scheme brings its own port, as Ollama itself has it.
    if !has_scheme && url.port().is_none() {
        let _ = url.set_port(Some(OLLAMA_PORT));
    }
    url.as_str().trim_end_matches('/').to_owned()
}

fn authority(address: &str) -> Option<String> {
    url::Url::parse(address).ok().map(|url| url.authority().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ollama_is_where_its_variable_says() {
        for (host, address) in [
            ("127.0.0.1:4000", "http://127.0.0.1:4000"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("0.0.0.0:4000", "http://127.0.0.1:4000"),
            ("[::]:4000", "http://127.0.0.1:4000"),
            (":4000", "http://127.0.0.1:4000"),
            ("models.example", "http://models.example:11434"),
            ("https://models.example", "https://models.example"),
            ("http://models.example:4000/", "http://models.example:4000"),
        ] {
            let servers = usual_local_servers(Some(host));
            assert_eq!(servers.first().map(|spec| spec.base_url.as_str()), Some(address), "{host}");
        }
        let usual = usual_local_servers(None);
        assert_eq!(usual.first().map(|spec| spec.base_url.as_str()), Some("http://127.0.0.1:11434"));
        assert_eq!(usual.len(), USUAL.len());
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
