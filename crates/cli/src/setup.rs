//! The configuration: flags override the environment, which overrides the file.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use clap::Args;
use gateway_config::{
    ConfigSource, DotenvScope, Environment, Lookup, OnInvalidServer, Problem, Problems, Secret,
};
use gateway_dialects::Dialects;
use gateway_mcp::client_capabilities;
use gateway_protocol::printable;
#[cfg(feature = "agent")]
use gateway_service::install_logs_without_audit;
use gateway_service::{LogFormat, LogLevel, ServiceConfig, install_logs};
use gateway_store::{Address, CallLog, PersonalData, StoreError};
use gateway_upstream::{ConnectMode, Endpoint, FleetOptions, RegistryConfig, ResultBudget, UpstreamSpec};

use crate::options::dialects_with;
use crate::{programs, terminal};

/// Flags that locate the configuration.
#[derive(Clone, Debug, Args)]
pub(crate) struct ConfigFlags {
    /// The configuration file [default: `MCP_CONFIG_PATH`, else `mcp-gateway-config.json`]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The file of another MCP client, whose servers are added
    #[arg(long, value_name = "FILE")]
    mcp_config: Option<PathBuf>,
    /// Read `.env` of the parent and grandparent directories too [default: `MCP_GATEWAY_ENV_PARENTS`]
    #[arg(long)]
    env_parents: bool,
}

/// The variable equivalent to `--env-parents`.
const ENV_PARENTS: &str = "MCP_GATEWAY_ENV_PARENTS";

/// Flags that override environment and file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    pub(crate) host: Option<IpAddr>,
    pub(crate) port: Option<u16>,
    pub(crate) data: Option<PathBuf>,
    pub(crate) log_level: Option<LogLevel>,
    pub(crate) on_invalid_server: Option<OnInvalidServer>,
}

/// The validated configuration.
#[derive(Debug, Default)]
pub(crate) struct Setup {
    /// The servers.
    pub(crate) specs: Vec<UpstreamSpec>,
    /// Options of the fleet, without a memory file: only a gateway has one.
    pub(crate) fleet: FleetOptions,
    /// The tools of the configuration itself; those of `fleet` are the same.
    pub(crate) registry: RegistryConfig,
    /// The service.
    pub(crate) service: ServiceConfig,
    /// Warnings.
    pub(crate) warnings: Vec<Problem>,
    /// The configuration's own file, if there is one.
    main_file: Option<PathBuf>,
    /// The files that were read, or would be if they existed.
    pub(crate) files: Vec<PathBuf>,
    /// Whether nothing is configured, so that only the built-in demo server runs.
    pub(crate) demo_only: bool,
    /// The members of the file that take effect only after a restart.
    fixed: BTreeMap<String, Secret>,
}

/// The file in the data directory that remembers eras and fingerprints of servers.
const MEMORY: &str = "servers.json";

impl ConfigFlags {
    /// The same, but with this file.
    pub(crate) fn with_file(&self, file: &Path) -> Self {
        Self { config: Some(file.to_owned()), ..self.clone() }
    }

    /// The configuration, for a command that only uses the servers: most warnings are not shown.
    pub(crate) fn load(&self) -> Result<Setup> {
        self.load_with(&Overrides::default())
    }

    /// The same, with overriding flags.
    pub(crate) fn load_with(&self, overrides: &Overrides) -> Result<Setup> {
        let setup = self.read_with(overrides)?;
        let unread = setup.warnings.iter().filter(|warning| Path::new(&warning.file).ends_with(".env"));
        report_warnings(unread);
        setup.report_refused();
        setup.report_invalid();
        Ok(setup)
    }

    /// The configuration, or all of its errors.
    pub(crate) fn read(&self) -> Result<Setup, Problems> {
        self.read_with(&Overrides::default())
    }

    /// The same, with overriding flags.
    pub(crate) fn read_with(&self, overrides: &Overrides) -> Result<Setup, Problems> {
        let environment = self.environment();
        let lookup = Lookup { on_invalid_server: overrides.on_invalid_server, ..self.lookup() };
        let config = gateway_config::load(&lookup, &environment)?;
        let missing = programs::missing(&config.servers, |spec| config.location(&spec.id));
        let (mut service, mut warnings) = (config.service, config.warnings);
        overrides.apply(&mut service);
        let demo_only = config.source == ConfigSource::Nothing;
        if demo_only {
            // The demo itself reports that nothing is configured.
            warnings.retain(|warning| !warning.field.is_empty());
        }
        warnings.extend(environment.unread.iter().cloned());
        warnings.extend(missing);
        let mut fleet = FleetOptions::default();
        let mut fixed = config.settings;
        // A reload applies them.
        fixed.remove("approval");
        fixed.remove("dialects");
        fleet.catalogue = config.catalogue;
        fleet.results = ResultBudget::new(service.result_bytes);
        fleet.registry.configure(&config.registry);
        let main = if let ConfigSource::File(path) = config.source { Some(path) } else { None };
        // If no file is named, the default one counts as soon as it exists.
        let is_named = self.config.is_some() || environment.non_empty("MCP_CONFIG_PATH").is_some();
        let usual = (!is_named).then(|| PathBuf::from(gateway_config::CONFIG_FILE));
        let mut files: Vec<PathBuf> =
            main.clone().into_iter().chain(usual).chain(self.mcp_config.clone()).collect();
        files.sort_unstable();
        files.dedup();
        Ok(Setup {
            specs: if demo_only { vec![demo()] } else { config.servers },
            fleet,
            registry: config.registry,
            service,
            warnings,
            main_file: main,
            files,
            demo_only,
            fixed,
        })
    }

