//! Rendering: the tools of one snapshot of the catalogue, in a provider's format or in that of MCP.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use gateway_dialects::{Changes, Plan, Tokens, ToolTranslation, Translator};
use gateway_protocol::{RawJson, RawObject};
use gateway_upstream::{Catalogue, CatalogueTool};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::log::unwanted;
use super::rendered::Tools;
use super::{Finder, ListMode, ListRequest, Rendered};

/// A list in a provider's format.
pub(super) fn render(
    request: &ListRequest,
    translator: &Translator,
    catalogue: Arc<Catalogue>,
) -> Result<Rendered, serde_json::Error> {
    let mut list = Writer::new(&translator.dialect().tool.document, request.with_report)?;
    if request.mode == ListMode::Search {
        let finder = request.finder(&catalogue);
        for (index, tool) in translator.translate(&finder.definitions).tools.into_iter().enumerate() {
            // The tools of search are no server's.
            list.add(index, None, tool)?;
        }
        list.finder = Some(finder);
        return list.finish(request, translator, catalogue);
    }
    let chosen: Vec<(usize, &CatalogueTool)> = request.chosen(&catalogue).collect();
    if keeps_names(request, translator, &chosen) {
        // Tool by tool, so that a list of a thousand is never in memory as trees.
        for (index, tool) in chosen {
            let name = request.scope.name_of(tool);
            list.add(index, Some(tool), translator.translate_named(&request.definition(tool), name, name))?;
        }
    } else {
        // A name that the provider refuses is replaced by one that no other tool has.
        let definitions: Vec<Cow<'_, Value>> =
            chosen.iter().map(|(_, tool)| request.definition(tool)).collect();
        for (translated, (index, tool)) in translator.translate(&definitions).tools.into_iter().zip(chosen) {
            list.add(index, Some(tool), translated)?;
        }
    }
    list.finish(request, translator, catalogue)
}

/// Whether every tool travels under its own name, so that none depends on the others.
fn keeps_names(request: &ListRequest, translator: &Translator, tools: &[(usize, &CatalogueTool)]) -> bool {
    let mut seen = HashSet::with_capacity(tools.len());
    tools.iter().all(|(_, tool)| {
        let name = request.scope.name_of(tool);
        translator.dialect().names.allows(name) && seen.insert(name)
    })
}

/// A list that is being written.
struct Writer {
    body: Vec<u8>,
    /// Where the bare list begins.
    start: usize,
    report: Option<Vec<u8>>,
    tools: Tools,
    tokens: usize,
    quarantined: Vec<(usize, String)>,
    finder: Option<Arc<Finder>>,
}

impl Writer {
    fn new(key: &str, with_report: bool) -> Result<Self, serde_json::Error> {
        let mut body = b"{".to_vec();
        serde_json::to_writer(&mut body, key)?;
        body.push(b':');
        let start = body.len();
        body.push(b'[');
        let report = with_report.then(|| b"[".to_vec());
        let (tools, quarantined) = (Tools::default(), Vec::new());
        Ok(Self { body, start, report, tools, tokens: 0, quarantined, finder: None })
    }

    fn add(
        &mut self,
        index: usize,
        listed: Option<&CatalogueTool>,
        tool: ToolTranslation<'_>,
    ) -> Result<(), serde_json::Error> {
        self.report(&ReportRow {
            name: Some(tool.name),
            wire_name: Some(&tool.wire_name),
            server: listed.map(|listed| listed.server.as_str()),
            index: None,
            quarantine: tool.quarantine.as_deref(),
            strict: tool.strict,
            tokens: tool.tokens,
            changes: &tool.changes,
        })?;
        self.tokens += tool.tokens.after;
        let Some(definition) = tool.definition else {
            self.quarantined.push((index, tool.quarantine.unwrap_or_default()));
            return Ok(());
        };
        if self.body.len() > self.start + 1 {
            self.body.push(b',');
        }
        serde_json::to_writer(&mut self.body, &definition)?;
        self.tools.insert(tool.wire_name.into_boxed_str(), (index, tool.plan));
        Ok(())
    }

