//! A turn on its way: what came of each call so far, and what servers wait for.
//!
//! Where the caller can be asked, calls of one server run one after another: a legacy server on a shared stream does not say
//! which call its question belongs to.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use gateway_protocol::RawJson;
use gateway_store::Permit;
use gateway_upstream::UpstreamId;

use super::answer::{Answer, write_json};
use super::{Ran, Turn};
use crate::errors::ApiError;
use crate::mcp::Waiting;
use crate::mcp::plain::{self, Continued, Paused, Place};
use crate::runtime::context::RequestContext;
use crate::runtime::gateway::Gateway;

/// Where one call of a turn stands.
#[derive(Debug)]
pub(crate) enum Step {
    /// It has not begun.
    Ahead,
    /// The server waits for answers of the caller.
    Waits(Box<Ran>, Box<Paused>),
    /// It is over.
    Done(Ran),
}

/// A turn that is not over.
#[derive(Debug)]
pub(crate) struct Unfinished {
    turn: Turn,
    steps: Vec<Step>,
}

impl Unfinished {
    /// Nothing of it has run.
    pub(crate) fn of(turn: Turn) -> Self {
        let steps = turn.reply.calls.iter().map(|_| Step::Ahead).collect();
        Self { turn, steps }
    }

    /// The calls that wait for answers, with their places in the turn.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (usize, &Paused)> {
        self.steps.iter().enumerate().filter_map(|(index, step)| match step {
            Step::Waits(_, paused) => Some((index, &**paused)),
            Step::Ahead | Step::Done(_) => None,
        })
    }

    /// What servers want to know, by the names that the caller knows.
    pub(crate) fn requests(&self) -> Vec<(String, RawJson)> {
        let is_single = self.steps.len() == 1;
        let named = |index: usize, key: &str| if is_single { key.to_owned() } else { turn_key(index, key) };
        let all = self.waiting().flat_map(|(index, paused)| {
            paused.requests().iter().map(move |(key, request)| (named(index, key), request.clone()))
        });
        all.collect()
    }

    /// What the model said.
    pub(crate) fn turn(&self) -> &Turn {
        &self.turn
    }

    /// Runs the calls, several at a time, until all are over or wait, and answers.
    pub(crate) async fn run(
        mut self,
        gateway: &Gateway,
        context: &RequestContext,
        continued: Option<&Continued>,
    ) -> Result<Answer, ApiError> {
        self.advance(gateway, context, continued).await?;
        self.answer(gateway, context)
    }

    /// Runs the calls, several at a time, until all are over or wait.
    pub(crate) async fn advance(
        &mut self,
        gateway: &Gateway,
        context: &RequestContext,
        continued: Option<&Continued>,
    ) -> Result<(), ApiError> {
        // Room in the log for all of them first: a turn is run as a whole or not at all.
        let are_ahead: Vec<bool> = self.steps.iter().map(|step| matches!(step, Step::Ahead)).collect();
        let mut permits: Vec<Option<Permit>> = Vec::with_capacity(are_ahead.len());
        for is_ahead in are_ahead {
            permits.push(if is_ahead { Some(gateway.reserve().await?) } else { None });
        }
        let at_once = gateway.config().concurrent_calls_per_turn.max(1);
        let (turn, is_single) = (&self.turn, self.steps.len() == 1);
        let stops = self.steps.drain(..).zip(permits).enumerate();
        let mut stops: Vec<Option<Stop>> =
            stops.map(|(index, (step, permit))| Some(Stop { index, step, permit })).collect();
        let lanes: Vec<Vec<Stop>> = turn
            .lanes()
            .into_iter()
            .map(|lane| lane.into_iter().filter_map(|index| stops.get_mut(index)?.take()).collect())
            .collect();
        let running = lanes.into_iter().map(|lane| async move {
            let mut reached = Vec::with_capacity(lane.len());
            let mut is_open = true;
            for Stop { index, step, permit } in lane {
                let step = match (step, permit) {
                    (Step::Waits(ran, paused), _) => {
                        let answered = |key: &str| {
                            let key = if is_single { key.to_owned() } else { turn_key(index, key) };
                            continued?.response(&key)
                        };
                        ran.came(paused.go_on(context, answered).await)
                    }
                    (Step::Ahead, Some(permit)) if is_open => match turn.reply.calls.get(index) {
                        Some(call) => turn.run_call(gateway, context, call, permit).await,
                        None => Step::Ahead,
                    },
                    (step, _) => step,
                };
                is_open &= !matches!(step, Step::Waits(..));
                reached.push((index, step));
            }
            reached
        });
        let mut reached: Vec<(usize, Step)> =
            futures_util::stream::iter(running).buffer_unordered(at_once).concat().await;
        reached.sort_by_key(|(index, _)| *index);
        self.steps = reached.into_iter().map(|(_, step)| step).collect();
        Ok(())
    }

    /// What came of all calls that are over.
    pub(crate) fn take_ran(&mut self) -> Vec<Ran> {
        let steps = std::mem::take(&mut self.steps).into_iter();
        let ran = steps.filter_map(|step| match step {
            Step::Done(ran) => Some(ran),
            Step::Ahead | Step::Waits(..) => None,
        });
        ran.collect()
    }

    /// The whole turn's answer, or what has to be known before there can be one.
    fn answer(mut self, gateway: &Gateway, context: &RequestContext) -> Result<Answer, ApiError> {
        if self.steps.iter().all(|step| matches!(step, Step::Done(_))) {
            let ran = self.take_ran();
            return self.turn.answer(&ran);
        }
        let patience = self.waiting().map(|(_, paused)| paused.patience()).min().unwrap_or(Duration::ZERO);
        let (requests, rest) = (self.requests(), self.turn.so_far(&self.steps));
        let provider = Arc::clone(&self.turn.provider);
        let waiting = (Waiting::Turn(Box::new(self)), patience);
        let input = plain::park(gateway, context, Place::Execute, waiting, &requests)?;
        let mut body = Vec::with_capacity(rest.len() + 512);
        body.extend_from_slice(b"{\"inputRequired\":");
        write_json(&mut body, &input);
        body.extend_from_slice(&rest);
        body.push(b'}');
        Ok(Answer { body, provider, not_run: false })
    }
}

/// A call of a turn, on its way through a lane.
struct Stop {
    index: usize,
    step: Step,
    permit: Option<Permit>,
}

impl Turn {
    /// Which calls run one after another; lanes run at the same time.
    fn lanes(&self) -> Vec<Vec<usize>> {
        let calls = self.reply.calls.iter().enumerate();
        if self.answerer.is_none() {
            return calls.map(|(index, _)| vec![index]).collect();
        }
        let mut lanes: Vec<(Option<&UpstreamId>, Vec<usize>)> = Vec::new();
        for (index, call) in calls {
            // Behind a tool of search may stand any server; such calls share a lane.
            let server = self.find(&call.name).ok().map(|(tool, _)| &tool.server);
            match lanes.iter_mut().find(|(found, _)| *found == server) {
                Some((_, lane)) => lane.push(index),
                None => lanes.push((server, vec![index])),
            }
        }
        lanes.into_iter().map(|(_, lane)| lane).collect()
    }
}

/// What a question of one call is called among those of a whole turn.
pub(super) fn turn_key(index: usize, key: &str) -> String {
    format!("{index}.{key}")
}
