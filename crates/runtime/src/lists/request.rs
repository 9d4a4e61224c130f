//! What a list is asked for.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use gateway_dialects::dialect::Compat;
use gateway_dialects::{Dialect, Options, Plan, Strict};
use gateway_notation::spelling::did_you_mean;
use gateway_search::Beside;
use gateway_upstream::{Catalogue, CatalogueTool, ToolFilter};
use serde_json::Value;

use super::select::Room;
use super::selected::Budget;
use super::{Finder, Lists};
use crate::failure::Failure;
use crate::parameters::{Parameters, compat, translation_options};
use crate::scope::Scope;

/// What is asked for: which tools, in which form. The same request gives the same list while the catalogue is the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRequest {
    /// Which servers.
    pub scope: Scope,
    filter: ToolFilter,
    /// The provider, the model and the options, as given.
    provider: Option<String>,
    model: Option<String>,
    compat: Compat,
    pub(super) options: Options,
    /// Whether the list names the servers of its tools.
    pub with_server: bool,
    /// Whether the list comes with a report of what happened to every tool.
    pub with_report: bool,
    /// All tools, or those of search.
    pub mode: ListMode,
    /// How many tools the list may hold.
    pub most_tools: MostTools,
    /// How many estimated tokens its definitions may take, if there is a limit.
    pub most_tokens: Option<usize>,
    /// In which form.
    pub form: ListForm,
}

/// Only what most requests differ in: every call looks up its list, and hashing all of it would cost more than the rest.
impl Hash for ListRequest {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.scope, self.provider.as_deref(), self.model.as_deref()).hash(state);
    }
}

/// What a list shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ListMode {
    /// All tools.
    #[default]
    Full,
    /// The three tools that find, describe and call all others.
    Search,
    /// The same three, in words for a list that shows some of the tools.
    SearchBeside,
}

/// How many tools a list may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MostTools {
    /// As many as the provider takes in one request.
    #[default]
    AsProviderTakes,
    /// So many.
    Number(usize),
    /// Any number.
    Unlimited,
}

/// The format of the definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListForm {
    /// As their servers gave them.
    Mcp,
    /// As a provider takes them.
    Dialect,
}

