//! Personal data in records.

use std::sync::Arc;

use bytes::Bytes;
use gateway_privacy::{Applied, Counts, Detector, Kind, Mode};

/// What is done about personal data in records.
#[derive(Clone, Debug)]
pub struct PersonalData {
    detector: Detector,
    mode: Mode,
}

impl PersonalData {
    /// Looks for these kinds. They are only reported if the mode is [`Mode::Mark`], else masked too: no entry is left out.
    pub fn new(kinds: &[Kind], mode: Mode) -> Self {
        let mode = if mode == Mode::Mark { Mode::Mark } else { Mode::Mask };
        Self { detector: Detector::new(kinds.iter().copied()), mode }
    }

    /// The word for the mode.
    pub(crate) fn mode_name(&self) -> &'static str {
        self.mode.name()
    }

    /// Looks through the text of a name or an error.
    pub(super) fn clean_text(&self, text: &mut Arc<str>, found: &mut Counts) {
        let Applied::Passed { output, report } = self.detector.apply(text, self.mode) else { return };
        if !report.is_empty() {
            found.add_all(&report);
            *text = (&*output).into();
        }
    }

    /// Looks through JSON, also if it is only the beginning of a document.
    pub(super) fn clean_json(&self, json: &mut Bytes, found: &mut Counts) {
        let Ok(text) = std::str::from_utf8(json) else { return };
        let masked = if let Ok((masked, counts)) = self.detector.mask_blocks(text) {
            found.merge(counts);
            (!counts.is_empty()).then(|| masked.into_owned())
        } else {
            // It becomes a text in another document, so it may be masked as text.
            let Applied::Passed { output, report } = self.detector.apply(text, Mode::Mask) else { return };
            found.add_all(&report);
            (!report.is_empty()).then(|| output.into_owned())
        };
        let masked = masked.filter(|_| self.mode == Mode::Mask);
        if let Some(masked) = masked {
            *json = Bytes::from(masked);
        }
    }
}
