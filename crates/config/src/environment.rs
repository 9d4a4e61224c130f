//! What the configuration takes from outside: variables and files. Nothing here changes the process's environment.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::problem::Problem;
use crate::{dotenv, text_file};

type Variables<'a> = Box<dyn Fn(&str) -> Option<String> + Send + Sync + 'a>;
type Files<'a> = Box<dyn Fn(&Path) -> io::Result<String> + Send + Sync + 'a>;

/// Where variables and files are read from.
pub struct Environment<'a> {
    variables: Variables<'a>,
    files: Files<'a>,
    /// Reads `.env` files, which nobody named.
    found_files: Option<Files<'a>>,
    dotenv: BTreeMap<String, String>,
    /// The `.env` files that were found and not read.
    pub unread: Vec<Problem>,
}

/// Where `.env` files are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DotenvScope {
    /// In the directory itself.
    Directory,
    /// Also in its parent and its grandparent, the nearer file first.
    Parents,
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
        Self {
            variables: Box::new(variables),
            files: Box::new(files),
            found_files: None,
            dotenv: BTreeMap::new(),
            unread: Vec::new(),
        }
    }

    /// The variables of this process and the files of this machine, without `.env` files.
    pub fn of_process() -> Self {
        let process = Self::new(|name| std::env::var(name).ok(), text_file::read);
        Self { found_files: Some(Box::new(dotenv::read_trusted)), ..process }
    }

    /// Adds `.env` of a directory, and of those above it if `scope` says so. What is set already wins, and the nearer file.
    /// A file that others could have put there is not read; [`Environment::unread`] says why.
    #[must_use]
    pub fn with_dotenv(mut self, directory: &Path, scope: DotenvScope) -> Self {
        let levels = match scope {
            DotenvScope::Directory => 1,
            DotenvScope::Parents => 3,
        };
        for directory in directory.ancestors().take(levels) {
            let path = directory.join(".env");
            let text = match self.found_files.as_ref().unwrap_or(&self.files)(&path) {
                Ok(text) => text,
                Err(error) if is_absent(&error) => continue,
                Err(error) => {
                    let message = format!("it was not read: {error}");
                    self.unread.push(Problem::of_file(&path, message));
                    continue;
                }
            };
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

    pub(crate) fn home(&self) -> Option<String> {
        self.non_empty("HOME").or_else(|| self.non_empty("USERPROFILE"))
    }

    /// A command whose leading `~/` is the home directory.
    pub(crate) fn program(&self, command: String) -> String {
        if command.starts_with("~/") { self.path(&command).display().to_string() } else { command }
    }

    /// A path whose leading `~` is the home directory.
    pub(crate) fn path(&self, text: &str) -> PathBuf {
        match text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with(['/', '\\'])) {
            Some(rest) => self.home().map_or_else(|| PathBuf::from(text), |home| PathBuf::from(home + rest)),
            None => PathBuf::from(text),
        }
    }
}

/// Whether there is no such file. A directory of that name is somebody's virtual environment.
fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory
    )
}
