//! The output, as tables and as JSON.

use std::io::Write;

use serde::Serialize;

use crate::corpus::Corpus;
use crate::measure::Row;
use crate::memory::Memory;

/// The figures of one run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    tools: usize,
    servers: usize,
    corpus_bytes: usize,
    rounds: usize,
    dialects: Vec<Row>,
    memory: Option<Memory>,
}

impl Report {
    pub(crate) fn new(corpus: &Corpus, rounds: usize, dialects: Vec<Row>, memory: Option<Memory>) -> Self {
        Self {
            tools: corpus.lines.len(),
            servers: corpus.servers,
            corpus_bytes: corpus.bytes(),
            rounds,
            dialects,
            memory,
        }
    }

    pub(crate) fn write_text(&self, out: &mut impl Write) -> std::io::Result<()> {
        writeln!(
            out,
            "{} tools of {} servers, {} bytes; medians of {} rounds",
            self.tools, self.servers, self.corpus_bytes, self.rounds
        )?;
        writeln!(
            out,
            "{:<26} {:>9} {:>9} {:>6} {:>15}",
            "dialect", "serde ms", "whole ms", "ratio", "engine tools/s"
        )?;
        for row in &self.dialects {
            writeln!(
                out,
                "{:<26} {:>9.2} {:>9.2} {:>6.2} {:>15.0}",
                row.dialect, row.serde_ms, row.whole_ms, row.ratio, row.engine_tools_per_second
            )?;
        }
        if let Some(memory) = &self.memory {
            writeln!(
                out,
                "resident memory: {} kB, after {} passes {} kB",
                memory.before_kb, memory.passes, memory.after_kb
            )?;
        }
        Ok(())
    }
}
