//! Levels of log events.

use std::str::FromStr;

use serde_json::{Value, json};

use crate::fields::{Item, Setting};

/// From which level on events are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Also every request and call.
    Debug,
    /// What operators did and what became of it.
    #[default]
    Info,
    /// What went wrong and was recovered from.
    Warn,
    /// What needs a human.
    Error,
}

impl FromStr for LogLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim().to_ascii_lowercase().as_str() {
            "debug" | "trace" => Ok(Self::Debug),
            "info" => Ok(Self::Info),
            "warn" | "warning" => Ok(Self::Warn),
            "error" => Ok(Self::Error),
            other => Err(format!("`{other}` is no level; expected debug, info, warn or error")),
        }
    }
}

impl Setting for Option<LogLevel> {
    fn read(item: &Item<'_>) -> Option<Self> {
        let level = String::read(item)?.parse().map_err(|message: String| item.error(&message));
        level.ok().map(Some)
    }

    fn schema() -> Value {
        json!({"enum": ["error", "warn", "info", "debug"]})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_words() {
        assert_eq!("WARN".parse(), Ok(LogLevel::Warn));
        assert!("loud".parse::<LogLevel>().is_err());
    }
}
