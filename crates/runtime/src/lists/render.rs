//! Rendering: the tools of one snapshot of the catalogue, in a provider's format or in that of MCP.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use gateway_dialects::{Plan, StrictRoom, ToolTranslation, Translator, estimate_tokens};
use gateway_protocol::{RawJson, RawObject};
use gateway_search::{Beside, MetaTool};
use gateway_upstream::{Catalogue, CatalogueTool};
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

use super::conversions::{LeftOutServers, unreadable};
use super::finder::meta_tools;
use super::log::unwanted;
use super::part::{Part, ReportRow};
use super::rendered::{Entry, Target, Tools};
use super::select::{Candidate, Filling, Rank, Room, SearchCost, by_rank};
use super::selected::Piece;
use super::{Finder, ListMode, ListRequest, Rendered};

/// A list in a provider's format.
pub(super) fn render(
    request: &ListRequest,
    translator: &Translator,
    catalogue: Arc<Catalogue>,
    left_out: &LeftOutServers,
) -> Result<Rendered, serde_json::Error> {
    let is_left_out = |(_, tool): &(usize, &CatalogueTool)| left_out.contains_key(&tool.server);
    let (without, chosen): (Vec<_>, Vec<_>) = request.chosen(&catalogue).partition(is_left_out);
    let (finder, parts) = match request.mode {
        mode @ (ListMode::Search | ListMode::SearchBeside) => {
            let beside = if mode == ListMode::Search { Beside::Nothing } else { Beside::SomeTools };
            let finder = request.finder(&chosen, beside);
            let names = WireNames::of(request, translator, &chosen);
            let parts = search_parts(request, translator, &finder, &names, &mut StrictRoom::default())?;
            (Some(finder), parts)
        }
        ListMode::Full => selected_parts(request, translator, &chosen)?,
    };
    let mut list = Writer::new(&translator.dialect().tool.document, request.with_report)?;
    if request.mode == ListMode::Full {
        for (index, tool) in &without {
            let reason = left_out.get(&tool.server).map_or("", String::as_str);
            list.leave_out(*index, tool, request.scope.name_of(tool), reason)?;
        }
    }
    for part in parts {
        list.add(part);
    }
    list.finder = finder;
    drop((without, chosen));
    list.finish(request, translator, catalogue)
}

/// All tools, of which those are listed that the list has room for; and the tools of search behind them, if it has not room for
/// all.
fn selected_parts(
    request: &ListRequest,
    translator: &Translator,
    chosen: &[(usize, &CatalogueTool)],
) -> Result<(Option<Arc<Finder>>, Vec<Part>), serde_json::Error> {
    let names = WireNames::of(request, translator, chosen);
    let tools = Unwritten { request, translator, names: &names, chosen };
    let mut strict_room = StrictRoom::default();
    // Those that are wanted most are strict first. Each is written at once, so that a list of a thousand is never in memory as
    // trees.
    let mut parts = Vec::with_capacity(chosen.len());
    for position in by_rank(chosen.iter().map(|(_, tool)| Rank::of(tool))) {
        parts.extend(tools.write(position, &mut strict_room)?.map(|part| (position, part)));
    }
    parts.sort_unstable_by_key(|(position, _)| *position);
    let mut parts: Vec<Part> = parts.into_iter().map(|(_, part)| part).collect();
    let room = request.room(translator.dialect().limits.tools);
    let sent: Vec<(usize, Candidate)> = parts
        .iter()
        .zip(chosen)
        .enumerate()
        .filter(|(_, (part, _))| part.definition.is_some())
        .map(|(position, (part, (_, tool)))| {
            (position, Candidate { rank: Rank::of(tool), tokens: part.tokens })
        })
        .collect();
    let candidates: Vec<Candidate> = sent.iter().map(|(_, candidate)| *candidate).collect();
    if room.holds(&candidates) {
        return Ok((None, parts));
    }
    let finder = request.finder(chosen, Beside::SomeTools);
    let write_search =
        |strict_room: &mut StrictRoom| search_parts(request, translator, &finder, &names, strict_room);
    let (selection, search) = if translator.forms().is_empty() {
        let search = write_search(&mut strict_room)?;
        (room.select(&candidates, search_cost(&search)), search)
    } else {
        // The tools that the list leaves out take no room from the strict ones that it holds. Those of search come last, so that
        // their form is not known before: either has room.
        let strict = write_search(&mut StrictRoom::default())?;
        let plain = write_search(&mut StrictRoom::spent())?;
        let longer = strict.iter().zip(&plain).map(|(strict, plain)| strict.tokens.max(plain.tokens));
        let cost = SearchCost { tools: strict.len(), tokens: longer.sum() };
        let selection = room.select_by(&candidates, cost, |room| tools.fill(room, &sent))?;
        let mut left = tools.write_listed(&selection.listed, &sent, &mut parts)?;
        (selection, write_search(&mut left)?)
    };
    let reason = omission(room, selection.with_search.then_some(search.as_slice()));
    for (index, (position, _)) in sent.iter().enumerate() {
        if selection.listed.binary_search(&index).is_err()
            && let Some(part) = parts.get_mut(*position)
        {
            part.omit(&reason)?;
        }
    }
    if !selection.with_search {
        return Ok((None, parts));
    }
    parts.extend(search);
    Ok((Some(finder), parts))
}

