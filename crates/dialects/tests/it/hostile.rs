//! Hostile input: every call returns, with a translation or a quarantine, in bounded space.
//!
//! Each case runs in a process of its own, because a stack overflow or an endless loop would take all tests down. nextest gives
//! every test one; under cargo's own runner a test starts itself again.

#![expect(clippy::panic, clippy::print_stderr, clippy::unwrap_used, reason = "helpers of tests")]

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use gateway_dialects::arguments::Validator;
use gateway_dialects::{Budget, Dialects, Options, Plan, Translator};
use serde_json::{Map, Value, json};

const CODE: &str = "MCP_TOOL_SCHEMA_UNBOUNDED";

/// Marks the process that runs the body of a case.
const CHILD: &str = "GATEWAY_HOSTILE_CASE";

/// Resident memory that no case may pass, in kilobytes.
const MOST_MEMORY: u64 = 1024 * 1024;

/// Far more than any case needs: it only turns an endless loop into a failure.
const PATIENCE: Duration = Duration::from_mins(2);

/// Runs `body` in a process of its own. `name` is the full path of the calling test.
#[track_caller]
pub(crate) fn isolated(name: &str, body: fn()) {
    let is_alone = std::env::var_os("NEXTEST").is_some();
    if is_alone || std::env::var(CHILD).is_ok_and(|case| case == name) {
        body();
        if let Some(peak) = peak_kb() {
            assert!(peak < MOST_MEMORY, "{peak} kB at the peak");
        }
        return;
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(CHILD, name)
        .env("RUST_BACKTRACE", "0")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = child.stderr.take().unwrap();
    let reader = std::thread::spawn(move || std::io::read_to_string(stderr).unwrap_or_default());
    let pause = Duration::from_millis(5);
    let mut waited = Duration::ZERO;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if waited > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{name} does not return");
        }
        std::thread::sleep(pause);
        waited += pause;
    };
    let said = reader.join().unwrap();
    assert!(
        status.success(),
        "{name}: {status}\n{}",
        said.get(said.floor_char_boundary(said.len().saturating_sub(4000))..).unwrap_or_default()
    );
}

fn peak_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

macro_rules! hostile {
    ($($name:ident => $body:expr;)*) => {
        $(#[test] fn $name() { isolated(concat!("hostile::", stringify!($name)), || $body); })*
    };
}

/// Built by assignment: `json!` would copy the schema, recursing as deep as it is.
fn tool(schema: Value) -> Value {
    let mut tool = json!({"name": "t", "description": "d"});
    tool["inputSchema"] = schema;
    tool
}

/// How much was written, without keeping it.
struct Count(usize);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn written(value: &impl serde::Serialize) -> usize {
    let mut count = Count(0);
    serde_json::to_writer(&mut count, value).unwrap();
    count.0
}

/// Objects and arrays in `value`, counted without recursion.
fn containers(value: &Value) -> usize {
    let mut count = 0;
    let mut left = vec![value];
    while let Some(value) = left.pop() {
        match value {
            Value::Array(items) => left.extend(items),
            Value::Object(map) => left.extend(map.values()),
            _ => continue,
        }
        count += 1;
    }
    count
}

/// Translates `tool` into every dialect and checks the bounds.
///
/// Returns the dialects that quarantined it, with the reasons.
fn survive(tool: &Value) -> Vec<(String, String)> {
    survive_with(tool, &Options::default())
}

fn survive_with(tool: &Value, options: &Options) -> Vec<(String, String)> {
    let dialects = Dialects::builtin();
    let budget = options.budget;
    let outside = tool.as_object().map_or(0, |members| {
        members
            .iter()
            .filter(|(key, _)| *key == "name" || *key == "description")
            .map(|(_, value)| value.as_str().map_or(0, str::len))
            .sum::<usize>()
    });
    let mut quarantined = Vec::new();
    for name in dialects.names() {
        let translator = Translator::new(&dialects, name, options.clone()).unwrap();
        // Shown only where the process dies.
        eprintln!("{name}");
        let translated = translator.translate_one(tool);
        if let Some(reason) = translated.quarantine {
            assert!(translated.definition.is_none(), "{name}");
            assert!(reason.len() < 1000, "{name}: a reason of {} bytes", reason.len());
            quarantined.push((name.to_owned(), reason));
            continue;
        }
        if name == "mcp" {
            // As it came, however deep: writing it is the caller's choice.
            continue;
        }
        let definition = translated.definition.unwrap();
        let bytes = written(&definition);
        // Quotes and backslashes of the input can double, names and descriptions of tools are outside the budget.
        let most = 2 * (budget.bytes + 2 * outside) + 4096;
        assert!(bytes <= most, "{name}: {bytes} bytes written, {most} at most");
        // One schema can be six of them: itself, its type list, properties, required, anyOf, the branch for null.
        let nodes = containers(&definition.to_value());
        assert!(nodes <= 6 * budget.nodes + 64, "{name}: {nodes} objects and arrays");
        let report = written(&translated.changes);
        assert!(report <= 64 * budget.bytes, "{name}: a report of {report} bytes");
    }
    quarantined
}

/// Every dialect quarantines `tool` because of the budget, also the one that changes nothing.
#[track_caller]
fn check_unbounded(tool: &Value, options: &Options, words: &str) {
    let quarantined = survive_with(tool, options);
    let all = Dialects::builtin().names().count();
    let of_budget =
        quarantined.iter().filter(|(_, reason)| reason.starts_with(CODE) && reason.contains(words)).count();
    assert_eq!(of_budget, all, "`{words}` expected of all, got {:?}", quarantined.first());
}

#[track_caller]
fn check_taken(tool: &Value, options: &Options) {
    assert_eq!(survive_with(tool, options), []);
}

/// Never dropped: dropping would recurse as deep as the value is, also while a failed check unwinds.
fn kept(value: Value) -> &'static Value {
    Box::leak(Box::new(value))
}

