//! Tool lists in a provider's format, rendered once and served as bytes.

mod dialects;
mod log;
mod request;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use gateway_dialects::{Dialect, Plan, ToolTranslation, Translator};
use gateway_protocol::{RawJson, RawObject};
use gateway_search::MetaTool;
use gateway_upstream::{Catalogue, CatalogueTool, LeftOut};
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

use crate::errors::{ApiError, code};
use crate::mcp::finder::Finder;
use crate::runtime::gateway::Gateway;
use crate::runtime::scope::Scope;
pub(crate) use dialects::ReadyDialects;
use log::{Told, unwanted};
pub(crate) use request::{ListMode, ListRequest, unknown_dialect, unknown_model};

/// A list that is ready to be sent, and what it takes to run calls from it.
#[derive(Debug)]
pub(crate) struct Rendered {
    /// The whole body.
    pub(crate) body: Bytes,
    /// Where in the body the bare list stands.
    list: std::ops::Range<usize>,
    pub(crate) etag: HeaderValue,
    pub(crate) dialect: Option<Arc<Dialect>>,
    pub(crate) catalogue: Arc<Catalogue>,
    /// By the name that the model sees: the place in the catalogue, or among the three of search, and the plan.
    tools: HashMap<Box<str>, (usize, Plan)>,
    /// Estimated tokens of all definitions.
    pub(crate) tokens: usize,
    /// The tools that were left out, by their places, and why.
    pub(crate) withheld: Vec<(usize, String)>,
    /// What the three tools of search look through, where the list is made of them.
    pub(crate) finder: Option<Arc<Finder>>,
}

impl Rendered {
    /// The list without its wrapper.
    pub(crate) fn list(&self) -> Bytes {
        self.body.slice(self.list.clone())
    }

    /// The tool that the model calls `wire_name`, and how its arguments travel.
    pub(crate) fn tool(&self, wire_name: &str) -> Option<(&CatalogueTool, &Plan)> {
        let (place, plan) = self.tools.get(wire_name).filter(|_| self.finder.is_none())?;
        Some((self.catalogue.tools().get(*place)?, plan))
    }

    /// The tool of search that the model calls `wire_name`, what it looks through, and how its arguments travel.
    pub(crate) fn meta_tool(&self, wire_name: &str) -> Option<(MetaTool, &Arc<Finder>, &Plan)> {
        let (place, plan) = self.tools.get(wire_name)?;
        Some((*MetaTool::ALL.get(*place)?, self.finder.as_ref()?, plan))
    }

    /// Where each tool comes from, by the name that the model sees.
    pub(crate) fn origins(&self) -> Value {
        let mut names: Vec<&str> = self.wire_names().collect();
        names.sort_unstable();
        let origin = |name: &str| {
            let (tool, _) = self.tool(name)?;
            let about = json!({
                "server": tool.server.as_str(), "name": tool.name, "fingerprint": tool.fingerprint.hex(),
            });
            Some((name.to_owned(), about))
        };
        Value::Object(names.into_iter().filter_map(origin).collect())
    }

    /// The servers of these tools, sorted.
    pub(crate) fn servers(&self) -> Vec<&str> {
        let listed = self.tools.values().map(|(place, _)| place);
        let places = listed.chain(self.withheld.iter().map(|(place, _)| place));
        let tools =
            places.filter(|_| self.finder.is_none()).filter_map(|place| self.catalogue.tools().get(*place));
        let mut servers: Vec<&str> = tools.map(|tool| tool.server.as_str()).collect();
        servers.sort_unstable();
        servers.dedup();
        servers
    }

    /// The names that the model sees.
    pub(crate) fn wire_names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(AsRef::as_ref)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    version: u64,
    form: &'static str,
    scope: Scope,
    text: String,
}

/// How many lists are kept; the oldest goes first.
const KEPT: usize = 64;

/// A list that is rendered once, however many ask for it.
type Slot = Arc<OnceCell<Arc<Rendered>>>;

/// The lists that were rendered.
#[derive(Debug, Default)]
pub(crate) struct Renders {
    kept: Mutex<Kept>,
    told: Told,
}

#[derive(Debug, Default)]
struct Kept {
    /// Each with the time of its last use.
    lists: HashMap<Key, (u64, Slot)>,
    clock: u64,
}

