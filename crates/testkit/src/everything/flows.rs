//! Requests that need the client's help, step by step. A flow does not know how the client is asked: see `ask`.

use gateway_protocol::{RpcError, code};
use serde_json::{Map, Value, json};

use super::questions::{self, Question};
use super::{failure, text};

/// The state of a flow before its next step.
#[derive(Clone, Debug, Default)]
pub(super) struct Round {
    pub(super) arguments: Value,
    /// The answers so far, by their keys.
    pub(super) answers: Map<String, Value>,
    /// The state of the last step.
    pub(super) state: Option<Value>,
    pub(super) capabilities: Value,
}

/// What a flow does next.
#[derive(Debug)]
pub(super) enum Step {
    /// It has its result.
    Done(Value),
    /// It failed.
    Failed(RpcError),
    /// It asks the client, with state to keep until the answers arrive.
    Ask(Vec<Question>, Option<Value>),
}

impl Round {
    fn answer(&self, key: &str) -> Option<&Value> {
        self.answers.get(key)
    }

    /// A field of a returned form; `None` if it is absent, empty or declined.
    fn field(&self, key: &str, field: &str) -> Option<String> {
        match &self.answer(key)?["content"][field] {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            other => Some(other.to_string()),
        }
    }

    /// Asks `question` until the form is returned with this field.
    fn with_field(&self, question: Question, field: &str, then: impl FnOnce(String) -> Value) -> Step {
        match self.field(question.key, field) {
            Some(value) => Step::Done(then(value)),
            None => Step::Ask(vec![question], None),
        }
    }

    /// Whether the user declined a form.
    fn is_declined(&self) -> bool {
        self.answers.values().any(|answer| answer.get("action").is_some_and(|action| action != "accept"))
    }

    fn argument(&self, key: &str) -> &str {
        self.arguments[key].as_str().unwrap_or_default()
    }

    /// Asks `question` first and continues with its answer.
    fn after(&self, question: Question, then: impl FnOnce(&Value) -> Value) -> Step {
        match self.answer(question.key) {
            Some(answer) => Step::Done(then(answer)),
            None => Step::Ask(vec![question], None),
        }
    }
}

/// The next step of the flow with this name; `None` if there is no such flow.
pub(super) fn step(name: &str, round: &Round) -> Option<Step> {
    if round.is_declined() && needs_acceptance(name) {
        return Some(unable(name, "the user declined"));
    }
    let step = match name {
        "test_sampling" => round
            .after(Question::model("completion", round.argument("prompt"), 100), |answer| {
                text(format!("LLM response: {}", answer["content"]["text"].as_str().unwrap_or("none")))
            }),
        "test_elicitation" => {
            let schema = json!({"type": "object", "properties": {
                "username": {"type": "string", "description": "User's response"},
                "email": {"type": "string", "description": "User's email address"},
            }, "required": ["username", "email"]});
            round.after(Question::form("user", round.argument("message"), &schema), |answer| {
                text(format!("User response: {}", described(answer)))
            })
        }
        "test_elicitation_sep1034_defaults" => round.after(questions::defaults(), completed),
        "test_elicitation_sep1330_enums" => round.after(questions::choices(), completed),
        "test_streaming_elicitation" => {
            let question = Question::field("streamed", "What should the stream say?", "text", "string");
            round.after(question, |answer| text(format!("Streaming complete: {}", described(answer))))
        }
        "test_input_required_result_elicitation" => {
            let question = Question::field("user_name", "What is your name?", "name", "string");
            round.with_field(question, "name", |name| text(format!("Hello, {name}!")))
        }
        "test_input_required_result_sampling" => round.after(
            Question::model("capital_question", "What is the capital of France?", 100),
            |answer| {
                text(format!("Sampling result: {}", answer["content"]["text"].as_str().unwrap_or("none")))
            },
        ),
        "test_input_required_result_list_roots" => {
            round.after(Question::roots("client_roots"), |answer| text(format!("Roots: {}", answer["roots"])))
        }
        "test_input_required_result_request_state" => remembered(round, "state-ok: the state came back"),
        "test_input_required_result_tampered_state" => remembered(round, "integrity-ok: the state came back"),
        "test_input_required_result_multiple_inputs" => several(round),
        "test_input_required_result_multi_round" => two_rounds(round),
        "test_input_required_result_capabilities" => as_able(round),
        "test_input_required_result_prompt" => {
            let message = "What context should the prompt use?";
            let question = Question::field("user_context", message, "context", "string");
            round.with_field(question, "context", |context| {
                let text = format!("Prompt with context: {context}");
                json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}]})
            })
        }
        "test://input-required" => {
            let question = Question::field("passphrase", "What is the word?", "word", "string");
            round.with_field(question, "word", |word| {
                let text = format!("Opened with: {word}");
                json!({"contents": [{"uri": name, "mimeType": "text/plain", "text": text}]})
            })
        }
        other => return task_step(other, round),
    };
    Some(step)
}

