//! What the configuration takes from outside: variables and files. Nothing here changes the process's environment.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::dotenv;

type Variables<'a> = Box<dyn Fn(&str) -> Option<String> + Send + Sync + 'a>;
type Files<'a> = Box<dyn Fn(&Path) -> io::Result<String> + Send + Sync + 'a>;

/// Where variables and files are read from.
pub struct Environment<'a> {
    variables: Variables<'a>,
    files: Files<'a>,
    dotenv: BTreeMap<String, String>,
}

/// Values may be secrets, so only the names from `.env` files are shown.
impl std::fmt::Debug for Environment<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Environment")
            .field("dotenv", &self.dotenv.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl<'a> Environment<'a> {
    /// An environment of two functions.
    pub fn new(
        variables: impl Fn(&str) -> Option<String> + Send + Sync + 'a,
        files: impl Fn(&Path) -> io::Result<String> + Send + Sync + 'a,
    ) -> Self {
        Self { variables: Box::new(variables), files: Box::new(files), dotenv: BTreeMap::new() }
    }

    /// The variables of this process and the files of this machine, without `.env` files.
    pub fn of_process() -> Self {
        Self::new(|name| std::env::var(name).ok(), |path| std::fs::read_to_string(path))
    }

    /// Adds `.env` of a directory, its parent and its grandparent. What is set already wins, and the nearer file.
    #[must_use]
    pub fn with_dotenv(mut self, directory: &Path) -> Self {
        for directory in directory.ancestors().take(3) {
            let Ok(text) = self.read(&directory.join(".env")) else { continue };
            for (name, value) in dotenv::parse(&text) {
                self.dotenv.entry(name).or_insert(value);
            }
        }
        self
    }

    /// The value of a variable.
    pub fn variable(&self, name: &str) -> Option<String> {
        (self.variables)(name).or_else(|| self.dotenv.get(name).cloned())
    }

    /// The value of a variable that is not empty.
    pub fn non_empty(&self, name: &str) -> Option<String> {
        self.variable(name).filter(|value| !value.is_empty())
    }

    /// The text of a file.
    pub fn read(&self, path: &Path) -> io::Result<String> {
        (self.files)(path)
    }

    /// A path whose leading `~` is the home directory.
    pub(super) fn path(&self, text: &str) -> PathBuf {
        let home = || self.non_empty("HOME").or_else(|| self.non_empty("USERPROFILE"));
        match text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with(['/', '\\'])) {
            Some(rest) => home().map_or_else(|| PathBuf::from(text), |home| PathBuf::from(home + rest)),
            None => PathBuf::from(text),
        }
    }
}
