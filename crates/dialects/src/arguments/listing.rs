//! What is wrong with a value, for schemas that the library could take forever with.
//!
//! Coarser than what the library says, but found once for each schema and each part of the value.

use std::collections::HashMap;
use std::rc::Rc;

use serde_json::Value;

use super::{
    apply::{Application, Group, Part, Step},
    bounded::{Key, Run, Scope, Spent},
    graph::{Graph, Node},
    issues::{
        Issue, MAX_EXPECTED, MAX_ISSUES, MAX_SIBLINGS, Misfit, child, cut, issue, issues_of, merged_kinds,
        misfit_of, shown, unchecked, unknown_parameter, wanted_pattern,
    },
};

/// Schemas and parts looked into for what is wrong.
const MAX_LISTED: usize = 2_000;

/// Schemas looked into one inside the other; behind that, only one thing that is wrong is followed.
const MAX_NESTED: u32 = 128;

/// Something that is wrong, and how far it speaks against the schema that says so.
#[derive(Debug)]
struct Found {
    issue: Issue,
    misfit: Misfit,
}

/// Everything that is wrong with `value`, at most a hundred entries; nothing when it fits.
pub(super) fn list_issues(graph: &Graph, value: &Value) -> Vec<Issue> {
    let mut run = Run::new(graph, value);
    match run.verdict() {
        Ok(true) => Vec::new(),
        Ok(false) => {
            // Patterns are matched once more.
            run.refill();
            let mut listing = Listing { run, nested: 0, wanted: 0, known: HashMap::new() };
            let start = listing.run.start();
            let found = listing.list(start, 0, "").unwrap_or_default();
            let mut issues: Vec<Issue> = Vec::new();
            for found in found {
                if !issues.contains(&found.issue) {
                    issues.push(found.issue.clone());
                }
            }
            if issues.is_empty() {
                issues.push(misfit("", value));
            }
            issues
        }
        Err(Spent) => vec![unchecked(value)],
    }
}

fn misfit(path: &str, value: &Value) -> Issue {
    issue(path, "a value that fits the schema".to_owned(), shown(value))
}

struct Listing<'g, 'i> {
    run: Run<'g, 'i>,
    nested: u32,
    /// Bytes of what was wanted so far.
    wanted: usize,
    known: HashMap<Key, Vec<Rc<Found>>>,
}

