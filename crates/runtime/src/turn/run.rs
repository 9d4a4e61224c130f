//! A turn on its way: what came of each call so far, and what servers wait for.
//!
//! Where the caller can be asked, calls of one server run one after another: a legacy server on a shared stream does not say
//! which call its question belongs to.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use gateway_store::Permit;
use gateway_upstream::{LookupError, UpstreamId};

use super::Turn;
use super::answer::{TurnAnswer, write_member};
use crate::Runtime;
use crate::call::input::{Continued, PausedCall, Requests, Suspension, park};
use crate::call::{CallOutcome, CallState};
use crate::context::RequestContext;
use crate::failure::Failure;
use crate::parked::Suspended;

/// A turn that is not over.
#[derive(Debug)]
pub struct TurnRun {
    /// What the model said.
    pub turn: Turn,
    pub(super) calls: Vec<CallState>,
}

/// The answer to a call in a whole reply that names no tool.
const NAMELESS: &str = "The call names no tool. Call one of the tools by its name.";

/// A call of a turn: its index, where it stands, and its room in the log unless it has begun.
type Step = (usize, CallState, Option<Permit>);

impl TurnRun {
    /// Nothing of it has run.
    pub fn new(turn: Turn) -> Self {
        let calls = turn.reply.calls.iter().map(|_| CallState::Ahead).collect();
        Self { turn, calls }
    }

    /// Runs the calls, several at a time, until all are over or wait.
    pub async fn advance(
        &mut self,
        runtime: &Runtime,
        context: &RequestContext,
        continued: Option<&Continued>,
    ) -> Result<(), Failure> {
        if let Some(provider) = &self.turn.origin.provider {
            context.held.set_provider(Arc::clone(provider));
        }
        // Most turns are one call, which needs no lanes. It is taken out, so that it is not begun again if this is dropped.
        if self.calls.len() == 1
            && let Some(call) = self.calls.pop()
        {
            let begins = matches!(call, CallState::Ahead);
            let permit = if begins { Some(runtime.reserve().await?) } else { None };
            let answered = |key: &str| continued?.response(key);
            self.calls.push(self.turn.call(runtime, context, (0, call, permit), answered).await);
            return Ok(());
        }
        // Room in the log for all of them first: a turn is run as a whole or not at all.
        let mut steps: Vec<Step> = Vec::with_capacity(self.calls.len());
        for (index, call) in std::mem::take(&mut self.calls).into_iter().enumerate() {
            let begins = matches!(call, CallState::Ahead);
            let permit = if begins { Some(runtime.reserve().await?) } else { None };
            steps.push((index, call, permit));
        }
        let turn = &self.turn;
        let at_once = runtime.config().concurrent_calls_per_turn.max(1);
        let running = turn.lanes(steps).into_iter().map(|lane| async move {
            let mut reached = Vec::with_capacity(lane.len());
            let mut is_open = true;
            for (index, call, permit) in lane {
                let answered = |key: &str| continued?.response(&turn_key(index, key));
                let call = if is_open || matches!(call, CallState::Waiting(_)) {
                    turn.call(runtime, context, (index, call, permit), answered).await
                } else {
                    call
                };
                is_open &= !matches!(call, CallState::Waiting(_));
                reached.push((index, call));
            }
            reached
        });
        let mut reached: Vec<(usize, CallState)> =
            futures_util::stream::iter(running).buffer_unordered(at_once).concat().await;
        reached.sort_by_key(|(index, _)| *index);
        self.calls = reached.into_iter().map(|(_, call)| call).collect();
        Ok(())
    }

    /// What came of the calls that are over.
    pub fn outcomes(&self) -> Vec<&CallOutcome> {
        let over = self.calls.iter().filter_map(|call| match call {
            CallState::Done(outcome) => Some(outcome),
            CallState::Ahead | CallState::Waiting(_) => None,
        });
        over.collect()
    }

    /// The same, to change them.
    pub fn outcomes_mut(&mut self) -> impl Iterator<Item = &mut CallOutcome> {
        self.calls.iter_mut().filter_map(|call| match call {
            CallState::Done(outcome) => Some(outcome),
            CallState::Ahead | CallState::Waiting(_) => None,
        })
    }

