//! Fault modes: what a fixture does wrong.

use std::fmt::Write as _;
use std::str::FromStr;

/// What a fault belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The whole process.
    Server,
    /// Single requests: `--fault-method`, `--fault-tool` and `--fault-times` choose which.
    Answer,
}

macro_rules! faults {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal, $default:literal, $scope:ident;)+) => {
        /// A fault. `N` is its value, of which the number is the default.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Fault {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Fault {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// Its name on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            /// Its default value.
            pub fn default_value(self) -> u64 {
                match self { $(Self::$name => $default,)+ }
            }

            /// What it belongs to.
            pub(crate) fn scope(self) -> Scope {
                match self { $(Self::$name => Scope::$scope,)+ }
            }

            fn explanation(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc,)+),)+ }
            }
        }
    };
}

faults! {
    /// Waits N milliseconds before it reads or listens.
    SlowStart = "slow-start", 1000, Server;
    /// Exits at once.
    CrashBeforeInitialize = "crash-before-initialize", 1, Server;
    /// Exits when it receives `initialize` or `server/discover`.
    CrashAtInitialize = "crash-at-initialize", 1, Server;
    /// Exits when the first list of tools has been answered.
    CrashAfterList = "crash-after-list", 1, Server;
    /// Exits when it receives the request, without running the tool.
    CrashBeforeCall = "crash-before-call", 1, Answer;
    /// Runs the tool, then exits without an answer.
    CrashDuringCall = "crash-during-call", 1, Answer;
    /// Answers, then exits.
    CrashAfterCall = "crash-after-call", 1, Answer;
    /// Every N calls: runs the tool, then exits without an answer.
    CrashEvery = "crash-every", 10, Answer;
    /// Answers nothing at all.
    Silent = "silent", 1, Server;
    /// Answers nothing before `initialize`.
    SilentBeforeInitialize = "silent-before-initialize", 1, Server;
    /// Runs the tool and never answers.
    NeverAnswers = "never-answers", 1, Answer;
    /// Waits N milliseconds before it runs the tool.
    Slow = "slow", 1000, Answer;
    /// Answers every other call only after N milliseconds.
    OutOfOrder = "out-of-order", 100, Answer;
    /// Gives the same answer twice.
    DuplicateAnswers = "duplicate-answers", 1, Answer;
    /// First answers a request that was never sent.
    UnknownIds = "unknown-ids", 1, Answer;
    /// Returns the id as a string.
    IdAsText = "id-as-text", 1, Answer;
    /// Answers with text that is not JSON.
    WrongJson = "wrong-json", 1, Answer;
    /// Answers with JSON that is not a JSON-RPC message.
    WrongShape = "wrong-shape", 1, Answer;
    /// Answers with a result that is not an object.
    WrongResult = "wrong-result", 1, Answer;
    /// Adds unknown fields to envelopes, results and tools.
    UnknownFields = "unknown-fields", 1, Server;
    /// Answers with a text of N bytes.
    HugeResult = "huge-result", 67_108_864, Answer;
    /// Answers with a line that never ends.
    EndlessLine = "endless-line", 1, Answer;
    /// Answers with a line of N bytes, its id at the head.
    LongLine = "long-line", 33_554_432, Answer;
    /// Answers with a line of N bytes, its id at the tail.
    LongLineTail = "long-line-tail", 33_554_432, Answer;
    /// Writes N bytes to stderr at the start and at every call.
    NoisyStderr = "noisy-stderr", 4_194_304, Server;
    /// Writes lines that are not JSON to stdout before every answer.
    StdoutNoise = "stdout-noise", 1, Server;
    /// Lists tools in pages of N.
    Paged = "paged", 2, Server;
    /// Puts an empty page after every page.
    EmptyPages = "empty-pages", 2, Server;
    /// Gives the same cursor again and again.
    CursorLoop = "cursor-loop", 2, Server;
    /// Has always one more page, with new tools.
    EndlessPages = "endless-pages", 1, Server;
    /// Fails on every page after the first.
    FailingPage = "failing-page", 2, Server;
    /// Fails on the first N lists.
    FailFirstList = "fail-first-list", 1, Server;
    /// Never answers a list of tools.
    SilentList = "silent-list", 1, Server;
    /// Changes the list N times once it was read, each with a notification.
    ListChangedStorm = "list-changed-storm", 100, Server;
    /// After N lists the tool `add` has another definition, without a notification.
    ChangedDefinition = "changed-definition", 1, Server;
    /// Lists a tool whose header annotation is invalid.
    BadHeaderTool = "bad-header-tool", 1, Server;
    /// Ignores SIGTERM and the end of stdin.
    IgnoresSigterm = "ignores-sigterm", 1, Server;
    /// Starts a child in its own process group and one in a new session; both keep stdout open.
    Grandchild = "grandchild", 1, Server;
    /// Answers with this HTTP status.
    HttpStatus = "http-status", 500, Answer;
    /// Forgets all sessions after every N calls.
    ForgetSessions = "forget-sessions", 3, Server;
    /// Closes the connection in the middle of the body.
    CloseMidBody = "close-mid-body", 1, Answer;
    /// Sends the body in ten pieces over N milliseconds.
    SlowBody = "slow-body", 1000, Answer;
    /// Answers with `text/html`.
    WrongContentType = "wrong-content-type", 1, Answer;
    /// Redirects to `/moved`.
    Redirect = "redirect", 307, Answer;
}