/// `wrap` around `core`, `depth` times over.
fn nested(depth: usize, core: Value, wrap: impl Fn(Value) -> Value) -> Value {
    (0..depth).fold(core, |inner, _| wrap(inner))
}

fn object(key: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), value)]))
}

/// An object schema in an object schema, `levels` in all.
fn levels(levels: usize) -> Value {
    nested(levels - 1, json!({"type": "object", "properties": {}}), |inner| {
        let mut schema = json!({"type": "object"});
        schema["properties"] = object("p", inner);
        schema
    })
}

const DEEP: usize = 20_000;

#[track_caller]
fn check_deep(schema: Value) {
    check_unbounded(kept(tool(schema)), &Options::default(), "32 levels");
}

fn with_property(property: Value) -> Value {
    let mut schema = json!({"type": "object"});
    schema["properties"] = object("p", property);
    schema
}

hostile! {
    deep_properties => check_deep(levels(DEEP));
    deep_items => check_deep(with_property(nested(DEEP, json!({"type": "string"}), |inner| {
        let mut schema = json!({"type": "array"});
        schema["items"] = inner;
        schema
    })));
    deep_unions => {
        for name in ["anyOf", "oneOf", "allOf"] {
            check_deep(with_property(nested(DEEP, json!({}), |inner| object(name, Value::Array(vec![inner])))));
        }
    };
    deep_negations => check_deep(with_property(nested(DEEP, json!({}), |inner| object("not", inner))));
    deep_data => {
        for name in ["enum", "const", "default", "examples", "x-own"] {
            let value = nested(DEEP, json!(1), |inner| Value::Array(vec![inner]));
            check_deep(with_property(object(name, value)));
        }
    };
    deep_root_that_is_an_array => {
        let tool = kept(tool(nested(DEEP, json!(1), |inner| Value::Array(vec![inner]))));
        assert_eq!(survive(tool).len(), Dialects::builtin().names().count());
    };
    deep_members_beside_the_schema => {
        let deep = nested(DEEP, json!(1), |inner| object("a", inner));
        let mut tool = tool(json!({"type": "object", "properties": {}}));
        for name in ["annotations", "_meta", "outputSchema"] {
            tool[name] = nested(DEEP, json!(1), |inner| object("a", inner));
        }
        tool["description"] = deep;
        assert_eq!(survive(kept(tool)), []);
    };
    deep_arguments => {
        let schema = json!({"type": "object", "properties": {
            "any": {}, "free": {"type": "object"}, "list": {"type": "array"},
            "tree": {"$ref": "#/$defs/T"}
        }, "$defs": {"T": {"type": "object", "properties": {"t": {"$ref": "#/$defs/T"}}, "additionalProperties": {"type": "integer"}}}});
        let tool = tool(schema);
        for name in Dialects::builtin().names() {
            let translator = Translator::new(&Dialects::builtin(), name, Options::default()).unwrap();
            let plan = translator.translate_one(&tool).plan;
            for key in ["any", "free", "list", "tree"] {
                let arguments = kept(object(key, nested(1000, json!({}), |inner| object("t", inner))));
                eprintln!("{name}: {key}");
                std::mem::forget(plan.encode(arguments));
                std::mem::forget(plan.decode(arguments));
            }
        }
    };
}

