//! Results of tools, before a model gets them.

use std::sync::Arc;

use gateway_dialects::results::read_result;
use gateway_privacy::{Counts, Detector, Mode};
use gateway_protocol::RawJson;
use gateway_runtime::failure::{code, error_result};

use super::texts::{Finding, look_through};
use super::{Part, Screen, search};
use crate::toolbox::ToolOutcome;

/// Above so many bytes no tree is made of a result.
const LONG: usize = 256 << 10;

/// What was found in a result.
enum Looked {
    Nothing,
    /// The result with masks.
    Found(RawJson, Counts),
    /// What is in it could not be found out, or not be masked.
    Unreadable(Counts),
}

impl Screen {
    /// The outcome of a call as the model, the caller and the history get it.
    pub(crate) async fn outcome(self: &Arc<Self>, mut outcome: ToolOutcome) -> ToolOutcome {
        let Some(mode) = self.mode(Part::Results) else { return outcome };
        let (detector, result) = (self.detector.clone(), outcome.result.clone());
        let looked = search(result.len(), move || look(&detector, &result)).await;
        let looked = looked.unwrap_or(Looked::Unreadable(Counts::default()));
        if let Looked::Found(_, counts) | Looked::Unreadable(counts) = &looked {
            self.report(Part::Results, mode, *counts);
        }
        let withheld = match (mode, looked) {
            (Mode::Mark, _) | (Mode::Mask | Mode::Block, Looked::Nothing) => return outcome,
            (Mode::Mask, Looked::Found(masked, _)) => {
                outcome.result = masked;
                return outcome;
            }
            (Mode::Block, Looked::Found(_, counts)) => withheld(counts),
            (Mode::Mask | Mode::Block, Looked::Unreadable(_)) => UNREADABLE.to_owned(),
        };
        outcome.result = error_result(&withheld);
        outcome.code = Some(code::PERSONAL_DATA);
        outcome
    }
}

/// Looks through a result, as whoever shows it to the model reads it.
fn look(detector: &Detector, result: &RawJson) -> Looked {
    // Of a long result the model is shown texts only, so media in it need no care.
    if result.len() > LONG
        && let Ok((masked, counts)) = detector.mask_blocks(result.as_str())
    {
        return if counts.is_empty() {
            Looked::Nothing
        } else {
            RawJson::parse(masked.into_owned())
                .map_or(Looked::Unreadable(counts), |masked| Looked::Found(masked, counts))
        };
    }
    let (mut value, mut counts) = (read_result(result.as_str()).value, Counts::default());
    look_through(detector, &mut value, Finding::Masked, &mut counts);
    if counts.is_empty() {
        return Looked::Nothing;
    }
    RawJson::of(&value).map_or(Looked::Unreadable(counts), |masked| Looked::Found(masked, counts))
}

/// What stands for a result that is withheld.
pub(super) fn withheld(counts: Counts) -> String {
    format!(
        "The result was withheld: it contains personal data ({counts}), which models are not shown here. The tool ran; do not call it again for this."
    )
}

/// What stands for a result that could not be looked through.
const UNREADABLE: &str = "The result was withheld: it could not be searched for personal data, which models are not shown here. The tool ran; do not call it again for this.";
