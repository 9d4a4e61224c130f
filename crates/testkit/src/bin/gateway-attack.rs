//! Attacks on a gateway: lists them, runs them, measures all floods at once.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::{Parser, Subcommand};
use gateway_testkit::hostile::{
    ATTACKS, Attack, Cost, Flood, HostileServer, Programs, Stray, end_all, is_interrupted, measure_flood,
    run_busy, run_flood, run_stray,
};
use tokio::runtime::Builder;

/// Attacks a gateway: one row for each attack, exit status 1 if one of them succeeds.
#[derive(Debug, Parser)]
#[command(name = "gateway-attack", version)]
struct Arguments {
    #[command(subcommand)]
    role: Option<Role>,
    /// The gateway's binary
    #[arg(long)]
    gateway: Option<PathBuf>,
    /// List the attacks instead of running them
    #[arg(long)]
    list: bool,
    /// Only attacks that take a few seconds
    #[arg(long, conflicts_with = "expensive")]
    cheap: bool,
    /// Only attacks that take much memory, many connections or much time
    #[arg(long)]
    expensive: bool,
    /// Measure other calls under all floods at once, for this many seconds, instead of single attacks
    #[arg(long, value_name = "SECONDS")]
    flood: Option<u64>,
    /// Calls of the measurement without floods
    #[arg(long, default_value_t = 2_000)]
    calls: usize,
    /// The attacks [default: all]
    names: Vec<String>,
}

/// What the processes that attacks start do.
#[derive(Debug, Subcommand)]
enum Role {
    /// A hostile server over stdio, whose files are in a folder
    #[command(hide = true)]
    Server { folder: PathBuf, name: String },
    /// A process that leaves its session
    #[command(hide = true)]
    Stray { what: Stray },
    /// The flooding callers
    #[command(hide = true)]
    Flood { port: u16, sockets: usize, seconds: u64 },
    /// A program that only uses the CPU
    #[command(hide = true)]
    Busy { seconds: u64 },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match &arguments.role {
        Some(Role::Server { folder, name }) => {
            // A gateway that has exited is not a failure of the server.
            let _ = HostileServer::new(folder, name).run();
            Ok(true)
        }
        Some(Role::Stray { what }) => run_stray(*what).map(|()| true).map_err(Into::into),
        Some(Role::Flood { port, sockets, seconds }) => {
            run_flood(*port, *sockets, *seconds);
            Ok(true)
        }
        Some(Role::Busy { seconds }) => {
            run_busy(*seconds);
            Ok(true)
        }
        None => watch_interrupts().and_then(|()| attack(&arguments)),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            let _ = writeln!(io::stderr(), "gateway-attack: {problem:#}");
            ExitCode::from(2)
        }
    }
}

/// On Ctrl-C the gateways are killed; attacks in progress then fail, clean up, and nothing more is started.
fn watch_interrupts() -> Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    std::thread::spawn(move || {
        runtime.block_on(async {
            while tokio::signal::ctrl_c().await.is_ok() {
                end_all();
            }
        });
    });
    Ok(())
}

fn attack(arguments: &Arguments) -> Result<bool> {
    let chosen = choose(arguments)?;
    if arguments.list {
        for attack in chosen {
            print(&format!("{:<26} {}", attack.name, attack.expected));
        }
        return Ok(true);
    }
    let gateway = arguments.gateway.as_ref().context("--gateway PATH names the binary to attack")?;
    let gateway = gateway.canonicalize().with_context(|| gateway.display().to_string())?;
    let attack = std::env::current_exe().context("finding this program")?;
    let programs = Programs { gateway, attack };
    if let Some(seconds) = arguments.flood {
        let flood = Flood { calls: arguments.calls, duration: Duration::from_secs(seconds) };
        let measured = measure_flood(&programs, flood)?;
        print(measured.to_string().trim_end());
        return Ok(measured.held());
    }
    let mut broken = 0;
    print(&format!("{:<26} | {:<48} | {:<6} | seen", "attack", "expected", ""));
    for attack in &chosen {
        let verdict = attack.run(&programs);
        if is_interrupted() {
            bail!("interrupted");
        }
        broken += usize::from(!verdict.held);
        let mark = if verdict.held { "held" } else { "BROKEN" };
        print(&format!(
            "{:<26} | {:<48} | {mark:<6} | {}",
            attack.name,
            attack.expected,
            verdict.seen.escape_debug()
        ));
    }
    print(&format!("{} held, {broken} broken", chosen.len() - broken));
    Ok(broken == 0)
}

fn choose(arguments: &Arguments) -> Result<Vec<&'static Attack>> {
    if arguments.names.is_empty() {
        let wanted = |attack: &&Attack| match attack.cost {
            Cost::Cheap => !arguments.expensive,
            Cost::Expensive => !arguments.cheap,
        };
        return Ok(ATTACKS.iter().filter(wanted).collect());
    }
    let find =
        |name: &String| Attack::find(name).with_context(|| format!("no attack `{name}`: --list shows them"));
    arguments.names.iter().map(find).collect()
}

fn print(line: &str) {
    // If stdout is closed, the exit status still reports it.
    let _ = writeln!(io::stdout(), "{line}");
}
