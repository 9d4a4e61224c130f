//! Servers of `scripts/services`. Tests that need them are ignored, and `scripts/services run` runs them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// The value of a variable that `scripts/services run` sets.
pub(crate) fn variable(name: &str) -> String {
    std::env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set; run this test by `scripts/services run`"))
}

/// A server of this test's own, which it may disturb.
pub(crate) struct Server {
    script: Child,
    answers: BufReader<ChildStdout>,
    pub(crate) url: String,
    /// The certificate to trust, if it speaks TLS.
    pub(crate) authority: Option<String>,
}

impl Server {
    pub(crate) fn start(name: &str) -> Self {
        // Somebody may take the free port before the server does: then another one is free.
        (0..5).find_map(|_| Self::try_start(name)).unwrap()
    }

    fn try_start(name: &str) -> Option<Self> {
        let mut script = Command::new(variable("GATEWAY_TEST_SERVICES"))
            .args(["serve", name])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let answers = BufReader::new(script.stdout.take().unwrap());
        let mut server = Self { script, answers, url: String::new(), authority: None };
        let ready = server.answer();
        let mut words = ready.strip_prefix("ready ")?.split(' ');
        server.url.push_str(words.next()?);
        server.authority = words.nth(1).map(str::to_owned);
        Some(server)
    }

    /// Has the server paused (`kill -STOP`), resumed, stopped or started again.
    pub(crate) fn order(&mut self, order: &str) {
        writeln!(self.script.stdin.as_mut().unwrap(), "{order}").unwrap();
        assert_eq!(self.answer(), format!("done {order}"));
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // At the end of its input the script ends the server and removes its data.
        drop(self.script.stdin.take());
        let _ = self.script.wait();
    }
}

/// Databases of this process.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// A new database of the PostgreSQL server that the tests share.
pub(crate) fn new_database() -> String {
    let url = variable("GATEWAY_TEST_POSTGRES_URL");
    let base = url.strip_suffix("/postgres").unwrap();
    let name = format!("test_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    execute(&url, &format!("CREATE DATABASE {name}"));
    format!("{base}/{name}")
}

/// Runs a statement, on a thread with a runtime of its own.
pub(crate) fn execute(url: &str, sql: &str) {
    let (url, sql) = (url.to_owned(), sql.to_owned());
    let run = async move {
        use sqlx::{AssertSqlSafe, Connection as _, Executor as _};
        let mut connection = sqlx::PgConnection::connect(&url).await.unwrap();
        connection.execute(AssertSqlSafe(sql)).await.unwrap();
        connection.close().await.unwrap();
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    std::thread::spawn(move || runtime.block_on(run)).join().unwrap();
}