/// The outcome of a flow that cannot continue: a tool fails, everything else is an error.
pub(super) fn unable(flow: &str, why: &str) -> Step {
    if flow.contains("://") || flow.ends_with("_prompt") {
        return Step::Failed(RpcError::new(code::INVALID_REQUEST, why));
    }
    Step::Done(failure(why))
}

/// Whether a declined form ends the flow; the others report what the user did.
fn needs_acceptance(flow: &str) -> bool {
    flow.starts_with("test_input_required_result_")
        || matches!(flow, "test://input-required" | "test_tool_with_task")
}

/// The tools of the tasks extension; without it they run like any other.
fn task_step(name: &str, round: &Round) -> Option<Step> {
    let confirm = |key, message: &str| Question::field(key, message, "confirm", "boolean");
    let step = match name {
        "slow_compute" => Step::Done(text(format!("Computed: {}", round.argument("label")))),
        "failing_job" => Step::Done(failure("the job failed as asked")),
        "protocol_error_job" => Step::Failed(RpcError::new(code::INTERNAL_ERROR, "the job broke as asked")),
        "confirm_delete" => {
            let file = round.argument("filename");
            round.after(confirm("confirm", &format!("Delete {file}?")), |answer| {
                text(format!("{file}: {}", described(answer)))
            })
        }
        "multi_input" => {
            let questions =
                [confirm("first", "Is the first right?"), confirm("second", "Is the second right?")];
            let open: Vec<_> =
                questions.into_iter().filter(|question| round.answer(question.key).is_none()).collect();
            if open.is_empty() { Step::Done(text("Both were answered")) } else { Step::Ask(open, None) }
        }
        "test_tool_with_task" => {
            let question = Question::field("user_name", "What is your name?", "name", "string");
            round.with_field(question, "name", |name| text(format!("The task is done, {name}")))
        }
        _ => return None,
    };
    Some(step)
}

fn completed(answer: &Value) -> Value {
    text(format!("Elicitation completed: {}", described(answer)))
}

/// How the user answered a form.
fn described(answer: &Value) -> String {
    let content = answer.get("content").cloned().unwrap_or_else(|| json!({}));
    format!("action={}, content={content}", answer["action"].as_str().unwrap_or("none"))
}

/// Continues only with the state that it handed out.
fn remembered(round: &Round, result: &str) -> Step {
    let is_back = round.state == Some(json!("confirm"));
    if is_back && round.field("confirm", "ok").is_some() {
        return Step::Done(text(result));
    }
    Step::Ask(vec![Question::field("confirm", "Please confirm", "ok", "boolean")], Some(json!("confirm")))
}

fn several(round: &Round) -> Step {
    let (name, greeting, roots) =
        (round.field("user_name", "name"), round.answer("greeting"), round.answer("client_roots"));
    if let (Some(name), Some(greeting), Some(roots), Some(_)) = (name, greeting, roots, &round.state) {
        let greeting = greeting["content"]["text"].as_str().unwrap_or("none");
        return Step::Done(text(format!("Name: {name}; greeting: {greeting}; roots: {}", roots["roots"])));
    }
    let questions = vec![
        Question::field("user_name", "What is your name?", "name", "string"),
        Question::model("greeting", "Generate a greeting", 50),
        Question::roots("client_roots"),
    ];
    Step::Ask(questions, Some(json!("several")))
}

fn two_rounds(round: &Round) -> Step {
    let known = round.state.as_ref().and_then(|state| state["name"].as_str()).map(str::to_owned);
    let color = round.field("step2", "color").filter(|_| known.is_some());
    // An answer without the state of the first round is not an answer to it.
    let name = known.or_else(|| round.field("step1", "name").filter(|_| round.state.is_some()));
    match (name, color) {
        (Some(name), Some(color)) => Step::Done(text(format!("{name} likes {color}"))),
        (Some(name), None) => {
            let question =
                Question::field("step2", "Step 2: What is your favorite color?", "color", "string");
            Step::Ask(vec![question], Some(json!({"round": 2, "name": name})))
        }
        (None, _) => {
            let question = Question::field("step1", "Step 1: What is your name?", "name", "string");
            Step::Ask(vec![question], Some(json!({"round": 1})))
        }
    }
}

/// Asks only what the client said it can answer.
fn as_able(round: &Round) -> Step {
    if !round.answers.is_empty() {
        let keys: Vec<_> = round.answers.keys().map(String::as_str).collect();
        return Step::Done(text(format!("capabilities-ok: received {}", keys.join(","))));
    }
    let mut questions = vec![
        Question::field("elicit_input", "Elicitation input", "value", "string"),
        Question::model("sample_input", "Sample request", 50),
    ];
    questions.retain(|question| round.capabilities[question.capability()].is_object());
    if questions.is_empty() {
        return Step::Done(text("The client can answer nothing"));
    }
    Step::Ask(questions, Some(json!("able")))
}
