//! The definitions. Names, parameters and descriptions of `read_file` and `write_to_file` are those of the origin.

use serde_json::{Value, json};

use super::{Answer, Job, edit, followup, list, operations, read, search, write};
use crate::arguments::Arguments;
use crate::server::object_schema;

pub(super) type Run = fn(&Job<'_>, Arguments<'_>) -> Answer;

/// A tool that works on files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tool {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    effect: Effect,
    schema: fn() -> Value,
    pub(super) run: Run,
}

/// What calling a tool does to files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Reads,
    /// It may destroy, and a second time changes nothing more.
    Replaces,
    /// It may destroy, and a second time is another change.
    Changes,
    /// It only adds.
    Adds,
}

/// In the order in which they are listed.
const TOOLS: [Tool; 7] = [
    Tool {
        name: "read_file",
        title: "Read a file",
        description: "Request to read the contents of a file at the specified path",
        effect: Effect::Reads,
        schema: || {
            let members = [
                string("path", "The path of the file to read (relative to the current workspace directory)"),
                integer("start_line", "The starting line number to read from (1-based)"),
                integer("end_line", "The ending line number to read to (1-based, inclusive)"),
            ];
            object_schema(&members, &["start_line", "end_line"])
        },
        run: read::read_file,
    },
    Tool {
        name: "write_to_file",
        title: "Write a file",
        description: "Request to write full content to a file at the specified path",
        effect: Effect::Replaces,
        schema: || {
            let members = [
                string(
                    "path",
                    "The path of the file to write to (relative to the current workspace directory)",
                ),
                string("content", "The content to write to the file"),
                integer("line_count", "The number of lines in the file"),
            ];
            object_schema(&members, &[])
        },
        run: write::write_to_file,
    },
    Tool {
        name: "list_files",
        title: "List files",
        description: "List the files and directories in a directory, one path in a line. Directories end with `/`.",
        effect: Effect::Reads,
        schema: || {
            let members = [
                string("path", "The directory to list, relative to the workspace; `.` for all of it"),
                boolean("recursive", "Whether to list what is in its directories too"),
            ];
            object_schema(&members, &["recursive"])
        },
        run: list::list_files,
    },
    Tool {
        name: "search_files",
        title: "Search files",
        description: "Look for a regular expression in the text files of a directory and those in it. \
                      Each match is a line `path:line:text`.",
        effect: Effect::Reads,
        schema: || {
            const PATTERN: &str = "Only files with such a name, for example `*.ts`; with `/` such a path, for example \
                                   `src/**/*.ts`";
            let members = [
                string("path", "The directory or file to search, relative to the workspace"),
                string(
                    "regex",
                    "The regular expression to look for in each line (Rust syntax: no backreferences)",
                ),
                string("file_pattern", PATTERN),
            ];
            object_schema(&members, &["file_pattern"])
        },
        run: search::search_files,
    },
    Tool {
        name: "apply_diff",
        title: "Apply a diff",
        description: "Change parts of a file by a diff. The old lines must be in the file exactly as given, at one place only \
                      or at the line that is named. All changes are made, or none.",
        effect: Effect::Changes,
        schema: || {
            const DIFF: &str = "One or more blocks, each with the lines `<<<<<<< SEARCH`, optionally `:start_line:N` and \
                                `-------`, the old lines, `=======`, the new lines, `>>>>>>> REPLACE`; or a unified diff of \
                                this one file";
            let members =
                [string("path", "The file to change, relative to the workspace"), string("diff", DIFF)];
            object_schema(&members, &[])
        },
        run: edit::apply_diff,
    },
    Tool {
        name: "insert_content",
        title: "Insert lines",
        description: "Insert lines into a file without changing those that are there. All operations are made, or none.",
        effect: Effect::Adds,
        schema: || {
            let operation = [
                integer("start_line", "The line before which to insert, as the file is now; 0 for the end"),
                string("content", "The lines to insert"),
            ];
            let members = [
                string("path", "The file to insert into, relative to the workspace"),
                operations("What to insert, and where", &object_schema(&operation, &[])),
            ];
            object_schema(&members, &[])
        },
        run: operations::insert_content,
    },
    Tool {
        name: "search_and_replace",
        title: "Search and replace",
        description: "Replace every occurrence of texts in a file. Each operation must find something; all are made, or none.",
        effect: Effect::Changes,
        schema: || {
            let operation = [
                string("search", "The text to look for, or a regular expression with use_regex"),
                string("replace", "What stands there instead; with use_regex, `$1` is the first group"),
                integer("start_line", "The first line to look at (1-based)"),
                integer("end_line", "The last line to look at (1-based, inclusive)"),
                boolean("use_regex", "Whether `search` is a regular expression"),
                boolean("ignore_case", "Whether capitals do not matter"),
                string(
                    "regex_flags",
                    "Flags of the expression: i (capitals do not matter), s (`.` matches line ends)",
                ),
            ];
            let optional = ["start_line", "end_line", "use_regex", "ignore_case", "regex_flags"];
            let members = [
                string("path", "The file to change, relative to the workspace"),
                operations("What to replace, one after the other", &object_schema(&operation, &optional)),
            ];
            object_schema(&members, &[])
        },
        run: operations::search_and_replace,
    },
];

pub(super) fn find(name: &str) -> Option<Tool> {
    TOOLS.into_iter().find(|tool| tool.name == name)
}

/// The definitions. A workspace that is only read has no tools that write.
pub(super) fn definitions(read_only: bool) -> Value {
    let tools = TOOLS.iter().filter(|tool| !(tool.writes() && read_only));
    tools.map(Tool::definition).chain([followup::definition()]).collect()
}

impl Tool {
    pub(super) fn writes(&self) -> bool {
        self.effect != Effect::Reads
    }

    fn definition(&self) -> Value {
        let (reads, destroys, repeats) = match self.effect {
            Effect::Reads => (true, false, true),
            Effect::Replaces => (false, true, true),
            Effect::Changes => (false, true, false),
            Effect::Adds => (false, false, false),
        };
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": (self.schema)(),
            "annotations": {
                "readOnlyHint": reads, "destructiveHint": destroys, "idempotentHint": repeats, "openWorldHint": false
            },
        })
    }
}

type Member = (&'static str, Value);

fn string(name: &'static str, description: &str) -> Member {
    (name, json!({"type": "string", "description": description}))
}

fn integer(name: &'static str, description: &str) -> Member {
    (name, json!({"type": "integer", "description": description}))
}

fn boolean(name: &'static str, description: &str) -> Member {
    (name, json!({"type": "boolean", "description": description}))
}

/// Operations as a list. The origin has them as JSON text, which is taken too.
fn operations(description: &str, items: &Value) -> Member {
    let schema = json!({"type": ["array", "string"], "description": description, "items": items});
    ("operations", schema)
}
