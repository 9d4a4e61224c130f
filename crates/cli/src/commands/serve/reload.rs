//! Reloading the configuration while the gateway runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gateway_config::{Problem, Problems, read_regular_file};
use gateway_dialects::Dialects;
use gateway_service::Gateway;
use gateway_upstream::{FileWatch, UpstreamId, UpstreamSpec, watch_files};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::announce::Announcer;
use crate::setup::Setup;

/// A file changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Changed {
    /// The configuration.
    Configuration,
    /// A file that a server depends on.
    WatchPath(UpstreamId),
}

/// Reports changed files.
#[derive(Debug)]
pub(super) struct Watches {
    watched: Vec<Watched>,
    sender: mpsc::Sender<Changed>,
    changes: mpsc::Receiver<Changed>,
}

/// Files that mean the same change, and the task that waits for it.
#[derive(Debug)]
struct Watched {
    paths: Vec<PathBuf>,
    meaning: Changed,
    _task: AbortOnDropHandle<()>,
}

impl Watches {
    /// Watches the files of a configuration and the paths of its servers.
    pub(super) fn new(setup: &Setup) -> Self {
        let (sender, changes) = mpsc::channel(16);
        let mut watches = Self { watched: Vec::new(), sender, changes };
        watches.replace(&wanted(setup));
        watches
    }

    /// Watches the files of a configuration that was just read.
    pub(super) fn follow(&mut self, setup: &Setup) {
        if self.replace(&wanted(setup)) {
            // A file that was not watched while it was read may have changed since.
            let _ = self.sender.try_send(Changed::Configuration);
        }
    }

    /// Watches these paths; true if files of the configuration are new among them.
    ///
    /// Watches of the same paths stay, so that no change is missed between two of them.
    fn replace(&mut self, wanted: &[(Vec<PathBuf>, Changed)]) -> bool {
        self.watched.retain(|old| {
            wanted.iter().any(|(paths, meaning)| (paths, meaning) == (&old.paths, &old.meaning))
        });
        let mut is_new = false;
        for (paths, meaning) in wanted {
            if paths.is_empty() || self.watched.iter().any(|old| old.meaning == *meaning) {
                continue;
            }
            match watch_files(paths) {
                Ok(watch) => {
                    let task = tokio::spawn(report(watch, meaning.clone(), self.sender.clone()));
                    self.watched.push(Watched {
                        paths: paths.clone(),
                        meaning: meaning.clone(),
                        _task: AbortOnDropHandle::new(task),
                    });
                    is_new |= *meaning == Changed::Configuration;
                }
                Err(error) => {
                    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
                    let files = names.join(", ");
                    tracing::warn!(%files, %error, "Files cannot be watched; SIGHUP reloads the configuration.");
                }
            }
        }
        is_new
    }

    /// Waits for the next change; forever if nothing is watched.
    pub(super) async fn changed(&mut self) -> Changed {
        match self.changes.recv().await {
            Some(changed) => changed,
            None => std::future::pending().await,
        }
    }
}

/// The paths to watch, by what their change means.
fn wanted(setup: &Setup) -> Vec<(Vec<PathBuf>, Changed)> {
    let servers = setup.specs.iter().filter(|spec| !spec.is_off());
    let paths = servers.map(|spec| (spec.watch_paths.clone(), Changed::WatchPath(spec.id.clone())));
    let files = setup.files.iter().chain(&setup.service.dialect_files).cloned().collect();
    std::iter::once((files, Changed::Configuration)).chain(paths).collect()
}

async fn report(mut watch: FileWatch, meaning: Changed, sender: mpsc::Sender<Changed>) {
    while watch.changed().await.is_some() {
        if sender.send(meaning.clone()).await.is_err() {
            return;
        }
    }
}

/// How a new configuration changes the servers.
#[derive(Debug, Default, PartialEq, Eq)]
struct Difference {
    added: Vec<UpstreamId>,
    changed: Vec<UpstreamId>,
    removed: Vec<UpstreamId>,
}

/// The dialect files of a configuration, as they were read last; `None` if a file cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DialectFiles(Vec<(PathBuf, Option<String>)>);

impl DialectFiles {
    pub(super) fn read(setup: &Setup) -> Self {
        let files = setup.service.dialect_files.iter();
        Self(files.map(|path| (path.clone(), read_regular_file(path).ok())).collect())
    }

    /// The dialects of a new configuration, where they are others than before.
    pub(super) fn reread(&mut self, new: &Setup) -> Result<Option<Dialects>, Problems> {
        let files = Self::read(new);
        if files == *self {
            return Ok(None);
        }
        let dialects = new.dialects().map_err(|error| {
            let problem = Problem::of_file(Path::new("dialects"), one_line(&format!("{error:#}")));
            Problems { errors: vec![problem], warnings: Vec::new() }
        })?;
        *self = files;
        Ok(Some(dialects))
    }
}

/// An error without the lines that quote the file.
fn one_line(error: &str) -> String {
    let quotes = |line: &&str| {
        line.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == ' ').starts_with('|')
    };
    error.lines().filter(|line| !quotes(line)).collect::<Vec<_>>().join(": ")
}