impl ListRequest {
    /// Reads the parameters of a list.
    pub fn parse(
        lists: &Lists,
        scope: Scope,
        provider: Option<&str>,
        parameters: &Parameters,
    ) -> Result<Self, Failure> {
        let importance = parameters.get("importance").map(|word| {
            gateway_upstream::Importance::parse(word).ok_or_else(|| {
                Failure::Request(format!("importance={word}: expected one of low, normal, high"))
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
        check_groups(lists, &filter.groups)?;
        Ok(Self {
            scope,
            filter,
            provider: parameters.get("profile").or(provider).map(str::to_owned),
            model: parameters.get("model").map(str::to_owned),
            compat: compat(parameters),
            options: translation_options(parameters)?,
            with_server: parameters.flag("meta")?,
            with_report: false,
            mode: if parameters.get("mode") == Some("search") { ListMode::Search } else { ListMode::Full },
            most_tools: match parameters.get("limit") {
                None => MostTools::AsProviderTakes,
                Some("off") => MostTools::Unlimited,
                Some(given) => {
                    MostTools::Number(given.parse().ok().filter(|most| *most > 0).ok_or_else(|| {
                        Failure::request(format!(
                            "limit={given}: expected a number of tools from 1, or `off`"
                        ))
                    })?)
                }
            },
            most_tokens: parameters
                .number("maxTokens", 1..=u64::from(u32::MAX))?
                .map(|most| usize::try_from(most).unwrap_or(usize::MAX)),
            form: ListForm::Dialect,
        })
    }

    /// All tools of a scope in a dialect, as a caller chooses it.
    pub fn in_dialect(
        scope: Scope,
        (provider, model, compat): (Option<&str>, Option<&str>, Compat),
        options: Options,
    ) -> Self {
        Self {
            scope,
            filter: ToolFilter::default(),
            provider: provider.map(str::to_owned),
            model: model.map(str::to_owned),
            compat,
            options,
            with_server: false,
            with_report: false,
            mode: ListMode::default(),
            most_tools: MostTools::default(),
            most_tokens: None,
            form: ListForm::Dialect,
        }
    }

    /// The same with only the tools of these patterns and groups; all if none are given.
    pub fn only(mut self, lists: &Lists, names: Vec<String>, groups: Vec<String>) -> Result<Self, Failure> {
        check_groups(lists, &groups)?;
        (self.filter.names, self.filter.groups) = (names, groups);
        Ok(self)
    }

    /// The same without limits, and the limits: for whoever chooses among its tools by what a question is about. `provider_takes` is
    /// how many tools the provider takes; 0 means any number.
    #[must_use]
    pub fn without_limits(&self, provider_takes: usize) -> (Self, Budget) {
        let Room { tools, tokens } = self.room(provider_takes);
        let whole = Self { most_tools: MostTools::Unlimited, most_tokens: None, ..self.clone() };
        (whole, Budget { tools, tokens, bytes: None })
    }

    /// How much of it a provider with this limit takes; 0 means that it has none.
    pub(super) fn room(&self, provider_takes: usize) -> Room {
        let tools = match self.most_tools {
            MostTools::AsProviderTakes => Some(provider_takes).filter(|most| *most > 0),
            MostTools::Number(most) if provider_takes > 0 => Some(most.min(provider_takes)),
            MostTools::Number(most) => Some(most),
            MostTools::Unlimited => None,
        };
        Room { tools, tokens: self.most_tokens }
    }

    /// What to say of the model that is named.
    pub fn model_warning(&self, lists: &Lists) -> Option<String> {
        lists.unknown_model(self.model.as_deref()?)
    }

    /// What to say of the options.
    pub fn option_warning(&self) -> Option<&'static str> {
        self.options.warning()
    }

    /// The same tools, through search.
    #[must_use]
    pub fn searched(&self) -> Self {
        Self { mode: ListMode::Search, ..self.clone() }
    }

    /// The three tools of search that may stand beside some of the tools.
    #[must_use]
    pub fn searched_beside(&self) -> Self {
        Self { mode: ListMode::SearchBeside, ..self.clone() }
    }

    /// The dialect that is meant.
    pub fn dialect(&self, lists: &Lists) -> Result<Arc<Dialect>, Failure> {
        let chosen = lists.dialects().choose(self.provider.as_deref(), self.model.as_deref(), &self.compat);
        chosen.map_err(|error| lists.unknown_dialect(&error))
    }

    /// The tools that are meant, with their indexes in the catalogue.
    pub(super) fn chosen<'c>(
        &'c self,
        catalogue: &'c Catalogue,
    ) -> impl Iterator<Item = (usize, &'c CatalogueTool)> {
        let mut filter = self.filter.clone();
        if let Scope::Server(id) = &self.scope {
            filter.servers = vec![id.as_str().to_owned()];
        }
        // A server's name may itself look like a pattern.
        let is_meant =
            move |tool: &CatalogueTool| self.scope.covers(&tool.server) && catalogue.is_wanted(&filter, tool);
        catalogue.tools().iter().enumerate().filter(move |(_, tool)| is_meant(tool))
    }

    /// One definition, under its name in this list.
    pub(super) fn definition<'t>(&self, tool: &'t CatalogueTool) -> Cow<'t, Value> {
        let mut definition = tool.value();
        let name = self.scope.name_of(tool);
        if name != tool.name
            && definition.is_object()
            && let Some(members) = definition.to_mut().as_object_mut()
        {
            members.insert("name".to_owned(), name.into());
        }
        definition
    }

    /// How the arguments of one tool of this list travel in exactly this dialect; `None` if that cannot take it.
    pub(crate) fn plan_in(
        &self,
        dialect: &Arc<Dialect>,
        tool: &CatalogueTool,
        lists: &Lists,
    ) -> Option<Plan> {
        let mut options = self.options.clone();
        options.strict = Strict::AsNamed;
        let translator = lists.translator(Arc::clone(dialect), options).ok()?;
        let definition = self.definition(tool);
        let name = self.scope.name_of(tool);
        let translated = translator.translate_named(&definition, name, name);
        translated.definition.is_some().then_some(translated.plan)
    }

    /// What finds, describes and calls the tools that are meant.
    pub(super) fn finder(&self, tools: &[(usize, &CatalogueTool)], beside: Beside) -> Arc<Finder> {
        Arc::new(Finder::new(tools.iter().map(|(_, tool)| (self.scope.name_of(tool), *tool)), beside))
    }
}

/// A group that is not configured holds nothing, which nobody means who names one.
fn check_groups(lists: &Lists, named: &[String]) -> Result<(), Failure> {
    if named.is_empty() {
        return Ok(());
    }
    let known = lists.groups();
    let Some(unknown) = named.iter().find(|name| !known.contains(name)) else { return Ok(()) };
    let mut message = if known.is_empty() {
        format!("group={unknown}: no groups are configured")
    } else {
        format!("group={unknown}: expected one of {}", known.join(", "))
    };
    if let Some(question) = did_you_mean(unknown, known.iter().map(String::as_str)) {
        message = format!("{message}; {question}");
    }
    Err(Failure::UnknownGroup { message, known })
}
