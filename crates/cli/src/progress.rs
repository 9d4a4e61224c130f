//! A progress line on a terminal during longer waits.

use std::future::Future;
use std::io::{IsTerminal as _, Write as _};
use std::pin::pin;
use std::time::{Duration, Instant};

use gateway_protocol::printable;

/// Shorter waits show nothing.
const DELAY: Duration = Duration::from_millis(500);
const FRAME: Duration = Duration::from_millis(100);
const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// What standard error can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Screen {
    /// A line that is redrawn.
    Terminal,
    /// A terminal that cannot redraw.
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

/// Waits for `work`; after half a second a terminal shows the text of `waiting_for`.
pub(crate) async fn with_progress<T>(work: impl Future<Output = T>, waiting_for: impl Fn() -> String) -> T {
    let screen = Screen::of_stderr();
    let mut work = pin!(work);
    if screen == Screen::None {
        return work.await;
    }
    let began = Instant::now();
    if let Ok(done) = tokio::time::timeout(DELAY, &mut work).await {
        return done;
    }
    if screen == Screen::Dumb {
        // A closed standard error is fine.
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

/// The line of the spinner; it is cleared on drop, even if the work is cancelled.
struct Line;

/// Longer texts would wrap, and a wrapped line cannot be redrawn.
const LINE: usize = 79;

impl Line {
    #[expect(clippy::unused_self, reason = "only the owner of the line may draw it")]
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
