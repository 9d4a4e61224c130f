//! The program of a server, of a fallback or of a tool: its command line and its variables.

use std::collections::BTreeMap;
use std::path::PathBuf;

use gateway_notation::pattern::any_matches;

use crate::fields::{Fields, Setting as _};
use crate::{dotenv, unsafe_env};

/// What is configured for a program.
#[derive(Default)]
pub(crate) struct Program {
    /// The command and its arguments.
    pub(crate) words: Vec<String>,
    pub(crate) surroundings: Surroundings,
}

impl Program {
    pub(crate) fn read(at: &mut Fields<'_>, about: &str) -> Self {
        let mut program = Self::default();
        let Self { words, surroundings } = &mut program;
        let zed = |at: &mut Fields<'_>| {
            let mut path: Option<String> = None;
            at.set("path", "The program to start.", &mut path);
            words.extend(path);
            at.set("args", "Its arguments.", words);
            at.text_map("env", ENV, &mut surroundings.command_env);
        };
        if let Some(item) = at.object_or("command", about, Some(Vec::<String>::schema()), zed) {
            program.words = item.read().unwrap_or_default();
        }
        let mut command: Option<String> = None;
        at.read_if(!at.has("command"), |at| {
            at.set("cmd", "The same as `command`, as Goose has it.", &mut command);
        });
        program.words.extend(command);
        at.set("args", "The arguments of `command`.", &mut program.words);
        program.surroundings.read(at);
        program
    }
}

const ENV: &str = "Variables for the program, beside those of the gateway.";

/// The variables and the directory of a program.
#[derive(Default)]
pub(crate) struct Surroundings {
    /// The variables inside `command`; all others win.
    command_env: BTreeMap<String, String>,
    env: BTreeMap<String, String>,
    env_file: Option<PathBuf>,
    /// Names of variables that are passed on.
    passed: Vec<String>,
    allowed: Vec<String>,
    pub(crate) cwd: Option<PathBuf>,
}

impl Surroundings {
    pub(crate) fn read(&mut self, at: &mut Fields<'_>) {
        let about = "A `.env` file with variables for the program; `env` wins.";
        at.set("envFile", about, &mut self.env_file);
        at.text_map("environment", "The same as `env`.", &mut self.env);
        at.text_map("envs", "The same as `env`, as Goose has it.", &mut self.env);
        at.text_map("env", ENV, &mut self.env);
        at.set(
            "env_keys",
            "Names of variables that the program gets as the gateway has them.",
            &mut self.passed,
        );
        at.set("env_vars", "The same as `env_keys`, as Codex has it.", &mut self.passed);
        let about = "Patterns of variables in `env` that are refused otherwise.";
        at.set("allowUnsafeEnv", about, &mut self.allowed);
        at.set("cwd", "The directory in which the program runs.", &mut self.cwd);
    }

    /// The variables, checked. `owner` is what they are for.
    pub(crate) fn variables(&self, owner: &str, at: &Fields<'_>) -> BTreeMap<String, String> {
        let mut env = self.command_env.clone();
        if let Some(file) = &self.env_file {
            match at.context.source.environment.read(file) {
                Ok(text) => env.extend(dotenv::parse(&text)),
                Err(error) => at.error("envFile", &format!("cannot be read: {error}")),
            }
        }
        for name in &self.passed {
            match at.context.source.environment.variable(name) {
                Some(value) => {
                    at.context.secrets.borrow_mut().push(value.clone());
                    env.insert(name.clone(), value);
                }
                None => at.warn(
                    "env_keys",
                    &format!("variable `{name}` is not set, so the program does not get it"),
                ),
            }
        }
        env.extend(self.env.clone());
        for variable in env.keys() {
            let is_allowed = any_matches(&self.allowed, variable);
            if variable.is_empty() || variable.contains(['=', '\0']) {
                at.error_within("env", variable, "is no name of a variable");
            } else if let Some(why) = unsafe_env::refused(variable).filter(|_| !is_allowed) {
                let text = format!(
                    "{owner}: variable {variable} is refused: {why}. \
                     If you mean it, name it in \"allowUnsafeEnv\""
                );
                at.error_within("env", variable, &text);
            }
        }
        env
    }
}

/// A container image, in place of a command.
#[derive(Default)]
pub(crate) struct Container {
    image: Option<String>,
    /// Another program than `docker`.
    runner: Option<String>,
    options: Vec<String>,
    args: Vec<String>,
}

impl Container {
    pub(crate) fn read(at: &mut Fields<'_>) -> Self {
        let mut container = Self::default();
        let about = "A container image, run as `docker run --rm -i IMAGE` with `args` after it.";
        let Self { image, runner, options, args } = &mut container;
        let inner = |at: &mut Fields<'_>| {
            at.set("image", "The image.", image);
            at.set("args", "Arguments after the image.", args);
            at.set("options", "Options of `docker run`, before the image.", options);
            at.set("command", "Another program than `docker`, such as `podman`.", runner);
        };
        let text = at.object_or("docker", "The same as `image`.", Some(String::schema()), inner);
        // The image inside `docker` belongs to its options; of two texts `image` wins.
        at.read_if(container.image.is_none(), |at| at.set("image", about, &mut container.image));
        if let Some(item) = text.filter(|_| !at.has("image")) {
            container.image = item.read().flatten();
        }
        container
    }

    /// The command line. Variables are given by their names only: docker takes the values from its own environment, and no
    /// list of processes shows them.
    pub(crate) fn words(self, env: &BTreeMap<String, String>, args: &[String]) -> Option<Vec<String>> {
        let image = self.image?;
        let mut words = vec![self.runner.unwrap_or_else(|| "docker".to_owned())];
        words.extend(["run", "--rm", "-i"].map(str::to_owned));
        words.extend(self.options);
        words.extend(env.keys().flat_map(|name| ["-e".to_owned(), name.clone()]));
        words.push(image);
        words.extend(self.args);
        words.extend_from_slice(args);
        Some(words)
    }
}