impl Renders {
    fn cell(&self, key: &Key) -> Slot {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.clock += 1;
        let now = kept.clock;
        if let Some((used, cell)) = kept.lists.get_mut(key) {
            *used = now;
            return Arc::clone(cell);
        }
        // Lists of an older catalogue are never asked for again.
        kept.lists.retain(|other, _| other.version >= key.version);
        if kept.lists.len() >= KEPT
            && let Some(oldest) =
                kept.lists.iter().min_by_key(|(_, (used, _))| *used).map(|(key, _)| key.clone())
        {
            kept.lists.remove(&oldest);
        }
        let cell = Arc::default();
        kept.lists.insert(key.clone(), (now, Arc::clone(&cell)));
        cell
    }
}

impl Gateway {
    /// The list that a request asks for, in the provider's format, once its servers have told their tools.
    pub(crate) async fn rendered(&self, request: &ListRequest) -> Result<Arc<Rendered>, ApiError> {
        self.fleet().listed(request.scope.ids(), self.config().list_wait).await;
        self.rendered_now(request).await
    }

    /// The list as far as it is known.
    pub(crate) async fn rendered_now(&self, request: &ListRequest) -> Result<Arc<Rendered>, ApiError> {
        let catalogue = self.fleet().catalogue();
        let cell = self.renders().cell(&request.key(&catalogue, "dialect"));
        if let Some(rendered) = cell.get() {
            return Ok(Arc::clone(rendered));
        }
        let dialect = request.dialect(self)?;
        let translator = Translator::with(self.dialects(), dialect, request.options.clone())
            .map_err(|error| unknown_dialect(self, &error))?;
        let rendered = cell
            .get_or_try_init(|| async {
                let request = request.clone();
                let work = move || render(&request, &translator, catalogue);
                let rendered = tokio::task::spawn_blocking(work).await.map_err(|_| broken())??;
                self.renders().told.converted(&rendered);
                Ok::<_, ApiError>(rendered)
            })
            .await?;
        Ok(Arc::clone(rendered))
    }

    /// The list that a request asks for, as MCP has it.
    pub(crate) async fn raw_list(&self, request: &ListRequest) -> Result<Arc<Rendered>, ApiError> {
        self.fleet().listed(request.scope.ids(), self.config().list_wait).await;
        let catalogue = self.fleet().catalogue();
        let cell = self.renders().cell(&request.key(&catalogue, "mcp"));
        let work = || async {
            self.renders().told.left_out(&catalogue);
            render_raw(request, Arc::clone(&catalogue))
        };
        let rendered = cell.get_or_try_init(work).await?;
        Ok(Arc::clone(rendered))
    }
}

fn broken() -> ApiError {
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, code::UNKNOWN, "rendering the list of tools broke off")
}

fn failed(error: &serde_json::Error) -> ApiError {
    ApiError::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        code::UNKNOWN,
        format!("writing the list of tools: {error}"),
    )
}

fn render(
    request: &ListRequest,
    translator: &Translator,
    catalogue: Arc<Catalogue>,
) -> Result<Arc<Rendered>, ApiError> {
    let mut rendering = Rendering::new(&translator.dialect().tool.document)?;
    if request.mode == ListMode::Search {
        let finder = request.finder(&catalogue);
        for (place, tool) in translator.translate(finder.definitions()).tools.into_iter().enumerate() {
            rendering.add(place, tool)?;
        }
        rendering.finder = Some(finder);
        return Ok(rendering.finish(translator.dialect(), catalogue));
    }
    let places = request.places(&catalogue);
    if keeps_names(request, translator, &catalogue, &places) {
        // Tool by tool, so that a list of a thousand never stands in memory as trees.
        for (place, tool) in chosen(&catalogue, &places) {
            let definition = model_definition(request, tool);
            rendering.add(place, translator.translate_one(&definition))?;
        }
    } else {
        // Names that the provider refuses are replaced with an eye on all the others.
        let definitions = model_definitions(request, &catalogue, &places);
        for (tool, place) in translator.translate(&definitions).tools.into_iter().zip(&places) {
            rendering.add(*place, tool)?;
        }
    }
    Ok(rendering.finish(translator.dialect(), catalogue))
}

