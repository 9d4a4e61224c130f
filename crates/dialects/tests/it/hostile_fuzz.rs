//! One fuzz function for every parser, run over the committed seeds in `tests/fuzz-seeds` and over mutations of them.
//!
//! The mutations are the same in every run. `PROPERTY_FACTOR=100 cargo test hostile_fuzz` makes a hundred times as many.

#![expect(clippy::print_stderr, clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use gateway_dialects::arguments::{BadArguments, Validator, parse_arguments};
use gateway_dialects::calls::text::{TextCalls, ToolSchemas};
use gateway_dialects::calls::{Arguments, ReadOptions, TextScan, parse_reply};
use gateway_dialects::stream::{Assembler, StreamOptions, TextStream};
use gateway_dialects::{Dialects, Options, Protocol, Translator};
use serde_json::{Value, json};

use crate::hostile::isolated;
use crate::properties::cases;

/// Mutations of one seed.
const MUTATIONS: u32 = 400;

const PROTOCOLS: &[Protocol] = &[
    Protocol::Chat,
    Protocol::Responses,
    Protocol::Functions,
    Protocol::Messages,
    Protocol::GenerateContent,
    Protocol::Converse,
    Protocol::CohereChat,
    Protocol::OllamaChat,
    Protocol::Mcp,
];

static DIALECTS: LazyLock<Dialects> = LazyLock::new(Dialects::builtin);

static TRANSLATORS: LazyLock<Vec<Translator>> = LazyLock::new(|| {
    DIALECTS.names().map(|name| Translator::new(&DIALECTS, name, Options::default()).unwrap()).collect()
});

/// A tool in JSON, into every dialect.
fn fuzz_tool(data: &[u8]) {
    let Ok(tool) = serde_json::from_slice::<Value>(data) else { return };
    for translator in TRANSLATORS.iter() {
        let translated = translator.translate_one(&tool);
        assert!(translated.definition.is_some() != translated.quarantine.is_some());
        serde_json::to_vec(&translated.definition).unwrap();
        serde_json::to_vec(&translated.changes).unwrap();
    }
}

/// A tool and what a model sent for it.
fn fuzz_plan(data: &[u8]) {
    let Ok(case) = serde_json::from_slice::<Value>(data) else { return };
    let arguments = &case["arguments"];
    for translator in TRANSLATORS.iter() {
        let plan = translator.translate_one(&case["tool"]).plan;
        if let Ok(decoded) = plan.decode(arguments) {
            let _ = plan.encode(&decoded);
        }
        if let Ok(encoded) = plan.encode(arguments) {
            let _ = plan.decode(&encoded);
        }
    }
}

/// A dialect or a table of models in TOML.
fn fuzz_dialect(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut dialects = DIALECTS.clone();
    let tool = json!({"name": "a b", "description": "d", "inputSchema": {"type": "object", "properties": {
        "x y": {"type": ["string", "null"], "format": "email"}, "m": {"type": "object", "additionalProperties": {"$ref": "#"}}
    }}});
    if let Ok(name) = dialects.add("fuzz", &text) {
        for dialect in [
            dialects.get(&name),
            dialects.layered("openai-chat", &name),
            dialects.layered(&name, "universal"),
        ] {
            let Ok(dialect) = dialect else { continue };
            let Ok(translator) = Translator::with(&dialects, dialect, Options::default()) else { continue };
            let translated = translator.translate_one(&tool);
            serde_json::to_vec(&translated.definition).unwrap();
        }
    }
    if dialects.add_models("fuzz", &text).is_ok() {
        for id in ["acme-1", "acme/x:x", "gpt-5", ""] {
            let _ = dialects.for_model(id);
        }
    }
}

/// Anything that a model or its provider returns.
fn fuzz_calls(data: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(data) else { return };
    for protocol in PROTOCOLS.iter().copied().map(Some).chain([None]) {
        for text in [TextScan::Off, crate::calls_text::anything(), whole(), known()] {
            let _ = parse_reply(&value, &ReadOptions { protocol, text, ..ReadOptions::default() });
        }
    }
}

/// Chunks, one a line.
fn fuzz_stream(data: &[u8]) {
    let chunks: Vec<Value> =
        data.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    for protocol in PROTOCOLS {
        let mut options = StreamOptions::default();
        options.argument_limit = 64;
        options.call_limit = 4;
        for text in [TextScan::Off, known()] {
            options.text = text;
            let mut assembler = Assembler::new(*protocol, options.clone());
            for _ in 0..2 {
                for chunk in &chunks {
                    assembler.push(chunk);
                }
                assembler.finish();
                assembler.reset();
            }
        }
    }
}

/// Arguments as text, good or bad.
fn fuzz_arguments(data: &[u8]) {
    static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| {
        Validator::new(&json!({"type": "object", "properties": {
            "a": {"type": "integer"}, "b": {"type": "array", "items": {"type": "number"}}, "c": {"type": "object"}
        }, "required": ["a"]}))
    });
    let text = Arguments::Text(String::from_utf8_lossy(data).into_owned());
    for bad in [BadArguments::Error, BadArguments::Raw, BadArguments::Repair] {
        if let Ok(parsed) = parse_arguments(&text, bad) {
            let (coerced, _) = VALIDATOR.coerce(&Value::Object(parsed.object));
            VALIDATOR.validate(&coerced);
        }
    }
}

