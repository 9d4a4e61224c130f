//! What is counted of calls and conversions.
//!
//! Counting is cheap: atomics. Labels that callers or servers choose (server, tool, provider) are bounded: what comes after
//! the bound is counted as `other`.

mod histogram;
mod labels;
mod personal_data;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub use gateway_store::AUDIT;
pub use histogram::{BOUNDS, Histogram};
use labels::CallSeries;
pub use labels::{CallCounters, Labels, OUTCOMES};
use personal_data::PersonalData;
pub use personal_data::PersonalDataLabels;

/// Counters of calls and conversions.
#[derive(Debug, Default)]
pub struct CallMetrics {
    calls: CallSeries,
    by_provider: Labels<AtomicU64>,
    converted: AtomicU64,
    quarantined: AtomicU64,
    personal_data: PersonalData,
}

impl CallMetrics {
    /// Counts a call; `outcome` is the word for its failure.
    pub fn call(
        &self,
        server: &str,
        tool: &str,
        provider: Option<&str>,
        outcome: Option<&'static str>,
        duration: Duration,
    ) {
        self.calls.observe(server, tool, outcome, duration);
        if let Some(provider) = provider {
            self.by_provider.with(provider, |_, count| count.fetch_add(1, Ordering::Relaxed));
        }
    }

    /// Counts tools that were converted for a provider, and those of them that could not be.
    pub fn conversions(&self, tools: usize, quarantined: usize) {
        self.converted.fetch_add(u64::try_from(tools).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.quarantined.fetch_add(u64::try_from(quarantined).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Counts personal data that was found.
    pub fn personal_data(&self, labels: PersonalDataLabels, count: usize) {
        self.personal_data.add(labels, count);
    }

    /// The personal data that was found, by where it was and what became of it.
    pub fn personal_data_found(&self) -> Vec<(PersonalDataLabels, u64)> {
        self.personal_data.all()
    }

    /// Calls by server and tool, sorted.
    pub fn calls(&self) -> Vec<(String, String, std::sync::Arc<CallCounters>)> {
        self.calls.all()
    }

    /// How many calls came in a provider's format.
    pub fn calls_of_providers(&self) -> Vec<(String, u64)> {
        let all = self.by_provider.all().into_iter();
        all.map(|(name, count)| (name, count.load(Ordering::Relaxed))).collect()
    }

    /// Tools that were converted, and those of them that could not be.
    pub fn converted(&self) -> (u64, u64) {
        (self.converted.load(Ordering::Relaxed), self.quarantined.load(Ordering::Relaxed))
    }
}
