//! Regular expressions that take long to compile or to match.
//!
//! Nothing is timed: without a bound these tests take minutes.

use gateway_dialects::{
    arguments::{OmissionKind, Validator},
    check::check as check_tools,
};
use serde_json::{Map, Value, json};

/// Too large for any engine.
const LARGE: &str = "(?:(?:a{1,100}){1,100}){1,100}";

/// The value is refused because nobody could say whether it fits, in words that help.
#[track_caller]
fn check_spent(name: &str, schema: &Value, value: &Value) {
    let validator = Validator::new(schema);
    assert_eq!(validator.omissions(), [], "{name}");
    assert!(!validator.is_valid(value), "{name}");
    let issues = validator.validate(value);
    let told: Vec<(&str, bool)> = issues
        .iter()
        .map(|issue| {
            (issue.path.as_str(), issue.message.starts_with("could not be checked within the budget"))
        })
        .collect();
    assert_eq!(told, [("", true)], "{name}: {issues:?}");
}

/// Everything is checked, and the one value fits and the other does not.
#[track_caller]
fn check(name: &str, schema: &Value, right: &Value, wrong: &Value) {
    let validator = Validator::new(schema);
    assert_eq!(validator.omissions(), [], "{name}");
    assert_eq!(validator.validate(right), [], "{name}");
    assert!(validator.is_valid(right) && !validator.is_valid(wrong), "{name}");
    let issues = validator.validate(wrong);
    assert!(!issues.is_empty() && issues.iter().all(|issue| !issue.message.contains("budget")), "{issues:?}");
}

fn long(length: usize) -> Value {
    json!("a".repeat(length))
}

fn keys(count: usize, length: usize) -> Value {
    let key = |index: usize| format!("{}{index}", "a".repeat(length));
    Value::Object((0..count).map(|index| (key(index), Value::Null)).collect())
}

#[test]
fn texts_of_patterns_that_go_back_are_counted_together() {
    let many: Vec<Value> = (1..20).map(|n| json!({"pattern": format!("(?=(a*))\\1b{{{n}}}")})).collect();
    check_spent("many", &json!({ "anyOf": many }), &long(18_000));
    check_spent("behind", &json!({"pattern": "(?<=a*)b"}), &long(18_000));
    check_spent("exponential", &json!({"pattern": "^(a|a)*\\1b$"}), &long(60));
    check_spent("inside", &json!({"pattern": "(?:(?=(?:(?=.*).)*).)*b"}), &long(18_000));
    let items = json!({"items": {"not": {"pattern": "(?=(a*))\\1b"}}});
    check_spent("items", &items, &json!(vec![long(600); 600]));
    let patterns: Map<String, Value> =
        (1..60).map(|n| (format!("(?=(a*))\\1b{{{n}}}"), json!(true))).collect();
    check_spent("keys", &json!({ "patternProperties": patterns }), &keys(600, 60));
    check_spent("names", &json!({"propertyNames": {"not": {"pattern": "(?=(a*))\\1b"}}}), &keys(600, 600));
}

#[test]
fn large_automata_are_counted_with_their_texts() {
    let two = json!({"pattern": "[ab]{1,4000}x[ab]{1,4000}y"});
    check_spent("two", &two, &long(18_000));
    let many: Vec<Value> =
        (0..60).map(|n| json!({"pattern": format!("[ab]{{1,900}}x[ab]{{1,900}}y{n}")})).collect();
    check_spent("many", &json!({ "anyOf": many }), &long(18_000));
    let items = json!({"items": {"not": {"pattern": "[ab]{1,900}x[ab]{1,900}y"}}});
    check_spent("items", &items, &json!(vec![long(900); 900]));
    let patterns: Map<String, Value> =
        (0..60).map(|n| (format!("[ab]{{1,900}}x[ab]{{1,900}}y{n}"), json!(true))).collect();
    check_spent("keys", &json!({ "patternProperties": patterns }), &keys(900, 60));
}

