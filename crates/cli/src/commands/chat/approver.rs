//! Who decides about calls that need approval: what was approved in advance, else the person at the terminal.

use std::collections::HashSet;
use std::sync::Mutex;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use gateway_notation::pattern;
use gateway_runtime::approval_handler::{ApprovalHandler, ApprovalQuestion, Decision};
use gateway_runtime::lock::locked;
use tokio::sync::{mpsc, oneshot};

/// Questions that wait for the person; each call has at most one.
const WAITING: usize = 64;

/// Why a call may not run that nobody can be asked about.
const NOBODY: &str =
    "it needs approval, and there is no terminal to ask at; `--approve PATTERN` approves it in advance";

/// Why a call may not run that the person does not want.
const REFUSED: &str = "the user did not approve it";

/// Decides about the calls of a conversation.
#[derive(Debug)]
pub(super) struct Approver {
    /// Patterns of `server/tool`.
    approved: Vec<String>,
    /// Tools that the person has approved for the rest of the conversation.
    always: Mutex<HashSet<String>>,
    /// The person, if there is one.
    person: Option<mpsc::Sender<Asked>>,
}

/// A question on its way to the person.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) question: ApprovalQuestion,
    pub(super) answer: oneshot::Sender<Answer>,
}

/// What the person says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Yes,
    No,
    /// Yes, and the same for further calls of the tool.
    Always,
}

impl Approver {
    /// Approves what the patterns say, and asks the person about the rest, if there is one.
    pub(super) fn new(approved: Vec<String>, person: Person) -> (Self, Option<mpsc::Receiver<Asked>>) {
        let (person, questions) = match person {
            Person::AtTerminal => {
                let (sender, receiver) = mpsc::channel(WAITING);
                (Some(sender), Some(receiver))
            }
            Person::Absent => (None, None),
        };
        (Self { approved, always: Mutex::default(), person }, questions)
    }

    async fn answer(&self, question: ApprovalQuestion) -> Decision {
        let name = format!("{}/{}", question.server, question.tool);
        if pattern::any_matches(&self.approved, &name) || locked(&self.always).contains(&name) {
            return Decision::Approved;
        }
        let Some(person) = &self.person else { return Decision::Denied(NOBODY) };
        let (answer, answered) = oneshot::channel();
        if person.send(Asked { question, answer }).await.is_err() {
            return Decision::Denied(NOBODY);
        }
        match answered.await {
            Ok(Answer::Yes) => Decision::Approved,
            Ok(Answer::Always) => {
                locked(&self.always).insert(name);
                Decision::Approved
            }
            Ok(Answer::No) | Err(_) => Decision::Denied(REFUSED),
        }
    }
}

/// Whether somebody can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Person {
    AtTerminal,
    Absent,
}

impl ApprovalHandler for Approver {
    fn decide(&self, question: ApprovalQuestion) -> BoxFuture<'_, Decision> {
        self.answer(question).boxed()
    }
}
