//! The names that a route knows: parameters of its query and members of its body. Both come from the table of routes and the
//! schemas of the document.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use gateway_notation::spelling::nearest_names;

use super::document::components;
use super::route::{Action, Location, Route};
use super::tools;

/// Other spellings of parameters that are read and not described.
pub(super) const ALIASES: [(&str, &str); 3] =
    [("coerce", "coerceArguments"), ("groupBy", "group_by"), ("correlationId", "correlation_id")];

/// What other interfaces call a thing, and what it is called here: spelling alone does not lead from one to the other.
const ELSEWHERE: [(&str, &str); 9] = [
    ("args", "arguments"),
    ("params", "arguments"),
    ("parameters", "arguments"),
    ("name", "tool"),
    ("reply", "call"),
    ("response", "call"),
    ("message", "call"),
    ("dialect", "provider"),
    ("dialect", "to"),
];

/// Members of a call, which stand inside `call` where a body has one.
const OF_CALLS: [&str; 4] = ["arguments", "args", "name", "tool"];

/// The options of a list that also concern tools or a schema in the body. The others choose among the tools of servers:
/// documents are translated whole, and a request with tools has a `max_tokens` of its own.
const OF_TRANSLATION: [&str; 8] =
    ["descriptionFallback", "defaults", "open", "strict", "verbatim", "emptyRequired", "budget", "hide"];

/// The options of a list that choose a dialect; `/check` takes dialects in `to` only.
const OF_CHOICE: [&str; 2] = ["profile", "compat"];

/// Options of a list that documents have as members with another meaning.
const OF_DOCUMENTS: [&str; 3] = ["name", "server", "errors"];

/// The members of each schema that bodies have.
static MEMBERS: LazyLock<BTreeMap<String, Vec<String>>> = LazyLock::new(|| {
    let components = components();
    let schemas = components.get("schemas").and_then(serde_json::Value::as_object);
    let members = schemas.into_iter().flatten().filter_map(|(name, schema)| {
        let properties = schema.get("properties")?.as_object()?;
        Some((name.clone(), properties.keys().cloned().collect()))
    });
    members.collect()
});

/// Where a list's options may stand beside what else a request says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListOptions {
    /// Nowhere.
    Nowhere,
    /// In the query.
    Query,
    /// In the query and in the body, like everything else that the request says.
    Both,
}

impl Route {
    /// Whether a query may have a parameter of this name.
    pub(crate) fn has_parameter(&self, name: &str) -> bool {
        self.query_names().any(|known| known == name)
    }

    /// Whether a body may have a member of this name.
    pub(crate) fn has_member(&self, name: &str) -> bool {
        self.member_names().any(|known| known == name)
    }

    /// The parameter that a name most likely stands for.
    pub(crate) fn nearest_parameter(&self, name: &str) -> Option<&'static str> {
        nearest(name, self.query_names())
    }

    /// The member of the body that a name most likely stands for.
    pub(crate) fn nearest_member(&self, name: &str) -> Option<&'static str> {
        nearest(name, self.member_names())
    }

    /// Whether a name is that of a call's own member, and the body takes the call as one of its members.
    pub(crate) fn belongs_in_call(&self, name: &str) -> bool {
        OF_CALLS.contains(&name) && !self.has_member(name) && self.has_member("call")
    }

    /// The members that its body is described with.
    pub(crate) fn described_members(&self) -> &'static [String] {
        let schema = self.body.as_ref().map_or("", |body| body.schema);
        MEMBERS.get(schema).map_or(&[], Vec::as_slice)
    }

    /// Whether a member beside the tools of a document is an option of lists of servers' tools that means nothing here.
    pub(crate) fn is_option_of_lists_only(&self, name: &str) -> bool {
        !OF_DOCUMENTS.contains(&name)
            && !self.has_member(name)
            && query_names_of(&tools::RENDER).any(|option| option == name)
    }

    fn query_names(&self) -> impl Iterator<Item = &'static str> {
        let options = self.list_options();
        let action = self.action;
        let of_list = (options != ListOptions::Nowhere).then(|| query_names_of(&tools::RENDER));
        let of_list = of_list.map(|names| names.filter(move |name| reads_option(action, name)));
        let of_body = (options == ListOptions::Both).then(|| self.described_members().iter());
        let own = query_names_of(self).chain(of_list.into_iter().flatten());
        own.chain(of_body.into_iter().flatten().map(String::as_str))
    }

    fn member_names(&self) -> impl Iterator<Item = &'static str> {
        let options = (self.list_options() == ListOptions::Both).then(|| self.query_names());
        self.described_members().iter().map(String::as_str).chain(options.into_iter().flatten())
    }

    fn list_options(&self) -> ListOptions {
        match self.action {
            Action::Execute | Action::Convert | Action::Transform | Action::Check => ListOptions::Both,
            Action::Context => ListOptions::Query,
            _ => ListOptions::Nowhere,
        }
    }
}

