//! `logs`: the call log, of a running gateway or from its database.

mod database;
mod gateway;
mod rows;

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use gateway_config::Problems;
use gateway_dialects::Dialects;
use gateway_store::{CallStatus, Filter, parse_moment};
use jiff::Timestamp;

use crate::Outcome;
use crate::options::{Words, dialects_with, words};
use crate::remote::RemoteFlags;
use crate::runtime::block_on;
use crate::setup::{ConfigFlags, report_warnings};
use rows::Rows;

/// Show the calls that were made, from a running gateway or from its database.
#[derive(Debug, Args)]
pub(crate) struct Logs {
    #[command(flatten)]
    config: ConfigFlags,
    #[command(flatten)]
    remote: RemoteFlags,
    /// Read the database in this directory, whether a gateway runs or not
    #[arg(long, value_name = "DIR", conflicts_with_all = ["url", "key"])]
    data: Option<PathBuf>,
    /// Keep showing new calls
    #[arg(long, short)]
    follow: bool,
    #[command(flatten)]
    conditions: Conditions,
    /// Write one JSON object per line
    #[arg(long)]
    json: bool,
}

/// Which calls are shown. In names `*` matches any text.
#[derive(Debug, Args)]
struct Conditions {
    /// Only calls of this server
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// Only calls of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Only calls in this dialect
    #[arg(long, value_name = "DIALECT")]
    provider: Option<String>,
    /// Only calls by the owner of this key
    #[arg(long, value_name = "NAME")]
    caller: Option<String>,
    /// Only calls of this request
    #[arg(long, value_name = "ID")]
    correlation_id: Option<String>,
    /// Only calls with this outcome
    #[arg(long, value_parser = words(STATUSES))]
    status: Option<CallStatus>,
    /// Only calls from this moment on: 15m, 2h, 3d, 2026-11-03, 2026-11-03T10:00:00Z
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    since: Option<Timestamp>,
    /// Only calls before this moment
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    until: Option<Timestamp>,
    /// How many calls at most, the newest
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
}

const STATUSES: Words<CallStatus> = &[("ok", "", CallStatus::Ok), ("error", "", CallStatus::Error)];

impl Logs {
    pub(crate) fn run(&self) -> Result<Outcome> {
        let mut rows = Rows::new(self.json, self.follow);
        let (service, problems) = self.config.service();
        let filter = || self.conditions.filter(&service.dialect_files);
        if let Some(directory) = &self.data {
            let reader = database::open(directory)?;
            return block_on(database::show(reader, self.follow, filter(), &mut rows));
        }
        let remote = self.remote.remote(&self.config)?;
        if let Some(problems) = problems.filter(|_| !remote.explicit) {
            report_broken_config(&problems);
        }
        block_on(async {
            match gateway::show(&remote, self, &mut rows).await? {
                gateway::Shown::All => Ok(Outcome::Good),
                gateway::Shown::Nothing(reason) if remote.explicit => Err(reason),
                gateway::Shown::Nothing(reason) => {
                    if let Some(store) = &service.log.store {
                        let reader = database::open_store(store)?;
                        return database::show(reader, self.follow, filter(), &mut rows).await;
                    }
                    let Some(directory) = service.log.directory.clone() else {
                        return Err(reason.context("no data directory is configured, and no gateway runs"));
                    };
                    if !database::exists(&directory) {
                        return Err(
                            reason.context(format!("there is no call log in {}", directory.display()))
                        );
                    }
                    let reader = database::open(&directory)?;
                    database::show(reader, self.follow, filter(), &mut rows).await
                }
            }
        })
    }
}

/// The dialects whose names are known: those of the configuration too, and the built-in ones alone where a file cannot be read.
fn dialects(files: &[PathBuf]) -> Dialects {
    dialects_with(files).unwrap_or_else(|error| {
        // A closed standard error is fine.
        let _ = writeln!(
            crate::terminal::errors(),
            "warning: {error:#}; --provider knows only the names of the built-in dialects"
        );
        Dialects::builtin()
    })
}

/// Warns about an invalid configuration; the log can be shown anyway.
fn report_broken_config(problems: &Problems) {
    report_warnings(&problems.errors);
    // A closed standard error is fine.
    let _ = writeln!(
        crate::terminal::errors(),
        "warning: the configuration is invalid; its readable part, or else the default, says where the log is"
    );
}

fn moment(text: &str) -> Result<Timestamp, &'static str> {
    parse_moment(text, Timestamp::now())
}

impl Conditions {
    fn filter(&self, dialect_files: &[PathBuf]) -> Filter {
        let mut filter = Filter::default();
        filter.server.clone_from(&self.server);
        filter.tool.clone_from(&self.tool);
        filter.provider.clone_from(&self.provider);
        if let Some(name) = &self.provider {
            let dialects = dialects(dialect_files);
            filter.provider_aliases =
                dialects.names_of(name).filter(|other| other != name).map(str::to_owned).collect();
        }
        filter.caller.clone_from(&self.caller);
        filter.correlation_id.clone_from(&self.correlation_id);
        filter.status = self.status;
        filter.since = self.since;
        filter.until = self.until;
        filter.limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        filter
    }

    /// The same as the parameters of `GET /logs`.
    fn query(&self) -> Vec<(&'static str, String)> {
        let status = STATUSES.iter().find(|(_, _, status)| Some(*status) == self.status);
        let pairs = [
            ("server", self.server.clone()),
            ("tool", self.tool.clone()),
            ("provider", self.provider.clone()),
            ("caller", self.caller.clone()),
            ("correlation_id", self.correlation_id.clone()),
            ("status", status.map(|(word, ..)| (*word).to_owned())),
            ("since", self.since.map(|moment| moment.to_string())),
            ("until", self.until.map(|moment| moment.to_string())),
            ("limit", Some(self.limit.to_string())),
        ];
        pairs.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}
