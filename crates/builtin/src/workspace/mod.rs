//! The built-in server `workspace`: tools that read, search and edit the text files of one directory, and one that asks the
//! user. Off unless it is configured.
//!
//! Names that could lead out are refused (`path`), and files are opened relative to a handle of the directory (`root`), so
//! that also a directory that is swapped for a link meanwhile leads nowhere. Reading follows symbolic links that stay in
//! the directory; writing follows none. Everything is bounded (`limits`), and works on threads for blocking calls.

mod diff;
mod edit;
mod followup;
mod glob;
mod limits;
mod list;
mod operations;
mod path;
mod read;
mod root;
mod search;
mod text;
mod tools;
mod walk;
mod write;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gateway_config::WorkspaceSpec;
use gateway_protocol::{RawJson, RpcError, code, method};
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use self::root::Root;
use crate::arguments::Arguments;
use crate::server::{Params, ServerProfile, unknown_tool};

const PROFILE: ServerProfile = ServerProfile {
    name: "workspace",
    title: "Built-in workspace",
    instructions: "Text files of one directory. Paths are relative to it and have `/` between names; nothing outside can be \
                   reached, and data of version control is closed. Lines are counted from 1.",
    changes: false,
};

/// An MCP server for the files of one directory.
#[derive(Debug)]
pub struct WorkspaceServer {
    shared: Arc<Shared>,
    at_work: Arc<Semaphore>,
}

#[derive(Debug)]
struct Shared {
    root: Root,
    spec: WorkspaceSpec,
    /// Held while a file is read, changed and put back, so that two calls do not undo each other.
    writing: Mutex<()>,
}

impl WorkspaceServer {
    /// Opens the directory, which must exist.
    pub fn open(spec: &WorkspaceSpec) -> io::Result<Self> {
        Ok(Self::with(Root::open(&spec.root)?, spec))
    }

    /// As on a system whose kernel cannot resolve a path beneath a handle: for tests.
    #[doc(hidden)]
    pub fn open_by_steps(spec: &WorkspaceSpec) -> io::Result<Self> {
        Ok(Self::with(Root::open(&spec.root)?.by_steps(), spec))
    }

    fn with(root: Root, spec: &WorkspaceSpec) -> Self {
        let shared = Shared { root, spec: spec.clone(), writing: Mutex::new(()) };
        Self { shared: Arc::new(shared), at_work: Arc::new(Semaphore::new(limits::AT_WORK)) }
    }

    /// Answers one request. Dropping the future stops a search or a listing; a file is written whole or not at all.
    pub async fn handle(&self, method: &str, params: Option<&RawJson>) -> Result<RawJson, RpcError> {
        let mut read = Params::read(params)?;
        let result = match method {
            method::CALL_TOOL => {
                let (name, arguments) = read.call()?;
                self.call(name, arguments, params).await?
            }
            other => PROFILE.answer(other, &read, || tools::definitions(self.shared.spec.read_only))?,
        };
        read.written(result)
    }

    async fn call(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        params: Option<&RawJson>,
    ) -> Result<Value, RpcError> {
        if name == followup::NAME {
            return followup::ask(Arguments(&arguments), params);
        }
        let tool = tools::find(name).ok_or_else(|| unknown_tool(name))?;
        if tool.writes() && self.shared.spec.read_only {
            return Ok(as_result(Err(format!("the workspace is read-only, so `{name}` cannot be used"))));
        }
        self.run(tool.run, arguments).await.map(as_result)
    }

    /// Runs a tool on a thread of its own. A thread that nobody waits for any more still counts until it has noticed.
    async fn run(&self, run: tools::Run, arguments: Map<String, Value>) -> Result<Answer, RpcError> {
        let fault = |text: String| RpcError::new(code::INTERNAL_ERROR, text);
        let permit =
            Arc::clone(&self.at_work).acquire_owned().await.map_err(|error| fault(error.to_string()))?;
        let cancelled = Arc::new(AtomicBool::new(false));
        let _cancels = CancelsOnDrop(Arc::clone(&cancelled));
        let shared = Arc::clone(&self.shared);
        let work = move || {
            let _permit = permit;
            run(
                &Job { root: &shared.root, spec: &shared.spec, lock: &shared.writing, cancelled: &cancelled },
                Arguments(&arguments),
            )
        };
        spawn_blocking(work).await.map_err(|error| fault(error.to_string()))
    }
}