// References.

fn definitions(count: usize, schema: impl Fn(usize) -> Value) -> Value {
    let table: Map<String, Value> = (0..count).map(|index| (format!("d{index}"), schema(index))).collect();
    let mut root = with_property(json!({"$ref": "#/$defs/d0"}));
    root["$defs"] = Value::Object(table);
    root
}

fn reference(index: usize) -> Value {
    json!({"$ref": format!("#/$defs/d{index}")})
}

#[track_caller]
fn check_diamond(node: impl Fn(Value, Value) -> Value) {
    let last = 30;
    let schema = definitions(last + 1, |index| {
        if index == last {
            json!({"type": "string"})
        } else {
            node(reference(index + 1), reference(index + 1))
        }
    });
    survive(&tool(schema));
}

/// Definitions that refer to each other one after the other: flat to read, deep to follow.
#[track_caller]
fn check_chain(node: impl Fn(Value) -> Value) {
    let last = 1500;
    let schema = definitions(last + 1, |index| {
        if index == last { json!({"type": "string"}) } else { node(reference(index + 1)) }
    });
    survive(&tool(schema));
}

hostile! {
    diamond_of_properties => check_diamond(|a, b| json!({"type": "object", "properties": {"a": a, "b": b}}));
    diamond_of_items => check_diamond(|a, b| json!({"type": "array", "prefixItems": [a], "items": b}));
    diamond_of_maps => check_diamond(|a, b| json!({"type": "object", "properties": {"a": a}, "additionalProperties": b}));
    diamond_of_any_of => check_diamond(|a, b| json!({"anyOf": [a, b]}));
    diamond_of_one_of => check_diamond(|a, b| json!({"oneOf": [a, b]}));
    diamond_of_all_of => check_diamond(|a, b| json!({"allOf": [a, b]}));
    diamond_of_negations => check_diamond(|a, b| json!({"not": {"anyOf": [a, b]}}));
    diamond_of_conditions => check_diamond(|a, b| json!({"if": a, "then": b, "else": {"type": "integer"}}));
    diamond_of_mixed_unions => check_diamond(|a, b| json!({"anyOf": [{"type": "object", "properties": {"a": a}}, {"allOf": [b, {"type": ["string", "object"]}]}]}));
    mutual_recursion_with_wide_branching => {
        for width in [8, 24] {
            let all = |_| {
                let properties: Map<String, Value> =
                    (0..width).map(|index| (format!("p{index}"), reference(index))).collect();
                json!({"type": "object", "properties": properties})
            };
            survive(&tool(definitions(width, all)));
            survive(&tool(definitions(width, |_| json!({"anyOf": (0..width).map(reference).collect::<Vec<_>>()}))));
            survive(&tool(definitions(width, |_| json!({"allOf": (0..width).map(reference).collect::<Vec<_>>()}))));
            survive(&tool(definitions(width, |at| json!({"type": "object", "properties": {
                "u": {"anyOf": (0..width).map(reference).collect::<Vec<_>>()},
                "l": {"type": "array", "items": reference((at + 1) % width)},
                "m": {"type": "object", "additionalProperties": reference((at + 3) % width)}
            }, "required": ["u"]}))));
        }
    };
    cycles_of_references_alone => {
        for schema in [
            json!({"$ref": "#"}),
            json!({"type": "object", "properties": {"p": {"$ref": "#/properties/p"}}}),
            json!({"type": "object", "properties": {"p": {"$ref": "#/properties/q"}, "q": {"$ref": "#/properties/p"}}}),
            json!({"type": "object", "properties": {"p": {"$ref": "#"}}}),
            json!({"type": "object", "properties": {"p": {"allOf": [{"$ref": "#/properties/p"}]}}}),
            json!({"type": "object", "properties": {"p": {"anyOf": [{"$ref": "#/properties/p"}, {"$ref": "#/properties/p"}]}}}),
            json!({"type": "object", "properties": {"p": {"oneOf": [{"$ref": "#/properties/p"}, {"type": "string"}]}}}),
            json!({"type": "object", "properties": {"p": {"not": {"$ref": "#/properties/p"}}}}),
            json!({"type": "object", "properties": {"p": {"if": {"$ref": "#/properties/p"}, "then": {"$ref": "#/properties/p"}}}}),
            json!({"allOf": [{"$ref": "#"}], "type": "object"}),
            json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}], "type": "object"}),
            json!({"type": "object", "allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}}),
            json!({"type": "object", "properties": {"p": {"$dynamicRef": "#n"}}, "$defs": {"n": {"$dynamicAnchor": "n", "$dynamicRef": "#n"}}}),
            json!({"type": "object", "properties": {"p": {"$recursiveRef": "#"}}, "$recursiveAnchor": true}),
            json!({"type": "object", "properties": {"p": {"$ref": "#a"}}, "$defs": {"x": {"$anchor": "a", "$ref": "#b"}, "y": {"$anchor": "b", "$ref": "#a"}}}),
            json!({"$id": "https://e.test/a", "type": "object", "properties": {"p": {"$ref": "a"}}}),
        ] {
            survive(&tool(schema));
        }
    };
    recursion_through_dependent_schemas => {
        survive(&tool(json!({"type": "object", "properties": {"c": {"dependentSchemas": {"a": {"anyOf": [{"$ref": "#"}]}}}}})));
        survive(&tool(json!({"type": "object", "properties": {"c": {"anyOf": [{"dependentSchemas": {"a": {"$ref": "#"}}}]}}})));
    };
    recursion_of_objects_without_a_type => {
        survive(&tool(json!({
            "type": "object",
            "properties": {"h": {"properties": {"b": {"$ref": "#/$defs/A"}}}},
            "$defs": {"A": {"properties": {"a": {"$ref": "#/$defs/A"}}}}
        })));
        survive(&tool(json!({"properties": {"h": {"properties": {"a": {"$ref": "#node"}}}}, "$anchor": "node"})));
    };
    recursion_through_an_intersection_in_a_union => survive_quietly(&tool(json!({
        "type": "object",
        "properties": {"p": {"oneOf": [{"$ref": "#/$defs/A"}, {}]}},
        "$defs": {"A": {"allOf": [{"properties": {"c": {"$ref": "#/$defs/A"}}}]}}
    })));
    long_chain_of_references => check_chain(|next| next);
    long_chain_of_lists => check_chain(|next| json!({"type": "array", "items": next}));
    long_chain_of_properties => check_chain(|next| json!({"type": "object", "properties": {"n": next}}));
    long_chain_of_intersections => check_chain(|next| json!({"allOf": [next]}));
    long_chain_of_unions => check_chain(|next| json!({"anyOf": [next, {"type": "null"}]}));
    long_chain_of_negations => check_chain(|next| json!({"not": next}));
    odd_pointers => {
        for reference in ["#/", "#//", "#/~", "#/~2", "#/%", "#/%zz", "#/%00", "#/properties/p/0/1/2", "#/$defs/\u{fffd}", "", "?", "#/-1", "#/18446744073709551616"] {
            survive(&tool(with_property(json!({"$ref": reference}))));
        }
        let long = format!("#{}", "/properties/p".repeat(20_000));
        survive(&tool(with_property(json!({"$ref": long}))));
    };
}