    /// What has to be known before there can be an answer.
    pub(super) fn set_aside(
        self,
        runtime: &Runtime,
        context: &RequestContext,
    ) -> Result<TurnAnswer, Failure> {
        let waiting: Vec<(usize, &PausedCall)> = self
            .calls
            .iter()
            .enumerate()
            .filter_map(|(index, call)| match call {
                CallState::Waiting(paused) => Some((index, &**paused)),
                CallState::Ahead | CallState::Done(_) => None,
            })
            .collect();
        let (count, is_single) = (waiting.len(), self.calls.len() == 1);
        let patience = waiting.iter().map(|(_, paused)| paused.patience()).min().unwrap_or(Duration::ZERO);
        let requests: Requests = waiting
            .into_iter()
            .flat_map(|(index, paused)| {
                paused.requests.iter().map(move |(key, request)| {
                    let key = if is_single { key.clone() } else { turn_key(index, key) };
                    (key, request.clone())
                })
            })
            .collect();
        let rest = self.turn.so_far(&self.calls);
        let waiting: (Box<dyn Suspended>, _) = (Box::new(self), patience);
        let input = park(runtime, context, Suspension::Turn, waiting, (count, &requests))?;
        let mut body = Vec::with_capacity(rest.len() + 512);
        write_member(&mut body, "{\"inputRequired\":", &input);
        body.extend_from_slice(&rest);
        body.push(b'}');
        Ok(TurnAnswer { body, not_run: false })
    }
}

impl Turn {
    /// Runs the call at `index`. `permit` is its room in the log.
    pub async fn run_call(
        &self,
        runtime: &Runtime,
        context: &RequestContext,
        index: usize,
        permit: Permit,
    ) -> CallOutcome {
        match self.call(runtime, context, (index, CallState::Ahead, Some(permit)), |_| None).await {
            CallState::Done(outcome) => outcome,
            // Nobody was said to answer, so nothing waits.
            CallState::Ahead | CallState::Waiting(_) => {
                CallOutcome::not_found(Failure::Internal("the call was not run".to_owned()))
            }
        }
    }

    /// Runs one call: from its begin, or from where it waits for answers.
    async fn call(
        &self,
        runtime: &Runtime,
        context: &RequestContext,
        (index, state, permit): Step,
        answered: impl Fn(&str) -> Option<gateway_protocol::RawJson>,
    ) -> CallState {
        let (call, permit) = match (state, permit, self.reply.calls.get(index)) {
            // Boxed: few calls wait, and all would carry the future along.
            (CallState::Waiting(paused), ..) => return Box::pin(paused.resume(context, answered)).await,
            (CallState::Ahead, Some(permit), Some(call)) => (call, permit),
            (state, ..) => return state,
        };
        let search = self.search.as_ref().and_then(|list| list.meta_tool(&call.name));
        if let Some(found) = search.filter(|_| self.rendered.tool(&call.name).is_none()) {
            // Boxed: few lists are searched, and all calls would carry the future along.
            return Box::pin(self.call_search(runtime, context, call, found, permit)).await;
        }
        // Names of the list come first, whatever they look like.
        let found = self.find(&call.name).or_else(|error| {
            match runtime.canonical(self.options.named_server(), &call.name) {
                Cow::Owned(canonical) => self.find(&canonical),
                Cow::Borrowed(_) => Err(error),
            }
        });
        let tool = found.map_err(|error| {
            let error = self.as_shown(error);
            let text = match &error {
                LookupError::Ambiguous { .. } => error.to_string(),
                _ if call.name.trim().is_empty() => NAMELESS.to_owned(),
                _ => self.unknown(runtime, &call.name),
            };
            runtime.not_found(self.sought(&call.name), &error, text)
        });
        runtime.call(self.request(context, call, tool), permit).await
    }

    /// Which calls run one after another; lanes run at the same time.
    fn lanes(&self, steps: Vec<Step>) -> Vec<Vec<Step>> {
        if self.options.answerer.is_none() {
            return steps.into_iter().map(|step| vec![step]).collect();
        }
        let mut lanes: Vec<(Option<&UpstreamId>, Vec<Step>)> = Vec::new();
        for step in steps {
            // Behind a tool of search may stand any server; such calls share a lane.
            let call = self.reply.calls.get(step.0);
            let server = call.and_then(|call| self.find(&call.name).ok()).map(|(tool, _)| &tool.server);
            match lanes.iter_mut().find(|(found, _)| *found == server) {
                Some((_, lane)) => lane.push(step),
                None => lanes.push((server, vec![step])),
            }
        }
        lanes.into_iter().map(|(_, lane)| lane).collect()
    }
}

/// What a question of one call is called among those of a whole turn.
pub(super) fn turn_key(index: usize, key: &str) -> String {
    format!("{index}.{key}")
}