/// Applies a new configuration: only servers whose entry changed are restarted.
pub(super) fn take_over(
    old: &mut Setup,
    (new, dialects): (Setup, Option<Dialects>),
    gateway: &Gateway,
    announcer: &Announcer,
) {
    let fleet = gateway.fleet();
    new.report_warnings(announcer.format());
    let difference = Difference::between(&old.specs, &new.specs);
    for name in old.fixed_differences(&new) {
        let plain = format!("`{name}` changed; that takes effect when the gateway is started again");
        announcer.announce(&plain, &json!({"event": "restart-needed", "field": name}));
    }
    let names = |ids: &[UpstreamId]| ids.iter().map(|id| id.as_str().to_owned()).collect::<Vec<_>>();
    let value = json!({
        "event": "reloaded", "added": names(&difference.added), "changed": names(&difference.changed),
        "removed": names(&difference.removed),
    });
    // First the policy, so that it applies to everything new.
    gateway.set_approval(new.service.approval.clone());
    gateway.set_config_source(new.service.source);
    // Then the tools, so that they exist before their server does.
    fleet.registry().configure(&new.registry);
    let other_dialects = if dialects.is_some() { "; the dialects changed" } else { "" };
    if let Some(dialects) = dialects {
        gateway.set_dialects(dialects);
    }
    fleet.reload(new.specs.clone(), new.fleet.catalogue.clone());
    // Reported last: a reader may ask for the new tools at once.
    let tools = if old.registry == new.registry { "" } else { "; the registered tools changed" };
    let policy =
        if old.service.approval == new.service.approval { "" } else { "; the approval policy changed" };
    let text = difference.text();
    announcer.announce(&format!("configuration reloaded: {text}{tools}{policy}{other_dialects}"), &value);
    announcer.refused(&new.registry.refused);
    for spec in &new.specs {
        if !spec.is_off() {
            announcer.kept(spec);
        }
        if difference.is_new(&spec.id) {
            announcer.resting(spec);
        }
    }
    *old = new;
}

/// Reports why a new configuration is rejected.
pub(super) fn keep(problems: &Problems, gateway: &Gateway, announcer: &Announcer) {
    let errors: Vec<String> = problems.errors.iter().map(ToString::to_string).collect();
    // First, so that whoever reads the line finds them.
    gateway.set_config_problems(errors.clone());
    announcer.fail(
        &format!("configuration not reloaded, the old one stays: {}", errors.join("; ")),
        &json!({"event": "reload-failed", "errors": errors}),
    );
}

impl Difference {
    fn between(old: &[UpstreamSpec], new: &[UpstreamSpec]) -> Self {
        let before: BTreeMap<&UpstreamId, &UpstreamSpec> = old.iter().map(|spec| (&spec.id, spec)).collect();
        let mut difference = Self::default();
        for spec in new {
            match before.get(&spec.id) {
                None => difference.added.push(spec.id.clone()),
                // What is wrong with an invalid entry may be another thing by now.
                Some(same)
                    if same.is_same_server(spec) && (!spec.is_off() || same.problems == spec.problems) => {}
                Some(_) => difference.changed.push(spec.id.clone()),
            }
        }
        let is_gone = |id: &UpstreamId| new.iter().all(|spec| spec.id != *id);
        difference.removed = old.iter().map(|spec| spec.id.clone()).filter(is_gone).collect();
        difference
    }

    fn is_new(&self, id: &UpstreamId) -> bool {
        self.added.contains(id) || self.changed.contains(id)
    }

    fn text(&self) -> String {
        let parts = [("added", &self.added), ("changed", &self.changed), ("removed", &self.removed)];
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|(_, ids)| !ids.is_empty())
            .map(|(word, ids)| {
                format!("{word} {}", ids.iter().map(UpstreamId::as_str).collect::<Vec<_>>().join(", "))
            })
            .collect();
        if parts.is_empty() { "no server changed".to_owned() } else { parts.join("; ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gateway_upstream::Endpoint;

    #[tokio::test]
    async fn a_change_during_a_reload_is_the_next_change() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.json");
        std::fs::write(&file, "{}").unwrap();
        let wanted = [(vec![file.clone()], Changed::Configuration)];
        let (sender, changes) = mpsc::channel(16);
        let mut watches = Watches { watched: Vec::new(), sender, changes };
        assert!(watches.replace(&wanted));
        // Written after the configuration was read and before it is followed.
        std::fs::write(&file, "{ }").unwrap();
        assert!(!watches.replace(&wanted));
        let next = tokio::time::timeout(std::time::Duration::from_secs(30), watches.changed());
        assert_eq!(next.await, Ok(Changed::Configuration));
    }

    #[test]
    fn only_what_changed_is_reported() {
        let spec = |name: &str, required: bool| {
            let mut spec = UpstreamSpec::new(name, Endpoint::Demo);
            spec.required = required;
            spec
        };
        let old = [spec("same", false), spec("other", false), spec("gone", false)];
        let new = [spec("other", true), spec("same", false), spec("fresh", false)];
        let difference = Difference::between(&old, &new);
        assert_eq!(difference.text(), "added fresh; changed other; removed gone");
        assert_eq!(Difference::between(&old, &old).text(), "no server changed");
    }
}
