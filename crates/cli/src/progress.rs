//! A sign of life on a terminal while something takes its time.

use std::future::Future;
use std::io::{IsTerminal as _, Write as _};
use std::pin::pin;
use std::time::{Duration, Instant};

use gateway_protocol::printable;

/// What is over sooner needs no sign of life.
const PATIENCE: Duration = Duration::from_millis(500);
const FRAME: Duration = Duration::from_millis(100);
const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// What standard error can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Screen {
    /// A line that is written again and again.
    Terminal,
    /// A terminal that cannot do that.
    Dumb,
    /// A file or a pipe.
    None,
}

impl Screen {
    fn of_stderr() -> Self {
        if !std::io::stderr().is_terminal() {
            Self::None
        } else if std::env::var_os("TERM").is_none_or(|value| value == "dumb") {
            Self::Dumb
        } else {
            Self::Terminal
        }
    }
}

/// Waits for `work`; after half a second a terminal is shown what `waiting_for` says.
pub(crate) async fn with_progress<T>(work: impl Future<Output = T>, waiting_for: impl Fn() -> String) -> T {
    let screen = Screen::of_stderr();
    let mut work = pin!(work);
    if screen == Screen::None {
        return work.await;
    }
    let began = Instant::now();
    if let Ok(done) = tokio::time::timeout(PATIENCE, &mut work).await {
        return done;
    }
    if screen == Screen::Dumb {
        // Nobody reading is fine.
        let _ = writeln!(std::io::stderr(), "{}", printable(&waiting_for()));
        return work.await;
    }
    let line = Line;
    for frame in FRAMES.iter().cycle() {
        line.draw(&format!("{frame} {} ({} s)", waiting_for(), began.elapsed().as_secs()));
        if let Ok(done) = tokio::time::timeout(FRAME, &mut work).await {
            return done;
        }
    }
    work.await
}

/// The line of the spinner; it goes away with it, also when the work is given up.
struct Line;

/// Longer texts would wrap, and a wrapped line cannot be written over.
const LINE: usize = 79;

impl Line {
    #[expect(clippy::unused_self, reason = "only who has the line may draw it")]
    fn draw(&self, text: &str) {
        let text: String = printable(text).chars().take(LINE).collect();
        let mut stderr = std::io::stderr().lock();
        let _ = write!(stderr, "\r\u{1b}[K{text}").and_then(|()| stderr.flush());
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let mut stderr = std::io::stderr().lock();
        let _ = write!(stderr, "\r\u{1b}[K").and_then(|()| stderr.flush());
    }
}
