//! Passes over the corpus. Each returns a sum that depends on all of its work, so that the compiler cannot drop any of it.

use std::hint::black_box;

use gateway_dialects::Translator;
use serde_json::Value;

use crate::corpus::Corpus;

/// Parses and writes every tool.
pub(crate) fn serde_pass(corpus: &Corpus) -> usize {
    let mut buffer = Vec::with_capacity(1 << 16);
    let mut sum = 0;
    for line in &corpus.lines {
        let Ok(tool) = serde_json::from_slice::<Value>(line) else { continue };
        buffer.clear();
        if serde_json::to_writer(&mut buffer, black_box(&tool)).is_ok() {
            sum += buffer.len();
        }
    }
    black_box(sum)
}

/// Parses every tool, translates it, and writes the definition.
pub(crate) fn whole_pass(corpus: &Corpus, translator: &Translator) -> usize {
    let mut buffer = Vec::with_capacity(1 << 16);
    let mut sum = 0;
    for line in &corpus.lines {
        let Ok(tool) = serde_json::from_slice::<Value>(line) else { continue };
        let translated = translator.translate_one(&tool);
        buffer.clear();
        if let Some(definition) = black_box(&translated).definition.as_ref()
            && serde_json::to_writer(&mut buffer, definition).is_ok()
        {
            sum += buffer.len();
        }
    }
    black_box(sum)
}

/// Translates parsed tools; each result has its plan and its report.
pub(crate) fn engine_pass(tools: &[Value], translator: &Translator) -> usize {
    let mut sum = 0;
    for tool in tools {
        let translated = black_box(translator.translate_one(tool));
        sum += translated.changes.len() + translated.tokens.after;
    }
    black_box(sum)
}

// `bench/compare` counts the functions below: reading the corpus is outside of them.

#[inline(never)]
pub(crate) fn counted_serde_pass(corpus: &Corpus) -> usize {
    serde_pass(corpus)
}

#[inline(never)]
pub(crate) fn counted_whole_pass(corpus: &Corpus, translator: &Translator) -> usize {
    whole_pass(corpus, translator)
}

#[inline(never)]
pub(crate) fn counted_engine_pass(tools: &[Value], translator: &Translator) -> usize {
    engine_pass(tools, translator)
}
