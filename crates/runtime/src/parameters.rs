//! The parameters of listing routes.

use gateway_dialects::dialect::Compat;
use gateway_dialects::{Defaults, EmptyRequired, Growth, Open, Options, Strict};
use serde_json::{Map, Value};

use crate::failure::{ErrorStyle, Failure};

/// The options that take several values.
const LISTS: [&str; 7] = ["category", "group", "hide", "input", "name", "tag", "to"];

/// Pairs of a query or of a body's options, in order.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    pairs: Vec<(String, String)>,
    /// Members of a body that no option can have as its value, and why.
    unusable: Vec<(String, &'static str)>,
}

impl Parameters {
    /// Reads the query of a request.
    pub fn of_query(query: Option<&str>) -> Self {
        let pairs = query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(key), decoded(value))
        });
        Self { pairs: pairs.collect(), unusable: Vec::new() }
    }

    /// Reads the options of a body: texts, numbers and flags by name; lists as repeated parameters.
    /// [`Parameters::check`] says which options cannot be read.
    pub fn of_object(object: Map<String, Value>) -> Self {
        let mut parameters = Self::default();
        for (name, value) in object {
            parameters.add(name, value);
        }
        parameters
    }

    /// Adds one option of a body, which stands above what is there.
    pub fn add(&mut self, name: String, value: Value) {
        match value {
            Value::String(text) => self.pairs.push((name, text)),
            Value::Bool(_) | Value::Number(_) => self.pairs.push((name, value.to_string())),
            Value::Array(items) if LISTS.contains(&name.as_str()) => {
                for item in items {
                    match item {
                        Value::Array(_) => {
                            self.unusable.push((name.clone(), "a list of strings, not of lists"));
                        }
                        item => self.add(name.clone(), item),
                    }
                }
            }
            Value::Array(_) => self.unusable.push((name, "one value, not a list")),
            Value::Object(_) => self.unusable.push((name, "a string, a number or a boolean, not an object")),
            Value::Null => {}
        }
    }

    /// Refuses options whose values cannot be read. Members that are no options may have any value.
    pub fn check(&self, is_option: impl Fn(&str) -> bool) -> Result<(), Failure> {
        match self.unusable.iter().find(|(name, _)| is_option(name)) {
            Some((name, expected)) => Err(Failure::request(format!("\"{name}\": expected {expected}"))),
            None => Ok(()),
        }
    }

    /// Adds what another set has; it stands above what is there.
    pub fn extend(&mut self, others: Self) {
        self.pairs.extend(others.pairs);
        self.unusable.extend(others.unusable);
    }

    /// The last value under `key`; an empty one counts as absent.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.pairs
            .iter()
            .rev()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    /// All values under `key`, also those that commas separate.
    pub fn all(&self, key: &str) -> Vec<String> {
        let mut all = Vec::new();
        for (_, value) in self.pairs.iter().filter(|(name, _)| name == key) {
            all.extend(value.split(',').filter(|value| !value.is_empty()).map(str::to_owned));
        }
        all
    }

    /// A switch: `true`, `1`, `yes`, or the bare name.
    pub fn flag(&self, key: &str) -> Result<bool, Failure> {
        let Some((_, value)) = self.pairs.iter().rev().find(|(name, _)| name == key) else {
            return Ok(false);
        };
        match value.as_str() {
            "" | "true" | "1" | "yes" | "on" => Ok(true),
            "false" | "0" | "no" | "off" => Ok(false),
            other => Err(Failure::request(format!("{key}={other}: expected true or false"))),
        }
    }

    /// One of several words.
    pub fn word<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<Option<T>, Failure> {
        let Some(given) = self.get(key) else { return Ok(None) };
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == given) {
            return Ok(Some(*meaning));
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        Err(Failure::request(format!("{key}={given}: expected one of {}", known.join(", "))))
    }

    /// How the caller wants failures to be reported.
    pub fn error_style(&self) -> Result<ErrorStyle, Failure> {
        let words = [("precise", ErrorStyle::Precise), ("plain", ErrorStyle::Plain)];
        Ok(self.word("errors", &words)?.unwrap_or_default())
    }

    /// A number within bounds.
    pub fn number(&self, key: &str, bounds: std::ops::RangeInclusive<u64>) -> Result<Option<u64>, Failure> {
        let Some(given) = self.get(key) else { return Ok(None) };
        given.parse().ok().filter(|number| bounds.contains(number)).map(Some).ok_or_else(|| {
            let (least, most) = (bounds.start(), bounds.end());
            Failure::request(format!("{key}={given}: expected a number from {least} to {most}"))
        })
    }
}

