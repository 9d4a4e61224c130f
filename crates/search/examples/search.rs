//! Asks the written-down queries over a corpus of real tools, and prints ranks, times and tokens.
//!
//! `cargo run --release -p gateway-search --example search [queries.toml [corpus folder]]`

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gateway_dialects::estimate_tokens;
use gateway_protocol::RawJson;
use gateway_search::{MetaTools, TokenCost, ToolEntry, ToolHits, ToolIndex, search_result};
use serde::Deserialize;

type Failure = Box<dyn std::error::Error>;

#[derive(Deserialize)]
struct Queries {
    query: Vec<Query>,
}

#[derive(Deserialize)]
struct Query {
    ask: String,
    /// Empty where no tool does it.
    want: Vec<String>,
    set: String,
    /// The servers that are asked; all of them where it is empty.
    #[serde(default)]
    among: Vec<String>,
}

#[derive(Deserialize)]
struct Server {
    tools: Vec<RawJson>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

/// One tool of the corpus.
struct Tool {
    server: String,
    name: String,
    definition: RawJson,
}

impl Tool {
    fn entry(&self) -> ToolEntry<'_> {
        ToolEntry { name: &self.name, server: &self.server, definition: &self.definition }
    }
}

/// As a server writes it: captures are indented, and that is not what a model pays for.
fn compact(definition: &RawJson) -> Result<RawJson, Failure> {
    Ok(RawJson::of(&definition.read::<serde_json::Value>()?)?)
}

fn main() -> Result<(), Failure> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let queries = arguments.next().unwrap_or_else(|| root.join("conformance/search/queries.toml"));
    let folder = arguments.next().unwrap_or_else(|| root.join("../shared/corpus/servers"));
    let queries: Queries = toml::from_str(&std::fs::read_to_string(queries)?)?;
    let tools = corpus(&folder)?;
    let entries: Vec<ToolEntry<'_>> = tools.iter().map(Tool::entry).collect();
    let began = Instant::now();
    let index = ToolIndex::build(&entries);
    let built = began.elapsed();
    let mut text = String::new();
    writeln!(text, "{} tools, index built in {:.1} ms", index.len(), built.as_secs_f64() * 1e3)?;
    let mut times = Vec::new();
    let mut sets: BTreeMap<(&str, bool), (usize, usize)> = BTreeMap::new();
    for query in &queries.query {
        let asked = entries.iter().filter(|entry| query.among.iter().any(|server| server == entry.server));
        let few: Vec<ToolEntry<'_>> = asked.copied().collect();
        let index_of_few = ToolIndex::build(&few);
        let (index, entries) = if few.is_empty() { (&index, &entries) } else { (&index_of_few, &few) };
        let hits = index.search(&query.ask, 50).hits;
        let ToolHits { hits: first, fit_well } = index.search(&query.ask, 5);
        let fit = first.iter().fold(0.0_f32, |fit, hit| fit.max(hit.fit));
        let names: Vec<String> = hits
            .iter()
            .filter_map(|hit| entries.get(hit.position))
            .map(|tool| format!("{}/{}", tool.server, tool.name))
            .collect();
        let rank = names.iter().position(|name| query.want.contains(name)).map(|rank| rank + 1);
        let time = median(|| {
            let _ = std::hint::black_box(index.search(std::hint::black_box(&query.ask), 5));
        });
        times.push(time);
        let has_answer = !query.want.is_empty();
        let is_right = if has_answer { fit_well && rank.is_some_and(|rank| rank <= 5) } else { !fit_well };
        let (right, all) = sets.entry((&query.set, has_answer)).or_default();
        *right += usize::from(is_right);
        *all += 1;
        let rank = rank.map_or_else(|| "-".to_owned(), |rank| rank.to_string());
        writeln!(text, "{:14} {rank:>3} {fit:.2} {:>5} µs  {}", query.set, time.as_micros(), query.ask)?;
        if !is_right {
            for name in names.iter().take(5) {
                writeln!(text, "                              {name}")?;
            }
        }
    }
    for ((set, has_answer), (right, all)) in &sets {
        let what = if *has_answer { "found within the first five" } else { "answered with nothing" };
        writeln!(text, "{set}: {right} of {all} {what}")?;
    }
    times.sort();
    if let (Some(middle), Some(slowest)) = (times.get(times.len() / 2), times.last()) {
        writeln!(
            text,
            "a query takes {} µs (median), {} µs (slowest)",
            middle.as_micros(),
            slowest.as_micros()
        )?;
    }
    write_tokens(&mut text, &tools, &index, &queries.query)?;
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// What a model pays for all definitions, and for the three tools with one search.
fn write_tokens(
    text: &mut String,
    tools: &[Tool],
    index: &ToolIndex,
    queries: &[Query],
) -> Result<(), Failure> {
    let servers: BTreeSet<&str> = tools.iter().map(|tool| tool.server.as_str()).collect();
    let servers: Vec<&str> = servers.into_iter().collect();
    let three = MetaTools::beside(|name| tools.iter().any(|tool| tool.name == name));
    let three = three.definitions(tools.len(), &servers, gateway_search::Beside::Nothing);
    let three = three.iter().map(RawJson::of).collect::<Result<Vec<_>, _>>()?;
    let cost = TokenCost::of(tools.iter().map(|tool| &tool.definition), three.iter());
    let mut answers: Vec<usize> = queries
        .iter()
        .map(|query| {
            let ToolHits { hits, fit_well } = index.search(&query.ask, 5);
            let found = hits.iter().filter_map(|hit| tools.get(hit.position));
            let found: Vec<ToolEntry<'_>> = found.map(Tool::entry).collect();
            let result = search_result(&query.ask, &found, fit_well);
            // Models read the text; the structure is for programs.
            estimate_tokens(result.pointer("/content/0/text").map_or(0, |text| text.to_string().len()))
        })
        .collect();
    answers.sort_unstable();
    let answer = answers.get(answers.len() / 2).copied().unwrap_or_default();
    let paid = cost.listed + answer;
    writeln!(
        text,
        "tokens: all definitions {}, the three {}, a search answer {answer} (median)",
        cost.all, cost.listed
    )?;
    writeln!(text, "saved: {} of {} tokens", cost.all.saturating_sub(paid), cost.all)?;
    Ok(())
}

fn corpus(folder: &Path) -> Result<Vec<Tool>, Failure> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    files.sort();
    let mut tools = Vec::new();
    for file in files {
        let id = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let server: Server = serde_json::from_slice(&std::fs::read(&file)?)?;
        for definition in server.tools {
            let named: Named = definition.read()?;
            tools.push(Tool { server: id.clone(), name: named.name, definition: compact(&definition)? });
        }
    }
    Ok(tools)
}

fn median(work: impl Fn()) -> Duration {
    let mut times: Vec<Duration> = (0..101)
        .map(|_| {
            let began = Instant::now();
            work();
            began.elapsed()
        })
        .collect();
    times.sort();
    times.get(50).copied().unwrap_or_default()
}
