//! Wall time, as medians over interleaved rounds.

use std::time::{Duration, Instant};

use gateway_dialects::Translator;
use serde::Serialize;

use crate::corpus::Corpus;
use crate::passes::{engine_pass, serde_pass, whole_pass};

/// The figures of one dialect.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) dialect: String,
    /// `serde_json` parses and writes the same tools, milliseconds.
    pub(crate) serde_ms: f64,
    /// Parse, translate, write, milliseconds.
    pub(crate) whole_ms: f64,
    /// The median of the rounds' own ratios: noise that hits a whole round cancels out.
    pub(crate) ratio: f64,
    /// The engine alone on parsed tools, plan and report included.
    pub(crate) engine_tools_per_second: f64,
}

#[derive(Default)]
struct Samples {
    serde: Vec<f64>,
    whole: Vec<f64>,
    ratio: Vec<f64>,
    engine: Vec<f64>,
}

/// Measures all `translators` in `rounds` rounds, one after the other in every round.
pub(crate) fn measure(corpus: &Corpus, translators: &[Translator], rounds: usize) -> Vec<Row> {
    let tools = corpus.parsed();
    let mut samples: Vec<Samples> = translators.iter().map(|_| Samples::default()).collect();
    serde_pass(corpus);
    for _ in 0..rounds {
        for (translator, samples) in translators.iter().zip(&mut samples) {
            let serde = seconds(|| serde_pass(corpus));
            let whole = seconds(|| whole_pass(corpus, translator));
            let engine = seconds(|| engine_pass(&tools, translator));
            samples.serde.push(serde);
            samples.whole.push(whole);
            samples.ratio.push(whole / serde);
            samples.engine.push(engine);
        }
    }
    let count = f64::from(u32::try_from(tools.len()).unwrap_or(u32::MAX));
    translators
        .iter()
        .zip(samples)
        .map(|(translator, samples)| Row {
            dialect: translator.dialect().name.clone(),
            serde_ms: median(samples.serde) * 1e3,
            whole_ms: median(samples.whole) * 1e3,
            ratio: median(samples.ratio),
            engine_tools_per_second: count / median(samples.engine),
        })
        .collect()
}

fn seconds(pass: impl FnOnce() -> usize) -> f64 {
    let start = Instant::now();
    std::hint::black_box(pass());
    start.elapsed().max(Duration::from_nanos(1)).as_secs_f64()
}

/// The median.
pub(crate) fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(f64::NAN)
}
