//! The corpus of tools.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// Tools of real servers, each as one line of compact JSON.
pub(crate) struct Corpus {
    pub(crate) lines: Vec<Vec<u8>>,
    pub(crate) servers: usize,
}

impl Corpus {
    /// Reads all server files in `folder`, in the order of their names.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let listing = fs::read_dir(folder).with_context(|| {
            format!("no corpus at {}: give its folder with --corpus (see bench/README.md)", folder.display())
        })?;
        let mut files = Vec::new();
        for entry in listing {
            let path = entry.with_context(|| format!("listing {}", folder.display()))?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                files.push(path);
            }
        }
        files.sort();
        let mut lines = Vec::new();
        for file in &files {
            let text = fs::read(file).with_context(|| format!("reading {}", file.display()))?;
            let document: Value = serde_json::from_slice(&text)
                .with_context(|| format!("reading {} as JSON", file.display()))?;
            let Some(tools) = document.get("tools").and_then(Value::as_array) else {
                bail!("{} has no `tools` array", file.display());
            };
            for tool in tools {
                lines.push(serde_json::to_vec(tool)?);
            }
        }
        if lines.is_empty() {
            bail!("no tools in {}: expected one JSON file a server", folder.display());
        }
        Ok(Self { lines, servers: files.len() })
    }

    /// The tools as parsed values.
    pub(crate) fn parsed(&self) -> Vec<Value> {
        self.lines.iter().filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }

    /// The size of all lines.
    pub(crate) fn bytes(&self) -> usize {
        self.lines.iter().map(Vec::len).sum()
    }
}
