//! A turn on its way: what came of each call so far, and what servers wait for.
//!
//! Where the caller can be asked, calls of one server run one after another: a legacy server on a shared stream does not say
//! which call its question belongs to.

use std::time::Duration;

use futures_util::StreamExt as _;
use gateway_store::Permit;
use gateway_upstream::UpstreamId;

use super::Turn;
use super::answer::{TurnAnswer, write_json};
use crate::Runtime;
use crate::call::input::{Continued, PausedCall, Requests, Suspension, park};
use crate::call::{CallOutcome, CallState};
use crate::context::RequestContext;
use crate::failure::Failure;
use crate::parked::Suspended;

/// A turn that is not over.
#[derive(Debug)]
pub struct TurnRun {
    turn: Turn,
    calls: Vec<CallState>,
}

/// A call of a turn: its index, where it stands, and its room in the log unless it has begun.
type Step = (usize, CallState, Option<Permit>);

impl TurnRun {
    /// Nothing of it has run.
    pub fn new(turn: Turn) -> Self {
        let calls = turn.reply.calls.iter().map(|_| CallState::Ahead).collect();
        Self { turn, calls }
    }

    /// What the model said.
    pub fn turn(&self) -> &Turn {
        &self.turn
    }

    /// Runs the calls, several at a time, until all are over or wait, and answers.
    pub async fn run(
        mut self,
        runtime: &Runtime,
        context: &RequestContext,
        continued: Option<&Continued>,
    ) -> Result<TurnAnswer, Failure> {
        self.advance(runtime, context, continued).await?;
        if self.calls.iter().all(|call| matches!(call, CallState::Done(_))) {
            let outcomes = self.take_outcomes();
            return self.turn.answer(&outcomes);
        }
        self.set_aside(runtime, context)
    }

    /// Runs the calls, several at a time, until all are over or wait.
    pub async fn advance(
        &mut self,
        runtime: &Runtime,
        context: &RequestContext,
        continued: Option<&Continued>,
    ) -> Result<(), Failure> {
        // Room in the log for all of them first: a turn is run as a whole or not at all.
        let mut steps: Vec<Step> = Vec::with_capacity(self.calls.len());
        for (index, call) in std::mem::take(&mut self.calls).into_iter().enumerate() {
            let is_ahead = matches!(call, CallState::Ahead);
            steps.push((index, call, if is_ahead { Some(runtime.reserve().await?) } else { None }));
        }
        let turn = &self.turn;
        // Most turns are one call, which needs no lanes.
        if steps.len() == 1
            && let Some((_, call, permit)) = steps.pop()
        {
            let answered = |key: &str| continued?.response(key);
            self.calls.push(turn.step(runtime, context, (0, call, permit), answered).await);
            return Ok(());
        }
        let at_once = runtime.config().concurrent_calls_per_turn.max(1);
        let running = turn.lanes(steps).into_iter().map(|lane| async move {
            let mut reached = Vec::with_capacity(lane.len());
            let mut is_open = true;
            for (index, call, permit) in lane {
                let answered = |key: &str| continued?.response(&turn_key(index, key));
                let call = if is_open || matches!(call, CallState::Waiting(_)) {
                    turn.step(runtime, context, (index, call, permit), answered).await
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

    /// What came of all calls that are over.
    pub fn take_outcomes(&mut self) -> Vec<CallOutcome> {
        let calls = std::mem::take(&mut self.calls).into_iter();
        let over = calls.filter_map(|call| match call {
            CallState::Done(outcome) => Some(outcome),
            CallState::Ahead | CallState::Waiting(_) => None,
        });
        over.collect()
    }

    /// What has to be known before there can be an answer.
    fn set_aside(self, runtime: &Runtime, context: &RequestContext) -> Result<TurnAnswer, Failure> {
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
        let provider = self.turn.origin.provider.clone();
        let waiting: (Box<dyn Suspended>, _) = (Box::new(self), patience);
        let input = park(runtime, context, Suspension::Turn, waiting, (count, &requests))?;
        let mut body = Vec::with_capacity(rest.len() + 512);
        body.extend_from_slice(b"{\"inputRequired\":");
        write_json(&mut body, &input);
        body.extend_from_slice(&rest);
        body.push(b'}');
        Ok(TurnAnswer { body, provider, not_run: false })
    }
}

impl Turn {
    /// Goes on with one call: with the answers that it waits for, or from its begin.
    async fn step(
        &self,
        runtime: &Runtime,
        context: &RequestContext,
        (index, call, permit): Step,
        answered: impl Fn(&str) -> Option<gateway_protocol::RawJson>,
    ) -> CallState {
        match (call, permit, self.reply.calls.get(index)) {
            // Boxed: few calls wait, and all would carry the future along.
            (CallState::Waiting(paused), ..) => Box::pin(paused.resume(context, answered)).await,
            (CallState::Ahead, Some(permit), Some(call)) => self.call(runtime, context, call, permit).await,
            (call, ..) => call,
        }
    }

    /// Which calls run one after another; lanes run at the same time.
    fn lanes(&self, steps: Vec<Step>) -> Vec<Vec<Step>> {
        if self.answerer.is_none() {
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