    fn report(&mut self, row: &ReportRow<'_>) -> Result<(), serde_json::Error> {
        let Some(report) = &mut self.report else { return Ok(()) };
        if report.len() > 1 {
            report.push(b',');
        }
        serde_json::to_writer(report, row)
    }

    fn finish(
        mut self,
        request: &ListRequest,
        translator: &Translator,
        catalogue: Arc<Catalogue>,
    ) -> Result<Rendered, serde_json::Error> {
        for left in unwanted(&catalogue).filter(|left| request.scope.covers(&left.server)) {
            self.report(&ReportRow {
                name: left.name.as_deref(),
                wire_name: None,
                server: Some(left.server.as_str()),
                index: Some(left.index),
                quarantine: Some(&left.reason.to_string()),
                strict: false,
                tokens: Tokens::default(),
                changes: &Changes::default(),
            })?;
        }
        self.body.extend_from_slice(b"]}");
        self.body.shrink_to_fit();
        self.tools.shrink_to_fit();
        let report = self.report.map(|mut report| {
            report.push(b']');
            report.into()
        });
        Ok(Rendered {
            etag: etag(&self.body),
            list: self.start..self.body.len() - 1,
            body: self.body.into(),
            report,
            dialect: Some(Arc::clone(translator.shared_dialect())),
            tools: self.tools,
            tokens: self.tokens,
            quarantined: self.quarantined,
            finder: self.finder,
            catalogue,
        })
    }
}

/// What happened to one tool.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReportRow<'a> {
    name: Option<&'a str>,
    wire_name: Option<&'a str>,
    server: Option<&'a str>,
    /// Its index in what its server listed, where it is in no list.
    #[serde(rename = "place", skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
    quarantine: Option<&'a str>,
    strict: bool,
    tokens: Tokens,
    changes: &'a Changes<'a>,
}

/// A list in the format of MCP.
pub(super) fn render_raw(
    request: &ListRequest,
    catalogue: Arc<Catalogue>,
) -> Result<Rendered, serde_json::Error> {
    let mut body = b"{\"tools\":[".to_vec();
    let start = body.len() - 1;
    let mut tools = Tools::default();
    for (index, tool) in request.chosen(&catalogue) {
        if !tools.is_empty() {
            body.push(b',');
        }
        let name = request.scope.name_of(tool);
        body.extend_from_slice(listed_definition(request, tool, name)?.as_bytes());
        tools.insert(name.into(), (index, Plan::default()));
    }
    body.extend_from_slice(b"]}");
    Ok(Rendered {
        etag: etag(&body),
        list: start..body.len() - 1,
        tokens: body.len() / 4,
        body: body.into(),
        report: None,
        dialect: None,
        tools,
        quarantined: Vec::new(),
        finder: None,
        catalogue,
    })
}

/// A definition as it came, but for its name where that is another in this list, and for the server where it is wanted.
fn listed_definition<'t>(
    request: &ListRequest,
    tool: &'t CatalogueTool,
    name: &str,
) -> Result<Cow<'t, RawJson>, serde_json::Error> {
    let definition = tool.without_hidden();
    if name == &*tool.name && !request.with_server {
        return Ok(Cow::Borrowed(definition));
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
    members.to_raw().map(Cow::Owned)
}

const SERVER_META: &str = "mcp-tool-gateway/server";
const FINGERPRINT_META: &str = "mcp-tool-gateway/fingerprint";

/// A strong tag: the same bytes have the same tag, over restarts too.
fn etag(body: &[u8]) -> Box<str> {
    let digest: [u8; 32] = Sha256::digest(body).into();
    let (half, _) = digest.split_at(16);
    let number = half.iter().fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    format!("\"{number:032x}\"").into()
}
