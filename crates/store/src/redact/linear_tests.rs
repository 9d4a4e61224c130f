//! The search is linear in the length of any text. Work is counted, not timed.

use regex_automata::{
    Anchored, Input,
    hybrid::dfa::{Cache, DFA},
};

use super::{
    Redaction, code, commands, expressions::Finder, hints::Hint, markup, phrases, rules::Rules,
    secrets::work, shapes, text, walk,
};

fn rules() -> Rules {
    let redaction =
        Redaction { keys: vec!["*_fin".to_owned(), "card*number".to_owned()], ..Redaction::default() };
    Rules::parse(&redaction).unwrap()
}

/// Characters, words and prefixes that trigger searches.
const ATOMS: &[&str] = &[
    "token=aB3dE5fG7 \\n{\"\":\"\"}",
    "password=aB3dE5fG7 %22{\"a\":\"b\"}\n",
    "=",
    ":",
    "=>",
    "->",
    "→",
    "%3d",
    "\t",
    "::",
    ":=",
    "==",
    "://",
    "@",
    "/",
    ".",
    ",",
    ";",
    "|",
    "&",
    "?",
    "#",
    "-",
    "--",
    "_",
    "$",
    "%",
    "\"",
    "'",
    "`",
    "\\",
    "\\\"",
    "'\\''",
    "\"\"\"",
    "“",
    "«",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "</",
    "\u{1b}",
    "\u{1b}[",
    "[m",
    "ｐ",
    "é",
    "\u{a0}",
    " ",
    "  ",
    "\r",
    "\\n",
    "**",
    "1",
    "aB3",
    "pw=x",
    "pw=",
    "pw:",
    "pw",
    "password",
    "password is ",
    "Cookie:",
    "cookie: a b ",
    "bearer ",
    "Basic ",
    "Authorization: Bearer ",
    "key",
    "?key=",
    "card_fin=",
    "sk-",
    "secret_",
    "eyJ",
    "token_",
    "pw='",
    "pw=\"",
    "pw=\\\"",
    "pw=[",
    "pw:\n- a\n",
    "pw: |\n  a\n",
    "pw=your-",
    "pw=${",
    "<password>",
    "<a name=\"password\">",
    "<!--",
    "<![CDATA[",
    "mysql ",
    " -px",
    "docker ",
    " login ",
    "curl -u a:b ",
    " -u a:b",
    "--token ",
    "htpasswd -b ",
    "echo x | ",
    "login a / ",
    "into t (password) values (",
    "into t (password) values ('a",
    "('password', ",
    "name: password\nvalue: ",
    "kind: Secret\ndata:\n",
    "form-data; name=\"pw\"\n",
    "a,password\n",
    "password|b\n",
    "-----BEGIN PRIVATE KEY-----",
    "private-lines: 1\n",
    "WIFI:P:",
    "https://a:b",
    "https://a:${",
    "https://u@",
    "the pin of the ",
    " is my token ",
    "changed the ",
    "arn:aws:secret:",
    "a_",
    "password_a_",
    "%5Bpassword%5D",
    "%22",
    "%22pw%22%3A%22",
    "%",
    "+",
    "&quot;",
    "&quot;pw&quot;: &quot;",
    "&amp;",
    "&#34;",
    "\\u0022",
    "\\\\\\\"",
    "\\\"pw\\\": \\\"",
    "{\\\"pw\\\":",
    "\"pw\": \"",
    "\"pw\": \"x\", ",
    "'pw': '",
    "{'pw': b'",
    "{\"pw\":\"x\"}",
    "{\"a\":\"{\\\"pw\\\":\\\"x\\\"}\"}",
    "x {\"name\":\"pw\",\"value\":",
    "[\"",
    "[\"--token\",",
    "[info] ",
    "{'a':",
];

/// A text of about `length` bytes.
fn repeated(unit: &str, length: usize) -> String {
    unit.repeat(length / unit.len().max(1) + 1)
}

/// Creates a text of about this many bytes.
type Make<'a> = &'a dyn Fn(usize) -> String;

