//! Connections to Redis: made when they are needed, a bounded number, and never used again after a fault.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::FutureExt as _;
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    net::TcpStream,
    sync::Semaphore,
};
use tokio_rustls::TlsConnector;

use super::resp::{self, Fault, Reply, Stream};
use crate::{
    address::{Address, REDIS, unescape},
    tls,
};

/// Connections that are open, and how many there may be.
#[derive(Debug)]
pub(super) struct Pool {
    address: Address,
    tls: Option<Arc<rustls::ClientConfig>>,
    max_reply: usize,
    permits: Semaphore,
    idle: Mutex<Vec<Connection>>,
}

/// One connection.
pub(super) struct Connection {
    stream: BufReader<Box<dyn Stream>>,
    max_reply: usize,
    /// Commands whose replies have not been read.
    unread: usize,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Connection")
    }
}

impl Pool {
    pub(super) fn new(address: &Address, connections: usize, max_reply: usize) -> Result<Self, Fault> {
        let tls = (address.url().scheme() == "rediss").then(tls::client_config).transpose()?;
        let permits = Semaphore::new(connections.clamp(1, Semaphore::MAX_PERMITS));
        Ok(Self { address: address.clone(), tls, max_reply, permits, idle: Mutex::default() })
    }

    /// Uses a connection. It is kept for the next one unless it failed, or the future was dropped.
    pub(super) async fn with<T>(
        &self,
        work: impl AsyncFnOnce(&mut Connection) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let closed = |_| Fault::Unexpected("its connections are closed");
        let _permit = self.permits.acquire().await.map_err(closed)?;
        let mut connection = match self.take_idle() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let answer = work(&mut connection).await;
        match &answer {
            // What is left to read would be taken for the reply of another command.
            Ok(_) | Err(Fault::Refused(_)) if connection.unread > 0 => {}
            Ok(_) | Err(Fault::Refused(_)) => self.idle().push(connection),
            // The others are probably no better.
            Err(Fault::Connection(_) | Fault::Unexpected(_)) => self.clear(),
        }
        answer
    }

    /// Closes the connections that nobody uses.
    pub(super) fn clear(&self) {
        self.idle().clear();
    }

    fn take_idle(&self) -> Option<Connection> {
        loop {
            let mut connection = self.idle().pop()?;
            // A connection that nobody uses has nothing to read. If it has, it was closed, or an answer came late.
            if connection.stream.fill_buf().now_or_never().is_none() {
                return Some(connection);
            }
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn connect(&self) -> Result<Connection, Fault> {
        let host = self.address.host().to_owned();
        let tcp = TcpStream::connect((&*host, self.address.port_or(REDIS))).await?;
        tcp.set_nodelay(true)?;
        let stream: Box<dyn Stream> = match &self.tls {
            Some(config) => {
                let name = ServerName::try_from(host).map_err(io::Error::other)?;
                Box::new(TlsConnector::from(Arc::clone(config)).connect(name, tcp).await?)
            }
            None => Box::new(tcp),
        };
        let stream = BufReader::new(stream);
        let mut connection = Connection { stream, max_reply: self.max_reply, unread: 0 };
        let url = self.address.url();
        let invalid = || Fault::Unexpected("user and password are not written as an address has them");
        let user = unescape(url.username()).ok_or_else(invalid)?;
        let password = url.password().map(unescape).map(|text| text.ok_or_else(invalid)).transpose()?;
        if let Some(password) = password {
            let with_user: [&[u8]; 3] = [b"AUTH", user.as_bytes(), password.as_bytes()];
            let without: [&[u8]; 2] = [b"AUTH", password.as_bytes()];
            connection.call(if user.is_empty() { &without } else { &with_user }).await?;
        }
        let database = url.path().trim_matches('/');
        if !database.is_empty() {
            connection.call(&[b"SELECT", database.as_bytes()]).await?;
        }
        Ok(connection)
    }
}

impl Connection {
    /// Sends a command and reads its reply.
    pub(super) async fn call(&mut self, command: &[&[u8]]) -> Result<Reply, Fault> {
        self.send(&[command]).await?;
        self.next().await
    }

    /// Sends commands at once; the reply of each has to be read with [`Connection::next`].
    pub(super) async fn send(&mut self, commands: &[&[&[u8]]]) -> Result<(), Fault> {
        let mut bytes = Vec::new();
        for command in commands {
            resp::write_command(&mut bytes, command);
        }
        self.unread += commands.len();
        resp::send(&mut self.stream, &bytes).await
    }

    /// The reply of the next command that was sent.
    pub(super) async fn next(&mut self) -> Result<Reply, Fault> {
        let reply = resp::read_reply(&mut self.stream, self.max_reply).await;
        if matches!(reply, Ok(_) | Err(Fault::Refused(_))) {
            self.unread = self.unread.saturating_sub(1);
        }
        reply
    }
}
