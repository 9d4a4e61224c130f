//! The definitions. Names, parameters and descriptions of `read_file` and `write_to_file` are those of the origin.

use serde_json::{Map, Value, json};

use super::arguments::Arguments;
use super::{Answer, Job, edit, followup, list, operations, read, search, write};

pub(super) type Run = fn(&Job<'_>, Arguments<'_>) -> Answer;

/// A tool that works on files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tool {
    name: &'static str,
    pub(super) writes: bool,
    pub(super) run: Run,
}

const TOOLS: [Tool; 7] = [
    Tool { name: "read_file", writes: false, run: read::read_file },
    Tool { name: "write_to_file", writes: true, run: write::write_to_file },
    Tool { name: "list_files", writes: false, run: list::list_files },
    Tool { name: "search_files", writes: false, run: search::search_files },
    Tool { name: "apply_diff", writes: true, run: edit::apply_diff },
    Tool { name: "insert_content", writes: true, run: operations::insert_content },
    Tool { name: "search_and_replace", writes: true, run: operations::search_and_replace },
];

pub(super) fn find(name: &str) -> Option<Tool> {
    TOOLS.into_iter().find(|tool| tool.name == name)
}

/// The definitions, in the order in which they are listed. A workspace that is only read has no tools that write.
pub(super) fn definitions(read_only: bool) -> Value {
    let mut all = vec![
        read_file(),
        write_to_file(),
        list_files(),
        search_files(),
        apply_diff(),
        insert_content(),
        search_and_replace(),
        followup::definition(),
    ];
    all.retain(|definition| {
        let writes = definition["name"].as_str().and_then(find).is_some_and(|tool| tool.writes);
        !(writes && read_only)
    });
    Value::Array(all)
}

/// What calling a tool does to files.
#[derive(Clone, Copy, Debug)]
enum Effect {
    Reads,
    /// It may destroy, and a second time changes nothing more.
    Replaces,
    /// It may destroy, and a second time is another change.
    Changes,
    /// It only adds.
    Adds,
}

fn tool(name: &str, title: &str, description: &str, schema: &Value, effect: Effect) -> Value {
    let (reads, destroys, repeats) = match effect {
        Effect::Reads => (true, false, true),
        Effect::Replaces => (false, true, true),
        Effect::Changes => (false, true, false),
        Effect::Adds => (false, false, false),
    };
    json!({
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": schema,
        "annotations": {
            "readOnlyHint": reads, "destructiveHint": destroys, "idempotentHint": repeats, "openWorldHint": false
        },
    })
}