/// Fails if four times the text needs much more than four times the work.
#[track_caller]
fn check(name: &str, rules: &Rules, make: Make<'_>) {
    const SHORT: usize = 512;
    let work = |length: usize| {
        let text = make(length);
        work::take();
        let _ = text::edits(&text, rules, Hint::ALL, 0);
        let _ = walk::edits(&text, rules, &[], 0);
        work::take()
    };
    let (short, long) = (work(SHORT), work(4 * SHORT));
    assert!(long <= 6 * short + 16 * SHORT, "{name}: {short} became {long}");
}

#[test]
fn every_sign_and_word_can_be_repeated() {
    let rules = rules();
    for atom in ATOMS {
        for joint in ["", " ", "\n", "a", "pw="] {
            let unit = format!("{atom}{joint}");
            check(&format!("{unit:?}"), &rules, &|length| repeated(&unit, length));
        }
        // Much of one thing, then much of another.
        for (before, after) in [(" ", *atom), (*atom, " "), ("\\", *atom), ("pw=", *atom), (*atom, "pw=x ")] {
            check(&format!("{before:?} then {after:?}"), &rules, &|length| {
                format!("{}{}", repeated(before, length / 2), repeated(after, length / 2))
            });
        }
    }
}

#[test]
fn signs_and_words_can_be_mixed() {
    let rules = rules();
    for (index, first) in ATOMS.iter().enumerate() {
        // A part of all pairs, another one for each atom, so that the test stays quick.
        for second in ATOMS.iter().skip(index % 5).step_by(5) {
            let unit = format!("{first}{second}");
            check(&format!("{unit:?}"), &rules, &|length| repeated(&unit, length));
        }
    }
}

#[test]
fn json_can_be_nested_and_repeated() {
    let rules = rules();
    let nested = |open: &str, close: &str, length: usize| {
        let levels = length / (open.len() + close.len());
        format!("{}1{}", open.repeat(levels), close.repeat(levels))
    };
    for (open, close) in [
        ("[", "]"),
        ("{\"a\":", "}"),
        ("{\"type\":\"string\",\"password\":", "}"),
        ("{\"name\":\"password\",\"value\":", "}"),
        ("{\"data\":{\"kind\":\"Secret\",\"a\":", "}}"),
        ("[[\"password\"],", "]"),
        ("{\"columns\":[\"password\"],\"rows\":[", "]}"),
        ("{\"token\":[[", "]]}"),
        ("{\"a\":\"pw=x\",\"b\":", ",\"key\":\"x\"}"),
    ] {
        check(open, &rules, &|length| nested(open, close, length));
        check(open, &rules, &|length| repeated(open, length));
    }
    for element in [
        "\"-p\",",
        "\"password\",",
        "\"--token\",",
        "\"-u\",\"a:b\",",
        "{\"password\":1},",
        "[\"a\",\"pw\"],",
    ] {
        check(element, &rules, &|length| {
            format!("[\"{}\",{}1]", "x".repeat(length / 2), repeated(element, length / 2))
        });
    }
    let name = |length: usize| format!("{{\"{}password\":\"x\"}}", repeated("a_", length));
    check("a long key", &rules, &name);
}

#[test]
fn schemes_and_colours_within_each_other_do_not_exhaust_the_stack() {
    let rules = rules();
    let schemes = format!("password: \"{}\"", "bearer ".repeat(100_000));
    assert!(text::redact(&schemes, &rules).is_some());
    let colours = format!("pw=hunter2 {}{}", "\u{1b}".repeat(100_000), "[m".repeat(100_000));
    assert_eq!(text::redact(&colours, &rules).as_deref(), Some(&*colours.replace("hunter2", "[redacted]")));
}

#[test]
fn a_text_that_costs_too_much_is_hidden_and_not_stored() {
    let text = format!("note\n{}", "pw=your-".repeat(10_000));
    let clean = text::redact(&text, &rules()).unwrap();
    assert!(clean.starts_with("note\npw=your-") && clean.ends_with("=[redacted]"), "{clean}");
    assert!(clean.len() < text.len() / 10, "{}", clean.len());
    // A text that is only long keeps the rest.
    let plain = " pw=hunter2".repeat(10_000);
    assert_eq!(text::redact(&plain, &rules()).unwrap(), " pw=[redacted]".repeat(10_000));
}

/// Searches a text with one expression and counts the bytes read, which can be more than the match.
struct Steps {
    name: String,
    dfa: DFA,
    cache: Cache,
    expression: regex::Regex,
}

