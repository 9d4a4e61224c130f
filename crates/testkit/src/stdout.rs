//! Standard output of a server over stdio.

use std::io::{self, Write as _};
use std::sync::Mutex;

use crate::lock::lock;

/// Stdout, written in whole lines.
#[derive(Debug, Default)]
pub(crate) struct Stdout(Mutex<()>);

impl Stdout {
    pub(crate) fn write(&self, text: &[u8]) {
        let _turn = lock(&self.0);
        write_out(text);
    }

    pub(crate) fn write_line(&self, text: &[u8]) {
        let mut line = Vec::with_capacity(text.len() + 1);
        line.extend_from_slice(text);
        line.push(b'\n');
        self.write(&line);
    }

    /// Writes a line that never ends; never returns.
    pub(crate) fn write_for_ever(&self, head: &[u8]) {
        // No other line may end this one.
        let _turn = lock(&self.0);
        let filler = vec![b'x'; 64 * 1024];
        write_out(head);
        loop {
            write_out(&filler);
        }
    }
}

fn write_out(text: &[u8]) {
    let mut stdout = io::stdout().lock();
    if stdout.write_all(text).and_then(|()| stdout.flush()).is_err() {
        // The pipe is closed: the client has left.
        std::process::exit(0);
    }
}
