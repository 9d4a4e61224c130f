//! Measures the translation engine on a corpus of real tools, against what `serde_json` needs for the same tools.

mod breakdown;
mod corpus;
mod growth;
mod load;
mod measure;
mod memory;
mod passes;
mod table;

use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Args, Parser, Subcommand, ValueEnum};
use gateway_dialects::dialect::ToolShape;
use gateway_dialects::{Dialects, Options, Translator};

use corpus::Corpus;

/// The allocator of the gateway's binary, so that the figures apply to it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures the translation engine.
#[derive(Debug, Parser)]
#[command(name = "gateway-bench", version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Time every dialect, and watch memory while streaming.
    Time(Time),
    /// Run one corpus pass and nothing more, for tools that count instructions.
    Once(Once),
    /// Count the tokens of the tools in every dialect, and of the tools as they came.
    Growth(Growth),
    /// Drive the whole gateway and the same server directly.
    Load(load::Load),
}

#[derive(Debug, Args)]
struct Source {
    /// Folder with one JSON file per server, each with a `tools` array
    #[arg(long, default_value = "../shared/corpus/servers")]
    corpus: PathBuf,
}

#[derive(Debug, Args)]
struct Time {
    #[command(flatten)]
    source: Source,
    /// Dialects to measure, separated by commas [default: all]
    #[arg(long, value_delimiter = ',')]
    dialects: Vec<String>,
    /// How often each measurement is taken; the medians are printed
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Growth {
    #[command(flatten)]
    source: Source,
    /// Dialects to measure, separated by commas [default: all]
    #[arg(long, value_delimiter = ',')]
    dialects: Vec<String>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Print where the tokens of strict dialects go, instead of how much each dialect takes
    #[arg(long)]
    parts: bool,
}

#[derive(Debug, Args)]
struct Once {
    #[command(flatten)]
    source: Source,
    /// What to run
    #[arg(long, value_enum, default_value = "whole")]
    pass: Pass,
    /// The dialect; not used by `serde`
    #[arg(long, default_value = "gemini")]
    dialect: String,
}

/// One pass over the corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Pass {
    /// Parse and write the tools, without translating.
    Serde,
    /// Parse, translate, write.
    Whole,
    /// Translate parsed tools, including plan and report.
    Engine,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Time(command) => command.run(),
        Command::Once(command) => command.run(),
        Command::Growth(command) => command.run(),
        Command::Load(command) => command.run().and_then(|table| Ok(write!(std::io::stdout(), "{table}")?)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::from(2)
        }
    }
}

impl Time {
    fn run(&self) -> Result<()> {
        let corpus = Corpus::read(&self.source.corpus)?;
        let translators = translators(&self.dialects)?;
        let rows = measure::measure(&corpus, &translators, self.rounds.max(1));
        let memory = translators
            .iter()
            .find(|translator| translator.dialect().name == "gemini")
            .or(translators.first())
            .map(|translator| memory::watch(&corpus, translator))
            .transpose()?;
        let mut stdout = BufWriter::new(std::io::stdout().lock());
        let report = table::Report::new(&corpus, self.rounds.max(1), rows, memory);
        if self.json {
            serde_json::to_writer_pretty(&mut stdout, &report)?;
            writeln!(stdout)?;
        } else {
            report.write_text(&mut stdout)?;
        }
        stdout.flush().context("writing the figures")
    }
}

impl Growth {
    fn run(&self) -> Result<()> {
        let corpus = Corpus::read(&self.source.corpus)?;
        let translators = translators(&self.dialects)?;
        let mut stdout = BufWriter::new(std::io::stdout().lock());
        if self.parts {
            let rows = translators.iter().filter_map(|translator| breakdown::measure(&corpus, translator));
            let rows: Vec<_> = rows.collect();
            if self.json {
                writeln!(stdout, "{}", serde_json::to_string_pretty(&rows)?)?;
            } else {
                breakdown::write_tables(&rows, &mut stdout)?;
            }
            return stdout.flush().context("writing the figures");
        }
        // MCP's own form is the original with its output schemas, which go to no provider.
        let others =
            translators.iter().filter(|translator| translator.dialect().tool.shape != ToolShape::Mcp);
        let rows: Vec<_> = others.map(|translator| growth::measure(&corpus, translator)).collect();
        if self.json {
            serde_json::to_writer_pretty(&mut stdout, &rows)?;
            writeln!(stdout)?;
        } else {
            growth::write_table(&rows, &mut stdout)?;
        }
        stdout.flush().context("writing the figures")
    }
}

impl Once {
    fn run(&self) -> Result<()> {
        let corpus = Corpus::read(&self.source.corpus)?;
        let translator = translator(&Dialects::builtin(), &self.dialect)?;
        let bytes = match self.pass {
            Pass::Serde => passes::counted_serde_pass(&corpus),
            Pass::Whole => passes::counted_whole_pass(&corpus, &translator),
            Pass::Engine => passes::counted_engine_pass(&corpus.parsed(), &translator),
        };
        writeln!(std::io::stdout(), "{} tools, {bytes} in the check sum", corpus.lines.len())?;
        Ok(())
    }
}

/// Translators into the dialects called `names`, or into all.
fn translators(names: &[String]) -> Result<Vec<Translator>> {
    let dialects = Dialects::builtin();
    let names: Vec<&str> = if names.is_empty() {
        dialects.names().collect()
    } else {
        names.iter().map(String::as_str).collect()
    };
    names.iter().map(|name| translator(&dialects, name)).collect()
}

fn translator(dialects: &Dialects, name: &str) -> Result<Translator> {
    Translator::new(dialects, name, Options::default()).with_context(|| format!("preparing `{name}`"))
}
