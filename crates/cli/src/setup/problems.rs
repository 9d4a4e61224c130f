//! What is wrong with a configuration, whoever found it.

use std::fmt;

use gateway_service::{ServiceConfig, SettingProblem, SettingProblems, Settings};
use gateway_upstream::config::{ConfigError, ConfigErrors, GatewayConfig};
use serde_json::{Value, json};

/// One thing that is wrong, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) file: String,
    pub(crate) line: Option<usize>,
    /// Empty where the whole file is meant.
    pub(crate) field: String,
    pub(crate) message: String,
}

impl Problem {
    pub(crate) fn to_json(&self) -> Value {
        json!({"file": self.file, "line": self.line, "field": self.field, "message": self.message})
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
            write!(formatter, ": {}", self.field)?;
        }
        write!(formatter, ": {}", self.message)
    }
}

impl From<ConfigError> for Problem {
    fn from(error: ConfigError) -> Self {
        Self { file: error.file, line: error.line, field: error.field, message: error.message }
    }
}

impl From<SettingProblem> for Problem {
    fn from(problem: SettingProblem) -> Self {
        Self { file: problem.file, line: problem.line, field: problem.field, message: problem.message }
    }
}

/// Everything that is wrong at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Problems {
    pub(crate) errors: Vec<Problem>,
    pub(crate) warnings: Vec<Problem>,
}

impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, error) in self.errors.iter().enumerate() {
            if place > 0 {
                formatter.write_str("\n")?;
            }
            error.fmt(formatter)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

impl Problems {
    /// What the reader of the servers found.
    pub(super) fn of_servers(loaded: Result<GatewayConfig, ConfigErrors>) -> Self {
        let mut problems = Self::default();
        problems.take_servers(loaded);
        problems
    }

    pub(super) fn take_servers(
        &mut self,
        loaded: Result<GatewayConfig, ConfigErrors>,
    ) -> Option<GatewayConfig> {
        match loaded {
            Ok(mut config) => {
                self.warnings.extend(config.warnings.drain(..).map(Problem::from));
                Some(config)
            }
            Err(found) => {
                self.errors.extend(found.errors.into_iter().map(Problem::from));
                self.warnings.extend(found.warnings.into_iter().map(Problem::from));
                None
            }
        }
    }

    pub(super) fn take_settings(
        &mut self,
        settings: Result<Settings, SettingProblems>,
    ) -> Option<ServiceConfig> {
        match settings {
            Ok(settings) => {
                self.warnings.extend(settings.warnings.into_iter().map(Problem::from));
                Some(settings.service)
            }
            Err(found) => {
                self.errors.extend(found.0.into_iter().map(Problem::from));
                None
            }
        }
    }
}
