//! A keep-alive connection, for calls whose latency is measured.

use std::io::{self, BufReader, Write as _};
use std::net::TcpStream;

use anyhow::Result;

use crate::hostile::caller::{Caller, Head};

pub(super) struct Kept {
    reader: BufReader<TcpStream>,
    request: String,
}

impl Kept {
    /// Connects, to send the same request repeatedly.
    pub(super) fn open(caller: &Caller, path: &str, body: &str) -> Result<Self> {
        let request = caller.message("POST", path, &[("content-type", "application/json")], body);
        Ok(Self { reader: BufReader::new(caller.connect()?), request })
    }

    /// Sends the request and reads the whole answer; its status.
    pub(super) fn exchange(&mut self) -> io::Result<u16> {
        self.reader.get_mut().write_all(self.request.as_bytes())?;
        let head = Head::read(&mut self.reader)?;
        let status = head.status;
        head.skip_body(&mut self.reader)?;
        Ok(status)
    }
}