impl<'i> Listing<'_, 'i> {
    /// What is wrong with a part that does not fit.
    fn list(
        &mut self,
        application: Application<'i>,
        scope: Scope,
        path: &str,
    ) -> Result<Vec<Rc<Found>>, Spent> {
        let (key, scope, application) = self.run.enter(application, scope);
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let graph = self.run.graph;
        let Some(node) = graph.nodes.get(application.node) else { return Err(Spent) };
        let value = application.part.to_value();
        if self.known.len() >= MAX_LISTED || self.wanted > MAX_EXPECTED {
            return Ok(vec![plain(misfit(path, &value))]);
        }
        if self.nested >= MAX_NESTED {
            return Ok(vec![plain(self.follow(application, scope, path)?)]);
        }
        // A schema that asks about itself adds nothing.
        self.known.insert(key, Vec::new());
        self.nested += 1;
        let mut found = self.own_issues(node, application.part, path)?;
        self.wanted += found.iter().map(|found| found.issue.expected.len()).sum::<usize>();
        let listed = self.list_groups(node, application, scope, path, &mut found);
        self.nested -= 1;
        if found.is_empty() {
            listed?;
        }
        // What was found before the budget was used up is wrong all the same.
        found.truncate(MAX_ISSUES);
        self.known.insert(key, found.clone());
        Ok(found)
    }

    fn list_groups(
        &mut self,
        node: &Node,
        application: Application<'i>,
        scope: Scope,
        path: &str,
        found: &mut Vec<Rc<Found>>,
    ) -> Result<(), Spent> {
        let value = application.part.to_value();
        for group in self.run.groups(node, application.part, scope)? {
            if found.len() >= MAX_ISSUES {
                break;
            }
            self.list_group(node, &group, scope, path, &value, found)?;
        }
        for rest in self.run.unevaluated(node, application, scope)? {
            if found.len() >= MAX_ISSUES {
                break;
            }
            self.list_member(node, rest, scope, path, found)?;
        }
        Ok(())
    }

    /// The first thing that is wrong on the way down, found without going deeper on the stack.
    fn follow(&mut self, start: Application<'i>, mut scope: Scope, path: &str) -> Result<Issue, Spent> {
        let (mut at, mut path) = (start, path.to_owned());
        for _ in 0..MAX_LISTED {
            (_, scope, at) = self.run.enter(at, scope);
            let graph = self.run.graph;
            let Some(node) = graph.nodes.get(at.node) else { break };
            if let Some(found) = self.own_issues(node, at.part, &path)?.first() {
                return Ok(found.issue.clone());
            }
            let mut inside: Vec<Application<'i>> = Vec::new();
            for group in self.run.groups(node, at.part, scope)? {
                if !self.run.group_fits(&group, scope)? {
                    inside = match group {
                        Group::Condition(_, then, otherwise) => then.into_iter().chain(otherwise).collect(),
                        Group::Not(_) | Group::Count { .. } | Group::Names(_) => Vec::new(),
                        other => other.applications(),
                    };
                    break;
                }
            }
            if inside.is_empty() {
                inside = self.run.unevaluated(node, at, scope)?;
            }
            // Rather a way that goes on than one that ends here.
            let mut next = None;
            for application in inside {
                if !self.run.fits(application, scope)? {
                    let (_, _, behind) = self.run.enter(application, scope);
                    let own = graph.nodes.get(behind.node).and_then(|node| node.own.as_ref());
                    let goes_on = match own {
                        Some(own) => own.accepts(behind.part, &mut self.run.steps)?,
                        None => true,
                    };
                    if goes_on || next.is_none() {
                        next = Some(application);
                    }
                    if goes_on {
                        break;
                    }
                }
            }
            let Some(next) = next else { break };
            match next.step {
                Step::Here => {}
                Step::Member(name) => path = child(&path, name),
                Step::Item(item) => path = format!("{path}/{item}"),
            }
            at = next;
        }
        Ok(misfit(&path, &at.part.to_value()))
    }

    fn list_group(
        &mut self,
        node: &Node,
        group: &Group<'i>,
        scope: Scope,
        path: &str,
        value: &Value,
        found: &mut Vec<Rc<Found>>,
    ) -> Result<(), Spent> {
        let one = |expected: &str| plain(issue(path, expected.to_owned(), shown(value)));
        match group {
            Group::All(all) | Group::Additional(all) => {
                for application in all {
                    if found.len() >= MAX_ISSUES {
                        break;
                    }
                    self.list_member(node, *application, scope, path, found)?;
                }
            }
            Group::Names(names) => {
                for name in names {
                    if !self.run.fits(*name, scope)? {
                        let wanted = self.list(*name, scope, path)?;
                        let expected = wanted.first().map_or("other keys", |found| &found.issue.expected);
                        let key = shown(&name.part.to_value());
                        found.push(plain(issue(
                            path,
                            format!("keys to be {expected}"),
                            format!("the key {key}"),
                        )));
                    }
                }
            }
            Group::Any(branches) | Group::One(branches) => {
                let fitting = self.run.fitting(branches, scope)?.len();
                if fitting == 0 {
                    found.extend(self.nearest(branches, scope, path)?);
                } else if fitting > 1 && matches!(group, Group::One(_)) {
                    found.push(one("exactly one of the alternatives, but several fit"));
                }
            }
            Group::Not(not) => {
                if self.run.fits(*not, scope)? {
                    let own = self.run.graph.nodes.get(not.node).and_then(|not| not.own.as_ref());
                    let excluded = own.map_or("what the schema excludes".to_owned(), |own| cut(&own.schema));
                    found.push(one(&format!("anything but {excluded}")));
                }
            }
            Group::Condition(condition, then, otherwise) => {
                let branch = if self.run.fits(*condition, scope)? { then } else { otherwise };
                if let Some(branch) = branch {
                    self.list_member(node, *branch, scope, path, found)?;
                }
            }
            Group::Count { .. } => {
                if !self.run.group_fits(group, scope)? {
                    found.push(one("an item of the kind that the schema asks for"));
                }
            }
        }
        Ok(())
    }

    /// Adds what is wrong with one part, if it does not fit.
    fn list_member(
        &mut self,
        node: &Node,
        application: Application<'i>,
        scope: Scope,
        path: &str,
        found: &mut Vec<Rc<Found>>,
    ) -> Result<(), Spent> {
        if self.run.fits(application, scope)? {
            return Ok(());
        }
        let refused =
            self.run.graph.nodes.get(application.node).is_some_and(|inner| inner.fixed == Some(false));
        match application.step {
            Step::Here => found.extend(self.list(application, scope, path)?),
            Step::Member(name) if refused && !node.properties.contains_key(name) => {
                let mut known: Vec<&String> = node.properties.keys().collect();
                known.sort();
                let siblings: Vec<String> =
                    known.into_iter().take(MAX_SIBLINGS).map(|name| child(path, name)).collect();
                let value = application.part.to_value();
                found.push(plain(unknown_parameter(path, name, &value, &siblings)));
            }
            Step::Member(name) => found.extend(self.list(application, scope, &child(path, name))?),
            Step::Item(at) => found.extend(self.list(application, scope, &format!("{path}/{at}"))?),
        }
        Ok(())
    }

    /// What is wrong by the branch that was most likely meant; one merged issue when the value fits none in kind.
    fn nearest(
        &mut self,
        branches: &[Application<'i>],
        scope: Scope,
        path: &str,
    ) -> Result<Vec<Rc<Found>>, Spent> {
        let mut lists = Vec::new();
        for branch in branches {
            lists.push(self.list(*branch, scope, path)?);
        }
        let misfit = |found: &Found| found.misfit.at(found.issue.path == path);
        let rank = |list: &Vec<Rc<Found>>| (list.iter().map(|found| misfit(found)).max(), list.len());
        let Some(best) = lists.iter().filter(|list| !list.is_empty()).min_by_key(|list| rank(list)) else {
            return Ok(Vec::new());
        };
        if rank(best).0 < Some(Misfit::KIND) {
            return Ok(best.clone());
        }
        let wrong = lists.iter().flatten().filter(|found| misfit(found) == Misfit::KIND);
        let merged = merged_kinds(path, wrong.map(|found| found.issue.clone()).collect());
        Ok(merged.into_iter().map(|issue| Rc::new(Found { issue, misfit: Misfit::Kind })).collect())
    }

    /// What the schema says about the value itself.
    fn own_issues(&mut self, node: &Node, part: Part<'i>, path: &str) -> Result<Vec<Rc<Found>>, Spent> {
        let value = part.to_value();
        if node.fixed == Some(false) {
            return Ok(vec![plain(issue(path, "nothing here".to_owned(), shown(&value)))]);
        }
        let Some(own) = &node.own else { return Ok(Vec::new()) };
        let Some(validator) = own.validator() else { return Ok(vec![plain(misfit(path, &value))]) };
        let mut found = Vec::new();
        for error in validator.iter_errors(&value) {
            let misfit = misfit_of(&error);
            for issue in issues_of(&own.schema, &error, 0) {
                let issue = Issue { path: format!("{path}{}", issue.path), ..issue };
                found.push(Rc::new(Found { issue, misfit }));
            }
        }
        if let Some(pattern) = &own.pattern
            && !own.has_pattern(part, &mut self.run.steps)?
        {
            found.push(plain(issue(path, wanted_pattern(&pattern.text), shown(&value))));
        }
        Ok(found)
    }
}

fn plain(issue: Issue) -> Rc<Found> {
    Rc::new(Found { issue, misfit: Misfit::Other })
}