/// Tool use in plain text, whole and in pieces.
fn fuzz_xml(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for scan in [TextScan::Off, crate::calls_text::anything(), whole(), known()] {
        let options = ReadOptions { text: scan.clone(), ..ReadOptions::default() };
        let _ = parse_reply(&Value::String(text.clone().into_owned()), &options);
        let mut options = StreamOptions::default();
        options.text = scan;
        options.argument_limit = 256;
        let mut stream = TextStream::new(options);
        for char in text.chars() {
            stream.push(char.encode_utf8(&mut [0; 4]));
        }
        stream.finish();
    }
}

fn known() -> TextScan {
    static TOOLS: LazyLock<Arc<ToolSchemas>> = LazyLock::new(|| {
        let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}, "l": {"type": "array", "items": {"type": "string"}}}});
        Arc::new(ToolSchemas::default().with("add", schema))
    });
    TextScan::Offered(TextCalls::Auto, TOOLS.clone())
}

fn whole() -> TextScan {
    TextScan::Whole(Arc::new(ToolSchemas::default()))
}

/// Texts that parsers trip over.
const TOKENS: &[&str] = &[
    "null",
    "true",
    "{}",
    "[]",
    "\"\"",
    "-0",
    "1e999",
    "18446744073709551616",
    "\\u0000",
    "\\ud800",
    "\u{feff}",
    "é",
    "𝄞",
    "$ref",
    "\"#\"",
    "anyOf",
    "allOf",
    "{\"$ref\":\"#\"}",
    "</",
    "<a>",
    "&#0;",
    "&#xffffffff;",
    "<![CDATA[",
    "```",
    "<think>",
    "'",
    "\"",
    "\\",
    "\n",
    ",",
    ":",
    "}",
    "]",
    "[[table]]",
    "= ",
    "*",
];

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or_default() % sides.max(1)
    }
}

/// A few small damages to `data`; `other` lends a piece.
fn mutated(data: &[u8], other: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut data = data.to_vec();
    for _ in 0..=dice.roll(3) {
        let at = dice.roll(data.len() + 1);
        let end = (at + 1 + dice.roll(24)).min(data.len());
        let at = at.min(end);
        match dice.roll(6) {
            0 => drop(data.drain(at..end)),
            1 => {
                let piece = data[at..end].to_vec();
                data.splice(at..at, piece);
            }
            2 => {
                let token = TOKENS[dice.roll(TOKENS.len())];
                data.splice(at..at, token.bytes());
            }
            3 => {
                let token = TOKENS[dice.roll(TOKENS.len())];
                data.splice(at..end, token.bytes());
            }
            4 => {
                let from = dice.roll(other.len() + 1);
                let to = (from + dice.roll(40)).min(other.len());
                data.splice(at..at, other[from..to].iter().copied());
            }
            _ => {
                if let Some(byte) = data.get_mut(at) {
                    *byte = u8::try_from(dice.roll(256)).unwrap_or_default();
                }
            }
        }
    }
    data
}

/// Swaps, drops and doubles parts of a JSON document, so that most mutants still parse.
fn reshaped(data: &[u8], dice: &mut Dice) -> Option<Vec<u8>> {
    let mut document: Value = serde_json::from_slice(data).ok()?;
    for _ in 0..=dice.roll(3) {
        let donor = pick(&mut document, dice).clone();
        let place = pick(&mut document, dice);
        match (dice.roll(4), &mut *place) {
            (0, Value::Object(map)) if !map.is_empty() => {
                let key = map.keys().nth(dice.roll(map.len())).cloned().unwrap_or_default();
                map.shift_remove(&key);
            }
            (1, Value::Object(map)) => {
                map.insert(TOKENS[dice.roll(TOKENS.len())].to_owned(), donor);
            }
            (2, Value::Array(items)) => items.push(donor),
            _ => *place = donor,
        }
    }
    serde_json::to_vec(&document).ok().filter(|text| text.len() < 64 * 1024)
}

fn pick<'v>(value: &'v mut Value, dice: &mut Dice) -> &'v mut Value {
    let mut at = value;
    loop {
        let children = match at {
            Value::Array(items) => items.len(),
            Value::Object(map) => map.len(),
            _ => 0,
        };
        if children == 0 || dice.roll(4) == 0 {
            return at;
        }
        let index = dice.roll(children);
        at = match at {
            Value::Array(items) => &mut items[index],
            Value::Object(map) => map.values_mut().nth(index).unwrap(),
            other => return other,
        };
    }
}

fn run(parser: &str, fuzz: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz-seeds").join(parser);
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "no seeds for {parser}");
    let seeds: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for (file, seed) in files.iter().zip(&seeds) {
        fuzz(seed);
        for round in 0..cases(MUTATIONS) {
            let other = &seeds[dice.roll(seeds.len())];
            let data = match round % 2 {
                0 => mutated(seed, other, &mut dice),
                _ => reshaped(seed, &mut dice).unwrap_or_else(|| mutated(seed, other, &mut dice)),
            };
            // The last one before a death is the culprit.
            eprintln!(
                "{}: {}",
                file.file_name().unwrap_or_default().display(),
                String::from_utf8_lossy(&data).escape_debug()
            );
            fuzz(&data);
        }
    }
}

macro_rules! fuzzed {
    ($($name:ident: $parser:literal => $fuzz:ident;)*) => {
        $(#[test] fn $name() { isolated(concat!("hostile_fuzz::", stringify!($name)), || run($parser, $fuzz)); })*
    };
}

fuzzed! {
    tools: "tool" => fuzz_tool;
    plans: "plan" => fuzz_plan;
    dialect_files: "dialect" => fuzz_dialect;
    calls: "calls" => fuzz_calls;
    streams: "stream" => fuzz_stream;
    arguments: "arguments" => fuzz_arguments;
    xml_text: "xml" => fuzz_xml;
}
