//! Schemas that a server could publish, with arguments that the library's own engine does not decide.

use gateway_regex::{Expression, Program};
use jsonschema::PatternOptions;
use serde_json::{Value, json};

/// What the gateway gives to one call.
const STEPS: u64 = 25_600_000;
/// What keeps the worst patterns below a second for texts of 20 kB.
const BACKTRACKS: usize = 10_000;

/// A parameter of a tool, a text that fits and one that does not.
fn tools() -> Vec<(&'static str, Value, String, String)> {
    let prose = "One line of prose, and another. ".repeat(800);
    let code = "let total = items.iter().sum::<u32>();\n".repeat(800);
    let row = "name,street,town\n".repeat(1_500);
    vec![
        (
            "a note without space around it",
            json!({"type": "string", "pattern": r"^(?!\s)[\s\S]*(?<!\s)$"}),
            prose.trim().to_owned(),
            prose.clone(),
        ),
        (
            "HTML without scripts",
            json!({"type": "string", "pattern": r"^(?:(?!<script)[\s\S])*$"}),
            prose.clone(),
            format!("{prose}<script>"),
        ),
        (
            "SQL that drops nothing",
            json!({"type": "string", "pattern": r"^(?:(?!DROP TABLE)[\s\S])+$"}),
            code.clone(),
            format!("{code}DROP TABLE users"),
        ),
        (
            "a path that does not lead out",
            json!({"type": "string", "pattern": r"^(?:(?!\.\./).)+$"}),
            "folder/".repeat(3_000),
            format!("{}../secret", "folder/".repeat(3_000)),
        ),
        (
            "rows in one kind of quotes",
            json!({"type": "string", "pattern": r#"^(?:(["']).*?\1|[^"'])*$"#}),
            format!("\"{}\"", row.replace('\n', " ")),
            format!("\"{}", row.replace('\n', " ")),
        ),
    ]
}

#[test]
fn patterns_of_tools_are_decided_for_long_texts() {
    for (name, schema, right, wrong) in tools() {
        let pattern = schema["pattern"].as_str().unwrap();
        let program = Program::new(&Expression::read(pattern).unwrap()).unwrap();
        for (text, expected) in [(right, true), (wrong, false)] {
            assert_eq!(program.finds(&text, &mut { STEPS }), Ok(expected), "{name}");
        }
    }
}

#[test]
fn the_library_does_not_decide_them() {
    for (name, schema, right, wrong) in tools() {
        let engine = PatternOptions::fancy_regex().backtrack_limit(BACKTRACKS);
        let library = jsonschema::options().offline().with_pattern_options(engine).build(&schema).unwrap();
        let gives_up = |text: &String| {
            let error = library.validate(&json!(text)).err().map(|error| error.to_string());
            error.is_some_and(|error| error.to_lowercase().contains("backtrack"))
        };
        assert!(gives_up(&right) || gives_up(&wrong), "{name}");
    }
}