/// The tools at these places.
fn chosen<'c>(
    catalogue: &'c Catalogue,
    places: &'c [usize],
) -> impl Iterator<Item = (usize, &'c CatalogueTool)> {
    places.iter().filter_map(|place| Some((*place, catalogue.tools().get(*place)?)))
}

/// Whether every tool travels under its own name, so that none depends on the others.
fn keeps_names(
    request: &ListRequest,
    translator: &Translator,
    catalogue: &Catalogue,
    places: &[usize],
) -> bool {
    let mut seen = HashSet::with_capacity(places.len());
    chosen(catalogue, places).all(|(_, tool)| {
        let name = request.scope.name_of(tool);
        translator.dialect().names.allows(name) && seen.insert(name)
    })
}

/// A list that is being written.
struct Rendering {
    body: Vec<u8>,
    /// Where the bare list begins.
    start: usize,
    tools: HashMap<Box<str>, (usize, Plan)>,
    tokens: usize,
    withheld: Vec<(usize, String)>,
    finder: Option<Arc<Finder>>,
}

impl Rendering {
    fn new(key: &str) -> Result<Self, ApiError> {
        let mut body = b"{".to_vec();
        serde_json::to_writer(&mut body, key).map_err(|error| failed(&error))?;
        body.push(b':');
        let start = body.len();
        body.push(b'[');
        Ok(Self { body, start, tools: HashMap::new(), tokens: 0, withheld: Vec::new(), finder: None })
    }

    fn add(&mut self, place: usize, tool: ToolTranslation<'_>) -> Result<(), ApiError> {
        self.tokens += tool.tokens.after;
        let Some(definition) = tool.definition else {
            self.withheld.push((place, tool.quarantine.unwrap_or_default()));
            return Ok(());
        };
        if self.body.len() > self.start + 1 {
            self.body.push(b',');
        }
        serde_json::to_writer(&mut self.body, &definition).map_err(|error| failed(&error))?;
        self.tools.insert(tool.wire_name.into_boxed_str(), (place, tool.plan));
        Ok(())
    }

    fn finish(mut self, dialect: &Dialect, catalogue: Arc<Catalogue>) -> Arc<Rendered> {
        self.body.extend_from_slice(b"]}");
        self.body.shrink_to_fit();
        self.tools.shrink_to_fit();
        Arc::new(Rendered {
            etag: etag(&self.body),
            list: self.start..self.body.len() - 1,
            body: self.body.into(),
            dialect: Some(Arc::new(dialect.clone())),
            tools: self.tools,
            tokens: self.tokens,
            withheld: self.withheld,
            finder: self.finder,
            catalogue,
        })
    }
}

fn render_raw(request: &ListRequest, catalogue: Arc<Catalogue>) -> Result<Arc<Rendered>, ApiError> {
    let places = request.places(&catalogue);
    let mut body = b"{\"tools\":[".to_vec();
    let mut tools = HashMap::new();
    for place in places {
        let Some(tool) = catalogue.tools().get(place) else { continue };
        if body.len() > 10 {
            body.push(b',');
        }
        let name = request.scope.name_of(tool);
        body.extend_from_slice(
            listed_definition(request, tool, name).map_err(|error| failed(&error))?.as_bytes(),
        );
        tools.insert(name.into(), (place, Plan::default()));
    }
    body.extend_from_slice(b"]}");
    let list = 9..body.len() - 1;
    let tokens = body.len() / 4;
    Ok(Arc::new(Rendered {
        etag: etag(&body),
        body: body.into(),
        list,
        dialect: None,
        tools,
        tokens,
        withheld: Vec::new(),
        finder: None,
        catalogue,
    }))
}

/// A definition as it came, but for its name where that is another in this list, and for the server where it is wanted.
fn listed_definition(
    request: &ListRequest,
    tool: &CatalogueTool,
    name: &str,
) -> Result<RawJson, serde_json::Error> {
    let definition = tool.without_hidden();
    if name == &*tool.name && !request.with_server {
        return Ok(definition.clone());
    }
    let mut members = RawObject::parse(definition)?;
    if name != &*tool.name {
        members.set("name", &RawJson::of(name)?)?;
    }
    if request.with_server {
        let own = members.get("_meta").map(|meta| RawJson::parse(meta.get().to_owned())).transpose()?;
        let empty = RawJson::empty_object();
        let mut meta = RawObject::parse(own.as_ref().unwrap_or(&empty)).unwrap_or_default();
        meta.set(SERVER_META, &RawJson::of(tool.server.as_str())?)?;
        meta.set(FINGERPRINT_META, &RawJson::of(&tool.fingerprint.hex())?)?;
        let meta = meta.to_raw()?;
        members.set("_meta", &meta)?;
    }
    members.to_raw()
}

