//! Variables in texts.
//!
//! `${NAME}` and `${env:NAME}` are variables; `${NAME:-default}` has a default for a variable that is unset or empty;
//! `${file:path}` is the text of a file without spaces around it, for secrets; `${input:id}` is an input of VS Code's,
//! taken from the environment; `${workspaceFolder}`, `${userHome}` and `${pathSeparator}` are as in editors; `$${` is `${`. A `$` before anything else is only a `$`.

use std::path::Path;

use serde_json::Value;

use crate::environment::Environment;

/// A text without variables, and the values that were put into it.
#[derive(Default)]
pub(crate) struct Expanded {
    /// The text.
    pub(crate) text: String,
    /// The values of variables and files in it. They may be secrets.
    pub(crate) values: Vec<String>,
    /// The names of the variables that were looked for, whether they are set or not.
    pub(crate) variables: Vec<String>,
}

const LITERALLY: &str = "write `$${` for the characters themselves";

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
    /// The text with its values, or why there is none. That names variables and paths, never values.
    pub(crate) fn expand(&self, text: &str) -> Result<Expanded, String> {
        let mut expanded = Expanded::default();
        self.append(text, &mut expanded, 0)?;
        Ok(expanded)
    }

    fn append(&self, text: &str, out: &mut Expanded, depth: usize) -> Result<(), String> {
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            if let Some(before) = before.strip_suffix('$') {
                out.text.push_str(before);
                out.text.push_str("${");
                rest = after;
                continue;
            }
            out.text.push_str(before);
            let end = closing_brace(after).ok_or_else(|| format!("`${{` is not closed; {LITERALLY}"))?;
            self.variable(after.get(..end).unwrap_or_default(), out, depth)?;
            rest = after.get(end + 1..).unwrap_or_default();
        }
        out.text.push_str(rest);
        Ok(())
    }

    fn variable(&self, inside: &str, out: &mut Expanded, depth: usize) -> Result<(), String> {
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
            let text: String = inside.chars().take(40).collect();
            return Err(format!("`${{{text}}}` is not a variable; {LITERALLY}"));
        }
        match (self.look(name, out), default) {
            (Some(value), None) => out.take(value),
            (Some(value), Some(_)) if !value.is_empty() => out.take(value),
            (_, Some(default)) => self.append(default, out, depth + 1)?,
            (None, None) => {
                return Err(format!(
                    "variable `{name}` is not set; set it, or give a default: `${{{name}:-...}}`"
                ));
            }
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

    fn file(&self, path: &str, out: &mut Expanded) -> Result<(), String> {
        let full = self.environment.path(path);
        let text = self
            .environment
            .read(Path::new(&full))
            .map_err(|error| format!("`${{file:{path}}}` cannot be read: {error}"))?;
        out.take(text.trim().to_owned());
        Ok(())
    }

    fn input(&self, id: &str, out: &mut Expanded) -> Result<(), String> {
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
        let Some(value) = value else {
            let about = of_input("description").map_or_else(String::new, |text| format!(" ({text})"));
            return Err(format!(
                "`${{input:{id}}}`{about} is asked for by an editor; set the variable `{variable}` instead"
            ));
        };
        out.take(value);
        Ok(())
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
    for (index, letter) in text.char_indices() {
        match letter {
            '{' if before == '$' => depth += 1,
            '}' if depth == 0 => return Some(index),
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