/// The options of a translation.
pub fn translation_options(parameters: &Parameters) -> Result<Options, Failure> {
    let mut options = Options::default();
    options.defaults = parameters.word("defaults", &Defaults::WORDS)?;
    options.open = parameters.word("open", &Open::WORDS)?.unwrap_or_default();
    options.strict = parameters.word("strict", &Strict::WORDS)?.unwrap_or_default();
    options.verbatim = parameters.flag("verbatim")?;
    options.empty_required = parameters.word("emptyRequired", &EmptyRequired::WORDS)?;
    options.hidden = parameters.all("hide");
    if let Some(budget) = parameters.get("budget") {
        options.budget.growth = Growth::parse(budget).ok_or_else(|| {
            Failure::request(format!("budget={budget}: expected a number of tokens, off or auto"))
        })?;
    }
    options.description_fallback = parameters.get("descriptionFallback").map(str::to_owned);
    Ok(options)
}

/// Whether the layer of the model's family applies.
pub fn compat(parameters: &Parameters) -> Compat {
    match parameters.get("compat") {
        None | Some("auto") => Compat::Auto,
        Some("off") => Compat::Off,
        Some(name) => Compat::Named(name.to_owned()),
    }
}

/// Percent-decoding, with `+` for a blank.
pub fn decoded(text: &str) -> String {
    if !text.contains(['%', '+']) {
        return text.to_owned();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        let escaped = || {
            let digits = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok())?;
            u8::from_str_radix(digits, 16).ok()
        };
        match first {
            b'+' => bytes.push(b' '),
            b'%' => match escaped() {
                Some(byte) => {
                    bytes.push(byte);
                    rest = tail.get(2..).unwrap_or_default();
                }
                None => bytes.push(b'%'),
            },
            other => bytes.push(*other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn queries_are_decoded() {
        let parameters = Parameters::of_query(Some("server=a%20b&name=x+y&tag=p,q&tag=r&report&bad=%zz&e="));
        assert_eq!(parameters.get("server"), Some("a b"));
        assert_eq!(parameters.get("name"), Some("x y"));
        assert_eq!(parameters.all("tag"), ["p", "q", "r"]);
        assert!(parameters.flag("report").is_ok_and(|flag| flag));
        assert_eq!(parameters.get("bad"), Some("%zz"));
        assert_eq!(parameters.get("e"), None);
    }

    #[test]
    fn options_of_another_type_are_refused_and_other_members_are_not() {
        let check = |body: Value, expected: Result<(), &str>| {
            let Value::Object(body) = body else { panic!("{body}") };
            let checked = Parameters::of_object(body).check(|name| name != "tool_choice");
            assert_eq!(checked.map_err(|error| error.message()), expected.map_err(str::to_owned));
        };
        check(json!({"hide": ["a", "b"], "limit": 3, "report": true, "model": null}), Ok(()));
        check(json!({"tool_choice": {"type": "auto"}}), Ok(()));
        let object = "\"coerce\": expected a string, a number or a boolean, not an object";
        check(json!({"coerce": {"a": 1}}), Err(object));
        check(json!({"model": ["gpt-5"]}), Err("\"model\": expected one value, not a list"));
        check(json!({"hide": [["a"]]}), Err("\"hide\": expected a list of strings, not of lists"));
        check(
            json!({"hide": [{}]}),
            Err("\"hide\": expected a string, a number or a boolean, not an object"),
        );
    }

    #[test]
    fn wrong_words_and_numbers_are_refused() {
        let parameters = Parameters::of_query(Some("defaults=maybe&limit=0&report=perhaps"));
        assert!(
            translation_options(&parameters)
                .is_err_and(|error| error.message().contains("keep, strip, describe"))
        );
        assert!(parameters.number("limit", 1..=10).is_err());
        assert!(parameters.flag("report").is_err());
    }
}