const SERVER_META: &str = "mcp-tool-gateway/server";
const FINGERPRINT_META: &str = "mcp-tool-gateway/fingerprint";

/// The definitions to translate, under the names of this list.
fn model_definitions(request: &ListRequest, catalogue: &Catalogue, places: &[usize]) -> Vec<Value> {
    chosen(catalogue, places).map(|(_, tool)| model_definition(request, tool)).collect()
}

/// One definition to translate, under its name in this list.
fn model_definition(request: &ListRequest, tool: &CatalogueTool) -> Value {
    let mut definition: Value = tool.value().into_owned();
    let name = request.scope.name_of(tool);
    if let Some(members) = definition.as_object_mut()
        && name != &*tool.name
    {
        members.insert("name".to_owned(), name.into());
    }
    definition
}

/// What happened to every tool of a list, for people who want to know.
pub(crate) async fn report(gateway: &Gateway, request: &ListRequest) -> Result<Value, ApiError> {
    gateway.fleet().listed(request.scope.ids(), gateway.config().list_wait).await;
    let catalogue = gateway.fleet().catalogue();
    let dialect = request.dialect(gateway)?;
    let translator = Translator::with(gateway.dialects(), dialect, request.options.clone())
        .map_err(|error| unknown_dialect(gateway, &error))?;
    let places = request.places(&catalogue);
    let is_search = request.mode == ListMode::Search;
    let definitions = if is_search {
        request.finder(&catalogue).definitions().to_vec()
    } else {
        model_definitions(request, &catalogue, &places)
    };
    let translation = translator.translate(&definitions);
    let mut rows: Vec<Value> = translation
        .tools
        .iter()
        .enumerate()
        .map(|(row, tool)| {
            // The tools of search are nobody's.
            let place = places.get(row).filter(|_| !is_search);
            let listed = place.and_then(|place| catalogue.tools().get(*place));
            let server = listed.map(|listed| listed.server.as_str());
            json!({
                "name": tool.name,
                "wireName": tool.wire_name,
                "server": server,
                "quarantine": tool.quarantine,
                "strict": tool.strict,
                "tokens": {"before": tool.tokens.before, "after": tool.tokens.after},
                "changes": tool.changes.iter().map(|change| json!(change)).collect::<Vec<_>>(),
            })
        })
        .collect();
    let in_scope = |left: &&LeftOut| match &request.scope {
        Scope::Server(id) => left.server == *id,
        Scope::All => true,
    };
    rows.extend(unwanted(&catalogue).filter(in_scope).map(|left| {
        json!({
            "name": left.name,
            "wireName": null,
            "server": left.server.as_str(),
            "place": left.place,
            "quarantine": left.reason.to_string(),
            "strict": false,
            "tokens": {"before": 0, "after": 0},
            "changes": [],
        })
    }));
    Ok(Value::Array(rows))
}

/// The tools of a list as values, for texts about them.
pub(crate) async fn definitions(
    gateway: &Gateway,
    request: &ListRequest,
) -> (Arc<Catalogue>, Vec<(usize, Value)>) {
    gateway.fleet().listed(request.scope.ids(), gateway.config().list_wait).await;
    let catalogue = gateway.fleet().catalogue();
    let places = request.places(&catalogue);
    let definitions = model_definitions(request, &catalogue, &places);
    (catalogue, places.into_iter().zip(definitions).collect())
}

/// A strong tag: the same bytes have the same tag, over restarts too.
fn etag(body: &[u8]) -> HeaderValue {
    let digest: [u8; 32] = Sha256::digest(body).into();
    let (half, _) = digest.split_at(16);
    let number = half.iter().fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    HeaderValue::from_str(&format!("\"{number:032x}\"")).unwrap_or_else(|_| HeaderValue::from_static("\"\""))
}
