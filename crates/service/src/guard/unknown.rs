//! Parameters of a query that its route does not know. The request is answered all the same: clients and proxies add
//! parameters of their own. A header of the answer names them, and a line of the log those that look misspelt.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use http::{HeaderName, HeaderValue};

use crate::openapi::Route;
use gateway_runtime::parameters::decoded;

/// Names the parameters that meant nothing.
pub(crate) const PARAMETERS_UNKNOWN: HeaderName = HeaderName::from_static("x-parameters-unknown");

/// Most names in one header, and most characters of one name.
const NAMES: usize = 8;
const LETTERS: usize = 64;

/// Most names that are remembered because a line of the log has them; callers choose them.
const LOGGED: usize = 256;

/// What the log has already.
#[derive(Debug, Default)]
pub(crate) struct UnknownParameters(Mutex<BTreeSet<(&'static str, String)>>);

impl UnknownParameters {
    /// The header for a query with parameters that its route does not know; `None` if it knows all.
    pub(crate) fn noted(&self, route: &'static Route, query: &str) -> Option<HeaderValue> {
        let names: BTreeSet<String> = query
            .split('&')
            .filter_map(|pair| pair.split('=').next().filter(|name| !name.is_empty()))
            .map(|name| decoded(name).chars().take(LETTERS).collect::<String>())
            .filter(|name| !route.has_parameter(name))
            .collect();
        let hints: Vec<String> = names
            .iter()
            .take(NAMES)
            .map(|name| {
                let shown: String =
                    name.chars().map(|c| if c.is_ascii_graphic() { c } else { '?' }).collect();
                match route.nearest_parameter(name) {
                    Some(meant) => {
                        self.log(route.path, name, meant);
                        format!("{shown} (did you mean {meant}?)")
                    }
                    // It may be a secret without a name, which the caller may see and the log may not.
                    None => shown,
                }
            })
            .collect();
        if hints.is_empty() { None } else { HeaderValue::from_str(&hints.join(", ")).ok() }
    }

    /// One line for each name, not for each request.
    fn log(&self, route: &'static str, parameter: &str, meant: &str) {
        let mut logged = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.len() >= LOGGED || !logged.insert((route, parameter.to_owned())) {
            return;
        }
        drop(logged);
        tracing::warn!(route, parameter, meant, "Unknown parameter in a query ignored.");
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;
    use crate::openapi::{Found, find};

    #[track_caller]
    fn check(target: &str, expected: Option<&str>) {
        let (path, query) = target.split_once('?').unwrap();
        let Found::Route(_, route) = find(&Method::GET, path) else { panic!("{path}") };
        let noted = UnknownParameters::default().noted(route, query);
        assert_eq!(noted.as_ref().map(|value| value.to_str().unwrap()), expected, "{target}");
    }

    #[test]
    fn unknown_parameters_are_named_with_the_one_that_is_meant() {
        check("/tools/openai?model=gpt-5&strict=auto&tag=a&tag=b", None);
        check("/tools/openai?modell=gpt-5", Some("modell (did you mean model?)"));
        check("/tools/openai?modell=a&modell=b&zz=1&", Some("modell (did you mean model?), zz"));
        let repeated = format!("/tools/openai?{}modell=b", "zz=1&".repeat(2 * NAMES));
        check(&repeated, Some("modell (did you mean model?), zz"));
        check("/tools/openai/context?groupBy=server&hide=a&%6dodel=x", None);
        check("/health?a%0d%0ab=1&%C3%BC", Some("a??b, ?"));
        check("/livez?=1&", None);
        let long = format!("/livez?{}", "x".repeat(500));
        check(&long, Some(&"x".repeat(LETTERS)));
    }

    #[test]
    fn the_log_remembers_a_bounded_number_of_names() {
        let Found::Route(_, route) = find(&Method::GET, "/tools/openai") else { panic!("no route") };
        let unknown = UnknownParameters::default();
        assert!(unknown.noted(route, "qzxwvkj").is_some());
        assert_eq!(unknown.0.lock().unwrap().len(), 0);
        for number in 0..2 * LOGGED {
            assert!(unknown.noted(route, &format!("model{number}")).is_some());
        }
        assert_eq!(unknown.0.lock().unwrap().len(), LOGGED);
    }
}
