//! Arguments: parsing, repair, coercion, validation.

#![expect(clippy::needless_pass_by_value, reason = "cases read better by value")]

use gateway_dialects::{
    arguments::{
        ArgumentError, BadArguments, Issue, OmissionKind, Parsed, Repair, Validator, coerce, parse_arguments,
        render_issues, unknown_tool_text,
    },
    calls::Arguments,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn text(text: &str) -> Arguments {
    Arguments::Text(text.to_owned())
}

#[expect(clippy::unnecessary_wraps, reason = "compared with results")]
fn parsed(object: Value, repairs: &[Repair]) -> Result<Parsed, ArgumentError> {
    let Value::Object(object) = object else { unreachable!("cases are objects") };
    Ok(Parsed { object, repairs: repairs.to_vec(), raw: false })
}

fn raw(object: Value) -> Result<Parsed, ArgumentError> {
    parsed(object, &[]).map(|parsed| Parsed { raw: true, ..parsed })
}

#[test]
fn absent_arguments_mean_none_in_every_mode() {
    for bad in [BadArguments::Error, BadArguments::Raw, BadArguments::Repair, BadArguments::RepairWhole] {
        for none in [Arguments::Missing, Arguments::Json(Value::Null), text(""), text(" \n"), text("null")] {
            assert_eq!(parse_arguments(&none, bad), parsed(json!({}), &[]), "{none:?} {bad:?}");
        }
    }
}

#[test]
fn forms_of_arguments_in_error_and_raw_mode() {
    type Case = (Arguments, Result<Parsed, String>, Result<Parsed, ArgumentError>);
    let cases: Vec<Case> = vec![
        (text(r#"{"a":1}"#), Ok(parsed(json!({"a":1}), &[]).unwrap()), parsed(json!({"a":1}), &[])),
        (
            Arguments::Json(json!({"a":1})),
            Ok(parsed(json!({"a":1}), &[]).unwrap()),
            parsed(json!({"a":1}), &[]),
        ),
        (
            text("{invalid json}"),
            Err("arguments field is not valid JSON: key must be a string at line 1 column 2".to_owned()),
            raw(json!({"raw":"{invalid json}"})),
        ),
        (
            text("[1]"),
            Err("arguments field must be a JSON object, got array".to_owned()),
            raw(json!({"raw":"[1]"})),
        ),
        (
            text("\"x\""),
            Err("arguments field must be a JSON object, got string".to_owned()),
            raw(json!({"raw":"\"x\""})),
        ),
        (
            Arguments::Json(json!([1])),
            Err("arguments field must be a JSON object, got array".to_owned()),
            raw(json!({"raw":"[1]"})),
        ),
    ];
    for (arguments, strict, lenient) in cases {
        let got = parse_arguments(&arguments, BadArguments::Error).map_err(|error| error.to_string());
        assert_eq!(got, strict, "{arguments:?}");
        assert_eq!(parse_arguments(&arguments, BadArguments::Raw), lenient, "{arguments:?}");
    }
}

#[test]
fn arguments_that_are_not_whole_are_repaired_only_on_request() {
    for (input, is_whole) in [
        ("{'a': 15, 'b': 27,}", true),
        ("```json\n{\"a\":1}\n```", true),
        ("Sure! {\"a\":1} Done.", true),
        (r#""{\"a\":1}""#, true),
        (r#"{"key":"/home/ann/pro","value":"x"#, false),
        (r#"{"a":15,"b":27"#, false),
        (r#"{"text":"a"}{"text":"b"}"#, false),
        (r#"Not {"a":2} but {"a":1}"#, false),
    ] {
        let repaired = parse_arguments(&text(input), BadArguments::Repair);
        assert!(repaired.is_ok(), "{input}");
        let strict = parse_arguments(&text(input), BadArguments::Error);
        let expected = if is_whole { repaired } else { strict };
        assert_eq!(parse_arguments(&text(input), BadArguments::RepairWhole), expected, "{input}");
    }
}

#[test]
fn repair_ladder() {
    use Repair::*;
    let cases: &[(&str, Value, &[Repair])] = &[
        ("{\"a\":\"x\ny\tz\"}", json!({"a":"x\ny\tz"}), &[ControlCharacters]),
        (r#"{"a":"\d+"}"#, json!({"a":"\\d+"}), &[InvalidEscapes]),
        ("```json\n{\"a\":1}\n```", json!({"a":1}), &[CodeFences]),
        ("```\n{\"a\":1}\n```\n", json!({"a":1}), &[CodeFences]),
        ("Sure! {\"a\":1} Done.", json!({"a":1}), &[SurroundingText]),
        ("Use {this}: {\"a\":1}", json!({"a":1}), &[SurroundingText]),
        ("Here:\n```json\n{\"a\":1}\n```\nBye", json!({"a":1}), &[CodeFences, SurroundingText]),
        (r#"{"a":[1,2,],}"#, json!({"a":[1,2]}), &[TrailingCommas]),
        (r"{'a':'it\'s'}", json!({"a":"it's"}), &[SingleQuotes]),
        (r#"{'a': "it's"}"#, json!({"a":"it's"}), &[SingleQuotes]),
        (r#"{"a":True,"b":[False,None]}"#, json!({"a":true,"b":[false,null]}), &[PythonLiterals]),
        (r"{a:1,b_2:{c-d:2}}", json!({"a":1,"b_2":{"c-d":2}}), &[UnquotedKeys]),
        ("{\"a\":1, // one\n\"b\":/* two */2\n# three\n}", json!({"a":1,"b":2}), &[Comments]),
        (r#"{"a":{"b":[1,{"c":"tex"#, json!({"a":{"b":[1,{"c":"tex"}]}}), &[TruncatedTail]),
        (r#"{"a":1,"b":"#, json!({"a":1}), &[TruncatedTail]),
        (r#"{"a":1,"b"#, json!({"a":1}), &[TruncatedTail]),
        (r#"{"a":1,"#, json!({"a":1}), &[TruncatedTail]),
        (r#"{"a":tr"#, json!({"a":true}), &[TruncatedTail]),
        (r#"{"a":12"#, json!({"a":12}), &[TruncatedTail]),
        (r#"{"a":-"#, json!({}), &[TruncatedTail]),
        ("{", json!({}), &[TruncatedTail]),
        (r#""{\"a\":\"x\"}""#, json!({"a":"x"}), &[TwiceEncoded]),
        (r#""{'a':1}""#, json!({"a":1}), &[SingleQuotes, TwiceEncoded]),
        ("```json\n{\"a\":\"x\n```", json!({"a":"x\n```"}), &[ControlCharacters, CodeFences, TruncatedTail]),
        ("```json\n{\"a\":[1\n```", json!({"a":[1]}), &[CodeFences, TruncatedTail]),
        (
            "Call: {name: 'Ann', ok: True, list: [1,],}",
            json!({"name":"Ann","ok":true,"list":[1]}),
            &[SurroundingText, TrailingCommas, SingleQuotes, PythonLiterals, UnquotedKeys],
        ),
        (r#"{'a':"\ud83d\ude00é"}"#, json!({"a":"😀é"}), &[SingleQuotes]),
        (r#"{"n":12345678901234567890,}"#, json!({"n":12_345_678_901_234_567_890_u64}), &[TrailingCommas]),
    ];
    for (input, object, repairs) in cases {
        let got = parse_arguments(&text(input), BadArguments::Repair);
        assert_eq!(got, parsed(object.clone(), repairs), "{input}");
    }
}

#[test]
fn what_cannot_be_mended_is_refused_with_the_first_complaint() {
    for input in ["no json", "{a b}", "[1,2]", "{\"a\":007}", "{\"a\" 1}", "42"] {
        let strict = parse_arguments(&text(input), BadArguments::Error).unwrap_err();
        assert_eq!(parse_arguments(&text(input), BadArguments::Repair), Err(strict), "{input}");
    }
    let deep = "{\"a\":".repeat(100_000);
    assert!(parse_arguments(&text(&deep), BadArguments::Repair).is_err());
}

fn weather() -> Value {
    json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "minLength": 2},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
            "unit": {"enum": ["c", "f"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "where": {"$ref": "#/$defs/place"},
            "detail": {"type": "boolean"},
        },
        "required": ["city"],
        "additionalProperties": false,
        "$defs": {"place": {"type": "object", "properties": {"lat": {"type": "number"}}, "required": ["lat"]}},
    })
}

#[test]
fn all_errors_at_once_in_words_for_the_model() {
    let validator = Validator::new(&weather());
    assert_eq!(validator.omissions(), []);
    let issues =
        validator.validate(&json!({"days": "many", "unit": "k", "where": {}, "extra": 1, "tags": ["a", 2]}));
    let text = render_issues(&issues, &|pointer| pointer.trim_start_matches('/').replace('/', "."));
    let mut lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines.remove(0),
        "The arguments do not fit the tool's parameters. Correct this and call it again:"
    );
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "- `city`: required but missing, expected string",
            "- `days`: expected integer, got string \"many\"",
            "- `extra`: no such parameter, leave it out; known here: `city`, `days`, `unit`, `tags`, `where`, `detail`",
            "- `tags.1`: expected string, got integer 2",
            "- `unit`: expected one of \"c\", \"f\", got string \"k\"",
            "- `where.lat`: required but missing, expected number",
        ]
    );
    assert_eq!(validator.validate(&json!({"city": "Bern", "days": 3})), []);
}

#[track_caller]
fn check_issue(
    schema: Value,
    value: Value,
    path: &str,
    expected: &str,
    got: &str,
    allowed: Option<Vec<Value>>,
) {
    let issues = Validator::new(&schema).validate(&value);
    let message = format!("expected {expected}, got {got}");
    let wanted = Issue {
        path: path.to_owned(),
        expected: expected.to_owned(),
        got: got.to_owned(),
        allowed,
        siblings: vec![],
        message,
    };
    assert_eq!(issues, [wanted]);
}

#[test]
fn one_issue_per_constraint() {
    check_issue(json!({"minimum": 3}), json!(2), "", "at least 3", "integer 2", None);
    check_issue(json!({"exclusiveMaximum": 3}), json!(3), "", "less than 3", "integer 3", None);
    check_issue(json!({"maxLength": 1}), json!("ab"), "", "at most 1 character", "string \"ab\"", None);
    check_issue(json!({"minItems": 2}), json!([]), "", "at least 2 items", "an empty array", None);
    check_issue(json!({"const": "x"}), json!(null), "", "\"x\"", "null", Some(vec![json!("x")]));
    check_issue(
        json!({"pattern": "^a$"}),
        json!("b"),
        "",
        "text that matches the pattern ^a$",
        "string \"b\"",
        None,
    );
    check_issue(json!({"uniqueItems": true}), json!([1, 1]), "", "no item twice", "array [1,1]", None);
    check_issue(json!({"type": ["string", "null"]}), json!(1), "", "null or string", "integer 1", None);
    check_issue(
        json!({"properties": {"a/b": {"type": "null"}}}),
        json!({"a/b": 1}),
        "/a~1b",
        "null",
        "integer 1",
        None,
    );
    // `format` is a hint.
    assert_eq!(Validator::new(&json!({"format": "date-time"})).validate(&json!("x")), []);
}

#[test]
fn unions_report_the_branch_that_was_meant() {
    let schema = json!({"anyOf": [{"type": "string"}, {"type": "integer"}]});
    check_issue(schema, json!(true), "", "string or integer", "true", None);
    let schema = json!({"oneOf": [{"const": "a"}, {"const": "b"}]});
    check_issue(
        schema,
        json!("c"),
        "",
        "one of \"a\", \"b\"",
        "string \"c\"",
        Some(vec![json!("a"), json!("b")]),
    );
    let schema = json!({"anyOf": [
        {"type": "null"},
        {"type": "object", "properties": {"kind": {"const": "x"}, "n": {"type": "integer"}}, "required": ["kind", "n"]},
        {"type": "object", "properties": {"kind": {"const": "y"}, "s": {"type": "string"}}, "required": ["kind", "s"]},
    ]});
    check_issue(schema, json!({"kind": "y", "s": 5}), "/s", "string", "integer 5", None);
}

#[test]
fn broken_schemas_check_what_can_be_checked() {
    let cases = [
        // A type that does not exist, beside one that does.
        json!({"type": "object", "properties": {"a": {"type": "int"}, "b": {"type": "string"}}}),
        json!({"type": "object", "properties": {"a": {"$ref": "https://elsewhere.example/x"}, "b": {"type": "string"}}}),
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/gone"}, "b": {"type": "string"}}}),
        json!({"type": "object", "properties": {"a": {"pattern": "("}, "b": {"type": "string"}}}),
        json!({"type": "object", "required": "a", "properties": {"b": {"type": "string"}}}),
        json!({"$schema": "https://elsewhere.example/draft", "type": "object", "properties": {"b": {"type": "string"}}}),
        json!({"type": "object", "properties": {"a": {"type": "number", "minimum": 0, "exclusiveMinimum": true}, "b": {"type": "string"}}}),
        json!({"type": "object", "properties": {"a": {"not": {"type": "int"}}, "b": {"type": "string"}}}),
    ];
    for schema in cases {
        let validator = Validator::new(&schema);
        assert!(!validator.omissions().is_empty(), "{schema}");
        assert_eq!(validator.validate(&json!({"a": 1, "b": "x"})), [], "{schema}");
        assert_eq!(
            validator.validate(&json!({"a": 1, "b": 2})).len(),
            1,
            "{schema}: {:?}",
            validator.omissions()
        );
    }
    // What the missing part would have named must not be refused for want of it.
    let validator =
        Validator::new(&json!({"$ref": "https://elsewhere.example/x", "unevaluatedProperties": false}));
    assert_eq!((validator.validate(&json!({"a": 1})), validator.omissions().len()), (vec![], 2));
    let nothing = Validator::new(&json!("no schema"));
    assert_eq!((nothing.validate(&json!({})), nothing.omissions().len()), (vec![], 1));
}

/// What is left out of a schema, what it takes and what it refuses.
#[track_caller]
fn check_omissions(schema: Value, omitted: &[&str], right: &[Value], wrong: &[Value]) {
    let validator = Validator::new(&schema);
    let mut paths: Vec<&str> = validator.omissions().iter().map(|omission| omission.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, omitted, "{schema}: {:?}", validator.omissions());
    let unchecked = validator.unchecked().map(|omission| omission.kind);
    assert_eq!(unchecked, Some(OmissionKind::Unchecked), "{schema}");
    for value in right {
        assert_eq!(validator.validate(value), [], "{schema} {value}");
    }
    for value in wrong {
        assert!(!validator.is_valid(value), "{schema} {value}");
    }
}

#[test]
fn only_what_counts_on_a_broken_part_goes_with_it() {
    let gone = json!({"$ref": "#/$defs/gone"});
    // A member that is broken has been looked at all the same.
    check_omissions(
        json!({"properties": {"a": gone}, "unevaluatedProperties": false}),
        &["/properties/a/$ref"],
        &[json!({"a": 1})],
        &[json!({"b": 1})],
    );
    check_omissions(
        json!({"properties": {"a": {"type": "int"}, "b": {"type": "string"}}, "unevaluatedProperties": false}),
        &["/properties/a/type"],
        &[json!({"a": 1, "b": "x"})],
        &[json!({"b": 1}), json!({"c": 1})],
    );
    // What the broken part would have looked at is not known; the other object does not count on it.
    check_omissions(
        json!({
            "properties": {
                "p": {"allOf": [gone], "unevaluatedProperties": false},
                "q": {"properties": {"a": true}, "unevaluatedProperties": false},
                "r": {"prefixItems": [true], "unevaluatedItems": false}
            },
            "unevaluatedProperties": false
        }),
        &["/properties/p/allOf/0/$ref", "/properties/p/unevaluatedProperties"],
        &[json!({"p": {"x": 1}, "q": {"a": 1}, "r": [1]})],
        &[json!({"q": {"b": 1}}), json!({"r": [1, 2]}), json!({"s": 1})],
    );
    // Through references, and through what looks at everything.
    check_omissions(
        json!({
            "$ref": "#/$defs/d",
            "unevaluatedProperties": false,
            "$defs": {"d": {"allOf": [{"if": gone, "then": {"properties": {"a": true}}}], "unevaluatedProperties": {"type": "integer"}}}
        }),
        &["/$defs/d/allOf/0/if", "/$defs/d/unevaluatedProperties", "/unevaluatedProperties"],
        &[json!({"x": "y"})],
        &[],
    );
    // Members that cannot be told apart from additional ones any more, and items that can.
    check_omissions(
        json!({"patternProperties": {"(": {"type": "integer"}}, "additionalProperties": false}),
        &["/additionalProperties", "/patternProperties/("],
        &[json!({"a": "b"})],
        &[],
    );
    check_omissions(
        json!({"properties": {"a": 5}, "additionalProperties": false}),
        &["/properties/a"],
        &[json!({"a": "b"})],
        &[json!({"b": 1})],
    );
    check_omissions(
        json!({"prefixItems": [{"pattern": "("}, 5], "items": false}),
        &["/prefixItems/0/pattern", "/prefixItems/1"],
        &[json!([1, 2])],
        &[json!([1, 2, 3])],
    );
    check_omissions(
        json!({"$schema": "http://json-schema.org/draft-04/schema#", "items": [{"type": "int"}, 5], "additionalItems": false}),
        &["/additionalItems", "/items"],
        &[json!([1, 2, 3])],
        &[],
    );
    // Where less would mean stricter, also behind references.
    check_omissions(
        json!({
            "properties": {"p": {"not": {"$ref": "#/$defs/d"}}, "q": {"not": {"$ref": "#/$defs/e"}}},
            "$defs": {"d": {"items": {"type": "string", "pattern": "("}}, "e": {"type": "integer"}}
        }),
        &["/$defs/d/items/pattern", "/properties/p/not"],
        &[json!({"p": [], "q": "x"})],
        &[json!({"q": 1})],
    );
    // Read as an older draft, the condition would not be a word.
    check_omissions(
        json!({"properties": {"a": {"$ref": "#/$defs/gone"}}, "if": {"required": ["a"]}, "then": {"required": ["b"]}}),
        &["/properties/a/$ref"],
        &[json!({"a": 1, "b": 2})],
        &[json!({"a": 1})],
    );
}

#[test]
fn drafts_are_read_by_schema() {
    let tuple =
        |draft: Value| json!({"$schema": draft, "properties": {"p": {"items": [{"type": "string"}]}}});
    let validator = Validator::new(&tuple(json!("http://json-schema.org/draft-07/schema#")));
    assert_eq!((validator.omissions(), validator.validate(&json!({"p": [1]})).len()), (&[][..], 1));
    // Without a draft the old form still checks, and says how it was read.
    let undeclared = Validator::new(&json!({"properties": {"p": {"items": [{"type": "string"}]}}}));
    assert_eq!((undeclared.omissions().len(), undeclared.validate(&json!({"p": [1]})).len()), (1, 1));
    assert_eq!(undeclared.omissions()[0].kind, OmissionKind::OtherDraft);
    assert_eq!(undeclared.unchecked(), None);
}

#[test]
fn recursive_schemas_end() {
    let tree = json!({
        "type": "object",
        "properties": {"n": {"type": "integer"}, "next": {"$ref": "#"}},
        "required": ["n"],
    });
    let validator = Validator::new(&tree);
    assert_eq!(validator.validate(&json!({"n": 1, "next": {"n": 2}})), []);
    assert_eq!(validator.validate(&json!({"n": 1, "next": {"n": "2"}})).len(), 1);
    let (mended, done) = validator.coerce(&json!({"n": "1", "next": {"n": "2"}}));
    assert_eq!((mended, done.len()), (json!({"n": 1, "next": {"n": 2}}), 2));
    for endless in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"properties": {"a": {"anyOf": [{"$ref": "#/properties/a"}]}}}),
        json!({"anyOf": vec![json!({"$ref": "#"}); 10], "type": "object"}),
        json!({"properties": {"a": {"allOf": vec![json!({"$ref": "#/properties/a"}); 10], "type": "integer"}}}),
    ] {
        let validator = Validator::new(&endless);
        let _ = validator.validate(&json!({"a": 1}));
        let _ = validator.coerce(&json!({"a": "1"}));
    }
}

#[track_caller]
fn check_coerce(schema: Value, value: Value, mended: Value, rules: &[(&str, &str)]) {
    let (got, done) = coerce(&schema, &value);
    let done: Vec<(&str, &str)> = done.iter().map(|done| (done.path.as_str(), done.rule.name())).collect();
    assert_eq!((got, done), (mended, rules.to_vec()), "{value}");
}

#[test]
fn coercion_by_schema() {
    let schema = weather();
    let w = || schema.clone();
    let city = |more: Value| {
        let mut all = json!({"city": "Bern"});
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    check_coerce(w(), city(json!({"days": "5"})), city(json!({"days": 5})), &[("/days", "text-to-number")]);
    check_coerce(w(), city(json!({"days": "5.0"})), city(json!({"days": 5})), &[("/days", "text-to-number")]);
    check_coerce(w(), city(json!({"days": 5.0})), city(json!({"days": 5})), &[("/days", "whole-number")]);
    check_coerce(
        w(),
        city(json!({"detail": "true"})),
        city(json!({"detail": true})),
        &[("/detail", "text-to-boolean")],
    );
    check_coerce(
        w(),
        city(json!({"tags": "a"})),
        city(json!({"tags": ["a"]})),
        &[("/tags", "single-to-list")],
    );
    check_coerce(
        w(),
        city(json!({"tags": "[\"a\"]"})),
        city(json!({"tags": ["a"]})),
        &[("/tags", "text-to-json")],
    );
    check_coerce(
        w(),
        city(json!({"where": "{\"lat\":\"4.5\"}"})),
        city(json!({"where": {"lat": 4.5}})),
        &[("/where", "text-to-json"), ("/where/lat", "text-to-number")],
    );
    check_coerce(w(), city(json!({"unit": null})), city(json!({})), &[("/unit", "null-removed")]);
    check_coerce(w(), json!("{\"city\":\"Bern\"}"), city(json!({})), &[("", "text-to-json")]);
    check_coerce(w(), json!("\"{\\\"city\\\":\\\"Bern\\\"}\""), city(json!({})), &[("", "text-to-json")]);
    // Not what the schema wants, so nothing at all is touched.
    for same in
        [json!({"city": "Bern", "days": "abc"}), json!({"city": "Bern", "days": "99"}), json!({"city": null})]
    {
        check_coerce(w(), same.clone(), same, &[]);
    }
    // Text is what was asked for.
    check_coerce(w(), json!({"city": "007"}), json!({"city": "007"}), &[]);
    let integer = json!({"type": "object", "properties": {"timeout": {"type": "integer"}}});
    check_coerce(
        integer.clone(),
        json!({"timeout": 120_000.0}),
        json!({"timeout": 120_000}),
        &[("/timeout", "whole-number")],
    );
    check_coerce(integer, json!({"timeout": 0.5}), json!({"timeout": 0.5}), &[]);
    let nullable = json!({"properties": {"a": {"type": ["string", "null"]}}});
    check_coerce(nullable, json!({"a": null}), json!({"a": null}), &[]);
    let listed = json!({"properties": {"level": {"enum": [1, 2]}}});
    check_coerce(listed, json!({"level": "2"}), json!({"level": 2}), &[("/level", "text-to-number")]);
}

#[test]
fn unknown_tools_are_named_with_their_neighbours() {
    assert_eq!(unknown_tool_text("a", &[]), "Tool not found: a");
    assert_eq!(unknown_tool_text("a", &["b"]), "Tool not found: a. Did you mean `b`?");
    assert_eq!(unknown_tool_text("a", &["b", "c"]), "Tool not found: a. Did you mean one of `b`, `c`?");
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        Just(json!("5")),
        Just(json!("{\"a\":1}")),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((schema_word(), inner), 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// Keys that make many of the objects schemas of sorts.
fn schema_word() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "type",
            "properties",
            "items",
            "anyOf",
            "oneOf",
            "allOf",
            "not",
            "$ref",
            "enum",
            "const",
            "required",
            "minimum",
            "pattern",
            "a",
            "b",
            "additionalProperties",
            "$defs",
            "prefixItems",
            "nullable",
        ])
        .prop_map(str::to_owned),
        "[a-z/~]{0,3}".prop_map(String::from),
    ]
}

proptest! {
    #[test]
    fn repair_never_panics(input in r#"([\[\]{}:,"'\\`#/* \n]|true|None|-?[0-9.e]|u[0-9d]{4}|[a-zé😀]){0,60}"#) {
        let _ = parse_arguments(&text(&input), BadArguments::Repair);
    }

    #[test]
    fn repair_is_identity_on_valid_objects(value in any_json()) {
        let object = json!({"value": value});
        let got = parse_arguments(&text(&object.to_string()), BadArguments::Repair);
        let again: Value = serde_json::from_str(&object.to_string()).unwrap();
        prop_assert_eq!(got, parsed(again, &[]));
    }

    #[test]
    fn cut_objects_are_closed(value in any_json(), cut in 0.0..1.0) {
        let whole = json!({"value": value}).to_string();
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in the text")]
        let end = whole.floor_char_boundary(1 + ((whole.len() - 1) as f64 * cut) as usize);
        prop_assert!(parse_arguments(&text(&whole[..end]), BadArguments::Repair).is_ok(), "{}", &whole[..end]);
    }

    #[test]
    fn validation_and_coercion_never_panic(schema in any_json(), value in any_json()) {
        let validator = Validator::new(&schema);
        let issues = validator.validate(&value);
        prop_assert_eq!(issues.is_empty(), validator.is_valid(&value));
        let _ = render_issues(&issues, &str::to_owned);
        let (mended, done) = validator.coerce(&value);
        prop_assert!(done.is_empty() || validator.is_valid(&mended));
    }
}

#[test]
fn back_references_by_name_are_checked() {
    let schema = json!({"type": "object", "properties": {"p": {"type": "string", "pattern": "^(?<q>['\"]).*\\k<q>$"}}});
    let validator = Validator::new(&schema);
    assert_eq!(validator.omissions(), []);
    assert!(validator.is_valid(&json!({"p": "'a'"})));
    assert!(!validator.is_valid(&json!({"p": "'a\""})));
}

#[test]
fn numbers_of_more_than_64_bits_are_refused_not_changed() {
    let parse = |text: &str, bad| parse_arguments(&Arguments::Text(text.to_owned()), bad);
    for good in [
        "{\"a\": 18446744073709551615}",
        "{\"a\": -9223372036854775808}",
        "{\"a\": \"18446744073709551616 \\\" 99999999999999999999\"}",
        "{\"a\": 1e300}",
    ] {
        assert!(parse(good, BadArguments::Error).is_ok(), "{good}");
    }
    for number in ["18446744073709551616", "-9223372036854775809"] {
        let text = format!("{{\"a\": [{number}]}}");
        let told =
            format!("the number {number} does not fit into 64 bits and would lose digits; send it as text");
        for bad in [BadArguments::Error, BadArguments::Repair] {
            assert_eq!(parse(&text, bad).unwrap_err().to_string(), told);
        }
        assert_eq!(
            parse(&text, BadArguments::Raw).unwrap().object,
            *json!({"raw": text}).as_object().unwrap()
        );
    }
    assert!(
        parse("{\"a\": 1e400}", BadArguments::Error).unwrap_err().to_string().contains("number out of range")
    );
}

#[test]
fn names_that_no_reference_may_hold_are_followed() {
    for name in ["List<Pet>", "x y", "A[B]", "A\u{ab}B\u{bb}", "\u{c4}", "a|b", "a^b", "a\"b", "a{b}"] {
        let target = format!("#/$defs/{name}");
        let schema = json!({
            "type": "object",
            "properties": {"n": {"type": "integer"}, "c": {"$ref": target}, "d": {"const": {"$ref": target}}},
            "$defs": {(name): {"type": "object", "properties": {"v": {"type": "integer"}}}},
        });
        let validator = Validator::new(&schema);
        assert_eq!(validator.omissions(), [], "{name}");
        let good = json!({"n": 1, "c": {"v": 2}, "d": {"$ref": target}});
        assert_eq!(validator.validate(&good), [], "{name}");
        for bad in [json!({"n": "s"}), json!({"c": {"v": "s"}}), json!({"d": {"$ref": "#/$defs/other"}})] {
            assert!(!validator.is_valid(&bad), "{name}: {bad}");
        }
    }
}