#[test]
fn what_was_not_decided_is_neither_true_nor_false() {
    let dear = json!({"pattern": "^(a|a)*\\1b$"});
    let text = long(60);
    check_spent("not", &json!({"not": dear}), &text);
    check_spent("if", &json!({"if": dear, "else": {"type": "string"}}), &text);
    check_spent("oneOf", &json!({"oneOf": [dear, true]}), &text);
    check_spent("contains", &json!({"contains": dear, "minContains": 0, "maxContains": 0}), &json!([text]));
    let key = json!({"a".repeat(60): 1});
    check_spent("keys", &json!({"patternProperties": {"^(a|a)*\\1b$": false}}), &key);
    check_spent(
        "unevaluated",
        &json!({"anyOf": [true, {"patternProperties": {"^(a|a)*\\1b$": true}}], "unevaluatedProperties": true}),
        &key,
    );
    // What does not come to the pattern is checked as ever.
    check("other", &json!({"type": ["integer", "string"], "not": {"not": dear}}), &json!(1), &json!([]));
}

#[test]
fn patterns_that_are_too_large_are_left_out() {
    let texts = ["\\p{L}{1,50000}", LARGE, "(?=\\p{L}{1,50000})", "(?=a){1,1000000000}"];
    for text in texts {
        for (schema, path) in [
            (
                json!({"properties": {"p": {"type": "string", "pattern": text}}}),
                "/properties/p/pattern".to_owned(),
            ),
            (
                json!({"patternProperties": {(text): {"type": "string"}}}),
                format!("/patternProperties/{text}"),
            ),
            (json!({"anyOf": [{"type": "object"}, {"not": {"pattern": text}}]}), "/anyOf/1/not".to_owned()),
        ] {
            let validator = Validator::new(&schema);
            let told: Vec<(&str, OmissionKind, &str)> = validator
                .omissions()
                .iter()
                .map(|omission| (omission.path.as_str(), omission.kind, omission.reason.as_str()))
                .collect();
            let reason = "a regular expression that is too large, or takes a time without bound";
            assert_eq!(told, [(path.as_str(), OmissionKind::TooLarge, reason)]);
            assert_eq!(validator.validate(&json!({"p": "x"})), []);
        }
    }
    // Each of these alone would do.
    let many: Map<String, Value> =
        (0..400).map(|n| (format!("p{n}"), json!({"pattern": format!("^\\p{{L}}{{1,60}}{n}")}))).collect();
    let validator = Validator::new(&json!({ "properties": many }));
    let (kept, left_out) = ("/properties/p0/pattern", "/properties/p399/pattern");
    assert!(validator.omissions().iter().all(|omission| omission.path != kept));
    assert!(!validator.is_valid(&json!({"p0": "-"})));
    assert!(validator.is_valid(&json!({"p399": "-"})), "{left_out}");
    assert!((300..400).contains(&validator.omissions().len()), "{}", validator.omissions().len());
    // Each counts once, however often it stands there; what counts on one that is gone goes with it.
    let one = json!({"oneOf": [{"pattern": "^\\p{L}{1,60}"}], "unevaluatedProperties": false});
    let same: Map<String, Value> = (0..400).map(|n| (format!("p{n}"), one.clone())).collect();
    assert_eq!(Validator::new(&json!({ "properties": same })).omissions(), []);
    let dear = json!({"oneOf": [{"pattern": "\\p{L}{1,50000}"}], "unevaluatedProperties": false});
    let same: Map<String, Value> = (0..400).map(|n| (format!("p{n}"), dear.clone())).collect();
    assert_eq!(Validator::new(&json!({ "properties": same })).omissions().len(), 800);
}

