//! The metered check in every draft, against the test suite, the library and known answers.

use std::fs::DirEntry;
use std::io;
use std::path::{Path, PathBuf};

use gateway_dialects::arguments::Validator;
use serde_json::{Value, json};

const DRAFT_04: &str = "http://json-schema.org/draft-04/schema#";
const DRAFT_06: &str = "http://json-schema.org/draft-06/schema#";
const DRAFT_07: &str = "http://json-schema.org/draft-07/schema#";
const DRAFT_2019: &str = "https://json-schema.org/draft/2019-09/schema";
const DRAFT_2020: &str = "https://json-schema.org/draft/2020-12/schema";

/// What a draft calls the name of a document.
fn name_keyword(draft: &str) -> &'static str {
    if draft == DRAFT_04 { "id" } else { "$id" }
}

/// The schema beside one that refers to itself, so that its checks are metered.
fn metered(schema: &Value, draft: &str) -> Option<Value> {
    let keyword = name_keyword(draft);
    let mut inner = schema.clone();
    let name = match &mut inner {
        // Until draft-07 a reference hides its neighbours, a name among them.
        Value::Object(map) if [DRAFT_04, DRAFT_06, DRAFT_07].contains(&draft) && map.contains_key("$ref") => {
            return None;
        }
        Value::Object(map) => {
            map.shift_remove("$schema");
            map.entry(keyword).or_insert_with(|| json!("http://example.com/case")).clone()
        }
        _ => json!("#/definitions/case"),
    };
    let again = json!({"properties": {"again and again": {"$ref": "#/definitions/again"}}});
    Some(json!({
        "$schema": draft,
        "allOf": [{"$ref": name}, {"$ref": "#/definitions/again"}],
        "definitions": {"case": inner, "again": again},
    }))
}

/// The schema as one of a draft.
fn declared(schema: &Value, draft: &str) -> Value {
    match schema {
        Value::Object(map) => {
            let mut map = map.clone();
            map.insert("$schema".to_owned(), json!(draft));
            Value::Object(map)
        }
        other => other.clone(),
    }
}

/// The test suite, where it stands beside the checkout or was fetched. In CI it must be there.
fn suite() -> Option<PathBuf> {
    let part = "json-schema-test-suite/tests";
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(part);
    let fetched = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../data").join(part);
    let suite = [beside, fetched].into_iter().find(|folder| folder.exists());
    let is_ci = std::env::var("CI").is_ok_and(|word| word == "true");
    assert!(suite.is_some() || !is_ci, "no {part}: run conformance/corpus/capture.py");
    suite
}

/// The groups of one draft, each with a name.
fn groups_of(suite: &Path, folder: &str) -> io::Result<Vec<(String, Value)>> {
    let entries: io::Result<Vec<DirEntry>> = std::fs::read_dir(suite.join(folder))?.collect();
    let mut files: Vec<PathBuf> = entries?.iter().map(DirEntry::path).collect();
    // Other vocabularies and documents elsewhere are out of reach.
    files.retain(|file| {
        !file.is_dir() && !["vocabulary.json", "refRemote.json"].iter().any(|name| file.ends_with(name))
    });
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let groups: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
        let named = |group: Value| (format!("{}: {}", file.display(), group["description"]), group);
        all.extend(groups.into_iter().map(named));
    }
    Ok(all)
}

#[test]
fn verdicts_of_the_test_suite_stay_as_they_are() {
    let Some(suite) = suite() else {
        eprintln!("skipped: no test suite: run conformance/corpus/capture.py");
        return;
    };
    for (folder, draft, least) in [("draft7", DRAFT_07, 700), ("draft2020-12", DRAFT_2020, 1000)] {
        let (mut checked, mut left_out) = (0, 0);
        for (place, group) in groups_of(&suite, folder).unwrap() {
            let validator = metered(&group["schema"], draft).map(|schema| Validator::new(&schema));
            let Some(validator) = validator.filter(|validator| validator.omissions().is_empty()) else {
                left_out += 1;
                continue;
            };
            for test in group["tests"].as_array().unwrap() {
                let (data, expected) = (&test["data"], test["valid"] == true);
                assert_eq!(validator.is_valid(data), expected, "{place}: {}", test["description"]);
                assert_eq!(validator.validate(data).is_empty(), expected, "{place}: {}", test["description"]);
                checked += 1;
            }
        }
        assert!(checked >= least && left_out <= 20, "{folder}: {checked} cases, {left_out} schemas left out");
    }
}

