//! The tools of all servers, for the loop.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use gateway_config::{SearchTools, ToolBudget};
use gateway_dialects::calls::text::OfferedTools;
use gateway_dialects::calls::{Reply, ToolCall};
use gateway_dialects::dialect::Compat;
use gateway_dialects::results::read_result;
use gateway_dialects::{Dialect, Options};
use gateway_notation::pattern::matches;
use gateway_protocol::RawJson;
use gateway_runtime::Runtime;
use gateway_runtime::call::CallOutcome;
use gateway_runtime::context::RequestContext;
use gateway_runtime::failure::{Failure, code, error_result};
use gateway_runtime::lists::{Budget, ListRequest, MostTools, Rendered, SelectBy, Share};
use gateway_runtime::scope::Scope;
use gateway_runtime::turn::{OfferedList, Turn};

use serde_json::{Map, Value};

use crate::toolbox::{Offer, ToolOutcome, Toolbox, ToolsError};

/// The tools of the gateway's servers, for one request of one caller.
#[derive(Debug)]
pub struct GatewayTools {
    runtime: Runtime,
    context: RequestContext,
    selection: ToolSelection,
    /// The budgets of models that have one of their own.
    budgets: HashMap<String, ToolBudget>,
}

/// Which of the gateway's tools are offered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolSelection {
    /// Patterns of names or of `server/tool`; empty: all.
    pub names: Vec<String>,
    /// Names of groups.
    pub groups: Vec<String>,
    /// How many are sent when there are too many.
    pub budget: ToolBudget,
}

/// What it takes to run calls of an offer.
struct Listed {
    request: ListRequest,
    rendered: Arc<Rendered>,
    /// The tools of search, where they were sent beside others.
    search: Option<Arc<Rendered>>,
}

impl GatewayTools {
    /// For one request of one caller.
    pub fn new(runtime: Runtime, context: RequestContext, selection: ToolSelection) -> Self {
        Self { runtime, context, selection, budgets: HashMap::new() }
    }

    /// The same with a budget for each of these models, by the names that callers know. It counts more than that of the selection.
    #[must_use]
    pub fn with_budgets(mut self, budgets: impl IntoIterator<Item = (String, ToolBudget)>) -> Self {
        self.budgets.extend(budgets);
        self
    }

    /// Waits for the servers and converts their tools, so that a fault shows before the first message: the tools that a model of
    /// `dialect` cannot be offered, and why.
    pub async fn check(&self, dialect: &Dialect) -> Result<Vec<(String, String)>, Failure> {
        let (request, _) = self.request(dialect, &self.selection.budget).await?;
        let rendered = self.runtime.lists().offered(&request).await?;
        let tools = rendered.catalogue.tools();
        let named = |index: usize| tools.get(index).map(|tool| format!("{}/{}", tool.server, tool.name));
        let left_out = rendered.quarantined.iter();
        Ok(left_out.filter_map(|(index, reason)| Some((named(*index)?, reason.clone()))).collect())
    }

    /// Whether there are such tools to select, without asking a server.
    pub(crate) fn check_selection(&self) -> Result<(), Failure> {
        let request = ListRequest::in_dialect(Scope::All, (None, None, Compat::Auto), Options::default());
        let ToolSelection { names, groups, .. } = self.selection.clone();
        request.only(self.runtime.lists(), names, groups).map(drop)
    }

    /// The names of the tools that a model of `dialect` is offered, as it knows them, in the order of the catalogue.
    pub(crate) async fn names(
        &self,
        dialect: &Dialect,
        questions: &[String],
    ) -> Result<Vec<String>, Failure> {
        let offer = self.offered(dialect, questions, &self.selection.budget).await?;
        let Some(Listed { rendered, .. }) = offer.state.as_ref().and_then(|state| state.downcast_ref())
        else {
            return Ok(Vec::new());
        };
        let tools = rendered.catalogue.tools().iter().enumerate();
        let positions: HashMap<(&str, &str), usize> =
            tools.map(|(position, tool)| ((tool.server.as_str(), &*tool.name), position)).collect();
        let position = |name: &str| {
            let (tool, _) = rendered.tool(name)?;
            positions.get(&(tool.server.as_str(), &*tool.name)).copied()
        };
        let names = rendered.wire_names().filter(|name| offer.offered.is_offered(name));
        let mut names: Vec<(usize, &str)> =
            names.map(|name| (position(name).unwrap_or(usize::MAX), name)).collect();
        names.sort_unstable();
        Ok(names.into_iter().map(|(_, name)| name.to_owned()).collect())
    }

    async fn listed(&self, model: &str, dialect: &Dialect, questions: &[String]) -> Result<Offer, Failure> {
        let budget = self.budgets.get(model).unwrap_or(&self.selection.budget);
        let mut offer = self.offered(dialect, questions, budget).await?;
        offer.notices = self.notices(&offer);
        Ok(offer)
    }

