//! Which route a request means.

use super::route::{Action, Route, Verb};
use super::table::ROUTES;

/// What the table says about a request.
#[derive(Debug)]
pub(crate) enum Found {
    /// A route and its index in the table.
    Route(usize, &'static Route),
    /// The path exists with other methods.
    OtherMethods(String),
    /// No such path.
    Nothing,
}

/// Looks a request up.
pub(crate) fn find(method: &http::Method, path: &str) -> Found {
    let is_meant = |(_, route): &(usize, &Route)| route.verb.takes(method) && fits(route.path, path);
    match ROUTES.iter().enumerate().find(is_meant) {
        Some((index, route)) => Found::Route(index, route),
        None if ROUTES.iter().any(|route| fits(route.path, path)) => Found::OtherMethods(methods(path)),
        None => Found::Nothing,
    }
}

/// The route of an action; the first one where several share it.
pub(crate) fn route_of(action: Action) -> Option<&'static Route> {
    ROUTES.iter().find(|route| route.action == action)
}

/// The methods of a path, for `Allow`.
fn methods(path: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    for route in ROUTES.iter().filter(|route| fits(route.path, path)) {
        words.push(route.verb.name());
        if route.verb == Verb::Get {
            words.push("HEAD");
        }
    }
    words.push("OPTIONS");
    words.join(", ")
}

/// Whether `path` is one of those that `pattern` stands for. A parameter is one segment that is not empty.
fn fits(pattern: &str, path: &str) -> bool {
    // Every request is compared with the whole table, and nearly all patterns differ from its path early.
    let mut both = pattern.bytes().zip(path.bytes());
    if both.find(|(wanted, given)| wanted != given).is_some_and(|(wanted, _)| wanted != b'{') {
        return false;
    }
    if !pattern.contains('{') {
        return pattern == path;
    }
    let mut wanted = pattern.split('/');
    let mut given = path.split('/');
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return true,
            (Some(wanted), Some(given)) if wanted == given => {}
            (Some(wanted), Some(given)) if wanted.starts_with('{') && !given.is_empty() => {}
            _ => return false,
        }
    }
}

/// The part of a path that a parameter of its route stands for, as it came. No route has more than one.
pub(crate) fn path_parameter<'p>(route: &Route, path: &'p str) -> Option<&'p str> {
    // Up to there the path is the same as its route.
    let start = route.path.bytes().position(|byte| byte == b'{')?;
    path.get(start..)?.split('/').next()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use http::Method;

    use super::super::known::ALIASES;
    use super::super::route::{Location, Parameter};
    use super::*;

    #[track_caller]
    fn check(method: &Method, path: &str, expected: &str) {
        let found = match find(method, path) {
            Found::Route(index, route) => {
                assert!(std::ptr::eq(route, &raw const ROUTES[index]));
                route.path.to_owned()
            }
            Found::OtherMethods(allow) => format!("405 {allow}"),
            Found::Nothing => "404".to_owned(),
        };
        assert_eq!(found, expected, "{method} {path}");
    }

    #[test]
    fn requests_find_their_route() {
        check(&Method::GET, "/tools", "/tools");
        check(&Method::HEAD, "/tools", "/tools");
        check(&Method::GET, "/tools/gemini", "/tools/{provider}");
        check(&Method::GET, "/tools/gemini/context", "/tools/{provider}/context");
        check(&Method::GET, "/tools/", "404");
        check(&Method::GET, "/tools//context", "404");
        check(&Method::GET, "/tools/gemini/context/", "404");
        check(&Method::POST, "/tools", "405 GET, HEAD, OPTIONS");
        check(&Method::GET, "/execute", "405 POST, OPTIONS");
        check(&Method::POST, "/servers/a/restart", "/servers/{name}/restart");
        check(&Method::DELETE, "/servers/a/restart", "405 POST, OPTIONS");
        check(&Method::GET, "/metrics/prometheus", "/metrics/prometheus");
        check(&Method::GET, "/", "/");
        check(&Method::HEAD, "/", "/");
        check(&Method::POST, "/", "405 GET, HEAD, OPTIONS");
        check(&Method::GET, "", "404");
        check(&Method::GET, "/TOOLS", "404");
    }

    #[test]
    fn the_part_that_a_parameter_stands_for_is_found() {
        for (path, expected) in [
            ("/servers/a/restart", Some("a")),
            ("/servers/a%20b%2Fc+d/restart", Some("a%20b%2Fc+d")),
            ("/servers", None),
        ] {
            let found = ROUTES.iter().find(|route| fits(route.path, path)).unwrap();
            assert_eq!(path_parameter(found, path), expected, "{path}");
        }
    }

    #[test]
    fn every_parameter_of_a_path_is_described() {
        for route in ROUTES {
            assert!(route.path.matches('{').count() < 2, "{}", route.path);
            for segment in route.path.split('/').filter(|segment| segment.starts_with('{')) {
                let name = segment.trim_matches(['{', '}']);
                let described =
                    |parameter: &&Parameter| parameter.location == Location::Path && parameter.name == name;
                assert_eq!(
                    route.parameters.into_iter().flatten().filter(described).count(),
                    1,
                    "{}",
                    route.path
                );
            }
        }
    }

    /// The code of every file that may read parameters, without unit tests.
    fn readers() -> Vec<String> {
        let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folders = ["service/src", "mcp/src", "runtime/src"];
        let (mut left, mut readers) = (folders.map(|folder| crates.join(folder)).to_vec(), Vec::new());
        while let Some(path) = left.pop() {
            if path.is_dir() && !path.ends_with("openapi") {
                left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                readers.push(text.split("#[cfg(test)]").next().unwrap_or_default().to_owned());
            }
        }
        assert!(readers.len() > 50, "the sources are not where this test looks");
        readers
    }

    #[test]
    fn every_parameter_that_is_read_is_described_and_the_other_way_round() {
        let described: BTreeSet<&str> = ROUTES
            .iter()
            .flat_map(|route| route.parameters.into_iter().flatten())
            .filter(|parameter| parameter.location == Location::Query)
            .map(|parameter| parameter.name)
            .collect();
        let readers = readers();
        let ways = [
            "parameters.get(\"",
            "parameters.all(\"",
            "parameters.flag(\"",
            "parameters.word(\"",
            "parameters.number(\"",
            "options.get(\"",
            "options.flag(\"",
            "options.word(\"",
            "options.number(\"",
            "query.get(\"",
            "query.all(\"",
        ];
        let read: BTreeSet<&str> = readers
            .iter()
            .flat_map(|text| ways.iter().flat_map(move |way| text.split(way).skip(1)))
            .filter_map(|rest| rest.split('"').next())
            .collect();
        let is_alias = |name: &str| ALIASES.iter().any(|(alias, _)| *alias == name);
        let unknown: Vec<&&str> =
            read.iter().filter(|name| !described.contains(**name) && !is_alias(name)).collect();
        assert_eq!(unknown, Vec::<&&str>::new(), "read and not described");
        let is_read = |name: &str| readers.iter().any(|text| text.contains(&format!("\"{name}\"")));
        let unread: Vec<&&str> = described.iter().filter(|name| !is_read(name)).collect();
        assert_eq!(unread, Vec::<&&str>::new(), "described and not read");
    }
}
