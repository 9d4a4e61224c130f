//! Which model is asked: a configured one, else one that answers on this machine.

use anyhow::{Result, anyhow, bail};
use gateway_agent::{
    ChosenModel, LocalServer, Models, find_local_models, first_chat_model, local_servers_at,
    usual_local_servers,
};
use gateway_config::ServiceConfig;
use gateway_protocol::printable;
use gateway_runtime::lists::ReadyDialects;

use crate::setup::ConfigFlags;

/// The variable that says where models are looked for on this machine, instead of the usual addresses; empty: nowhere.
const LOCAL_SERVERS: &str = "MCP_GATEWAY_LOCAL_MODELS";

/// What to do where there is no model at all; who was asked stands before it.
const HOW_TO: &str = "start one, for example with `ollama run qwen3:8b`; a server elsewhere is named by OLLAMA_HOST or in the configuration
or configure one in mcp-gateway-config.json: {\"models\": {\"gpt\": {\"kind\": \"openai\", \"model\": \"gpt-4.1\", \"apiKey\": \"${OPENAI_API_KEY}\"}}}";

/// The models of a conversation, and the one that is asked.
#[derive(Debug)]
pub(super) struct ChatModels {
    all: Models,
    /// The one that is asked, and behind it those that are asked if it gives no answer.
    pub(super) chosen: Vec<ChosenModel>,
    /// Its name.
    pub(super) name: String,
    /// Where it was found, if nobody configured it.
    pub(super) found_at: Option<String>,
}

impl ChatModels {
    /// The configured models, else those that answer on this machine; `asked` is the one to begin with.
    pub(super) async fn find(
        config: &ServiceConfig,
        flags: &ConfigFlags,
        asked: Option<&str>,
        dialects: &ReadyDialects,
    ) -> Result<Self> {
        let (all, name, found_at) = if config.models.is_empty() {
            let variable = flags.variable(LOCAL_SERVERS);
            let servers = match &variable {
                Some(addresses) => {
                    local_servers_at(addresses.split(',').map(str::trim).filter(|a| !a.is_empty()))
                }
                None => {
                    usual_local_servers(flags.variable("OLLAMA_HOST").filter(|h| !h.is_empty()).as_deref())
                }
            };
            let asked = addresses(&servers);
            let found = find_local_models(servers).await;
            let first = found.iter().find_map(|(spec, names)| Some((spec, first_chat_model(names)?.clone())));
            let Some((spec, first)) = first else {
                let asked =
                    if asked.is_empty() { format!("{LOCAL_SERVERS} names no address") } else { asked };
                bail!("no model is configured, and none answers on this machine ({asked})\n{HOW_TO}");
            };
            let at = spec.base_url.clone();
            let specs: Vec<_> = found.iter().map(|(spec, _)| spec.clone()).collect();
            (Models::new(&specs, Some(first.clone())), first, Some(at))
        } else {
            let all = Models::new(&config.models, config.agent.model.clone());
            let name = match all.usual() {
                Some(name) => Some(name.to_owned()),
                // All entries stand for what their APIs list.
                None if asked.is_none() => {
                    let names: Vec<String> = all.list().await.into_iter().map(|(name, _)| name).collect();
                    first_chat_model(&names).cloned()
                }
                None => None,
            };
            (all, name.unwrap_or_default(), None)
        };
        let name = asked.map_or(name, str::to_owned);
        if name.is_empty() {
            bail!("the configured APIs list no models; name one with --model");
        }
        let chosen = choose(&all, &name, dialects).await?;
        Ok(Self { all, chosen, name, found_at })
    }

    /// Takes another model from now on.
    pub(super) async fn switch(&mut self, name: &str, dialects: &ReadyDialects) -> Result<()> {
        self.chosen = choose(&self.all, name, dialects).await?;
        name.clone_into(&mut self.name);
        Ok(())
    }

    /// The names of all models, each with the kind of its API.
    pub(super) async fn list(&self) -> Vec<(String, &'static str)> {
        let all = self.all.list().await;
        all.into_iter().map(|(name, spec)| (name, spec.kind.name())).collect()
    }
}

async fn choose(all: &Models, name: &str, dialects: &ReadyDialects) -> Result<Vec<ChosenModel>> {
    all.choose(Some(name), dialects).await.map_err(|unknown| {
        const NAMED: usize = 10;
        let known: Vec<&str> = unknown.known.iter().map(String::as_str).take(NAMED).collect();
        let text = if known.is_empty() || unknown.message.contains("did you mean") {
            unknown.message.clone()
        } else {
            format!("{}; there are: {}", unknown.message, known.join(", "))
        };
        anyhow!("{}", printable(&text))
    })
}

/// Who is asked, each address once.
fn addresses(servers: &[LocalServer]) -> String {
    let mut all: Vec<&str> = Vec::new();
    for server in servers {
        let address = server.spec.base_url.trim_start_matches("http://").trim_end_matches("/v1");
        if !all.contains(&address) {
            all.push(address);
        }
    }
    if all.is_empty() { String::new() } else { format!("asked: {}", all.join(", ")) }
}