#[test]
fn honest_patterns_are_checked_as_ever() {
    let list = "^(?!.*(?:^|,)(team|scim|mocks:deactivated),(?:.*,)?\\1(?:$|,))(team|scim|mocks:deactivated)(,(team|scim|mocks:deactivated))*$";
    let item = |text: &str, count: usize| json!(vec![text; count]);
    let items = |pattern: &str| json!({"items": {"pattern": pattern}});
    check("list", &items(list), &item("team,mocks:deactivated,scim", 400), &item("team,scim,team", 1));
    let host = "^(?!-)(?:[a-z0-9-]{1,63}\\.)+[a-z]{2,}(?<!-)$";
    check("host", &items(host), &item("www.some-host.example.org", 400), &item("-x.org", 400));
    let password = "^(?=.*[A-Z])(?=.*[a-z])(?=.*\\d).{8,64}$";
    check("password", &items(password), &item("Correct1horse2battery3staple", 400), &item("password", 400));
    check(
        "keys",
        &json!({"patternProperties": {"^(?!x-)": {"type": "null"}}}),
        &keys(4_000, 30),
        &json!({"a": 1}),
    );
    // The first one that is wrong is told, though the others are too many to be looked at.
    let issues = Validator::new(&items("(?=(a*))\\1b")).validate(&json!(vec![long(600); 600]));
    assert_eq!(issues.first().map(|issue| issue.path.as_str()), Some("/0"));
    // Long texts, and a pattern that is long only when it is written out.
    check("base64", &json!({"pattern": "^[A-Za-z0-9+/]+={0,2}$"}), &long(1_000_000), &json!("-"));
    check("any", &json!({"pattern": "^[\\s\\S]{1,4000}$"}), &long(4_000), &json!(""));
    let beside = json!({"properties": {"text": {"type": "string"}, "id": {"pattern": "^[0-9a-f]{8}$"}}});
    let right = json!({"text": "a".repeat(2_000_000), "id": "0123abcd"});
    check("beside", &beside, &right, &json!({"text": "a".repeat(2_000_000), "id": "0123abc"}));
}

/// The paths of what is left out.
fn left_out(schema: &Value) -> Vec<String> {
    Validator::new(schema).omissions().iter().map(|omission| omission.path.clone()).collect()
}

#[test]
fn names_that_look_like_keywords_hide_no_pattern() {
    let large = json!({"type": "string", "pattern": LARGE});
    for name in ["default", "examples", "const", "enum"] {
        for keyword in ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"] {
            let schema = json!({(keyword): {(name): large}});
            assert_eq!(left_out(&schema), [format!("/{keyword}/{name}/pattern")]);
        }
        let dear = json!({"properties": {(name): {"pattern": "^(a|a)*\\1b$"}}});
        check_spent(name, &dear, &json!({(name): long(60)}));
        // As keywords they hold values.
        let schema = json!({"type": "object", (name): [large]});
        assert_eq!(left_out(&schema), [""; 0]);
        // Unless a reference makes schemas of them.
        let schema = json!({"$ref": format!("#/{name}/0"), (name): [large]});
        assert_eq!(left_out(&schema), [format!("/{name}"), "/$ref".to_owned()]);
    }
}

#[test]
fn names_that_look_like_keywords_are_left_in_place() {
    for name in ["not", "if", "oneOf", "contains", "default", "enum"] {
        let schema = json!({"properties": {(name): {"type": "string", "pattern": LARGE}}});
        assert_eq!(left_out(&schema), [format!("/properties/{name}/pattern")]);
        assert!(!Validator::new(&schema).is_valid(&json!({(name): 1})), "{name}");
        let schema = json!({"$ref": format!("#/$defs/{name}"), "$defs": {(name): {"type": "string", "pattern": LARGE}}});
        assert_eq!(left_out(&schema), [format!("/$defs/{name}/pattern")]);
        assert!(!Validator::new(&schema).is_valid(&json!(1)), "{name}");
    }
    let named = json!({"properties": {"properties": {"type": "string", "pattern": LARGE}}});
    assert_eq!(left_out(&named), ["/properties/properties/pattern"]);
    assert!(!Validator::new(&named).is_valid(&json!({"properties": 1})));
    // References and alternatives under such names count as under any other.
    let reference = json!({"properties": {"default": {"$ref": "#/$defs/List<Pet>"}}, "$defs": {"List<Pet>": {"type": "array"}}});
    check("reference", &reference, &json!({"default": []}), &json!({"default": 1}));
    let many: Vec<Value> = (0..40).map(|n| json!({"const": n})).collect();
    for name in ["examples", "other"] {
        let wide = json!({"properties": {(name): {"items": {"anyOf": many}}}});
        let issues = Validator::new(&wide).validate(&json!({(name): vec![json!(true); 10_000]}));
        assert_eq!(issues.len(), 1, "{name}");
    }
}

