//! Secrets and harmless texts of `conformance/redaction`, inside other texts.

use serde_json::{Value, json};

use self::redaction_documents::{Harmless, Secret, read};
use super::{Redaction, rules::Rules, text, walk};

#[path = "../../tests/it/redaction_documents.rs"]
mod redaction_documents;

/// How a document is embedded in a text.
struct Surrounding {
    name: &'static str,
    embed: fn(&Value) -> Option<String>,
    /// How a part of the document is encoded there.
    encode: fn(&str) -> String,
}

/// A document as text: strings as they are, others as JSON.
fn plain(document: &Value) -> String {
    document.as_str().map_or_else(|| document.to_string(), str::to_owned)
}

/// The same, only for documents that are not strings.
fn structured(document: &Value) -> Option<String> {
    (!document.is_string()).then(|| document.to_string())
}

fn unchanged(text: &str) -> String {
    text.to_owned()
}

fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn escaped_twice(text: &str) -> String {
    escaped(&escaped(text))
}

fn escaped_thrice(text: &str) -> String {
    escaped(&escaped_twice(text))
}

fn html(text: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    escaped.replace('"', "&quot;").replace('\'', "&#39;")
}

fn html_of_json(text: &str) -> String {
    html(&escaped(text))
}

fn percent(text: &str) -> String {
    let is_kept = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    let letter = |byte: u8| if is_kept(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(letter).collect()
}

fn form(text: &str) -> String {
    percent(text).replace("%20", "+")
}

/// The document as Python prints it.
fn python(document: &Value) -> String {
    let joined = |items: Vec<String>| items.join(", ");
    match document {
        Value::Null => "None".to_owned(),
        Value::Bool(value) => if *value { "True" } else { "False" }.to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => python_string(text),
        Value::Array(items) => format!("[{}]", joined(items.iter().map(python).collect())),
        Value::Object(members) => {
            let member =
                |(name, value): (&String, &Value)| format!("{}: {}", python_string(name), python(value));
            format!("{{{}}}", joined(members.iter().map(member).collect()))
        }
    }
}

fn python_string(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let escaped = text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t");
    let escaped = if quote == '\'' { escaped.replace('\'', "\\'") } else { escaped };
    format!("{quote}{escaped}{quote}")
}

const SURROUNDINGS: &[Surrounding] = &[
    Surrounding {
        name: "after a prefix",
        embed: |document| Some(format!("out: {}", plain(document))),
        encode: unchanged,
    },
    Surrounding {
        name: "in a log line",
        embed: |document| {
            Some(format!("2026-11-17T03:00:00Z INFO main: got {} in 12 ms", structured(document)?))
        },
        encode: unchanged,
    },
    Surrounding {
        name: "in a fence",
        embed: |document| Some(format!("Here it is:\n```json\n{}\n```\nDone.", plain(document))),
        encode: unchanged,
    },
    Surrounding {
        name: "lines of JSON",
        embed: |document| Some(format!("{{\"n\":1,\"ok\":true}}\n{}\n{{\"n\":2}}\n", plain(document))),
        encode: unchanged,
    },
    Surrounding {
        name: "two on one line",
        embed: |document| Some(format!("[info] {0} {0}", structured(document)?)),
        encode: unchanged,
    },
    Surrounding {
        name: "before a text",
        embed: |document| Some(format!("{}\nThat is all.", plain(document))),
        encode: unchanged,
    },
    Surrounding {
        name: "without its end",
        embed: |document| {
            let json = structured(document)?;
            Some(format!("out: {}", &json[..json.len() - 1]))
        },
        encode: unchanged,
    },
    Surrounding {
        name: "without its beginning",
        embed: |document| {
            let json = document.is_object().then(|| document.to_string())?;
            Some(format!("… {}", &json[1..]))
        },
        encode: unchanged,
    },
    Surrounding {
        name: "on several lines",
        embed: |document| {
            structured(document)?;
            Some(format!("out:\n{document:#}\nDone."))
        },
        encode: unchanged,
    },
    Surrounding {
        name: "as an event",
        embed: |document| Some(format!("event: message\ndata: {}\n\n", structured(document)?)),
        encode: unchanged,
    },
    Surrounding {
        name: "quoted in a mail",
        embed: |document| Some(format!("> {}", plain(document).replace('\n', "\n> "))),
        encode: unchanged,
    },
    Surrounding {
        name: "in a diff",
        embed: |document| Some(format!("+{}", plain(document).replace('\n', "\n+"))),
        encode: unchanged,
    },
    Surrounding {
        name: "escaped in quotes",
        embed: |document| Some(format!("log: \"{}\" end", escaped(&plain(document)))),
        encode: escaped,
    },
    Surrounding {
        name: "escaped twice",
        embed: |document| Some(format!("log: \"{}\" end", escaped_twice(&plain(document)))),
        encode: escaped_twice,
    },
    Surrounding {
        name: "escaped three times",
        embed: |document| Some(format!("log: \"{}\" end", escaped_thrice(&plain(document)))),
        encode: escaped_thrice,
    },
    Surrounding {
        name: "escaped without quotes",
        embed: |document| Some(format!("out: {} end", escaped(&structured(document)?))),
        encode: escaped,
    },
    Surrounding {
        name: "in a string of a line of JSON",
        embed: |document| {
            let line = json!({"level": "info", "msg": format!("got {}", plain(document))});
            Some(format!("app | {line}\napp | done"))
        },
        encode: escaped,
    },
    Surrounding {
        name: "in HTML",
        embed: |document| Some(format!("<p>Result:</p>\n<pre>{}</pre>", html(&plain(document)))),
        encode: html,
    },
    Surrounding {
        name: "in an attribute of HTML",
        embed: |document| Some(format!("<div id=\"a\" data-x=\"{}\"></div>", html(&plain(document)))),
        encode: html_of_json,
    },
    Surrounding {
        name: "percent-encoded",
        embed: |document| {
            Some(format!("GET https://h.example/a?page=2&q={} HTTP/1.1", percent(&plain(document))))
        },
        encode: percent,
    },
    Surrounding {
        name: "in a form",
        embed: |document| Some(format!("page=2&q={}&lang=en", form(&plain(document)))),
        encode: form,
    },
    Surrounding {
        name: "printed by Python",
        embed: |document| (!document.is_string()).then(|| format!("Result: {} (ok)", python(document))),
        encode: unchanged,
    },
];

/// What is stored of a text: as the message of an error, and in the result of a tool.
fn stored(rules: &Rules, text: &str) -> [String; 2] {
    let message = text::redact(text, rules).unwrap_or_else(|| text.to_owned());
    let result = json!({"content": [{"type": "text", "text": text}]}).to_string();
    let result = walk::redact(&result, rules, &[]).unwrap_or(result);
    let result: Value = serde_json::from_str(&result).expect(text);
    [message, result["content"][0]["text"].as_str().expect(text).to_owned()]
}

#[track_caller]
fn check_secrets(sets: &[&str]) {
    let rules = Rules::parse(&Redaction::default()).unwrap();
    let set: Vec<Secret> = sets.iter().flat_map(|name| read::<Secret>(name)).collect();
    let mut leaks = Vec::new();
    let mut count = 0;
    for Surrounding { name, embed, encode } in SURROUNDINGS {
        for Secret { shape, document, secrets } in &set {
            let Some(text) = embed(document) else { continue };
            count += 1;
            for kept in stored(&rules, &text) {
                let in_json = |secret: &str| encode(&escaped(secret));
                let leak = secrets.iter().find(|secret| {
                    [(*secret).clone(), encode(secret), in_json(secret)]
                        .iter()
                        .any(|form| kept.contains(form))
                });
                if let Some(secret) = leak {
                    leaks.push(format!("{name}: {shape}: {secret} in {kept}"));
                    break;
                }
            }
        }
    }
    assert!(leaks.is_empty(), "{} of {count} leak:\n{}", leaks.len(), leaks.join("\n"));
}

#[track_caller]
fn check_harmless(sets: &[&str]) {
    let rules = Rules::parse(&Redaction::default()).unwrap();
    let set: Vec<Harmless> = sets.iter().flat_map(|name| read::<Harmless>(name)).collect();
    let mut touched = Vec::new();
    let mut count = 0;
    for Surrounding { name, embed, .. } in SURROUNDINGS {
        for Harmless { document } in &set {
            let Some(text) = embed(document) else { continue };
            count += 1;
            if let Some(kept) = stored(&rules, &text).into_iter().find(|kept| *kept != text) {
                touched.push(format!("{name}: {text:?} became {kept:?}"));
            }
        }
    }
    let share = touched.len() * 100;
    assert!(share <= 2 * count, "{} of {count} touched:\n{}", touched.len(), touched.join("\n"));
}

#[test]
fn no_secret_of_the_set_is_kept_inside_of_another_text() {
    check_secrets(&["secrets.json"]);
}

#[test]
fn no_further_secret_is_kept_inside_of_another_text() {
    check_secrets(&["embedded-secrets.json"]);
}

#[test]
fn harmless_documents_stay_as_they_are_inside_of_another_text() {
    check_harmless(&["harmless.json"]);
}

#[test]
fn further_harmless_texts_stay_as_they_are_inside_of_another_text() {
    check_harmless(&["embedded-harmless.json"]);
}

/// Their names are not encoded, so their values need no other evidence.
#[test]
fn values_with_encoded_signs_are_hidden_where_their_names_are_plain() {
    let rules = Rules::parse(&Redaction::default()).unwrap();
    let kept: Vec<&str> = [
        ("grant_type=password&username=eva&password=summer%20rain", "summer"),
        ("GET /login?user=eva&password=summer%20rain HTTP/1.1", "summer"),
        ("username=eva&password=blue+sky&next=%2Fhome", "blue"),
        ("password=let%20me%20in&user=eva", "me%20in"),
        ("https://h.example/login?user=eva&password=blue%20sky", "blue"),
        ("passwd='&lt;hunter2&gt;'", "hunter2"),
        ("client_secret='it&#39;s9'", "it&#39;s9"),
        ("token:letmein%0A", "letmein"),
    ]
    .into_iter()
    .filter(|(text, secret)| stored(&rules, text).iter().any(|kept| kept.contains(secret)))
    .map(|(text, _)| text)
    .collect();
    assert_eq!(kept, Vec::<&str>::new());
}