impl Steps {
    fn new(expression: &regex::Regex) -> Self {
        let name = expression.as_str().to_owned();
        let dfa = DFA::builder().configure(DFA::config().cache_capacity(64 << 20)).build(&name).unwrap();
        Self { name, cache: dfa.create_cache(), dfa, expression: expression.clone() }
    }

    fn count(&mut self, text: &str) -> usize {
        let (mut at, mut steps) = (0, 0);
        loop {
            steps += self.one_search(text, at);
            match self.expression.find_at(text, at) {
                Some(found) if found.end() > at => at = found.end(),
                _ => return steps,
            }
        }
    }

    fn one_search(&mut self, text: &str, start: usize) -> usize {
        let input = Input::new(text).range(start..).anchored(Anchored::No);
        let mut state = self.dfa.start_state_forward(&mut self.cache, &input).unwrap();
        for (steps, byte) in text.as_bytes()[start..].iter().enumerate() {
            state = self.dfa.next_state(&mut self.cache, state, *byte).unwrap();
            if state.is_dead() || state.is_quit() {
                return steps + 1;
            }
        }
        text.len() - start
    }
}

/// Texts that the expressions match, one after the other.
fn samples() -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct Secret {
        document: serde_json::Value,
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/redaction/secrets.json");
    let set: Vec<Secret> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut texts: Vec<String> = [
        "Private-Lines: 1\nAAAAB3NzaC1yc2EAAA",
        "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0t",
        "webhook.office.com/webhookb2/1234abcd",
        "hooks.zapier.com/hooks/catch/1234abcd",
        "has\u{142}o to kiwi7",
        "kiwi7 is my password",
        "mongo -p kiwi7",
        "-passin pass:kiwi7",
        "-passout pass:kiwi7",
        "net use /user:eva kiwi7",
        "openssl enc -k kiwi7",
        "auth=('eva', 'kiwi7')",
        "'pw']=> string(5) \"kiwi7\"",
        ".password('kiwi7')",
    ]
    .map(str::to_owned)
    .to_vec();
    let mut open: Vec<serde_json::Value> = set.into_iter().map(|secret| secret.document).collect();
    while let Some(value) = open.pop() {
        match value {
            serde_json::Value::String(text) => texts.push(text),
            serde_json::Value::Array(items) => open.extend(items),
            serde_json::Value::Object(members) => open.extend(members.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
    texts
}

#[test]
fn no_expression_reads_a_text_again_and_again() {
    let finders: [&[Finder]; 5] =
        [&shapes::FINDERS, &phrases::FINDERS, &commands::FINDERS, &markup::FINDERS, &code::FINDERS];
    let samples = samples();
    let mut problems = Vec::new();
    for finder in finders.into_iter().flatten() {
        let mut steps = Steps::new(&finder.expression);
        let mut matches: Vec<&str> = samples
            .iter()
            .flat_map(|sample| finder.expression.find_iter(sample))
            .map(|found| found.as_str())
            .filter(|found| found.len() < 120)
            .collect();
        matches.sort_by_key(|found| (found.len(), *found));
        matches.dedup();
        matches.truncate(3);
        if matches.is_empty() {
            problems.push(format!("no sample for {}", steps.name));
        }
        // A search that continues after the start of a match must not start over after every complete one.
        let mut units: Vec<String> = ATOMS.iter().map(|atom| (*atom).to_owned()).collect();
        for (index, whole) in matches.iter().enumerate() {
            let begun = matches.get(index.saturating_sub(1)).copied().unwrap_or_default();
            for (cut, _) in begun.char_indices() {
                units.push(format!("{} {whole} ", &begun[..cut]));
                units.push(format!("{}{whole}\n", &begun[..cut]));
            }
            units.extend(ATOMS.iter().map(|atom| format!("{atom}{whole} ")));
            units.extend(
                ["mysql ", "docker ", "curl ", "password is «", "token is „"]
                    .map(|begun| format!("{begun}{whole} ")),
            );
        }
        for unit in units {
            let (short, long) = (steps.count(&repeated(&unit, 512)), steps.count(&repeated(&unit, 2048)));
            if long > 6 * short + 512 {
                problems.push(format!("{unit:?}: {short} became {long} for {}", steps.name));
                break;
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