/// The tools of a list, each to be written in the form for which there is room.
struct Unwritten<'l> {
    request: &'l ListRequest,
    translator: &'l Translator,
    names: &'l WireNames,
    chosen: &'l [(usize, &'l CatalogueTool)],
}

impl Unwritten<'_> {
    /// The tool at `position` of the list; `None` if there is none.
    fn write(
        &self,
        position: usize,
        strict_room: &mut StrictRoom,
    ) -> Result<Option<Part>, serde_json::Error> {
        let Some((index, tool)) = self.chosen.get(position) else { return Ok(None) };
        let (name, definition) = (self.request.scope.name_of(tool), self.request.definition(tool));
        let wire_name = self.names.get(name);
        let translated = match unreadable(tool, &definition) {
            Some(reason) => ToolTranslation::quarantined(name, reason),
            None => self.translator.translate_within_room(&definition, name, wire_name, strict_room),
        };
        Part::write(Target::Listed(*index), Some(tool), translated, self.request.with_report).map(Some)
    }

    /// The most wanted for which there is room, each as long as it is behind those that are listed before it. `sent` are the
    /// positions to choose from.
    fn fill(&self, room: Room, sent: &[(usize, Candidate)]) -> Result<Vec<usize>, serde_json::Error> {
        let (mut filling, mut strict_room) = (Filling::of(room), StrictRoom::default());
        for index in by_rank(sent.iter().map(|(_, candidate)| candidate.rank)) {
            if filling.is_full() {
                break;
            }
            let Some((position, _)) = sent.get(index) else { continue };
            let mut left = strict_room.clone();
            if let Some(part) = self.write(*position, &mut left)?
                && part.definition.is_some()
                && filling.add(index, part.tokens)
            {
                strict_room = left;
            }
        }
        Ok(filling.listed())
    }

    /// Writes those of `sent` that are listed in the form that they have in the list, and gives the room that they leave.
    fn write_listed(
        &self,
        listed: &[usize],
        sent: &[(usize, Candidate)],
        parts: &mut [Part],
    ) -> Result<StrictRoom, serde_json::Error> {
        let mut strict_room = StrictRoom::default();
        let order = by_rank(sent.iter().map(|(_, candidate)| candidate.rank)).into_iter();
        for index in order.filter(|index| listed.binary_search(index).is_ok()) {
            let Some((position, _)) = sent.get(index) else { continue };
            if let (Some(part), Some(written)) =
                (parts.get_mut(*position), self.write(*position, &mut strict_room)?)
            {
                *part = written;
            }
        }
        Ok(strict_room)
    }
}

/// The tools of search.
fn search_parts(
    request: &ListRequest,
    translator: &Translator,
    finder: &Finder,
    names: &WireNames,
    strict_room: &mut StrictRoom,
) -> Result<Vec<Part>, serde_json::Error> {
    let tools = MetaTool::ALL.into_iter().zip(&finder.definitions);
    let written = tools.map(|(tool, definition)| {
        let name = finder.name(tool);
        let translated = translator.translate_within_room(definition, &name, names.get(&name), strict_room);
        Part::write(Target::Search(tool), None, translated, request.with_report)
    });
    written.collect()
}

/// What the tools of search take.
fn search_cost(parts: &[Part]) -> SearchCost {
    SearchCost { tools: parts.len(), tokens: parts.iter().map(|part| part.tokens).sum() }
}

/// Why tools are left out.
fn omission(room: Room, search: Option<&[Part]>) -> String {
    let bounds = [(room.tools, "tools"), (room.tokens, "tokens")];
    let bounds = bounds.iter().filter_map(|(most, what)| most.map(|most| format!("{most} {what}")));
    let mut reason = format!(
        "the list has room for {}, and others come first by pin, importance and order",
        bounds.collect::<Vec<_>>().join(" and ")
    );
    if let Some([search, .., call]) = search {
        let _ = write!(reason, "; {} finds it, and {} calls it", search.wire_name, call.wire_name);
    }
    reason
}

/// What tools are called where the provider refuses their names.
struct WireNames(HashMap<String, String>);

impl WireNames {
    /// The names of these tools and of those of search, which may stand beside them: all differ, and none depends on the limits
    /// of the list.
    fn of(request: &ListRequest, translator: &Translator, tools: &[(usize, &CatalogueTool)]) -> Self {
        let listed = || tools.iter().map(|(_, tool)| (request.scope.name_of(tool), tool.name.as_str()));
        let search = meta_tools(listed);
        let search = MetaTool::ALL.map(|tool| search.name(tool));
        let names = listed().map(|(name, _)| name).chain(search.iter().map(String::as_str));
        let names: Vec<&str> = names.collect();
        let replaced = translator.wire_names(&names).into_iter();
        Self(replaced.map(|(name, wire)| (name.to_owned(), wire.into_owned())).collect())
    }

