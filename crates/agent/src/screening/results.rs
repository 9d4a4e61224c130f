//! Results of tools, before a model gets them.

use gateway_privacy::{Applied, Counts, Mode};
use gateway_protocol::RawJson;
use gateway_runtime::failure::{code, error_result};
use serde_json::Value;

use super::texts::{Finding, look_through};
use super::{Part, Screen};
use crate::toolbox::ToolOutcome;

/// Above so many bytes no tree is made of a result.
const LONG: usize = 256 << 10;

impl Screen {
    /// The outcome of a call as the model, the caller and the history get it.
    pub(crate) fn outcome(&self, mut outcome: ToolOutcome) -> ToolOutcome {
        let Some(mode) = self.mode(Part::Results) else { return outcome };
        let mut counts = Counts::default();
        let masked = self.masked(&outcome.result, &mut counts);
        self.report(Part::Results, mode, counts);
        match (mode, masked) {
            (Mode::Mask, Some(masked)) => outcome.result = masked,
            (Mode::Block, _) if !counts.is_empty() => {
                outcome.result = error_result(&withheld(counts));
                outcome.code = Some(code::PERSONAL_DATA);
            }
            (Mode::Mark | Mode::Mask | Mode::Block, _) => {}
        }
        outcome
    }

    /// The result with masks; `None` if nothing was found.
    fn masked(&self, result: &RawJson, counts: &mut Counts) -> Option<RawJson> {
        if result.len() > LONG {
            // Of such a result the model is shown texts only, so media in it need no care.
            let applied = self.detector.apply_json_text(result.as_str(), Mode::Mask).ok()?;
            let Applied::Passed { output, report } = applied else { return None };
            counts.merge(report.counts);
            return if report.is_empty() { None } else { RawJson::parse(output.into_owned()).ok() };
        }
        let mut value: Value = serde_json::from_str(result.as_str()).ok()?;
        look_through(&self.detector, &mut value, Finding::Masked, counts);
        if counts.is_empty() { None } else { RawJson::of(&value).ok() }
    }
}

/// What stands for a result that is withheld.
pub(super) fn withheld(counts: Counts) -> String {
    format!(
        "The result was withheld: it contains personal data ({counts}), which models are not shown here. The tool ran; do not call it again for this."
    )
}