    /// The settings of the service, for a command that must work with an invalid configuration: valid parts are used, the
    /// rest is the default. Second, the errors.
    pub(crate) fn service(&self) -> (ServiceConfig, Option<Problems>) {
        match self.read() {
            Ok(setup) => (setup.service, None),
            Err(problems) => {
                let service = gateway_config::load_settings(&self.lookup(), &self.environment());
                (service, Some(problems))
            }
        }
    }

    /// The variables of the process and of `.env` files. Those above the working directory are read only on
    /// request: others may be able to write there, and a variable can name a program to run.
    fn environment(&self) -> Environment<'static> {
        let asked =
            std::env::var(ENV_PARENTS).is_ok_and(|value| matches!(&*value, "1" | "true" | "yes" | "on"));
        let scope = if self.env_parents || asked { DotenvScope::Parents } else { DotenvScope::Directory };
        Environment::of_process().with_dotenv(&std::env::current_dir().unwrap_or_default(), scope)
    }

    /// A variable of the process or of `.env` files.
    #[cfg(feature = "agent")]
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.environment().variable(name)
    }

    /// Where the gateway of this configuration listens.
    pub(crate) fn gateway_url(&self) -> String {
        // A gateway may be running although the file is invalid by now.
        let mut address = self.service().0.listen;
        if address.ip().is_unspecified() {
            address.set_ip(if address.is_ipv4() {
                Ipv4Addr::LOCALHOST.into()
            } else {
                Ipv6Addr::LOCALHOST.into()
            });
        }
        format!("http://{address}")
    }

    fn lookup(&self) -> Lookup {
        // Without a directory, files keep the paths as given.
        Lookup {
            config: self.config.clone(),
            mcp_config: self.mcp_config.clone(),
            directory: PathBuf::new(),
            on_invalid_server: None,
        }
    }
}

pub(crate) fn report_warnings<'a>(warnings: impl IntoIterator<Item = &'a Problem>) {
    let mut stderr = terminal::errors();
    for warning in warnings {
        // A closed standard error is fine.
        let _ = writeln!(stderr, "warning: {}", printable(&warning.to_string()));
    }
}

/// A log that was opened, after saying what was wrong with it.
fn with_notices(log: CallLog) -> CallLog {
    for notice in log.opened().notices() {
        tracing::warn!(%notice, "Call log was not as it should be.");
    }
    log
}

/// The call log in a PostgreSQL database.
fn open_postgres_log(store: &Secret, options: &gateway_store::Options) -> Result<CallLog> {
    let address = Address::postgres(store.expose()).context("reading the address in `log.store`")?;
    CallLog::open_postgres(&address, options).map_err(|error| {
        let error = anyhow::Error::from(error);
        anyhow!(
            "opening the call log: {error:#}; start the database, or remove `log.store` from the configuration to keep the log \
             in the data directory"
        )
    })
}

fn demo() -> UpstreamSpec {
    let mut spec = UpstreamSpec::new("demo", Endpoint::Demo);
    spec.connect = ConnectMode::Eager;
    spec
}

impl Overrides {
    fn apply(&self, service: &mut ServiceConfig) {
        if let Some(host) = self.host {
            service.listen.set_ip(host);
        }
        if let Some(port) = self.port {
            service.listen.set_port(port);
        }
        if let Some(data) = &self.data {
            service.data = Some(data.clone());
            service.log.directory = Some(data.clone());
        }
        service.log_level = self.log_level.or(service.log_level);
    }
}

impl Setup {
    /// Checks that a new configuration can replace this one. It cannot if the file of this one is gone: a deleted file must not
    /// remove keys, policies and servers. A server whose new entry is invalid goes on under its entry of this one, as all do
    /// if the whole file is invalid: a slip in an editor must not stop what works.
    pub(crate) fn successor(&self, mut new: Self) -> Result<Self, Problems> {
        if let (Some(file), None) = (&self.main_file, &new.main_file) {
            let message = "the file is gone; put it back, or start the gateway again to run without it";
            return Err(Problems { errors: vec![Problem::of_file(file, message)], warnings: Vec::new() });
        }
        for spec in new.specs.iter_mut().filter(|spec| spec.endpoint == Endpoint::Invalid) {
            let earlier = self.specs.iter().find(|old| old.id == spec.id && !old.is_off());
            if let Some(earlier) = earlier {
                let problems = std::mem::take(&mut spec.problems);
                *spec = earlier.clone();
                spec.problems = problems;
            }
        }
        Ok(new)
    }

    /// One server that is given on the command line.
    pub(crate) fn of(spec: UpstreamSpec) -> Self {
        Self { specs: vec![spec], ..Self::default() }
    }

