//! The providers of models, as data.

use std::sync::LazyLock;

use serde::Deserialize;

/// The table of providers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Providers {
    pub(super) route: Vec<Route>,
    pub(super) family: Vec<Family>,
    pub(super) provider: Vec<Provider>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Route {
    pub(super) provider: String,
    pub(super) starts: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Family {
    pub(super) provider: String,
    pub(super) matches: Vec<String>,
    #[serde(default)]
    pub(super) structured_outputs: bool,
    #[serde(default)]
    pub(super) reasoning: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Provider {
    pub(super) name: String,
    pub(super) dialect: String,
    pub(super) layer: Option<String>,
    #[serde(default)]
    pub(super) structured_outputs: bool,
}

pub(super) static PROVIDERS: LazyLock<Providers> = LazyLock::new(|| {
    let read = toml::from_str(include_str!("../../data/providers.toml"));
    debug_assert!(read.is_ok(), "embedded providers: {read:?}");
    read.unwrap_or_default()
});

/// The provider of this name, which is in lower case.
pub(super) fn provider_named(name: &str) -> Option<&'static Provider> {
    PROVIDERS.provider.iter().find(|provider| provider.name == name)
}
