//! What is wrong with a configuration.

use std::fmt;
use std::path::Path;

use gateway_protocol::printable;
use serde::Serialize;

/// One problem, with its location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file, as it was named; `environment` for a variable.
    pub file: String,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The field: `servers.x.command`; or the variable. Empty for the whole file.
    pub field: String,
    /// What is wrong, and what to do. It holds no key and no value of a variable.
    pub message: String,
}

impl Problem {
    /// A problem of a whole file.
    pub fn of_file(file: &Path, message: impl Into<String>) -> Self {
        let file = file.display().to_string();
        Self { file, line: None, field: String::new(), message: message.into() }
    }

    /// A problem of a variable; of all of them if the name is empty.
    pub(crate) fn of_variable(name: &str, message: impl Into<String>) -> Self {
        Self { field: name.to_owned(), ..Self::of_file(Path::new("environment"), message) }
    }
}

/// `file:line: field: text`, which editors can jump to.
impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(formatter, ":{line}")?;
        }
        if !self.field.is_empty() {
            // Names of members are foreign text.
            write!(formatter, ": {}", printable(&self.field))?;
        }
        write!(formatter, ": {}", self.message)
    }
}

/// All problems of a configuration. Displayed are the errors, one on each line.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("{}", errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Problems {
    /// What keeps the configuration from being used.
    pub errors: Vec<Problem>,
    /// What should be looked at.
    pub warnings: Vec<Problem>,
}

impl Problems {
    /// Sorts what came after so many errors and warnings, as a reader goes through the file.
    pub(crate) fn sort_by_line(&mut self, (errors, warnings): (usize, usize)) {
        self.errors.get_mut(errors..).unwrap_or_default().sort_by_key(|error| error.line);
        self.warnings.get_mut(warnings..).unwrap_or_default().sort_by_key(|warning| warning.line);
    }
}
