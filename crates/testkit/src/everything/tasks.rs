//! Calls that outlive their request (SEP-2663). The state of a task is computed when it is polled: nothing runs meanwhile.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gateway_protocol::{RpcError, code, method};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::flows::{Round, Step, step};
use super::{Answered, Asked, TASKS, ask, lacks};
use crate::lock::lock;

const TTL_MS: u64 = 300_000;
const POLL_MS: u64 = 100;

/// All tasks of this process.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    tasks: Mutex<HashMap<String, Task>>,
    numbers: AtomicU64,
}

#[derive(Clone, Debug)]
struct Task {
    flow: String,
    round: Round,
    created: Timestamp,
    updated: Timestamp,
    due: Instant,
    is_cancelled: bool,
}

/// How long a tool works.
pub(super) fn duration_of(tool: &str, arguments: &Value) -> Duration {
    match tool {
        "slow_compute" => {
            let seconds = arguments["seconds"].as_f64().unwrap_or_default();
            Duration::try_from_secs_f64(seconds.clamp(0.0, 600.0)).unwrap_or_default()
        }
        _ => Duration::from_millis(200),
    }
}

/// The error for a client without the tasks extension.
pub(super) fn required() -> RpcError {
    lacks(&json!({"extensions": {TASKS: {}}}))
}

/// Begins a task.
pub(super) fn create(asked: Asked<'_>, tool: &str, answers: Map<String, Value>) -> Value {
    let tasks = &asked.everything.tasks;
    let id = format!("task-{}", tasks.numbers.fetch_add(1, Ordering::Relaxed) + 1);
    let round = Round { arguments: asked.arguments(), answers, ..Round::default() };
    let now = Timestamp::now();
    let due = Instant::now() + duration_of(tool, &round.arguments);
    let flow = tool.to_owned();
    let task = Task { flow, round, created: now, updated: now, due, is_cancelled: false };
    let mut result = task.describe(&id);
    result["resultType"] = json!("task");
    result["status"] = json!("working");
    lock(&tasks.tasks).insert(id, task);
    result
}

/// `tasks/get`, `tasks/update` and `tasks/cancel`.
pub(super) fn handle(asked: Asked<'_>) -> Answered {
    if !asked.has_tasks() {
        return Err(required());
    }
    let id = asked.message.params.as_ref().and_then(|params| params.task.as_deref()).unwrap_or_default();
    let mut tasks = lock(&asked.everything.tasks.tasks);
    let Some(task) = tasks.get_mut(id) else {
        return Err(RpcError::new(code::INVALID_PARAMS, format!("unknown task: {id}")));
    };
    match asked.message.method() {
        method::GET_TASK => {
            let task = task.clone();
            drop(tasks);
            Ok(asked.complete(task.detailed(id)))
        }
        method::UPDATE_TASK => {
            let answers = ask::answers_of(asked)?;
            // Only requested inputs are accepted.
            let open = task.open_questions();
            task.round.answers.extend(answers.into_iter().filter(|(key, _)| open.contains_key(key)));
            task.updated = Timestamp::now();
            Ok(asked.complete(json!({})))
        }
        _ => {
            if !task.is_over() {
                task.is_cancelled = true;
                task.updated = Timestamp::now();
            }
            Ok(asked.complete(json!({})))
        }
    }
}

impl Task {
    fn describe(&self, id: &str) -> Value {
        json!({
            "taskId": id, "createdAt": self.created.to_string(), "lastUpdatedAt": self.updated.to_string(),
            "ttlMs": TTL_MS, "pollIntervalMs": POLL_MS,
        })
    }

    fn next(&self) -> Option<Step> {
        step(&self.flow, &self.round)
    }

    fn open_questions(&self) -> Map<String, Value> {
        match self.next() {
            Some(Step::Ask(questions, _)) => {
                questions.iter().map(|question| (question.key.to_owned(), question.to_request())).collect()
            }
            _ => Map::new(),
        }
    }

    fn is_over(&self) -> bool {
        self.is_cancelled || self.due <= Instant::now() && !matches!(self.next(), Some(Step::Ask(..)))
    }

    fn detailed(&self, id: &str) -> Value {
        let mut result = self.describe(id);
        if self.is_cancelled {
            result["status"] = json!("cancelled");
            return result;
        }
        match self.next() {
            Some(Step::Ask(..)) => {
                result["status"] = json!("input_required");
                result["inputRequests"] = Value::Object(self.open_questions());
            }
            _ if self.due > Instant::now() => result["status"] = json!("working"),
            Some(Step::Done(mut value)) => {
                value["resultType"] = json!("complete");
                result["status"] = json!("completed");
                result["result"] = value;
            }
            Some(Step::Failed(error)) => {
                result["status"] = json!("failed");
                result["error"] = json!(error);
            }
            None => result["status"] = json!("failed"),
        }
        result
    }
}