/// The schema of an object; names in `optional` are not required.
pub(super) fn object(members: &[(&str, Value)], optional: &[&str]) -> Value {
    let properties: Map<String, Value> =
        members.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    let required: Vec<&str> =
        members.iter().map(|(name, _)| *name).filter(|name| !optional.contains(name)).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

fn described(kind: &str, description: &str) -> Value {
    json!({"type": kind, "description": description})
}

fn read_file() -> Value {
    let schema = object(
        &[
            (
                "path",
                described(
                    "string",
                    "The path of the file to read (relative to the current workspace directory)",
                ),
            ),
            ("start_line", described("integer", "The starting line number to read from (1-based)")),
            ("end_line", described("integer", "The ending line number to read to (1-based, inclusive)")),
        ],
        &["start_line", "end_line"],
    );
    let description = "Request to read the contents of a file at the specified path";
    tool("read_file", "Read a file", description, &schema, Effect::Reads)
}

fn write_to_file() -> Value {
    let schema = object(
        &[
            (
                "path",
                described(
                    "string",
                    "The path of the file to write to (relative to the current workspace directory)",
                ),
            ),
            ("content", described("string", "The content to write to the file")),
            ("line_count", described("integer", "The number of lines in the file")),
        ],
        &[],
    );
    let description = "Request to write full content to a file at the specified path";
    tool("write_to_file", "Write a file", description, &schema, Effect::Replaces)
}

fn list_files() -> Value {
    let schema = object(
        &[
            (
                "path",
                described("string", "The directory to list, relative to the workspace; `.` for all of it"),
            ),
            ("recursive", described("boolean", "Whether to list what is in its directories too")),
        ],
        &["recursive"],
    );
    let description =
        "List the files and directories in a directory, one path in a line. Directories end with `/`.";
    tool("list_files", "List files", description, &schema, Effect::Reads)
}

fn search_files() -> Value {
    let schema = object(
        &[
            ("path", described("string", "The directory or file to search, relative to the workspace")),
            (
                "regex",
                described(
                    "string",
                    "The regular expression to look for in each line (Rust syntax: no backreferences)",
                ),
            ),
            (
                "file_pattern",
                described(
                    "string",
                    "Only files with such a name, for example `*.ts`; with `/` such a path, for example `src/**/*.ts`",
                ),
            ),
        ],
        &["file_pattern"],
    );
    let description = "Look for a regular expression in the text files of a directory and those in it. \
                       Each match is a line `path:line:text`.";
    tool("search_files", "Search files", description, &schema, Effect::Reads)
}

fn apply_diff() -> Value {
    let schema = object(
        &[
            ("path", described("string", "The file to change, relative to the workspace")),
            (
                "diff",
                described(
                    "string",
                    "One or more blocks, each with the lines `<<<<<<< SEARCH`, optionally `:start_line:N` and `-------`, the \
                     old lines, `=======`, the new lines, `>>>>>>> REPLACE`; or a unified diff of this one file",
                ),
            ),
        ],
        &[],
    );
    let description = "Change parts of a file by a diff. The old lines must be in the file exactly as given, at one place only \
                       or at the line that is named. All changes are made, or none.";
    tool("apply_diff", "Apply a diff", description, &schema, Effect::Changes)
}

/// Operations as a list. The origin has them as JSON text, which is taken too.
fn operations(description: &str, members: &[(&str, Value)], optional: &[&str]) -> Value {
    json!({"type": ["array", "string"], "description": description, "items": object(members, optional)})
}

fn insert_content() -> Value {
    let members = [
        (
            "start_line",
            described("integer", "The line before which to insert, as the file is now; 0 for the end"),
        ),
        ("content", described("string", "The lines to insert")),
    ];
    let schema = object(
        &[
            ("path", described("string", "The file to insert into, relative to the workspace")),
            ("operations", operations("What to insert, and where", &members, &[])),
        ],
        &[],
    );
    let description =
        "Insert lines into a file without changing those that are there. All operations are made, or none.";
    tool("insert_content", "Insert lines", description, &schema, Effect::Adds)
}

fn search_and_replace() -> Value {
    let members = [
        ("search", described("string", "The text to look for, or a regular expression with use_regex")),
        (
            "replace",
            described("string", "What stands there instead; with use_regex, `$1` is the first group"),
        ),
        ("start_line", described("integer", "The first line to look at (1-based)")),
        ("end_line", described("integer", "The last line to look at (1-based, inclusive)")),
        ("use_regex", described("boolean", "Whether `search` is a regular expression")),
        ("ignore_case", described("boolean", "Whether capitals do not matter")),
        (
            "regex_flags",
            described(
                "string",
                "Flags of the expression: i (capitals do not matter), s (`.` matches line ends)",
            ),
        ),
    ];
    let optional = ["start_line", "end_line", "use_regex", "ignore_case", "regex_flags"];
    let schema = object(
        &[
            ("path", described("string", "The file to change, relative to the workspace")),
            ("operations", operations("What to replace, one after the other", &members, &optional)),
        ],
        &[],
    );
    let description = "Replace every occurrence of texts in a file. Each operation must find something; all are made, or none.";
    tool("search_and_replace", "Search and replace", description, &schema, Effect::Changes)
}