#[test]
fn verdicts_in_other_drafts_are_those_of_the_library() {
    let Some(suite) = suite() else {
        eprintln!("skipped: no test suite: run conformance/corpus/capture.py");
        return;
    };
    // The suites of these drafts are not here; the next draft's schemas mean something in them as well.
    for (folder, draft, least) in
        [("draft7", DRAFT_04, 600), ("draft7", DRAFT_06, 700), ("draft2020-12", DRAFT_2019, 900)]
    {
        let mut checked = 0;
        for (place, group) in groups_of(&suite, folder).unwrap() {
            let mut schema = group["schema"].clone();
            if let (DRAFT_04, Some(map)) = (draft, schema.as_object_mut()) {
                map.shift_remove("$id").map(|name| map.insert("id".to_owned(), name));
            }
            let library = Validator::new(&declared(&schema, draft));
            let Some(metered) = metered(&schema, draft).map(|schema| Validator::new(&schema)) else {
                continue;
            };
            if !library.omissions().is_empty() || !metered.omissions().is_empty() {
                continue;
            }
            for test in group["tests"].as_array().unwrap() {
                let data = &test["data"];
                let expected = library.is_valid(data);
                let case_name = format!("{draft}: {place}: {}", test["description"]);
                assert_eq!(metered.is_valid(data), expected, "{case_name}");
                assert_eq!(metered.validate(data).is_empty(), expected, "{case_name}");
                checked += 1;
            }
        }
        assert!(checked >= least, "{draft}: {checked} cases");
    }
}

