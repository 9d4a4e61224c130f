//! No modules of one crate that need each other in a cycle.
//!
//! Modules here are the direct children of `src/`: files, or folders with all that is in them. What their unit tests use does
//! not count.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

/// For each module of a crate, the modules that it uses, each with the first line that does so.
type Uses = BTreeMap<String, BTreeMap<String, String>>;

/// The files of a crate: path relative to `src/`, and text.
type Sources = Vec<(String, String)>;

fn crates() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut crates: Vec<PathBuf> = folders.filter(|path| path.join("src").is_dir()).collect();
    crates.sort();
    crates
}

fn sources(source: &Path) -> Sources {
    let mut left = vec![source.to_owned()];
    let mut found = Vec::new();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(source).unwrap().to_str().unwrap().to_owned();
            found.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
    found.sort();
    found
}

/// The path of the module that a file holds, without the crate.
fn module_path(file: &str) -> Vec<&str> {
    let mut path: Vec<&str> = file.trim_end_matches(".rs").split('/').collect();
    if matches!(path.last(), Some(&"mod" | &"lib" | &"main")) {
        path.pop();
    }
    path
}

/// Whether a file holds unit tests only.
fn is_test(file: &str) -> bool {
    file.ends_with("_tests.rs") || file.ends_with("/tests.rs")
}

/// The code of a file: without comments, texts and unit tests, which are the last part of a file.
fn code(text: &str) -> Vec<(usize, String)> {
    let tests = text.lines().position(|line| line == "#[cfg(test)]").unwrap_or(usize::MAX);
    let lines = text.lines().take(tests).enumerate();
    let without_texts = |line: &str| line.split('"').step_by(2).collect::<Vec<_>>().join("\"");
    let plain = |line: &str| without_texts(line).split("//").next().unwrap_or_default().to_owned();
    lines.map(|(index, line)| (index + 1, plain(line))).collect()
}

/// The paths that a piece of code names after `prefix`, groups in braces taken apart: each with its line.
fn named_after(code: &[(usize, String)], prefix: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, (number, line)) in code.iter().enumerate() {
        for (start, _) in line.match_indices(prefix) {
            let before = line[..start].chars().next_back();
            if before.is_some_and(|letter| letter.is_alphanumeric() || matches!(letter, '_' | ':')) {
                continue;
            }
            let rest = &line[start + prefix.len()..];
            if !rest.starts_with('{') {
                found.push((*number, rest.to_owned()));
                continue;
            }
            let mut all = rest.to_owned();
            for (_, more) in &code[index + 1..] {
                if depth(&all) == 0 {
                    break;
                }
                all.push_str(more.trim());
            }
            found.extend(members(&all).into_iter().map(|member| (*number, member)));
        }
    }
    found
}

/// How many braces are open at the end of a text.
fn depth(text: &str) -> usize {
    text.matches('{').count().saturating_sub(text.matches('}').count())
}

/// What stands between the braces at the beginning of a text, separated by its commas.
fn members(text: &str) -> Vec<String> {
    let (mut members, mut level) = (vec![String::new()], 0);
    for letter in text.chars() {
        match letter {
            '{' => level += 1,
            '}' => level -= 1,
            ',' if level == 1 => members.push(String::new()),
            _ => {}
        }
        match (level, letter) {
            (0, _) => break,
            (1, '{' | ',') => {}
            (_, letter) => members.last_mut().unwrap().push(letter),
        }
    }
    members.into_iter().map(|member| member.trim().to_owned()).filter(|member| !member.is_empty()).collect()
}

fn first_name(path: &str) -> &str {
    path.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or_default()
}

/// What the root of a crate gives out under another module's name: `pub use fleet::Fleet` leads from `Fleet` to `fleet`.
fn exported(sources: &Sources, modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut exported = BTreeMap::new();
    let roots = sources.iter().filter(|(file, _)| module_path(file).is_empty());
    for (_, text) in roots {
        let code = code(text);
        for module in modules {
            for (_, path) in named_after(&code, &format!("{module}::")) {
                let path = path.rsplit_once("::").map_or(path.as_str(), |(_, last)| last);
                for name in if path.starts_with('{') { members(path) } else { vec![path.to_owned()] } {
                    let name = name.rsplit_once(" as ").map_or(name.as_str(), |(_, name)| name);
                    exported.insert(first_name(name).to_owned(), module.clone());
                }
            }
        }
    }
    exported
}

