//! Tools that a dialect cannot take: what becomes of the lists that they belong to, and what is known of them before anybody
//! asks for a list.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex};

use gateway_dialects::{GivenTool, Options, ToolSource as _, Translator};
use gateway_upstream::{Catalogue, CatalogueTool, ConnectMode, Fleet, OnConversionError, UpstreamId};
use serde_json::Value;

use super::{Lists, ReadyDialects, Rendered};
use crate::failure::Failure;
use crate::lock::locked;

/// Servers all of whose tools are left out of a list, and why.
pub(super) type LeftOutServers = BTreeMap<UpstreamId, String>;

/// What the servers say that is to become of lists with a tool that the dialect cannot take; those that say nothing are absent.
#[derive(Debug, Default)]
pub(super) struct ConversionRules(BTreeMap<UpstreamId, OnConversionError>);

impl ConversionRules {
    pub(super) fn of(fleet: &Fleet, catalogue: &Catalogue) -> Self {
        let rule = |id: &UpstreamId| Some((id.clone(), fleet.spec(id.as_str())?.on_conversion_error));
        let rules = catalogue.servers().iter().filter_map(rule);
        Self(rules.filter(|(_, rule)| *rule != OnConversionError::Skip).collect())
    }

    /// The servers that are left out because of what a list lacks, and why it is refused, if it is.
    pub(super) fn apply(&self, list: &Rendered) -> (LeftOutServers, Option<String>) {
        let (mut left_out, mut refused) = (LeftOutServers::new(), None);
        if self.0.is_empty() {
            return (left_out, refused);
        }
        let dialect = list.dialect.as_ref().map_or("", |dialect| &dialect.name);
        for (index, reason) in &list.quarantined {
            let Some(tool) = list.catalogue.tools().get(*index) else { continue };
            let fault = format!("tool `{}` cannot be written for `{dialect}`: {reason}", tool.name);
            match self.0.get(&tool.server) {
                None | Some(OnConversionError::Skip) => {}
                Some(OnConversionError::Empty) => {
                    left_out.entry(tool.server.clone()).or_insert_with(|| {
                        format!(
                            "all tools of the server are left out (`onConversionError` is `empty`): {fault}"
                        )
                    });
                }
                Some(OnConversionError::Error) => {
                    refused.get_or_insert_with(|| {
                        let server = &tool.server;
                        format!("no list of the tools of server `{server}` (its `onConversionError` is `error`): {fault}")
                    });
                }
            }
        }
        (left_out, refused)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub(super) fn unwritten(error: serde_json::Error) -> Failure {
    Failure::Internal(format!("writing the list of tools: {error}"))
}

/// A tool that some dialects cannot take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversionProblem {
    /// The tool, as its server calls it.
    pub tool: String,
    /// The dialects.
    pub dialects: Vec<String>,
    /// Why.
    pub reason: String,
}

/// What is known of the servers that were checked.
#[derive(Debug, Default)]
pub(super) struct Conversions(Mutex<BTreeMap<UpstreamId, CheckedTools>>);

/// A digest of what was checked, and what was found.
type CheckedTools = (u64, Arc<[ConversionProblem]>);

impl Conversions {
    /// Nothing is known of dialects that have changed.
    pub(super) fn forget(&self) {
        locked(&self.0).clear();
    }
}

impl Lists {
    /// What the likely dialects cannot take of a server's tools, as far as that was checked.
    pub fn conversion_problems(&self, server: &UpstreamId) -> Arc<[ConversionProblem]> {
        locked(&self.conversions.0)
            .get(server)
            .map_or_else(Arc::default, |(_, problems)| Arc::clone(problems))
    }

    /// Translates the tools of eager servers for the likely dialects, unless they were before, and logs what these cannot take.
    /// Takes a while.
    pub async fn check_conversions(&self) {
        let (catalogue, dialects) = (self.fleet.catalogue(), self.dialects());
        let is_eager = |id: &&UpstreamId| {
            self.fleet
                .spec(id.as_str())
                .is_some_and(|spec| spec.connect == ConnectMode::Eager && !spec.is_off())
        };
        let eager: Vec<UpstreamId> = catalogue.servers().iter().filter(is_eager).cloned().collect();
        locked(&self.conversions.0).retain(|known, _| eager.contains(known));
        for server in eager {
            let digest = digest(&catalogue, &server);
            if locked(&self.conversions.0).get(&server).is_some_and(|(known, _)| *known == digest) {
                continue;
            }
            let (tools, own, all) = (Arc::clone(&catalogue), server.clone(), Arc::clone(&dialects));
            let checked = tokio::task::spawn_blocking(move || problems(&tools, &own, &all)).await;
            let Ok(problems) = checked else { continue };
            for problem in &problems {
                for dialect in &problem.dialects {
                    self.log.withheld(dialect, (server.as_str(), &problem.tool), &problem.reason);
                }
            }
            let mut known = locked(&self.conversions.0);
            // Other dialects may have come meanwhile, which are to be checked then.
            if Arc::ptr_eq(&dialects, &self.dialects()) {
                known.insert(server, (digest, problems.into()));
            }
        }
    }
}

/// The same for the same tools.
fn digest(catalogue: &Catalogue, server: &UpstreamId) -> u64 {
    let mut hasher = DefaultHasher::new();
    for tool in catalogue.tools_of(server.as_str()) {
        tool.fingerprint.hex().hash(&mut hasher);
    }
    hasher.finish()
}

fn problems(catalogue: &Catalogue, server: &UpstreamId, dialects: &ReadyDialects) -> Vec<ConversionProblem> {
    let shown = |tool: &&CatalogueTool| tool.unaccepted.is_none();
    let mut found: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for dialect in dialects.likely() {
        let name = dialect.name.clone();
        let Ok(translator) = Translator::with(&dialects.all, dialect, Options::default()) else { continue };
        for tool in catalogue.tools_of(server.as_str()).filter(shown) {
            let definition = tool.value();
            let quarantine = unreadable(tool, &definition).or_else(|| {
                let translated = translator.translate_named(&definition, &tool.name, &tool.name);
                translated.quarantine.filter(|_| translated.definition.is_none())
            });
            if let Some(reason) = quarantine {
                found.entry((tool.name.clone(), reason)).or_default().push(name.clone());
            }
        }
    }
    let problem = |((tool, reason), dialects)| ConversionProblem { tool, dialects, reason };
    found.into_iter().map(problem).collect()
}

/// Why the definition of a tool is no value; `None` if it is one.
pub(super) fn unreadable(tool: &CatalogueTool, definition: &Value) -> Option<String> {
    if !definition.is_null() {
        return None;
    }
    let given = GivenTool::parse(tool.without_hidden().as_str());
    let reason = given.map_or_else(
        |error| Some(error.to_string()),
        |given| given.definition().err().map(|unread| unread.reason.clone()),
    );
    Some(reason.unwrap_or_else(|| "it is null".to_owned()))
}
