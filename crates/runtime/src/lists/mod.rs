//! Lists of tools: from one snapshot of the catalogue to the bytes that a caller gets, with the plans and the report that
//! belong to them. A list is rendered once, and kept until the catalogue changes or room is needed.

mod conversions;
mod dialects;
mod finder;
mod log;
mod part;
mod render;
mod rendered;
mod request;
mod select;
mod selected;
mod shown;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use gateway_dialects::{Dialect, DialectError, Dialects, Options, Translator};
use gateway_notation::spelling::did_you_mean;
use gateway_upstream::{Catalogue, Fleet};
use tokio::sync::OnceCell;

use crate::failure::Failure;
use crate::least_recently_used::LeastRecentlyUsed;

pub use conversions::ConversionProblem;
pub use dialects::ReadyDialects;
pub use finder::{Finder, Named, may_be_meant, renamed};
pub use rendered::Rendered;
pub use request::{ListForm, ListMode, ListRequest, MostTools};
pub use select::{Candidate, Rank, Room, SearchCost, Selection, by_rank};
pub use selected::{Budget, SelectBy, SelectedTools, Share};

use crate::lock::locked;
use conversions::{ConversionRules, Conversions, LeftOutServers, unwritten};
use log::ListLog;
use shown::under_shown_names;

/// How many lists are kept, and how many bytes of them.
const LISTS: usize = 64;
const LIST_BYTES: usize = 64 << 20;

/// All lists that callers may ask for.
#[derive(Debug)]
pub struct Lists {
    fleet: Fleet,
    dialects: ArcSwap<ReadyDialects>,
    /// How long a list waits for servers whose tools are not known yet.
    wait: Duration,
    kept: Mutex<Kept>,
    conversions: Conversions,
    log: ListLog,
}

/// The lists of one version of the catalogue: those of an older one are never asked for again.
#[derive(Debug)]
struct Kept {
    version: u64,
    /// Callers choose the keys, but there are few: a fast hash does.
    lists: LeastRecentlyUsed<ListRequest, Slot, foldhash::fast::RandomState>,
}

/// A list that is rendered once, however many ask for it.
type Slot = Arc<OnceCell<Arc<Rendered>>>;

impl Lists {
    /// Lists of the tools of a fleet.
    pub fn new(fleet: Fleet, dialects: Dialects, wait: Duration) -> Self {
        let kept = Kept { version: 0, lists: LeastRecentlyUsed::new(LISTS, LIST_BYTES) };
        Self {
            fleet,
            dialects: ArcSwap::from_pointee(ReadyDialects::new(dialects)),
            wait,
            kept: Mutex::new(kept),
            conversions: Conversions::default(),
            log: ListLog::default(),
        }
    }

    /// The dialects that lists can be rendered in.
    pub fn dialects(&self) -> Arc<ReadyDialects> {
        self.dialects.load_full()
    }

    /// Takes other dialects. Lists that are kept are dropped, as each of them may look different now.
    pub fn set_dialects(&self, dialects: Dialects) {
        self.dialects.store(Arc::new(ReadyDialects::new(dialects)));
        // Afterwards: a list that is begun from here on is one of the new dialects.
        locked(&self.kept).lists.retain(|_, _| false);
        self.conversions.forget();
    }

    /// Waits for the servers of a request whose tools are not known yet, but not for long.
    pub async fn listed(&self, request: &ListRequest) {
        self.fleet.listed(request.scope.ids(), self.wait).await;
    }

    /// The same, except that nobody waits for servers whose tools are known from an earlier run.
    pub async fn listed_or_stale(&self, request: &ListRequest) {
        self.fleet.listed_or_stale(request.scope.ids(), self.wait).await;
    }

    /// The list of [`get`](Self::get) for a caller who hands it on: an error where a server refuses a list that lacks one of its tools.
    /// Who only looks for the tools of calls is not concerned.
    pub async fn offered(&self, request: &ListRequest) -> Result<Arc<Rendered>, Failure> {
        let list = self.get(request).await?;
        match &list.refused {
            Some(reason) => Err(Failure::Conversion(reason.clone())),
            None => Ok(list),
        }
    }