    /// Patterns that match nothing, and servers whose tools cannot be offered.
    fn notices(&self, offer: &Offer) -> Vec<String> {
        let listed = offer.state.as_ref().and_then(|state| state.downcast_ref::<Listed>());
        let tools = listed.map_or(&[][..], |listed| listed.rendered.catalogue.tools());
        let is_named = |pattern: &str| {
            tools.iter().any(|tool| {
                matches(pattern, &tool.public_name)
                    || matches(pattern, &tool.name)
                    || matches(pattern, &format!("{}/{}", tool.server, tool.name))
                    || matches(pattern, &tool.canonical_name())
            })
        };
        let unknown = self.selection.names.iter().filter(|pattern| !is_named(pattern));
        let unknown = unknown.map(|pattern| format!("no tool matches `{pattern}`"));
        let missing = match self.runtime.missing(&Scope::All) {
            Ok(missing) => missing.into_iter().map(|(server, _)| server.to_string()).collect(),
            Err(_) => self.runtime.fleet().ids().iter().map(ToString::to_string).collect::<Vec<_>>(),
        };
        let missing =
            missing.into_iter().map(|server| format!("the tools of server `{server}` are not available"));
        unknown.chain(missing).collect()
    }

    async fn offered(
        &self,
        dialect: &Dialect,
        questions: &[String],
        budget: &ToolBudget,
    ) -> Result<Offer, Failure> {
        let (request, room) = self.request(dialect, budget).await?;
        let lists = self.runtime.lists();
        if budget.search == SearchTools::Only {
            let request = request.searched();
            return Ok(self.whole(lists.offered(&request).await?, request));
        }
        let rendered = lists.offered(&request).await?;
        let room = Budget { bytes: budget.bytes, ..room };
        if rendered.fits(room) {
            return Ok(self.whole(rendered, request));
        }
        let search = match budget.search {
            SearchTools::Auto => Some(lists.offered(&request.searched_beside()).await?),
            SearchTools::Only | SearchTools::Off => None,
        };
        let by = SelectBy {
            questions,
            budget: room,
            share: Share::Half,
            pinned: &budget.pinned,
            search: search.as_deref(),
        };
        let selected = rendered.select(by).await;
        let search = search.filter(|_| selected.with_search);
        let offered_by = |list| OfferedList::new(self.runtime.clone(), list, true);
        let offered = SelectedOffer {
            names: selected.names.into_iter().collect(),
            offered: offered_by(Arc::clone(&rendered)),
            search: search.clone().map(offered_by),
        };
        let count = offered.names.len();
        Ok(Offer {
            list: (count > 0).then_some(selected.list),
            count,
            codec: Arc::clone(rendered.codec()),
            offered: Arc::new(offered),
            notices: Vec::new(),
            state: Some(Arc::new(Listed { request, rendered, search })),
        })
    }

    /// All tools of a list.
    fn whole(&self, rendered: Arc<Rendered>, request: ListRequest) -> Offer {
        let count = rendered.wire_names().count();
        Offer {
            list: (count > 0).then(|| rendered.list()),
            count,
            codec: Arc::clone(rendered.codec()),
            offered: Arc::new(OfferedList::new(self.runtime.clone(), Arc::clone(&rendered), true)),
            notices: Vec::new(),
            state: Some(Arc::new(Listed { request, rendered, search: None })),
        }
    }

    /// The request for all tools of a model of `dialect`, with its servers connected, and how much of the list may be sent.
    async fn request(
        &self,
        dialect: &Dialect,
        budget: &ToolBudget,
    ) -> Result<(ListRequest, Budget), Failure> {
        let lists = self.runtime.lists();
        let base = dialect.name.split('+').next().unwrap_or(&dialect.name);
        let compat = dialect.layered_with.clone().map_or(Compat::Auto, Compat::Named);
        let ToolSelection { names, groups, .. } = self.selection.clone();
        let request = ListRequest::in_dialect(Scope::All, (Some(base), None, compat), Options::default());
        let mut request = request.only(lists, names, groups)?;
        request.most_tools = budget.most.map_or(MostTools::AsProviderTakes, MostTools::Number);
        request.most_tokens = budget.tokens;
        let (request, room) = request.without_limits(dialect.limits.tools);
        // The agent has its servers connected before the first message.
        lists.listed(&request).await;
        Ok((request, room))
    }

    async fn run(&self, offer: &Offer, call: &ToolCall) -> CallOutcome {
        let listed = offer.state.as_ref().and_then(|state| state.downcast_ref::<Listed>());
        let Some(Listed { request, rendered, search }) = listed else {
            return CallOutcome::not_found(Failure::Internal("the call belongs to no list".to_owned()));
        };
        let permit = match self.runtime.reserve().await {
            Ok(permit) => permit,
            Err(failure) => return CallOutcome::not_found(failure),
        };
        let reply = Reply { calls: vec![call.clone()], ..Reply::default() };
        match Turn::of_reply(&self.runtime, reply, request.clone(), Arc::clone(rendered), search.clone()) {
            Ok(turn) => turn.run_call(&self.runtime, &self.context, 0, permit).await,
            Err(failure) => CallOutcome::not_found(failure),
        }
    }
}

