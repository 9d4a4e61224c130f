//! The tools of all servers, for the loop.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use gateway_config::ToolBudget;
use gateway_dialects::calls::text::OfferedTools;
use gateway_dialects::calls::{Reply, ToolCall};
use gateway_dialects::dialect::Compat;
use gateway_dialects::{Dialect, Options};
use gateway_runtime::Runtime;
use gateway_runtime::call::CallOutcome;
use gateway_runtime::context::RequestContext;
use gateway_runtime::failure::{Failure, code};
use gateway_runtime::lists::{Budget, ListRequest, MostTools, Rendered};
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
}

impl GatewayTools {
    /// For one request of one caller.
    pub fn new(runtime: Runtime, context: RequestContext, selection: ToolSelection) -> Self {
        Self { runtime, context, selection }
    }

    /// Waits for the servers and converts their tools, so that a fault shows before the first message: the tools that a model of
    /// `dialect` cannot be offered, and why.
    pub async fn check(&self, dialect: &Dialect) -> Result<Vec<(String, String)>, Failure> {
        let (_, _, rendered) = self.rendered(dialect).await?;
        let tools = rendered.catalogue.tools();
        let named = |index: usize| tools.get(index).map(|tool| format!("{}/{}", tool.server, tool.name));
        let left_out = rendered.quarantined.iter();
        Ok(left_out.filter_map(|(index, reason)| Some((named(*index)?, reason.clone()))).collect())
    }

    async fn listed(&self, dialect: &Dialect, questions: &[String]) -> Result<Offer, Failure> {
        let (request, room, rendered) = self.rendered(dialect).await?;
        let budget = &self.selection.budget;
        let room = Budget { bytes: budget.bytes, ..room };
        let selected = rendered.select(questions, room, &budget.pinned).await;
        let count = selected.names.len();
        let offered = OfferedList::new(self.runtime.clone(), Arc::clone(&rendered), true);
        let names = selected.names.into_iter().collect();
        Ok(Offer {
            list: (count > 0).then_some(selected.list),
            count,
            codec: Arc::clone(rendered.codec()),
            offered: Arc::new(SelectedOffer { offered, names }),
            state: Some(Arc::new(Listed { request, rendered })),
        })
    }

    /// The whole list for a model of `dialect`, and how much of it may be sent.
    async fn rendered(&self, dialect: &Dialect) -> Result<(ListRequest, Budget, Arc<Rendered>), Failure> {
        let lists = self.runtime.lists();
        let base = dialect.name.split('+').next().unwrap_or(&dialect.name);
        let compat = dialect.layered_with.clone().map_or(Compat::Auto, Compat::Named);
        let ToolSelection { names, groups, budget } = self.selection.clone();
        let request = ListRequest::in_dialect(Scope::All, (Some(base), None, compat), Options::default());
        let mut request = request.only(lists, names, groups)?;
        request.most_tools = budget.most.map_or(MostTools::AsProviderTakes, MostTools::Number);
        request.most_tokens = budget.tokens;
        let (request, room) = request.without_limits(dialect.limits.tools);
        // The agent has its servers connected before the first message.
        lists.listed(&request).await;
        let rendered = lists.offered(&request).await?;
        Ok((request, room, rendered))
    }

    async fn run(&self, offer: &Offer, call: &ToolCall) -> CallOutcome {
        let listed = offer.state.as_ref().and_then(|state| state.downcast_ref::<Listed>());
        let Some(Listed { request, rendered }) = listed else {
            return CallOutcome::not_found(Failure::Internal("the call belongs to no list".to_owned()));
        };
        let permit = match self.runtime.reserve().await {
            Ok(permit) => permit,
            Err(failure) => return CallOutcome::not_found(failure),
        };
        let reply = Reply { calls: vec![call.clone()], ..Reply::default() };
        match Turn::of_reply(&self.runtime, reply, request.clone(), Arc::clone(rendered)) {
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
        self.listed(dialect, questions).boxed()
    }

    fn call<'a>(&'a self, offer: &'a Offer, call: &'a ToolCall) -> BoxFuture<'a, ToolOutcome> {
        async move {
            let begun = Instant::now();
            let outcome = self.run(offer, call).await;
            reported(outcome, begun.elapsed())
        }
        .boxed()
    }
}

/// The tools of a list that were sent.
#[derive(Debug)]
struct SelectedOffer {
    offered: OfferedList,
    names: HashSet<Box<str>>,
}

impl OfferedTools for SelectedOffer {
    fn is_offered(&self, name: &str) -> bool {
        self.names.contains(name) && self.offered.is_offered(name)
    }

    fn schema(&self, name: &str) -> Value {
        self.offered.schema(name)
    }

    fn check(&self, name: &str, arguments: &Map<String, Value>) -> Result<(), String> {
        self.offered.check(name, arguments)
    }
}

fn reported(outcome: CallOutcome, duration: Duration) -> ToolOutcome {
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
        is_bad,
        result: outcome.result,
        duration,
    }
}