    fn get<'n>(&'n self, name: &'n str) -> &'n str {
        self.0.get(name).map_or(name, String::as_str)
    }
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
    omitted: usize,
    not_strict: usize,
    finder: Option<Arc<Finder>>,
    pieces: Vec<Piece>,
}

impl Writer {
    fn new(key: &str, with_report: bool) -> Result<Self, serde_json::Error> {
        let mut body = b"{".to_vec();
        serde_json::to_writer(&mut body, key)?;
        body.push(b':');
        let start = body.len();
        body.push(b'[');
        Ok(Self {
            body,
            start,
            report: with_report.then(|| b"[".to_vec()),
            tools: Tools::default(),
            tokens: 0,
            quarantined: Vec::new(),
            omitted: 0,
            not_strict: 0,
            finder: None,
            pieces: Vec::new(),
        })
    }

    fn add(&mut self, part: Part) {
        let Part { target, wire_name, plan, definition, row, tokens, quarantine, is_loosened } = part;
        self.report(row.as_deref());
        let Some(definition) = definition else {
            let index = target.index().into_iter();
            self.quarantined.extend(index.map(|index| (index, quarantine.clone().unwrap_or_default())));
            return;
        };
        let name = wire_name.into_boxed_str();
        self.tools.insert(name.clone(), Entry { target, plan });
        if matches!(target, Target::Omitted(_)) {
            self.omitted += 1;
            return;
        }
        self.tokens += tokens;
        self.not_strict += usize::from(is_loosened);
        if self.body.len() > self.start + 1 {
            self.body.push(b',');
        }
        let start = self.body.len();
        self.body.extend_from_slice(&definition);
        if matches!(target, Target::Listed(_)) {
            self.pieces.push(Piece { name, range: start..self.body.len(), tokens });
        }
    }

    /// A tool that is left out with all others of its server.
    fn leave_out(
        &mut self,
        index: usize,
        tool: &CatalogueTool,
        name: &str,
        reason: &str,
    ) -> Result<(), serde_json::Error> {
        self.quarantined.push((index, reason.to_owned()));
        let row = ReportRow::left_out(Some(name), tool.server.as_str(), None, reason);
        self.report(Some(&serde_json::to_vec(&row)?));
        Ok(())
    }

    fn report(&mut self, row: Option<&[u8]>) {
        let (Some(report), Some(row)) = (&mut self.report, row) else { return };
        if report.len() > 1 {
            report.push(b',');
        }
        report.extend_from_slice(row);
    }

    fn finish(
        mut self,
        request: &ListRequest,
        translator: &Translator,
        catalogue: Arc<Catalogue>,
    ) -> Result<Rendered, serde_json::Error> {
        for left in unwanted(&catalogue).filter(|left| request.scope.covers(&left.server)) {
            let reason = left.reason.to_string();
            let row =
                ReportRow::left_out(left.name.as_deref(), left.server.as_str(), Some(left.index), &reason);
            self.report(Some(&serde_json::to_vec(&row)?));
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
            refused: None,
            omitted: self.omitted,
            not_strict: self.not_strict,
            room: request.room(translator.dialect().limits.tools),
            forms: translator.forms(),
            finder: self.finder,
            codec: OnceLock::new(),
            pieces: self.pieces,
            index: OnceCell::new(),
            catalogue,
        })
    }
}

/// A list in the format of MCP.
pub(super) fn render_raw(
    request: &ListRequest,
    catalogue: Arc<Catalogue>,
) -> Result<Rendered, serde_json::Error> {
    let mut body = b"{\"tools\":[".to_vec();
    let start = body.len() - 1;
    let mut tools = Tools::default();
    let chosen: Vec<(usize, &CatalogueTool)> = request.chosen(&catalogue).collect();
    let candidate = |(_, tool): &(usize, &CatalogueTool)| Candidate {
        rank: Rank::of(tool),
        tokens: estimate_tokens(tool.without_hidden().len()),
    };
    let candidates: Vec<Candidate> = chosen.iter().map(candidate).collect();
    let room = request.room(0);
    // Nobody runs the tools of search without a model, so they are in no list of this form.
    let listed = room.fill(&candidates);
    for (position, (index, tool)) in chosen.iter().enumerate() {
        let name = request.scope.name_of(tool);
        let is_listed = listed.binary_search(&position).is_ok();
        let target = if is_listed { Target::Listed(*index) } else { Target::Omitted(*index) };
        tools.insert(name.into(), Entry { target, plan: Plan::default() });
        if is_listed {
            if body.len() > start + 1 {
                body.push(b',');
            }
            body.extend_from_slice(listed_definition(request, tool, name)?.as_bytes());
        }
    }
    let omitted = chosen.len() - listed.len();
    drop(chosen);
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
        refused: None,
        omitted,
        not_strict: 0,
        room,
        forms: Vec::new(),
        finder: None,
        codec: OnceLock::new(),
        pieces: Vec::new(),
        index: OnceCell::new(),
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

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
