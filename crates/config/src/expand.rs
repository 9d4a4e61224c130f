//! Variables in texts.
//!
//! `${NAME}` and `${env:NAME}` are variables; `${NAME:-default}` has a default for a variable that is unset or empty;
//! `${file:path}` is the text of a file without spaces around it, for secrets; `${input:id}` is an input of VS Code's,
//! taken from the environment; `${workspaceFolder}`, `${userHome}` and `${pathSeparator}` are as in editors; `$${` is `${`. A `$` before anything else is only a `$`.

use std::path::Path;

use serde_json::Value;

use crate::environment::Environment;

/// Why a text cannot be expanded. It names variables and paths, never values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExpandError {
    /// A variable has no value.
    #[error("variable `{name}` is not set; set it, or give a default: `${{{name}:-...}}`")]
    Unset {
        /// The variable.
        name: String,
    },
    /// An input of VS Code's has no value.
    #[error(
        "`${{input:{id}}}`{description} is asked for by an editor; set the variable `{variable}` instead"
    )]
    Input {
        /// The input.
        id: String,
        /// What the file says about it, in parentheses.
        description: String,
        /// The variable to set.
        variable: String,
    },
    /// A file cannot be read.
    #[error("`${{file:{path}}}` cannot be read: {reason}")]
    File {
        /// The path.
        path: String,
        /// Why.
        reason: String,
    },
    /// `${` without `}`.
    #[error("`${{` is not closed; write `$${{` for the characters themselves")]
    Open,
    /// Something else between the braces.
    #[error("`${{{text}}}` is not a variable; write `$${{` for the characters themselves")]
    Unknown {
        /// What stands there.
        text: String,
    },
}

/// A text without variables, and the values that were put into it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Expanded {
    /// The text.
    pub text: String,
    /// The values of variables and files in it. They may be secrets.
    pub values: Vec<String>,
    /// The names of the variables that were looked for, whether they are set or not.
    pub variables: Vec<String>,
}

/// Values may be secrets.
impl std::fmt::Debug for Expanded {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Expanded")
            .field("values", &self.values.len())
            .field("variables", &self.variables)
            .finish_non_exhaustive()
    }
}

/// Replaces the variables in a text.
pub fn expand(text: &str, environment: &Environment<'_>) -> Result<Expanded, ExpandError> {
    Source { environment, inputs: &Value::Null, folder: None }.expand(text)
}

/// Defaults may hold variables, to this depth.
const DEEPEST: usize = 8;

/// Where the values of variables come from.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) environment: &'a Environment<'a>,
    /// VS Code's list of inputs.
    pub(crate) inputs: &'a Value,
    /// What `${workspaceFolder}` is.
    pub(crate) folder: Option<&'a Path>,
}

impl Source<'_> {
    pub(crate) fn expand(&self, text: &str) -> Result<Expanded, ExpandError> {
        let mut expanded = Expanded::default();
        self.append(text, &mut expanded, 0)?;
        Ok(expanded)
    }

    /// The names of the variables that the value of a text depends on, also of a text that cannot be expanded.
    pub(crate) fn variables(&self, text: &str) -> Vec<String> {
        let mut expanded = Expanded::default();
        // What is wrong with it is told by whoever needs its value.
        let _ = self.append(text, &mut expanded, 0);
        expanded.variables
    }

    fn append(&self, text: &str, out: &mut Expanded, depth: usize) -> Result<(), ExpandError> {
        let mut rest = text;
        while let Some(place) = rest.find("${") {
            let before = rest.get(..place).unwrap_or_default();
            let after = rest.get(place + 2..).unwrap_or_default();
            if let Some(before) = before.strip_suffix('$') {
                out.text.push_str(before);
                out.text.push_str("${");
                rest = after;
                continue;
            }
            out.text.push_str(before);
            let end = closing_brace(after).ok_or(ExpandError::Open)?;
            self.variable(after.get(..end).unwrap_or_default(), out, depth)?;
            rest = after.get(end + 1..).unwrap_or_default();
        }
        out.text.push_str(rest);
        Ok(())
    }

    fn variable(&self, inside: &str, out: &mut Expanded, depth: usize) -> Result<(), ExpandError> {
        let unknown = || ExpandError::Unknown { text: inside.chars().take(40).collect() };
        if let Some(path) = inside.strip_prefix("file:") {
            return self.file(path, out);
        }
        if let Some(id) = inside.strip_prefix("input:") {
            return self.input(id, out);
        }
        let plain = inside.strip_prefix("env:").unwrap_or(inside);
        let (name, default) =
            plain.split_once(":-").map_or((plain, None), |(name, default)| (name, Some(default)));
        if let Some(value) = self.editors_own(name) {
            out.text.push_str(&value);
            return Ok(());
        }
        if !is_name(name) || depth > DEEPEST {
            return Err(unknown());
        }
        match (self.look(name, out), default) {
            (Some(value), None) => out.take(value),
            (Some(value), Some(_)) if !value.is_empty() => out.take(value),
            (_, Some(default)) => self.append(default, out, depth + 1)?,
            (None, None) => return Err(ExpandError::Unset { name: name.to_owned() }),
        }
        Ok(())
    }

    fn look(&self, name: &str, out: &mut Expanded) -> Option<String> {
        out.variables.push(name.to_owned());
        self.environment.variable(name)
    }

    /// The variables that editors know without anybody setting them.
    fn editors_own(&self, name: &str) -> Option<String> {
        match name {
            "workspaceFolder" => self.folder.map(|folder| folder.display().to_string()),
            "userHome" => Some(self.environment.path("~").display().to_string()),
            "pathSeparator" | "/" => Some(std::path::MAIN_SEPARATOR.to_string()),
            _ => None,
        }
    }

    fn file(&self, path: &str, out: &mut Expanded) -> Result<(), ExpandError> {
        let full = self.environment.path(path);
        let text = self
            .environment
            .read(Path::new(&full))
            .map_err(|error| ExpandError::File { path: path.to_owned(), reason: error.to_string() })?;
        out.take(text.trim().to_owned());
        Ok(())
    }

    fn input(&self, id: &str, out: &mut Expanded) -> Result<(), ExpandError> {
        let variable: String = id
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' })
            .collect();
        let described = self.inputs.as_array().and_then(|inputs| {
            inputs.iter().find(|input| input.get("id").and_then(Value::as_str) == Some(id))
        });
        let of_input = |name: &str| described?.get(name)?.as_str().map(str::to_owned);
        let value = self
            .look(&format!("MCP_INPUT_{variable}"), out)
            .or_else(|| self.look(&variable, out))
            .or_else(|| of_input("default").filter(|default| !default.is_empty()));
        match value {
            Some(value) => {
                out.take(value);
                Ok(())
            }
            None => Err(ExpandError::Input {
                id: id.to_owned(),
                description: of_input("description").map_or_else(String::new, |text| format!(" ({text})")),
                variable,
            }),
        }
    }
}

impl Expanded {
    fn take(&mut self, value: String) {
        self.text.push_str(&value);
        self.values.push(value);
    }
}

/// Where the braces that were opened before `text` are closed.
fn closing_brace(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut before = ' ';
    for (place, letter) in text.char_indices() {
        match letter {
            '{' if before == '$' => depth += 1,
            '}' if depth == 0 => return Some(place),
            '}' => depth -= 1,
            _ => {}
        }
        before = letter;
    }
    None
}

fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|letter| letter.is_ascii_alphabetic() || letter == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}