/// Whether an option of lists means something for an action that takes such options.
fn reads_option(action: Action, name: &str) -> bool {
    match action {
        Action::Convert | Action::Transform => OF_TRANSLATION.contains(&name) || OF_CHOICE.contains(&name),
        Action::Check => OF_TRANSLATION.contains(&name),
        _ => true,
    }
}

/// The parameters of a query that a row of the table has, in all their spellings.
fn query_names_of(route: &Route) -> impl Iterator<Item = &'static str> + use<> {
    let described = route.parameters.into_iter().flatten();
    let names = described.filter(|parameter| parameter.location == Location::Query);
    names.flat_map(|parameter| {
        let others = ALIASES.iter().filter(|(_, described)| *described == parameter.name);
        std::iter::once(parameter.name).chain(others.map(|(alias, _)| *alias))
    })
}

fn nearest<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let known: Vec<&str> = known.collect();
    let elsewhere = ELSEWHERE.iter().filter(|(other, _)| *other == name);
    let mut meant = elsewhere.filter_map(|(_, here)| known.iter().find(|known| *known == here));
    meant.next().copied().or_else(|| nearest_names(name, known.iter().copied()).first().copied())
}

#[cfg(test)]
mod tests {
    use super::super::table::ROUTES;
    use super::*;

    #[track_caller]
    fn route(path: &str) -> &'static Route {
        ROUTES.iter().find(|route| route.path == path).unwrap()
    }

    #[test]
    fn misspelt_parameters_find_the_one_that_is_meant() {
        for (path, name, nearest) in [
            ("/tools/{provider}", "modell", Some("model")),
            ("/tools/{provider}", "emptyrequired", Some("emptyRequired")),
            ("/tools", "modell", None),
            ("/tools/{provider}/context", "max_tokens", Some("maxTokens")),
            ("/tools/{provider}/context", "profil", Some("profile")),
            ("/execute", "on_bad_arguments", Some("onBadArguments")),
            ("/convert", "dialect", Some("provider")),
            ("/logs", "x", None),
        ] {
            assert_eq!(route(path).nearest_parameter(name), nearest, "{path} {name}");
        }
    }

    #[test]
    fn misspelt_members_find_the_one_that_is_meant() {
        for (path, name, nearest) in [
            ("/call_tool", "args", Some("arguments")),
            ("/call_tool", "name", Some("tool")),
            ("/call_tool", "argument", Some("arguments")),
            ("/call_tool", "toolName", Some("tool")),
            ("/call_tool", "zzzzz", None),
            ("/execute", "toolCall", Some("call")),
            ("/execute", "reply", Some("call")),
            ("/transform", "shema", Some("schema")),
            ("/approvals/{id}", "decison", Some("decision")),
        ] {
            assert_eq!(route(path).nearest_member(name), nearest, "{path} {name}");
        }
    }

    #[test]
    fn options_of_lists_are_known_wherever_they_are_read() {
        for path in ["/convert", "/transform", "/check"] {
            for name in OF_TRANSLATION.into_iter().chain(["to"]) {
                assert!(route(path).has_member(name) && route(path).has_parameter(name), "{path} {name}");
            }
            for name in ["limit", "maxTokens", "mode", "report", "list", "meta", "tag", "group"] {
                assert!(!route(path).has_member(name) && !route(path).has_parameter(name), "{path} {name}");
                assert!(route(path).is_option_of_lists_only(name), "{path} {name}");
            }
            for name in OF_CHOICE {
                assert_eq!(route(path).has_parameter(name), path != "/check", "{path} {name}");
            }
        }
        for name in OF_TRANSLATION.into_iter().chain(OF_CHOICE) {
            assert!(tools::RENDER.has_parameter(name), "{name}");
        }
        assert!(route("/execute").has_member("hide") && route("/execute").has_parameter("provider"));
        assert!(route("/tools/{provider}/context").has_parameter("hide"));
        assert!(route("/tools/{provider}/context").has_parameter("groupBy"));
        assert!(!route("/tools").has_parameter("hide"));
        assert!(!route("/call_tool").has_member("result"));
        assert!(route("/call_tool").has_member("responses"));
    }

    /// What a document shows may be sent.
    #[test]
    fn every_example_has_known_members_only() {
        let mut seen = 0;
        for route in ROUTES.iter().filter(|route| !route.described_members().is_empty()) {
            for (name, text) in route.body.iter().flat_map(|body| body.examples) {
                let example: serde_json::Value = serde_json::from_str(text).unwrap();
                for member in example.as_object().unwrap().keys() {
                    assert!(route.has_member(member), "{} {name}: {member}", route.path);
                    seen += 1;
                }
            }
        }
        assert!(seen > 20, "{seen}");
    }
}
