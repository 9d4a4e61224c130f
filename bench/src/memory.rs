//! Memory while streaming.

use anyhow::{Context as _, Result};
use gateway_dialects::Translator;
use serde::Serialize;

use crate::corpus::Corpus;
use crate::passes::whole_pass;

const PASSES: usize = 20;

/// Resident memory before and after many passes, in kilobytes.
#[derive(Debug, Serialize)]
pub(crate) struct Memory {
    pub(crate) passes: usize,
    pub(crate) before_kb: u64,
    pub(crate) after_kb: u64,
}

/// Streams the corpus many times; the first pass, which fills the allocator, runs before the first measurement.
pub(crate) fn watch(corpus: &Corpus, translator: &Translator) -> Result<Memory> {
    whole_pass(corpus, translator);
    let before_kb = resident_kb()?;
    for _ in 0..PASSES {
        whole_pass(corpus, translator);
    }
    Ok(Memory { passes: PASSES, before_kb, after_kb: resident_kb()? })
}

fn resident_kb() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("reading this process's memory")?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|kilobytes| kilobytes.parse().ok())
        .context("no VmRSS line in /proc/self/status")
}
