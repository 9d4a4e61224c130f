//! Errors and warnings of a configuration.

use std::fmt;
use std::path::Path;

use gateway_config::{ConfigErrors, GatewayConfig};
use gateway_service::{ServiceConfig, SettingProblems, Settings};
use serde_json::{Value, json};

pub(crate) use gateway_service::SettingProblem as Problem;

/// A problem as JSON.
pub(crate) fn problem_json(problem: &Problem) -> Value {
    json!({"file": problem.file, "line": problem.line, "field": problem.field, "message": problem.message})
}

/// All problems of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Problems {
    pub(crate) errors: Vec<Problem>,
    pub(crate) warnings: Vec<Problem>,
}

impl fmt::Display for Problems {
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

impl std::error::Error for Problems {}

impl Problems {
    /// An error of a whole file.
    pub(super) fn of_file(file: &Path, message: &str) -> Self {
        let (file, message) = (file.display().to_string(), message.to_owned());
        let error = Problem { file, line: None, field: String::new(), message };
        Self { errors: vec![error], warnings: Vec::new() }
    }

    /// The problems of the servers.
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
                self.warnings.extend(settings.warnings);
                Some(settings.service)
            }
            Err(found) => {
                self.errors.extend(found.0);
                None
            }
        }
    }
}
