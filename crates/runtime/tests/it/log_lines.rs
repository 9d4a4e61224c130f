//! What a test logs.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

/// One line: its level, its message and its fields.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) level: Level,
    pub(crate) message: String,
    pub(crate) fields: BTreeMap<String, String>,
}

/// The lines that the current thread logs while `guard` lives.
pub(crate) struct LogLines {
    lines: Arc<Mutex<Vec<Line>>>,
    _guard: tracing::subscriber::DefaultGuard,
}

impl LogLines {
    pub(crate) fn of_this_thread() -> Self {
        let lines = Arc::default();
        let collector = Collector(Arc::clone(&lines));
        let guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(collector));
        Self { lines, _guard: guard }
    }

    pub(crate) fn beginning_with(&self, text: &str) -> Vec<Line> {
        let lines = self.lines.lock().unwrap();
        lines.iter().filter(|line| line.message.starts_with(text)).cloned().collect()
    }
}

struct Collector(Arc<Mutex<Vec<Line>>>);

impl<S: Subscriber> Layer<S> for Collector {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let message = fields.0.remove("message").unwrap_or_default();
        self.0.lock().unwrap().push(Line { level: *event.metadata().level(), message, fields: fields.0 });
    }
}

#[derive(Default)]
struct Fields(BTreeMap<String, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
}