fn uses(sources: &Sources) -> Uses {
    let modules: BTreeSet<String> = sources
        .iter()
        .filter(|(file, _)| !is_test(file) && !file.starts_with("bin/"))
        .filter_map(|(file, _)| module_path(file).first().map(|name| (*name).to_owned()))
        .collect();
    let exported = exported(sources, &modules);
    let mut uses: Uses = modules.iter().map(|module| (module.clone(), BTreeMap::new())).collect();
    for (file, text) in sources.iter().filter(|(file, _)| !is_test(file)) {
        let path = module_path(file);
        let Some(own) = path.first().filter(|own| modules.contains(**own)) else { continue };
        let code = code(text);
        let mut named = named_after(&code, "crate::");
        named.extend(named_after(&code, &"super::".repeat(path.len())));
        for (line, path) in named {
            let name = first_name(&path);
            let module = modules.get(name).or_else(|| exported.get(name));
            if let Some(module) = module.filter(|module| module != own) {
                let of_own = uses.get_mut(*own).unwrap();
                of_own.entry(module.clone()).or_insert_with(|| format!("{file}:{line}"));
            }
        }
    }
    uses
}

/// The shortest way from a module back to itself, as text with the lines that go it.
fn cycle_of(uses: &Uses, start: &str) -> Option<(BTreeSet<String>, String)> {
    let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut left = VecDeque::from([start]);
    while let Some(module) = left.pop_front() {
        for used in uses[module].keys() {
            if used == start {
                let mut way = vec![module];
                while let Some(before) = came_from.get(way[way.len() - 1]) {
                    way.push(before);
                }
                way.reverse();
                let step = |(index, module): (usize, &&str)| {
                    let next = way.get(index + 1).copied().unwrap_or(start);
                    format!("{module} -> {next} ({})", uses[*module][next])
                };
                let text: Vec<String> = way.iter().enumerate().map(step).collect();
                return Some((way.iter().map(|name| (*name).to_owned()).collect(), text.join(", ")));
            }
            if used != start && !came_from.contains_key(used.as_str()) {
                came_from.insert(used, module);
                left.push_back(used);
            }
        }
    }
    None
}

/// Every module's shortest cycle, each cycle once.
fn cycles(uses: &Uses) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let cycles = uses.keys().filter_map(|module| cycle_of(uses, module));
    cycles.filter(|(modules, _)| seen.insert(modules.clone())).map(|(_, text)| text).collect()
}

#[test]
fn no_cycle_between_the_modules_of_a_crate() {
    let mut faults = Vec::new();
    let mut modules = 0;
    for folder in crates() {
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let uses = uses(&sources(&folder.join("src")));
        modules += uses.len();
        faults.extend(cycles(&uses).into_iter().map(|cycle| format!("{name}: {cycle}")));
    }
    assert!(modules > 80, "the sources are not where this test looks");
    assert!(faults.is_empty(), "modules that use each other in a cycle:\n{}", faults.join("\n"));
}

#[track_caller]
fn check(files: &[(&str, &str)], expected: &[&str]) {
    let sources: Sources =
        files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
    assert_eq!(cycles(&uses(&sources)), expected);
}

#[test]
fn cycles_are_found_however_they_are_written() {
    let own = ("b.rs", "use crate::a::A;");
    let way = |line: &str| format!("a -> b ({line}), b -> a (b.rs:1)");
    for file in
        ["use crate::b;", "use crate::{b::B, c};", "fn f() { crate::b::f() }", "use super::b::{self};"]
    {
        check(&[("a.rs", file), own, ("c.rs", "")], &[&way("a.rs:1")]);
    }
    check(&[("a/d.rs", "\nuse super::super::b::B;"), own], &[&way("a/d.rs:2")]);
    check(
        &[("a/mod.rs", "use crate::{\n    c,\n    b::{B, C},\n};"), own, ("c.rs", "")],
        &[&way("a/mod.rs:1")],
    );
    check(
        &[("lib.rs", "mod a;\npub use b::{C, D as E};"), ("a.rs", "use crate::E;"), own],
        &[&way("a.rs:1")],
    );
    check(
        &[("a.rs", "use crate::b;"), ("b.rs", "use crate::c;"), ("c.rs", "use crate::a;")],
        &["a -> b (a.rs:1), b -> c (b.rs:1), c -> a (c.rs:1)"],
    );
}

#[test]
fn what_is_no_cycle_is_none() {
    let own = ("b.rs", "use crate::a::A;");
    for file in [
        "// use crate::b;",
        "const TEXT: &str = \"crate::b\";",
        "use other::crate_b;\nuse b::B;",
        "#[cfg(test)]\nmod tests {\n    use crate::b;\n}",
        "mod b {}\nuse self::b::B;",
    ] {
        check(&[("a.rs", file), own], &[]);
    }
    // The parts of a module may use each other as they like.
    check(&[("a/mod.rs", "mod d;\nuse d::D;"), ("a/d.rs", "use super::b::C;"), own], &[]);
    check(&[("lib.rs", "mod a;\nmod b;\nuse a::A;"), own], &[]);
}
