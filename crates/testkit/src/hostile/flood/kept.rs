//! A keep-alive connection, for calls whose latency is measured.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) struct Kept {
    reader: BufReader<TcpStream>,
    request: Vec<u8>,
    body: Vec<u8>,
}

impl Kept {
    /// Connects, to send the same request repeatedly.
    pub(super) fn open(port: u16, path: &str, body: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost:{port}\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}"
        );
        Ok(Self { reader: BufReader::new(stream), request: request.into_bytes(), body: Vec::new() })
    }

    /// Sends the request and reads the whole answer; its status.
    pub(super) fn exchange(&mut self) -> io::Result<u16> {
        self.reader.get_mut().write_all(&self.request)?;
        let status = self.line()?.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        let mut length = 0;
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let header = line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
            if let Some((_, value)) = header {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        self.body.resize(length, 0);
        self.reader.read_exact(&mut self.body)?;
        Ok(status)
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}
