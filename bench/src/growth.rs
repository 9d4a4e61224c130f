//! What tools cost a model in each dialect, against what they cost as their servers define them.

use std::io::Write;

use anyhow::Result;
use gateway_dialects::Translator;
use serde::Serialize;
use serde_json::{Value, json};
use tiktoken_rs::CoreBPE;

use crate::corpus::Corpus;

/// Tokens of one tool, counted with OpenAI's o200k vocabulary.
struct Cost {
    tool: String,
    before: usize,
    after: usize,
}

impl Cost {
    #[expect(clippy::cast_precision_loss, reason = "tokens of one tool are few")]
    fn ratio(&self) -> f64 {
        self.after as f64 / self.before.max(1) as f64
    }

    /// Whether it is more than the engine promises: twice the original and 300 tokens.
    fn is_over(&self) -> bool {
        self.after > 2 * self.before + 300
    }
}

/// How much tools grow in one dialect.
#[derive(Debug, Serialize)]
pub(crate) struct Growth {
    dialect: String,
    tools: usize,
    median: f64,
    /// The 99th percentile.
    p99: f64,
    worst: f64,
    worst_tool: String,
    /// Tools of more than twice their original tokens.
    over_twice: usize,
    /// Tools of more than twice their original tokens and 300.
    over_promise: usize,
    /// All tools together.
    total: f64,
}

/// Measures the corpus in one dialect.
pub(crate) fn measure(corpus: &Corpus, translator: &Translator) -> Growth {
    let vocabulary = tiktoken_rs::o200k_base_singleton();
    let tools = corpus.parsed();
    let mut costs: Vec<Cost> = tools.iter().filter_map(|tool| cost(tool, translator, vocabulary)).collect();
    costs.sort_by(|left, right| left.ratio().total_cmp(&right.ratio()));
    let at = |hundredths: usize| {
        let index = (costs.len() * hundredths / 100).min(costs.len().saturating_sub(1));
        costs.get(index).map_or(0.0, Cost::ratio)
    };
    let worst = costs.last();
    let sum = |count: fn(&Cost) -> usize| costs.iter().map(count).sum();
    let total = Cost { tool: String::new(), before: sum(|cost| cost.before), after: sum(|cost| cost.after) };
    Growth {
        dialect: translator.dialect().name.clone(),
        tools: costs.len(),
        median: at(50),
        p99: at(99),
        worst: worst.map_or(0.0, Cost::ratio),
        worst_tool: worst
            .map(|cost| format!("{} ({} → {})", cost.tool, cost.before, cost.after))
            .unwrap_or_default(),
        over_twice: costs.iter().filter(|cost| cost.after > 2 * cost.before).count(),
        over_promise: costs.iter().filter(|cost| cost.is_over()).count(),
        total: total.ratio(),
    }
}

/// What one tool costs; `None` if it is left out.
fn cost(tool: &Value, translator: &Translator, vocabulary: &CoreBPE) -> Option<Cost> {
    let translated = translator.translate_one(tool);
    let definition = serde_json::to_string(translated.definition.as_ref()?).ok()?;
    let count = |text: &str| vocabulary.encode_ordinary(text).len();
    Some(Cost {
        tool: translated.name.to_owned(),
        before: count(&original(tool).to_string()),
        after: count(&definition),
    })
}

/// What a model would read of a tool: annotations and output schemas go to no provider.
pub(crate) fn original(tool: &Value) -> Value {
    let mut original = json!({"name": tool.get("name")});
    for key in ["description", "inputSchema"] {
        if let Some(value) = tool.get(key)
            && let Some(members) = original.as_object_mut()
        {
            members.insert(key.to_owned(), value.clone());
        }
    }
    original
}

/// A table of all dialects.
pub(crate) fn write_table(rows: &[Growth], out: &mut impl Write) -> Result<()> {
    writeln!(
        out,
        "| dialect | median | 99th percentile | worst | all tools | over twice | over twice + 300 | worst tool |"
    )?;
    writeln!(out, "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |")?;
    for row in rows {
        writeln!(
            out,
            "| {} | {:.2} | {:.2} | {:.2} | {:.2} | {} | {} | {} |",
            row.dialect,
            row.median,
            row.p99,
            row.worst,
            row.total,
            row.over_twice,
            row.over_promise,
            row.worst_tool
        )?;
    }
    Ok(())
}
