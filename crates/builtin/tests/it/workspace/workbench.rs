//! A workspace in a temporary directory, with something beside it that nobody may see.

use std::fs;
use std::path::{Path, PathBuf};

use gateway_builtin::WorkspaceServer;
use gateway_config::WorkspaceSpec;
use gateway_protocol::RawJson;
use serde_json::{Value, json};
use tempfile::TempDir;

/// What stands in the file outside.
pub(crate) const CANARY: &str = "c4n4ry-5ecret";

/// Who resolves paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resolves {
    Kernel,
    Steps,
}

pub(crate) const BOTH: [Resolves; 2] = [Resolves::Kernel, Resolves::Steps];

pub(crate) struct Bench {
    folder: TempDir,
    pub(crate) server: WorkspaceServer,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(Resolves::Kernel, |_| {})
    }

    pub(crate) fn with(resolves: Resolves, change: impl FnOnce(&mut WorkspaceSpec)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("root")).unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        fs::write(folder.path().join("outside/canary.txt"), CANARY).unwrap();
        fs::write(folder.path().join("canary.txt"), CANARY).unwrap();
        let mut spec = WorkspaceSpec::new(folder.path().join("root"));
        change(&mut spec);
        let server = match resolves {
            Resolves::Kernel => WorkspaceServer::open(&spec),
            Resolves::Steps => WorkspaceServer::open_by_steps(&spec),
        };
        Self { server: server.unwrap(), folder }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.folder.path().join("outside")
    }

    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn get(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }

    /// All that lies outside, with contents, as one text.
    pub(crate) fn beside(&self) -> String {
        let mut found = Vec::new();
        collect(self.folder.path(), &self.root(), &mut found);
        found.sort();
        found.join("\n")
    }

    /// All names inside.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut found = Vec::new();
        names_in(&self.root(), &mut found);
        found.sort();
        found
    }

    pub(crate) async fn ask(&self, method: &str, params: &Value) -> Value {
        let params = RawJson::of(params).unwrap();
        self.server.handle(method, Some(&params)).await.unwrap().read().unwrap()
    }

    /// The text of an answer, as a mistake or not.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<String, String> {
        let result = self.ask("tools/call", &json!({"name": tool, "arguments": arguments})).await;
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned();
        if result["isError"] == true { Err(text) } else { Ok(text) }
    }

    #[track_caller]
    pub(crate) fn check_file(&self, path: &str, expected: &str) {
        assert_eq!(self.get(path), expected, "{path}");
    }
}

fn collect(folder: &Path, without: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path == without {
            continue;
        }
        if path.is_dir() {
            found.push(path.display().to_string());
            collect(&path, without, found);
        } else {
            found.push(format!("{}: {}", path.display(), fs::read_to_string(&path).unwrap()));
        }
    }
}

fn names_in(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        found.push(entry.path().display().to_string());
        if entry.file_type().unwrap().is_dir() {
            names_in(&entry.path(), found);
        }
    }
}