impl Toolbox for GatewayTools {
    fn offer<'a>(
        &'a self,
        dialect: &'a Arc<Dialect>,
        questions: &'a [String],
    ) -> BoxFuture<'a, Result<Offer, ToolsError>> {
        self.listed("", dialect, questions).boxed()
    }

    fn offer_to<'a>(
        &'a self,
        model: &'a str,
        dialect: &'a Arc<Dialect>,
        questions: &'a [String],
    ) -> BoxFuture<'a, Result<Offer, ToolsError>> {
        self.listed(model, dialect, questions).boxed()
    }

    fn call<'a>(&'a self, offer: &'a Offer, call: &'a ToolCall) -> BoxFuture<'a, ToolOutcome> {
        async move {
            let begun = Instant::now();
            let outcome = self.run(offer, call).await;
            reported(call, outcome, begun.elapsed())
        }
        .boxed()
    }
}

/// The tools of a list that were sent, and those of search where they were.
#[derive(Debug)]
struct SelectedOffer {
    names: HashSet<Box<str>>,
    offered: OfferedList,
    search: Option<OfferedList>,
}

impl SelectedOffer {
    /// The list that has a tool of this name.
    fn list_of(&self, name: &str) -> &OfferedList {
        self.search.as_ref().filter(|search| search.is_offered(name)).unwrap_or(&self.offered)
    }
}

impl OfferedTools for SelectedOffer {
    fn is_offered(&self, name: &str) -> bool {
        self.names.contains(name) && self.list_of(name).is_offered(name)
    }

    fn schema(&self, name: &str) -> Value {
        self.list_of(name).schema(name)
    }

    fn check(&self, name: &str, arguments: &Map<String, Value>) -> Result<(), String> {
        self.list_of(name).check(name, arguments)
    }

    fn server(&self, name: &str) -> Option<String> {
        self.offered.server(name)
    }
}

fn reported(call: &ToolCall, outcome: CallOutcome, duration: Duration) -> ToolOutcome {
    let is_bad = match outcome.code {
        Some(code::TOOL_NOT_FOUND) => true,
        // A tool that failed has a result; a call that was refused has a failure.
        Some(code::VALIDATION_ERROR) => outcome.failure.is_some(),
        Some(_) | None => false,
    };
    let ran_on = outcome.server.as_ref().zip(outcome.tool.as_deref());
    ToolOutcome {
        ran_on: ran_on.map(|(server, tool)| (server.as_str().to_owned(), tool.to_owned())),
        code: outcome.code,
        notes: outcome.notes,
        is_bad,
        result: in_words(call, outcome.failure.as_ref(), outcome.result),
        duration,
    }
}

/// The result of a call, which says first whether there is no such tool, or it could not run.
fn in_words(call: &ToolCall, failure: Option<&Failure>, result: RawJson) -> RawJson {
    let begin = match failure {
        // What the model can do about these is all that the text says.
        None | Some(Failure::Arguments(_) | Failure::Refused { .. } | Failure::Ambiguous { .. }) => {
            return result;
        }
        Some(Failure::UnknownTool(_)) => format!("Error: Tool '{}' not found", call.name),
        Some(failure) if failure.is_unreachable() => {
            "Error executing tool: MCP client is not connected to MCP server".to_owned()
        }
        Some(_) => "Error executing tool".to_owned(),
    };
    match read_result(result.as_str()).value["content"][0]["text"].as_str() {
        Some(text) => error_result(&format!("{begin}: {text}")),
        None => error_result(&begin),
    }
}

#[cfg(test)]
mod tests {
    use gateway_dialects::arguments::Arguments;
    use gateway_dialects::calls::CallId;
    use gateway_upstream::{CallError, UpstreamId};

    use super::*;

    #[test]
    fn a_server_that_is_not_connected_is_said_to_be_so() {
        let call = ToolCall {
            id: CallId::Given("call_1".to_owned()),
            name: "add".to_owned(),
            arguments: Arguments::Text("{}".to_owned()),
            item_id: None,
            signature: None,
            extra: Map::new(),
            written: None,
        };
        let (upstream, reason) = (UpstreamId::new("dead"), "refused".to_owned());
        let failure = Failure::Call(CallError::Unreachable { upstream, reason });
        let result = in_words(&call, Some(&failure), error_result(&failure.message()));
        let text = read_result(result.as_str()).value["content"][0]["text"].as_str().map(str::to_owned);
        let expected = "Error executing tool: MCP client is not connected to MCP server: server `dead` cannot be reached: refused";
        assert_eq!(text.as_deref(), Some(expected));
    }
}