/// What a tool answers: its text, or a text that lets the model correct itself.
type Answer = Result<String, String>;

fn as_result(answer: Answer) -> Value {
    match answer {
        Ok(text) => json!({"content": [{"type": "text", "text": text}]}),
        Err(text) => json!({"content": [{"type": "text", "text": text}], "isError": true}),
    }
}

/// One call at work.
#[derive(Debug)]
struct Job<'a> {
    root: &'a Root,
    spec: &'a WorkspaceSpec,
    lock: &'a Mutex<()>,
    cancelled: &'a AtomicBool,
}

impl Job<'_> {
    /// Stops the work if nobody waits for it any more.
    fn check(&self) -> Result<(), String> {
        if self.cancelled.load(Ordering::Relaxed) { Err("the call was cancelled".to_owned()) } else { Ok(()) }
    }

    fn writing(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct CancelsOnDrop(Arc<AtomicBool>);

impl Drop for CancelsOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a tool whose caller has gone away.
    fn run_cancelled(spec: &WorkspaceSpec, name: &str, arguments: &Value) -> Answer {
        let root = Root::open(&spec.root).unwrap();
        let job = Job { root: &root, spec, lock: &Mutex::new(()), cancelled: &AtomicBool::new(true) };
        (tools::find(name).unwrap().run)(&job, Arguments(arguments.as_object().unwrap()))
    }

    #[test]
    fn work_that_nobody_waits_for_ends_and_writes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f.txt");
        std::fs::write(&file, "old\n").unwrap();
        let spec = WorkspaceSpec::new(folder.path());
        for (name, arguments) in [
            ("read_file", json!({"path": "f.txt"})),
            ("list_files", json!({"path": "."})),
            ("search_files", json!({"path": ".", "regex": "o"})),
            ("search_files", json!({"path": "f.txt", "regex": "o"})),
            ("write_to_file", json!({"path": "new.txt", "content": "", "line_count": 0})),
            ("write_to_file", json!({"path": "f.txt", "content": "", "line_count": 0})),
            ("insert_content", json!({"path": "f.txt", "operations": [{"start_line": 1, "content": "x"}]})),
            ("search_and_replace", json!({"path": "f.txt", "operations": [{"search": "o", "replace": "x"}]})),
            ("apply_diff", json!({"path": "f.txt", "diff": "@@ -1 +1 @@\n-old\n+new\n"})),
        ] {
            let answer = run_cancelled(&spec, name, &arguments);
            assert_eq!(answer.unwrap_err(), "the call was cancelled", "{name}");
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "old\n");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    static AT_WORK: AtomicBool = AtomicBool::new(false);

    /// A tool that only ends when it is cancelled.
    fn endless(job: &Job<'_>, _: Arguments<'_>) -> Answer {
        AT_WORK.store(true, Ordering::Relaxed);
        loop {
            job.check()?;
            std::thread::yield_now();
        }
    }

    #[tokio::test]
    async fn leaving_a_call_ends_its_work() {
        let folder = tempfile::tempdir().unwrap();
        let server = WorkspaceServer::open(&WorkspaceSpec::new(folder.path())).unwrap();
        let begun = async {
            while !AT_WORK.load(Ordering::Relaxed) {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            answer = server.run(endless, Map::new()) => panic!("{answer:?}"),
            () = begun => {}
        }
        // The thread gives its permit back once it has noticed.
        let all = u32::try_from(limits::AT_WORK).unwrap();
        assert!(server.at_work.acquire_many(all).await.is_ok());
    }
}
