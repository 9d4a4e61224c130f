//! What is wrong with a configuration.

use std::fmt;

/// One thing that is wrong, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigError {
    /// The file, as it was named; `environment` where it was none.
    pub file: String,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The field: `servers.x.command`. Empty where the whole file is meant.
    pub field: String,
    /// What is wrong, and what to do. It holds no values of variables.
    pub message: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(formatter, ":{line}")?;
        }
        if !self.field.is_empty() {
            write!(formatter, ": {}", self.field)?;
        }
        write!(formatter, ": {}", self.message)
    }
}

impl std::error::Error for ConfigError {}

/// Everything that is wrong at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigErrors {
    /// What must be mended.
    pub errors: Vec<ConfigError>,
    /// What should be looked at.
    pub warnings: Vec<ConfigError>,
}

impl ConfigErrors {
    /// Sorts what came after so many errors and warnings, as a reader goes through the file.
    pub(crate) fn sort_by_line(&mut self, (errors, warnings): (usize, usize)) {
        self.errors.get_mut(errors..).unwrap_or_default().sort_by_key(|error| error.line);
        self.warnings.get_mut(warnings..).unwrap_or_default().sort_by_key(|warning| warning.line);
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            if index > 0 {
                formatter.write_str("\n")?;
            }
            error.fmt(formatter)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}
