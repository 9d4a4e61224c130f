//! What a listing route is asked for.

use std::collections::HashSet;
use std::sync::Arc;

use gateway_dialects::dialect::Compat;
use gateway_dialects::{Dialect, DialectError, Options};
use gateway_upstream::{Catalogue, CatalogueTool, ToolFilter};
use http::StatusCode;

use super::Key;
use crate::errors::{ApiError, code};
use crate::mcp::finder::Finder;
use crate::query::{Parameters, compat, translation_options};
use crate::runtime::gateway::Gateway;
use crate::runtime::scope::Scope;

/// What is asked for: which tools, in which form.
#[derive(Clone, Debug)]
pub(crate) struct ListRequest {
    pub(crate) scope: Scope,
    pub(super) filter: ToolFilter,
    /// The provider, the model and the options, as given.
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
    pub(super) compat: Compat,
    pub(super) options: Options,
    pub(super) with_server: bool,
    pub(crate) mode: ListMode,
}

/// What a list shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ListMode {
    /// All tools.
    #[default]
    Full,
    /// The three tools that find, describe and call all others.
    Search,
}

impl ListRequest {
    /// Reads the parameters of a listing route.
    pub(crate) fn parse(
        gateway: &Gateway,
        provider: Option<&str>,
        parameters: &Parameters,
    ) -> Result<Self, ApiError> {
        let importance = parameters.get("importance").map(|word| {
            gateway_upstream::Importance::parse(word).ok_or_else(|| {
                ApiError::bad_request(format!("importance={word}: expected one of low, normal, high"))
            })
        });
        let filter = ToolFilter {
            names: parameters.all("name"),
            categories: parameters.all("category"),
            importance: importance.transpose()?,
            tags: parameters.all("tag"),
            groups: parameters.all("group"),
            ..ToolFilter::default()
        };
        check_groups(gateway, &filter.groups)?;
        let provider = parameters.get("profile").or(provider).map(str::to_owned);
        Ok(Self {
            scope: Scope::parse(gateway, parameters.get("server"))?,
            filter,
            provider,
            model: parameters.get("model").map(str::to_owned),
            compat: compat(parameters),
            options: translation_options(parameters)?,
            with_server: parameters.flag("meta")?,
            mode: if parameters.get("mode") == Some("search") { ListMode::Search } else { ListMode::Full },
        })
    }

    /// What to say of the model that is named.
    pub(crate) fn model_warning(&self, gateway: &Gateway) -> Option<String> {
        unknown_model(gateway, self.model.as_deref()?)
    }

    /// Whether the servers of the tools are to be told.
    pub(crate) fn wants_meta(&self) -> bool {
        self.with_server
    }

    /// The same tools, through search.
    pub(crate) fn searched(&self) -> Self {
        Self { mode: ListMode::Search, ..self.clone() }
    }

    /// The dialect that is meant.
    pub(crate) fn dialect(&self, gateway: &Gateway) -> Result<Dialect, ApiError> {
        let dialects = gateway.dialects();
        dialects
            .choose(self.provider.as_deref(), self.model.as_deref(), &self.compat)
            .map_err(|error| unknown_dialect(gateway, &error))
    }

    /// The tools that are meant, as places in the catalogue.
    pub(super) fn places(&self, catalogue: &Catalogue) -> Vec<usize> {
        let mut filter = self.filter.clone();
        if let Scope::Server(id) = &self.scope {
            filter.servers = vec![id.as_str().to_owned()];
        }
        let wanted: HashSet<*const CatalogueTool> =
            catalogue.filter(&filter).map(std::ptr::from_ref).collect();
        let exact = |tool: &CatalogueTool| match &self.scope {
            // A server's name may itself look like a pattern.
            Scope::Server(id) => tool.server == *id,
            Scope::All => true,
        };
        let tools = catalogue.tools().iter().enumerate();
        tools
            .filter(|(_, tool)| exact(tool) && wanted.contains(&std::ptr::from_ref(*tool)))
            .map(|(place, _)| place)
            .collect()
    }

    /// What finds, describes and calls the tools that are meant.
    pub(super) fn finder(&self, catalogue: &Catalogue) -> Arc<Finder> {
        let places = self.places(catalogue);
        let tools = places.iter().filter_map(|place| catalogue.tools().get(*place));
        Arc::new(Finder::new(tools.map(|tool| (self.scope.name_of(tool), tool))))
    }

    pub(super) fn key(&self, catalogue: &Catalogue, form: &'static str) -> Key {
        // Options have no order of their own; their debug form names every field and is the same for the same options.
        let text = format!(
            "{:?}\u{0}{:?}\u{0}{:?}\u{0}{:?}\u{0}{:?}\u{0}{}\u{0}{:?}",
            self.filter, self.provider, self.model, self.compat, self.options, self.with_server, self.mode
        );
        Key { version: catalogue.version(), form, scope: self.scope.clone(), text }
    }
}

/// A group that is not configured holds nothing, which nobody means who names one.
fn check_groups(gateway: &Gateway, named: &[String]) -> Result<(), ApiError> {
    let catalogue = gateway.fleet().catalogue();
    let Some(unknown) = named.iter().find(|name| !catalogue.groups().any(|known| known == name.as_str()))
    else {
        return Ok(());
    };
    let known: Vec<&str> = catalogue.groups().collect();
    let message = if known.is_empty() {
        format!("group={unknown}: no groups are configured")
    } else {
        format!("group={unknown}: expected one of {}", known.join(", "))
    };
    Err(ApiError::bad_request(message).with("availableGroups", known))
}

/// What to say of a model that no rule knows: it gets the dialect without the layer of a family.
pub(crate) fn unknown_model(gateway: &Gateway, model: &str) -> Option<String> {
    let is_unknown = gateway.dialects().for_model(model).is_err();
    is_unknown.then(|| format!("no rule knows the model `{model}`: nothing is adapted to its family"))
}

/// The answer for a dialect that is not known.
pub(crate) fn unknown_dialect(gateway: &Gateway, error: &DialectError) -> ApiError {
    let dialects = gateway.dialects();
    let aliases =
        dialects.names().filter_map(|name| dialects.get(name).ok()).flat_map(|dialect| dialect.aliases);
    let mut known: Vec<String> = dialects.names().map(str::to_owned).chain(aliases).collect();
    known.sort_unstable();
    let message = match error {
        DialectError::Unknown { name, .. } => format!("Unknown provider: {name}"),
        other => other.to_string(),
    };
    ApiError::new(StatusCode::BAD_REQUEST, code::UNKNOWN_PROVIDER, message).with("availableProviders", known)
}