// Products and sizes.

fn long() -> String {
    "é".repeat(100_000)
}

fn survive_quietly(tool: &Value) {
    survive(tool);
}

hostile! {
    product_of_unions => {
        let union = |width: usize| {
            let members: Vec<Value> = (0..width)
                .map(|index| json!({"type": "object", "properties": {"k": {"const": index}, format!("p{index}"): {"type": "string"}}, "required": ["k"]}))
                .collect();
            json!({"anyOf": members})
        };
        for name in ["anyOf", "oneOf"] {
            let text = json!({"allOf": vec![union(8); 12]}).to_string().replace("anyOf", name);
            let product: Value = serde_json::from_str(&text).unwrap();
            survive(&tool(with_property(product.clone())));
            let mut root = product;
            root["type"] = json!("object");
            survive(&tool(root));
        }
        let types: Vec<Value> = (0..16).map(|_| json!({"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "object"}, {"type": "array"}, {"type": "null"}]})).collect();
        survive(&tool(with_property(json!({"allOf": types}))));
    };
    unions_in_unions => {
        let leaf = json!({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]});
        let deep = nested(10, leaf, |inner| json!({"oneOf": [inner, inner, {"type": "boolean"}]}));
        survive(&tool(with_property(deep)));
    };
    megabyte_descriptions => {
        let text = "long ".repeat(200_000);
        check_unbounded(&tool(with_property(json!({"type": "string", "description": text}))), &Options::default(), "bytes");
        // A tool's own description is no part of its schema.
        let described = json!({"name": "t", "description": text, "inputSchema": {"type": "object", "properties": {"p": {"type": "string"}}}});
        check_taken(&described, &Options::default());
    };
    text_that_doubles_when_it_is_quoted => {
        let quotes = "\"\\".repeat(60_000);
        survive(&tool(with_property(json!({"type": "string", "description": quotes, "format": "x", "pattern": quotes}))));
    };
    huge_enums => {
        let values: Vec<String> = (0..50_000).map(|index| format!("v{index}")).collect();
        survive(&tool(with_property(json!({"type": "string", "enum": values}))));
        survive(&tool(with_property(json!({"enum": (0..50_000).collect::<Vec<u32>>()}))));
        survive(&tool(with_property(json!({"enum": (0..5_000).map(|index| json!({"a": index})).collect::<Vec<_>>()}))));
        survive(&tool(with_property(json!({"anyOf": (0..2_000).map(|index| json!({"const": index})).collect::<Vec<_>>()}))));
        survive(&tool(with_property(json!({"oneOf": (0..2_000).map(|index| json!({"const": format!("c{index}"), "title": "T"})).collect::<Vec<_>>()}))));
    };
    a_hundred_thousand_properties => {
        let properties: Map<String, Value> = (0..100_000).map(|index| (format!("p{index}"), json!({}))).collect();
        check_unbounded(&tool(json!({"type": "object", "properties": properties})), &Options::default(), "");
    };
    as_many_properties_as_the_budget_takes => {
        let count = 7000;
        for leaf in [json!({"type": "string"}), json!({"type": "string", "format": "x", "minLength": 1}), json!({"enum": [1]})] {
            let properties: Map<String, Value> = (0..count).map(|index| (format!("p{index}"), leaf.clone())).collect();
            let required: Vec<String> = (0..count).map(|index| format!("p{index}")).collect();
            survive(&tool(json!({"type": "object", "properties": properties, "required": required})));
        }
    };
    many_illegal_keys => {
        let properties: Map<String, Value> =
            (0..4000).map(|index| (format!("a{}b{index}", [".", ":", "/", " "][index % 4]), json!({"type": "string"}))).collect();
        survive(&tool(json!({"type": "object", "properties": properties})));
        let clashing: Map<String, Value> =
            (0..2000_u32).map(|index| (format!("a{}", char::from_u32(0x4e00 + index).unwrap()), json!({"type": "string"}))).collect();
        survive(&tool(json!({"type": "object", "properties": clashing})));
    };
    a_long_tool_name => survive_quietly(&json!({"name": long(), "description": "d", "inputSchema": {"type": "object", "properties": {}}}));
    a_long_key => survive_quietly(&tool(json!({"type": "object", "properties": {(long().as_str()): {"type": "string"}}, "required": [long()]})));
    a_long_keyword => survive_quietly(&tool(with_property(json!({(long().as_str()): 1, "type": "string"}))));
    a_long_type => survive_quietly(&tool(with_property(json!({"type": vec![long(); 2]}))));
    a_long_list_of_types => survive_quietly(&tool(with_property(json!({"type": vec!["string"; 20_000]}))));
    a_long_list_of_required_names => {
        let names: Vec<String> = (0..50_000).map(|index| format!("r{index}")).collect();
        survive_quietly(&tool(json!({"type": "object", "properties": {}, "required": names})));
    };
    a_report_does_not_repeat_long_paths_without_end => {
        let inner: Map<String, Value> = (0..1500).map(|index| (format!("p{index}"), json!({"type": "string", "format": "x-y"}))).collect();
        let key = "k".repeat(200_000);
        survive(&tool(json!({"type": "object", "properties": {(key.as_str()): {"type": "object", "properties": inner}}})));
    };
    pathological_patterns => {
        for pattern in [
            "(a+)+$".to_owned(),
            "(a|aa)+".repeat(2000),
            "(".repeat(100_000),
            ")".repeat(1000),
            "[".repeat(100_000),
            "[^".repeat(50_000),
            "(?=".repeat(30_000),
            "(?:".repeat(20_000) + &")".repeat(20_000),
            "\\".repeat(99_999),
            "a{1000}{1000}{1000}{1000}".to_owned(),
            "x*".repeat(50_000),
            "|".repeat(100_000),
            "(?<n>a)\\k<n>".repeat(3000),
            "\u{0}\u{1f600}".repeat(10_000),
            "(?P<".to_owned(),
            "\\u{110000}".to_owned(),
            "[z-a]".to_owned(),
        ] {
            survive(&tool(with_property(json!({"type": "string", "pattern": pattern}))));
            survive(&tool(with_property(json!({"type": "object", "patternProperties": {(pattern.as_str()): {"type": "string"}}}))));
        }
    };
    odd_numbers => {
        for value in [json!(0), json!(-1), json!(1e308), json!(-1e308), json!(5e-324), json!(u64::MAX), json!(i64::MIN), json!(0.1)] {
            for name in ["minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minProperties", "maxProperties", "minContains", "maxContains"] {
                survive(&tool(with_property(json!({
                    "type": ["string", "number", "integer", "array", "object"],
                    name: value,
                    "prefixItems": [{"type": "string"}, {"type": "integer"}],
                    "contains": {"const": 1}
                }))));
            }
        }
    };
    wide_tuples => {
        let positions = vec![json!({"type": "string"}); 3000];
        survive(&tool(with_property(json!({"type": "array", "prefixItems": positions, "items": false, "minItems": 3000}))));
        survive(&tool(with_property(json!({"type": "array", "items": positions}))));
    };
    validators_of_hostile_schemas => {
        let last = 30;
        let diamond = definitions(last + 1, |index| if index == last { json!({"type": "string"}) } else {
            json!({"type": "object", "properties": {"a": reference(index + 1), "b": reference(index + 1)}})
        });
        for schema in [diamond, json!({"$ref": "#"}), with_property(json!({"type": "string", "pattern": "(a+)+$"}))] {
            let validator = Validator::new(&schema);
            validator.is_valid(&json!({"p": {"a": {"b": {}}}}));
            validator.validate(&json!({"p": "a".repeat(64) + "!"}));
        }
    };
    long_lists_of_tools => {
        let tools: Vec<Value> = (0..5000).map(|index| json!({"name": format!("tool.{index}"), "inputSchema": {"type": "object", "properties": {}}})).collect();
        let same: Vec<Value> = (0..5000).map(|_| json!({"name": "a.b", "inputSchema": {"type": "object", "properties": {}}})).collect();
        for name in ["openai", "gemini", "anthropic"] {
            let translator = Translator::new(&Dialects::builtin(), name, Options::default()).unwrap();
            assert_eq!(translator.translate(&tools).tools.len(), 5000);
            let repeated = translator.translate(&same);
            assert_eq!(repeated.tools.iter().filter(|tool| tool.definition.is_some()).count(), 1);
        }
    };
}

// The limits of `Options::budget`.

fn limited(depth: usize, nodes: usize, bytes: usize) -> Options {
    let mut options = Options::default();
    options.budget = Budget { depth, nodes, bytes, ..Budget::default() };
    options
}

const FREE: usize = 1_000_000;

#[test]
fn depth_is_counted_in_schemas() {
    for depth in [1, 2, 8, 32] {
        let options = limited(depth, FREE, FREE);
        check_taken(&tool(levels(depth)), &options);
        check_unbounded(&tool(levels(depth + 1)), &options, &format!("more than {depth} levels"));
    }
}

#[test]
fn depth_of_lists_is_counted_in_schemas() {
    let lists = |count: usize| {
        with_property(nested(
            count - 2,
            json!({"type": "string"}),
            |inner| json!({"type": "array", "items": inner}),
        ))
    };
    let options = limited(32, FREE, FREE);
    check_taken(&tool(lists(32)), &options);
    check_unbounded(&tool(lists(33)), &options, "more than 32 levels");
}

#[test]
fn nodes_are_counted_in_schemas() {
    let wide = |nodes: usize| {
        let properties: Map<String, Value> =
            (1..nodes).map(|index| (format!("p{index}"), json!({"type": "string"}))).collect();
        tool(json!({"type": "object", "properties": properties}))
    };
    for nodes in [2, 100, 2048] {
        let options = limited(32, nodes, FREE);
        check_taken(&wide(nodes), &options);
        check_unbounded(&wide(nodes + 1), &options, &format!("more than {nodes} nodes"));
    }
}

#[test]
fn bytes_are_those_of_the_compact_schema() {
    let schema = with_property(json!({"type": "string", "description": "x".repeat(5000)}));
    let size = schema.to_string().len();
    check_taken(&tool(schema.clone()), &limited(32, FREE, size + 200));
    check_unbounded(
        &tool(schema),
        &limited(32, FREE, size - 200),
        &format!("more than {} bytes", size - 200),
    );
}

#[test]
fn budgets_of_nothing_let_nothing_through() {
    let small = tool(with_property(json!({"type": "string"})));
    check_unbounded(&small, &limited(0, FREE, FREE), "levels");
    check_unbounded(&small, &limited(FREE, 0, FREE), "nodes");
    check_unbounded(&small, &limited(FREE, FREE, 0), "bytes");
}

#[test]
fn growth_by_embedding_is_counted_too() {
    // Every quote becomes two characters in the description's JSON, and a sentence comes before each rule.
    let properties: Map<String, Value> = (0..40)
        .map(|index| (format!("p{index}"), json!({"type": "string", "pattern": "\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"", "format": "\"\"\"\""})))
        .collect();
    let schema = json!({"type": "object", "properties": properties});
    let size = schema.to_string().len();
    let options = limited(32, FREE, size);
    let tool = tool(schema);
    for layer in ["universal", "openai-reasoning", "google-compat"] {
        let translator = Translator::new(&Dialects::builtin(), layer, options.clone()).unwrap();
        let translated = translator.translate_one(&tool);
        let after = translated
            .definition
            .as_ref()
            .map(|definition| written(&definition.to_value()["function"]["parameters"]));
        let reason = translated.quarantine.unwrap_or_default();
        assert!(
            after.is_none_or(|after| after <= size) && (after.is_some() || reason.starts_with(CODE)),
            "{layer}: {size} bytes before, {after:?} after, {reason}"
        );
    }
}

#[test]
fn the_default_budget_takes_the_largest_tool_that_is_known() {
    // 730 properties in 88 kB.
    let properties: Map<String, Value> = (0..730)
        .map(|index| (format!("property_{index}"), json!({"type": "string", "description": "x".repeat(70)})))
        .collect();
    check_taken(&tool(json!({"type": "object", "properties": properties})), &Options::default());
}

#[test]
fn written_out_references_stay_inside_the_budget() {
    let schema = definitions(13, |index| {
        if index == 12 {
            json!({"type": "string"})
        } else {
            json!({"type": "object", "properties": {"a": reference(index + 1), "b": reference(index + 1)}})
        }
    });
    let tool = tool(schema);
    for nodes in [64, 512] {
        let options = limited(32, nodes, FREE);
        for name in ["gemini", "vertex", "ollama", "deepseek-strict"] {
            let translator = Translator::new(&Dialects::builtin(), name, options.clone()).unwrap();
            let translated = translator.translate_one(&tool);
            let Some(definition) = translated.definition else {
                assert!(translated.quarantine.unwrap().starts_with(CODE));
                continue;
            };
            let count = containers(&definition.to_value());
            assert!(count <= 6 * nodes + 64, "{name}: {count} with {nodes} nodes");
        }
    }
}

#[test]
fn a_quarantined_tool_has_an_empty_plan() {
    let translator = Translator::new(&Dialects::builtin(), "gemini", limited(1, 1, 1)).unwrap();
    let tool = tool(levels(3));
    let translated = translator.translate_one(&tool);
    assert!(
        translated.quarantine.is_some() && translated.plan.is_identity() && Plan::default().is_identity()
    );
}
