//! Rewriting one schema into a dialect's subset, with a plan and a report.
//!
//! Two mechanisms over one reader: `edit` keeps the structure of the original, `rebuild` writes its meaning anew.

mod edit;
mod reader;
mod rebuild;
mod scan;
mod verbatim;

use serde_json::Value;

use crate::dialect::{Dialect, Lowering};
use crate::json::Json;
use crate::options::Options;
use crate::plan::Plan;
use crate::report::Changes;
use crate::text::Note;
use edit::{Edit, Findings};
use reader::{Reach, Reader};
use rebuild::Attempts;

pub(crate) use scan::{Excess, Size, scan};

/// A lowered input schema.
pub(crate) struct LoweredSchema<'a> {
    /// `None` if the tool takes no arguments and the dialect wants that unsaid.
    pub(crate) schema: Option<Json<'a>>,
    pub(crate) plan: Plan,
    pub(crate) changes: Changes<'a>,
    /// What could be said only in the tool's own description.
    pub(crate) tool_notes: Vec<Note<'a>>,
    /// What made it impossible to say how arguments travel.
    pub(crate) excess: Option<Excess>,
}

/// Lowers `schema`, whose size has been checked, for `dialect`: again and again, until an attempt learns nothing new about the
/// schema as a whole.
pub(crate) fn lower<'a>(
    schema: &'a Value,
    size: &Size,
    dialect: &Dialect,
    options: &Options,
) -> LoweredSchema<'a> {
    if options.verbatim {
        return verbatim::leave(Reader::new(schema, size, dialect, options, Reach::full(1)));
    }
    match &dialect.schema.lowering {
        Lowering::None => LoweredSchema {
            schema: Some(Json::Same(schema)),
            plan: Plan::default(),
            changes: Changes::default(),
            tool_notes: Vec::new(),
            excess: None,
        },
        Lowering::Edit(choices) => {
            let mut known = Findings::default();
            // Ends, because what is known only grows.
            loop {
                let reader = Reader::new(schema, size, dialect, options, Reach::full(1));
                let (lowered, found) = Edit::new(reader, choices, &known).edit_root();
                if !known.learn(found) {
                    return lowered;
                }
            }
        }
        Lowering::Rebuild(choices) => Attempts { schema, size, dialect, choices, options }.lower(),
    }
}