    /// Reports the warnings: as plain lines, or as events of the log, which must be installed by then.
    pub(crate) fn report_warnings(&self, format: LogFormat) {
        match format {
            LogFormat::Text => {
                report_warnings(&self.warnings);
                self.report_refused();
            }
            LogFormat::Json => {
                for problem in &self.warnings {
                    tracing::warn!(%problem, "Configuration warning.");
                }
                for refused in &self.registry.refused {
                    tracing::error!(problem = %refused.problem, "Tool of the configuration left out.");
                }
            }
        }
    }

    /// Reports which tools are left out, and why.
    fn report_refused(&self) {
        let mut stderr = terminal::errors();
        for refused in &self.registry.refused {
            let problem = refused.problem.to_string();
            let _ = writeln!(stderr, "error: {}; this tool is left out", printable(&problem));
        }
    }

    /// Reports which servers are left out, and why. A gateway logs it.
    fn report_invalid(&self) {
        let mut stderr = terminal::errors();
        for problem in self.specs.iter().flat_map(|spec| &spec.problems) {
            let problem = problem.to_string();
            let _ = writeln!(stderr, "error: {}; this server is left out", printable(&problem));
        }
    }

    /// Writes events of the gateway from now on.
    pub(crate) fn install_logs(&self, format: LogFormat) -> Result<()> {
        let usual = match format {
            LogFormat::Json => LogLevel::Info,
            // The state of the servers is on standard output.
            LogFormat::Text => LogLevel::Warn,
        };
        install_logs(format, self.service.log_level.unwrap_or(usual)).context("setting up logs")
    }

    /// The same for a command that itself tells the person at the terminal of personal data.
    #[cfg(feature = "agent")]
    pub(crate) fn install_logs_without_audit(&self) -> Result<()> {
        let level = self.service.log_level.unwrap_or(LogLevel::Warn);
        install_logs_without_audit(LogFormat::Text, level).context("setting up logs")
    }

    /// The options of a fleet with a memory file, whose callers can answer questions.
    pub(crate) fn remembering_fleet(&self) -> FleetOptions {
        let mut options = self.fleet.clone();
        options.capabilities = client_capabilities();
        options.memory = self.service.data.as_ref().map(|data| data.join(MEMORY));
        options
    }

    /// The call log, in its directory or in memory.
    pub(crate) fn open_log(&self) -> Result<CallLog> {
        let options = self.log_options();
        let config = &self.service.log;
        if let Some(store) = &config.store {
            return open_postgres_log(store, &options);
        }
        match &config.directory {
            Some(directory) => CallLog::open(directory, &options).map(with_notices).map_err(|error| {
                let error = anyhow::Error::from(error);
                anyhow!(
                    "opening the call log: {error:#}; `--data DIR` names another directory, and `\"log\": false` in the \
                     configuration keeps the log in memory"
                )
            }),
            None => CallLog::in_memory(&options).context("opening the call log"),
        }
    }

    /// The same for a command that others may run at the same time: only the first one gets the file, the others log in memory. A
    /// database takes all of them, so if it cannot be reached that is an error.
    pub(crate) fn open_shared_log(&mut self) -> Result<CallLog> {
        let config = &self.service.log;
        let Some(directory) = config.directory.as_ref().filter(|_| config.store.is_none()) else {
            return self.open_log();
        };
        let error = match CallLog::open(directory, &self.log_options()) {
            Ok(log) => return Ok(with_notices(log)),
            Err(error) => error,
        };
        let reason = match error {
            StoreError::InUse { .. } => "another gateway has the call log open".to_owned(),
            other => format!("{:#}", anyhow::Error::from(other)),
        };
        // A closed standard error is fine.
        let _ = writeln!(
            terminal::errors(),
            "warning: {reason}, so calls are logged in memory only; `--data DIR` names another directory"
        );
        self.service.log.directory = None;
        self.open_log()
    }

    fn log_options(&self) -> gateway_store::Options {
        let config = &self.service.log;
        let mut options = gateway_store::Options::default();
        options.max_input_bytes = config.value_bytes;
        options.max_result_bytes = config.value_bytes;
        options.redaction.keys.clone_from(&config.redact_keys);
        options.redaction.paths.clone_from(&config.redact_paths);
        if let Some(mode) = self.service.privacy.log {
            options.redaction.personal_data = Some(PersonalData::new(&self.service.privacy.kinds, mode));
        }
        options.retention.max_age = Some(config.keep);
        options.retention.max_bytes = Some(config.keep_bytes);
        options
    }

    /// The built-in dialects and the configured ones.
    pub(crate) fn dialects(&self) -> Result<Dialects> {
        dialects_with(&self.service.dialect_files)
    }

    /// The members that differ in `new` and take effect only after a restart.
    pub(crate) fn fixed_differences(&self, new: &Self) -> Vec<String> {
        let names = self.fixed.keys().chain(new.fixed.keys().filter(|name| !self.fixed.contains_key(*name)));
        names.filter(|name| self.fixed.get(*name) != new.fixed.get(*name)).cloned().collect()
    }
}
