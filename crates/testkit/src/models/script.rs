//! Scripts: what a model does, request by request.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};

use bytes::Bytes;

use super::behaviour::Behaviour;
use super::delivery::Delivery;
use super::faults::Fault;
use super::gate::{Gate, Moment};
use super::record::RecordedRequest;
use super::reply::Reply;
use crate::lock::lock;

/// What answers one request.
#[derive(Clone, Debug)]
pub struct Step {
    /// What is answered.
    pub act: Act,
    /// In which pieces and with which habits.
    pub delivery: Delivery,
    /// What the answer waits for.
    pub gates: Vec<(Moment, Gate)>,
    /// How many seconds a rate limit asks to wait.
    pub retry_after: u64,
}

/// What is answered.
#[derive(Clone, Debug)]
pub enum Act {
    /// A turn of the model.
    Reply(Reply),
    /// A turn that depends on the request.
    Behave(Behaviour),
    /// A fault, and the reply that it spoils.
    Fault(Fault, Reply),
    /// These bytes.
    Raw {
        /// The status.
        status: u16,
        /// The content type.
        content_type: String,
        /// The body.
        body: Bytes,
    },
}

impl Step {
    fn new(act: Act) -> Self {
        Self { act, delivery: Delivery::usual(), gates: Vec::new(), retry_after: 1 }
    }

    /// A turn of the model.
    pub fn reply(reply: Reply) -> Self {
        Self::new(Act::Reply(reply))
    }

    /// A turn that depends on the request.
    pub fn behave(behaviour: Behaviour) -> Self {
        Self::new(Act::Behave(behaviour))
    }

    /// A fault, with a usual reply to spoil: some text and a call of `add`.
    pub fn fault(fault: Fault) -> Self {
        let arguments = serde_json::json!({"a": 15, "b": 27});
        Self::spoiled(fault, Reply::new().text("Let me add these two.").call("call_1", "add", arguments))
    }

    /// A fault that hits this reply.
    pub fn spoiled(fault: Fault, reply: Reply) -> Self {
        Self::new(Act::Fault(fault, reply))
    }

    /// These bytes.
    pub fn raw(status: u16, content_type: impl Into<String>, body: impl Into<Bytes>) -> Self {
        Self::new(Act::Raw { status, content_type: content_type.into(), body: body.into() })
    }

    /// Delivered so.
    #[must_use]
    pub fn delivered(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    /// Waits there until the gate is open.
    #[must_use]
    pub fn wait(mut self, before: Moment, gate: &Gate) -> Self {
        self.gates.push((before, gate.clone()));
        self
    }

    /// Whether nobody listens.
    pub(crate) fn refuses(&self) -> bool {
        matches!(self.act, Act::Fault(Fault::ConnectionRefused, _))
    }

    /// How many seconds a rate limit asks to wait.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = seconds;
        self
    }
}

impl From<Reply> for Step {
    fn from(reply: Reply) -> Self {
        Self::reply(reply)
    }
}

impl From<Fault> for Step {
    fn from(fault: Fault) -> Self {
        Self::fault(fault)
    }
}

impl From<Behaviour> for Step {
    fn from(behaviour: Behaviour) -> Self {
        Self::behave(behaviour)
    }
}

type StepFor = Arc<dyn Fn(&RecordedRequest) -> Step + Send + Sync>;

/// Steps that requests take in order. Clones share what was taken.
#[derive(Clone, Default)]
pub struct Script {
    by: Option<StepFor>,
    steps: Arc<Mutex<VecDeque<Step>>>,
    last: Option<Box<Step>>,
}

impl fmt::Debug for Script {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = lock(&self.steps);
        formatter
            .debug_struct("Script")
            .field("steps", &*steps)
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}

impl Script {
    /// A script without steps: every request is answered with 500 "script is over".
    pub fn new() -> Self {
        Self::default()
    }

    /// A model whose steps depend on the requests.
    pub fn by(step: impl Fn(&RecordedRequest) -> Step + Send + Sync + 'static) -> Self {
        Self { by: Some(Arc::new(step)), ..Self::default() }
    }

    /// Adds a reply.
    #[must_use]
    pub fn reply(self, reply: Reply) -> Self {
        self.step(reply)
    }

    /// Adds a fault.
    #[must_use]
    pub fn fault(self, fault: Fault) -> Self {
        self.step(fault)
    }

    /// Adds a step.
    #[must_use]
    pub fn step(self, step: impl Into<Step>) -> Self {
        lock(&self.steps).push_back(step.into());
        self
    }

    /// What every request gets once the steps are taken.
    #[must_use]
    pub fn last(mut self, step: impl Into<Step>) -> Self {
        self.last = Some(Box::new(step.into()));
        self
    }

    /// The step of this request; `None` when the script is over.
    pub(crate) fn take(&self, request: &RecordedRequest) -> Option<Step> {
        if let Some(by) = &self.by {
            return Some(by(request));
        }
        lock(&self.steps).pop_front().or_else(|| self.last.as_deref().cloned())
    }

    /// Whether the next step is that nobody listens.
    pub(crate) fn refuses_next(&self) -> bool {
        let steps = lock(&self.steps);
        let next = steps.front().or(self.last.as_deref().filter(|_| self.by.is_none()));
        next.is_some_and(Step::refuses)
    }

    /// Takes the steps in which nobody listens.
    pub(crate) fn skip_refusals(&self) {
        let mut steps = lock(&self.steps);
        while steps.front().is_some_and(Step::refuses) {
            steps.pop_front();
        }
    }
}