    /// The list that a request asks for, as far as it is known: the one that is kept, or a new one.
    pub async fn get(&self, request: &ListRequest) -> Result<Arc<Rendered>, Failure> {
        let catalogue = self.fleet.catalogue();
        let version = catalogue.version();
        let slot = self.slot(request, version);
        if let Some(list) = slot.get() {
            return Ok(Arc::clone(list));
        }
        let render = async || {
            let own = request.clone();
            let work: Box<dyn FnOnce() -> _ + Send> = match request.form {
                ListForm::Mcp => Box::new(move || render::render_raw(&own, catalogue).map_err(unwritten)),
                ListForm::Dialect => {
                    let translator = self.translator(request.dialect(self)?, request.options.clone())?;
                    let rules = ConversionRules::of(&self.fleet, &catalogue);
                    Box::new(move || {
                        let render = |left_out: &LeftOutServers| {
                            render::render(&own, &translator, Arc::clone(&catalogue), left_out)
                                .map_err(unwritten)
                        };
                        let list = render(&LeftOutServers::new())?;
                        let (left_out, refused) = rules.apply(&list);
                        // Once more without them: nothing of a list can be taken back, and names may be others now.
                        let list = if left_out.is_empty() { list } else { render(&left_out)? };
                        Ok(Rendered { refused, ..list })
                    })
                }
            };
            // Thousands of definitions take a while, and other requests must not wait for it.
            let list = match tokio::task::spawn_blocking(work).await {
                Ok(Ok(list)) => Arc::new(list),
                Ok(Err(failure)) => return Err(failure),
                Err(_) => return Err(Failure::Internal("rendering the list of tools broke off".to_owned())),
            };
            self.log.rendered(&list);
            let mut kept = locked(&self.kept);
            if kept.version == version {
                kept.lists.resize(request, list.size());
            }
            Ok(list)
        };
        // Boxed: most lists are kept, and all requests would carry the future along.
        Box::pin(slot.get_or_try_init(render)).await.map(Arc::clone)
    }

    /// What translates tools for a dialect.
    pub fn translator(
        &self,
        dialect: impl Into<Arc<Dialect>>,
        options: Options,
    ) -> Result<Translator, Failure> {
        Translator::with(&self.dialects().all, dialect, options).map_err(|error| self.unknown_dialect(&error))
    }

    /// The definitions of the tools in a list, each with its index in the catalogue, under the names of tools and parameters
    /// that the model sees. Tools that the dialect cannot take are left out.
    pub async fn shown_definitions(
        &self,
        request: &ListRequest,
    ) -> Result<(Arc<Catalogue>, Vec<(usize, serde_json::Value)>), Failure> {
        self.listed_or_stale(request).await;
        let rendered = self.get(request).await?;
        let shown = rendered.by_index();
        let definitions = request
            .chosen(&rendered.catalogue)
            .filter_map(|(index, tool)| {
                let (name, plan) = shown.get(&index)?;
                Some((index, under_shown_names(request.definition(tool).into_owned(), name, plan)))
            })
            .collect();
        Ok((Arc::clone(&rendered.catalogue), definitions))
    }

    /// The names of groups that are configured, sorted.
    fn groups(&self) -> Vec<String> {
        self.fleet.catalogue().groups().map(str::to_owned).collect()
    }

    fn slot(&self, request: &ListRequest, version: u64) -> Slot {
        let mut kept = locked(&self.kept);
        if kept.version < version {
            kept.version = version;
            kept.lists.retain(|_, _| false);
        }
        if kept.version > version {
            // The catalogue changed meanwhile, and nobody will ask for this list again.
            return Slot::default();
        }
        if let Some(slot) = kept.lists.get(request) {
            return Arc::clone(slot);
        }
        let slot = Slot::default();
        kept.lists.insert(request.clone(), Arc::clone(&slot), 0);
        slot
    }

    /// What to say of a model that no rule knows: it gets the dialect without the layer of a family.
    pub fn unknown_model(&self, model: &str) -> Option<String> {
        let is_unknown = self.dialects().all.for_model(model).is_err();
        is_unknown.then(|| format!("no rule knows the model `{model}`: nothing is adapted to its family"))
    }

    /// The error for a dialect that is not known.
    pub fn unknown_dialect(&self, error: &DialectError) -> Failure {
        if let DialectError::NoVerbatim { name, known } = error {
            let known = known.join(", ");
            return Failure::request(format!("verbatim: `{name}` has no verbatim form; use one of {known}"));
        }
        if let DialectError::NotALayer { name, known } = error {
            let known = known.join(", ");
            return Failure::request(format!(
                "compat={name}: `{name}` is not a layer; use auto, off or one of {known}"
            ));
        }
        let dialects = &self.dialects().all;
        let aliases =
            dialects.names().filter_map(|name| dialects.get(name).ok()).flat_map(|dialect| dialect.aliases);
        let mut known: Vec<String> = dialects.names().map(str::to_owned).chain(aliases).collect();
        known.sort_unstable();
        let message = match error {
            DialectError::Unknown { name, .. } => {
                let of_model = dialects.for_model(name).ok().map(|choice| {
                    format!("it names a model, so try provider `{}` with `model={name}`", choice.dialect)
                });
                match of_model.or_else(|| did_you_mean(name, known.iter().map(String::as_str))) {
                    Some(hint) => format!("Unknown provider: {name}; {hint}"),
                    None => format!("Unknown provider: {name}"),
                }
            }
            other => other.to_string(),
        };
        Failure::UnknownProvider { message, known }
    }
}