/// One case in each line: what is right and what is wrong by a schema of a draft.
const KNOWN: &str = r##"
{"draft": "04", "schema": {"minimum": 3, "exclusiveMinimum": true}, "right": [3.5, "x"], "wrong": [3, 2]}
{"draft": "04", "schema": {"maximum": 3, "exclusiveMaximum": false}, "right": [3], "wrong": [3.1]}
{"draft": "04", "schema": {"const": 1, "contains": {"type": "string"}, "propertyNames": {"maxLength": 1}, "if": {}, "then": {"type": "null"}}, "right": [2, [1], {"long": 1}], "wrong": []}
{"draft": "04", "schema": {"items": [{"type": "integer"}], "additionalItems": {"type": "string"}}, "right": [[], [1], [1, "a"]], "wrong": [["a"], [1, 2]]}
{"draft": "04", "schema": {"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}, "right": [{}, {"a": 1, "b": 1}, {"c": 1, "d": 1}], "wrong": [{"a": 1}, {"c": 1}]}
{"draft": "04", "schema": {"patternProperties": {"^x(?!y)": {"type": "integer"}}, "additionalProperties": false}, "right": [{"x": 1}, {"xz": 2}], "wrong": [{"xy": 1}, {"x": "1"}, {"a": 1}]}
{"draft": "04", "schema": {"definitions": {"n": {"id": "http://example.com/n", "type": "object", "properties": {"next": {"$ref": "#"}}}}, "properties": {"p": {"$ref": "http://example.com/n"}}}, "right": [{"p": {"next": {"next": {}}}}], "wrong": [{"p": {"next": {"next": 1}}}, {"p": 1}]}
{"draft": "04", "schema": {"properties": {"p": {"$ref": "#/definitions/s", "maxLength": 1}}, "definitions": {"s": {"type": "string"}}}, "right": [{"p": "long"}], "wrong": [{"p": 1}]}
{"draft": "04", "schema": {"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "not": {"required": ["c"]}}, "right": [{"a": 1}, {"b": 1}], "wrong": [{}, {"a": 1, "b": 1}, {"a": 1, "c": 1}]}
{"draft": "06", "schema": {"exclusiveMinimum": 3, "exclusiveMaximum": 5}, "right": [4, "x"], "wrong": [3, 5]}
{"draft": "06", "schema": {"const": {"a": [1]}}, "right": [{"a": [1]}], "wrong": [{"a": [2]}, 1]}
{"draft": "06", "schema": {"contains": {"minimum": 5}}, "right": [[1, 5], "x"], "wrong": [[], [1, 2]]}
{"draft": "06", "schema": {"contains": {"minimum": 5}, "minContains": 2, "maxContains": 1}, "right": [[5], [5, 6]], "wrong": [[1]]}
{"draft": "06", "schema": {"propertyNames": {"pattern": "^a(?=b)"}}, "right": [{"ab": 1}, {}], "wrong": [{"ac": 1}]}
{"draft": "06", "schema": {"if": {"type": "string"}, "then": {"maxLength": 1}}, "right": ["long"], "wrong": []}
{"draft": "06", "schema": {"items": false, "properties": {"a": true, "b": false}}, "right": [[], {"a": 1}], "wrong": [[1], {"b": 1}]}
{"draft": "06", "schema": {"type": "integer"}, "right": [1, 1.0], "wrong": [1.5, "1"]}
{"draft": "06", "schema": {"definitions": {"n": {"$id": "http://example.com/n", "items": {"$ref": "#/definitions/i"}, "definitions": {"i": {"type": "integer"}}}, "i": {"type": "string"}}, "items": {"$ref": "http://example.com/n"}}, "right": [[[1], []]], "wrong": [[["a"]]]}
{"draft": "2019-09", "schema": {"items": [{"type": "integer"}], "additionalItems": {"type": "string"}}, "right": [[1, "a"]], "wrong": [["a"], [1, 2]]}
{"draft": "2019-09", "schema": {"prefixItems": [{"type": "integer"}]}, "right": [["a"]], "wrong": []}
{"draft": "2019-09", "schema": {"contains": {"type": "integer"}, "minContains": 2, "maxContains": 3}, "right": [[1, 2], ["a", 1, 2, 3]], "wrong": [[1], [1, 2, 3, 4]]}
{"draft": "2019-09", "schema": {"contains": {"type": "integer"}, "minContains": 0}, "right": [[], ["a"]], "wrong": []}
{"draft": "2019-09", "schema": {"dependentSchemas": {"a": {"required": ["b"]}}, "dependentRequired": {"c": ["d"]}}, "right": [{"a": 1, "b": 1}, {"c": 1, "d": 1}], "wrong": [{"a": 1}, {"c": 1}]}
{"draft": "2019-09", "schema": {"allOf": [{"properties": {"a": true}}], "properties": {"b": true}, "unevaluatedProperties": false}, "right": [{"a": 1, "b": 1}], "wrong": [{"c": 1}]}
{"draft": "2019-09", "schema": {"items": [true], "anyOf": [{"items": [true, {"const": 1}]}, {"items": [true, true, {"const": 2}]}], "unevaluatedItems": false}, "right": [[0, 1], [0, 1, 2]], "wrong": [[0, 1, 3], [0, 1, 2, 3]]}
{"draft": "2019-09", "schema": {"contains": {"type": "string"}, "unevaluatedItems": {"type": "integer"}}, "right": [["a", 1]], "wrong": [["a", null], [1]]}
{"draft": "2019-09", "schema": {"$ref": "#/$defs/s", "maxLength": 2, "$defs": {"s": {"type": "string"}}}, "right": ["ab"], "wrong": ["abc", 1]}
{"draft": "2019-09", "schema": {"$recursiveAnchor": true, "properties": {"n": {"type": "integer"}, "next": {"$recursiveRef": "#"}}, "additionalProperties": false}, "right": [{"next": {"next": {"n": 1}}}], "wrong": [{"next": {"next": {"n": "1"}}}, {"next": {"m": 1}}]}
{"draft": "2019-09", "schema": {"$id": "http://example.com/strict", "$recursiveAnchor": true, "$ref": "http://example.com/tree", "unevaluatedProperties": false, "$defs": {"tree": {"$id": "http://example.com/tree", "$recursiveAnchor": true, "type": "object", "properties": {"data": true, "children": {"type": "array", "items": {"$recursiveRef": "#"}}}}}}, "right": [{"children": [{"data": 1}]}], "wrong": [{"children": [{"daat": 1}]}, {"daat": 1}, {"children": [{"children": [{"x": 1}]}]}]}
{"draft": "2019-09", "schema": {"$id": "http://example.com/loose", "$ref": "http://example.com/tree", "unevaluatedProperties": false, "$defs": {"tree": {"$id": "http://example.com/tree", "$recursiveAnchor": true, "type": "object", "properties": {"data": true, "children": {"type": "array", "items": {"$recursiveRef": "#"}}}}}}, "right": [{"children": [{"daat": 1}]}], "wrong": [{"daat": 1}]}
{"draft": "2019-09", "schema": {"$anchor": "top", "properties": {"a": {"$ref": "#low"}}, "$defs": {"x": {"$anchor": "low", "type": "integer"}}}, "right": [{"a": 1}], "wrong": [{"a": "1"}]}
"##;

#[test]
fn known_answers_of_older_drafts() {
    let mut metered_cases = 0;
    for line in KNOWN.lines().filter(|line| !line.is_empty()) {
        let case: Value = serde_json::from_str(line).unwrap();
        let draft = match case["draft"].as_str() {
            Some("04") => DRAFT_04,
            Some("06") => DRAFT_06,
            _ => DRAFT_2019,
        };
        let library = Some(Validator::new(&declared(&case["schema"], draft)));
        let metered = metered(&case["schema"], draft).map(|schema| Validator::new(&schema));
        for validator in library.iter().chain(&metered) {
            assert_eq!(validator.omissions(), [], "{line}");
            for (list, expected) in [("right", true), ("wrong", false)] {
                for value in case[list].as_array().unwrap() {
                    assert_eq!(validator.is_valid(value), expected, "{line}: {value}");
                    assert_eq!(validator.validate(value).is_empty(), expected, "{line}: {value}");
                }
            }
        }
        metered_cases += usize::from(metered.is_some());
    }
    assert!(metered_cases >= 30, "{metered_cases} cases");
}