/// A fault with its value: `crash-every=3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// What goes wrong.
    pub fault: Fault,
    /// How much of it.
    pub value: u64,
}

/// An unknown mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no fault mode; `--help` lists them, a value follows after `=`")]
pub struct UnknownMode(String);

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        let unknown = || UnknownMode(text.to_owned());
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let fault = Fault::ALL.iter().copied().find(|fault| fault.name() == name).ok_or_else(unknown)?;
        let value = match value {
            Some(value) => value.parse().map_err(|_| unknown())?,
            None => fault.default_value(),
        };
        Ok(Self { fault, value })
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}={}", self.fault.name(), self.value)
    }
}

/// The modes that are on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Modes(Vec<Mode>);

impl Modes {
    pub(crate) fn new(modes: &[Mode]) -> Self {
        Self(modes.to_vec())
    }

    pub(crate) fn get(&self, fault: Fault) -> Option<u64> {
        self.0.iter().rev().find(|mode| mode.fault == fault).map(|mode| mode.value)
    }

    pub(crate) fn has(&self, fault: Fault) -> bool {
        self.get(fault).is_some()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those that `choose` accepts.
    pub(crate) fn filtered(&self, choose: impl Fn(Mode) -> bool) -> Self {
        Self(self.0.iter().copied().filter(|mode| choose(*mode)).collect())
    }
}

/// The list of modes for `--help`.
pub(crate) fn explain_modes() -> String {
    let mut text = "Fault modes (--mode NAME or --mode NAME=VALUE, several allowed):\n".to_owned();
    for fault in Fault::ALL {
        let name = format!("{}={}", fault.name(), fault.default_value());
        // Writing into memory cannot fail.
        let _ = writeln!(text, "  {name:<28}{}", fault.explanation());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_reads_what_it_writes() {
        for fault in Fault::ALL {
            let mode = Mode { fault: *fault, value: 17 };
            assert_eq!(mode.to_string().parse(), Ok(mode));
            let plain = Mode { fault: *fault, value: fault.default_value() };
            assert_eq!(fault.name().parse(), Ok(plain));
        }
    }

    #[test]
    fn a_wrong_mode_is_refused() {
        for text in ["", "crash", "crash-every=", "crash-every=x", "slow=-1"] {
            assert_eq!(text.parse::<Mode>(), Err(UnknownMode(text.to_owned())));
        }
    }
}