#[test]
fn bounded_repetitions_of_large_classes_are_checked() {
    for (pattern, right, wrong) in [
        ("^[\\p{L}\\p{N} ]{1,200}$", "Äpfel 12", "a-b"),
        ("^[^\\n]{1,8000}$", "a line", "two\nlines"),
        ("^(?!-)[\\w-]{1,255}$", "a-b", "-b"),
        ("^\\S{1,5000}$", "word", "two words"),
        ("^\\p{L}{1,5000}$", "été", "1"),
    ] {
        check(pattern, &json!({"pattern": pattern}), &json!(right), &json!(wrong));
        check(pattern, &json!({"pattern": pattern}), &json!(right), &json!(""));
    }
    let lines = json!({"pattern": "^[^\\n]{1,8000}$"});
    check("long", &lines, &long(8_000), &long(8_001));
    let words: Map<String, Value> =
        (0..100).map(|n| (format!("p{n}"), json!({"pattern": format!("^(?!x{n})\\w{{1,120}}$")}))).collect();
    check("words", &json!({ "properties": words }), &json!({"p7": "x6"}), &json!({"p7": "x7"}));
}

#[test]
fn what_cannot_be_read_is_left_out_at_once() {
    let part = |n: usize| json!({"type": "string", "pattern": format!("(?x)^\\p{{L}}{{3000}}$ #{n}")});
    let many: Map<String, Value> = (0..40).map(|n| (format!("p{n}"), part(n))).collect();
    let validator = Validator::new(&json!({ "properties": many }));
    assert_eq!(validator.omissions().len(), 40);
    assert!(validator.omissions().iter().all(|omission| omission.kind == OmissionKind::TooLarge));
    assert!(validator.unchecked().is_some() && !validator.is_valid(&json!({"p39": 1})));
    check("small", &json!({"pattern": "(?x) ^a{3} $ # three"}), &json!("aaa"), &json!("a a a"));
}

#[test]
fn wrong_patterns_are_told_as_wrong() {
    for text in ["[a", "(?x)[a", "a{2,1}", "^(?!x)[z-a]$", "(a)\\2", "(?!x)\\p{Nothing}"] {
        let told = |schema: &Value| -> Vec<(String, OmissionKind)> {
            let validator = Validator::new(schema);
            validator.omissions().iter().map(|omission| (omission.path.clone(), omission.kind)).collect()
        };
        let schema = json!({"properties": {"p": {"pattern": text}}});
        assert_eq!(told(&schema), [("/properties/p/pattern".to_owned(), OmissionKind::Unchecked)], "{text}");
        let schema = json!({"patternProperties": {"^(?!x)": {"type": "string", "pattern": text}}});
        let path = "/patternProperties/^(?!x)/pattern".to_owned();
        assert_eq!(told(&schema), [(path, OmissionKind::Unchecked)], "{text}");
        assert!(!Validator::new(&schema).is_valid(&json!({"a": 1})), "{text}");
    }
}

#[test]
fn classes_mean_the_same_in_patterns_that_go_back() {
    for class in ["\\w", "\\W", "\\d", "\\D", "\\s", "\\S", ".", "[\\w-]", "[^\\s]"] {
        let plain = Validator::new(&json!({"pattern": format!("^{class}$")}));
        let back = Validator::new(&json!({"pattern": format!("^(?!xx){class}$")}));
        for text in
            ["a", "1", "-", " ", "\n", "\r", "ä", "\u{663}", "\u{feff}", "\u{85}", "\u{2028}", "\u{a0}"]
        {
            assert_eq!(plain.is_valid(&json!(text)), back.is_valid(&json!(text)), "{class} {text:?}");
        }
    }
    check("word", &json!({"pattern": "^(?!x)\\w+$"}), &json!("abc"), &json!("ä"));
}

#[test]
fn a_pattern_that_is_too_large_is_not_told_as_wrong() {
    let rules = |pattern: &str| -> Vec<&str> {
        let schema =
            json!({"type": "object", "patternProperties": {(pattern): {}}, "additionalProperties": false});
        let tool = json!({"name": "t", "description": "Does this and that.", "inputSchema": schema});
        let report = check_tools("tools.json", &[tool], &[]);
        report.findings.iter().map(|finding| finding.rule.id).collect()
    };
    assert!(!rules(LARGE).contains(&"schema-invalid"));
    assert!(rules("[a").contains(&"schema-invalid"));
}
