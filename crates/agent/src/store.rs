//! Where conversations, and turns that wait for their caller, are kept.

use std::sync::Arc;

use gateway_config::{ConversationsConfig, Secret, ServiceConfig, StoreLocation};
use gateway_store::conversations::{
    self, ConversationError, ConversationOptions, ConversationStore, DirectoryLock, Location,
};
use gateway_store::{Address, InvalidAddress};
use tokio::sync::OnceCell;

/// The store of the configuration, opened when it is needed first, or when the gateway starts.
#[derive(Clone, Debug)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    location: Result<Location, InvalidAddress>,
    options: ConversationOptions,
    opened: OnceCell<Opened>,
}

#[derive(Debug)]
struct Opened {
    store: Arc<dyn ConversationStore>,
    sharing: Sharing,
}

/// Who else may use the store.
#[derive(Debug)]
enum Sharing {
    /// Nobody, as long as its directory is locked.
    Locked(#[expect(dead_code, reason = "held until the store is dropped")] DirectoryLock),
    /// Nobody: it is memory of this process.
    Own,
    /// Other gateways.
    Shared,
}

impl Store {
    /// The store that is configured.
    pub fn new(config: &ServiceConfig) -> Self {
        let ConversationsConfig { store, ttl, bytes, deadline, .. } = &config.conversations;
        let mut options = ConversationOptions::default();
        (options.ttl, options.max_bytes, options.deadline) = (*ttl, *bytes, *deadline);
        let read =
            |address: &Secret, read: fn(&str) -> Result<Address, InvalidAddress>| read(address.expose());
        let location = match store {
            StoreLocation::DataDirectory => {
                Ok(config.data.clone().map_or(Location::Memory, Location::Directory))
            }
            StoreLocation::Memory => Ok(Location::Memory),
            StoreLocation::Redis(address) => read(address, Address::redis).map(Location::Redis),
            StoreLocation::Postgres(address) => read(address, Address::postgres).map(Location::Postgres),
        };
        Self(Arc::new(Inner { location, options, opened: OnceCell::new() }))
    }

    /// A store that is open already and that nobody else uses.
    pub fn over(store: Arc<dyn ConversationStore>) -> Self {
        let (location, options) = (Ok(Location::Memory), ConversationOptions::default());
        let opened = OnceCell::from(Opened { store, sharing: Sharing::Own });
        Self(Arc::new(Inner { location, options, opened }))
    }

    /// Whether it is another program, which may be out of reach.
    pub fn is_remote(&self) -> bool {
        matches!(&self.0.location, Err(_) | Ok(Location::Redis(_) | Location::Postgres(_)))
    }

    /// Whether the store is open, and what is wrong with it if it is and does not answer.
    pub async fn status(&self) -> (bool, Option<String>) {
        match self.0.opened.get() {
            Some(opened) => (true, opened.store.ping().await.err().map(|error| described(&error))),
            None => (false, None),
        }
    }

    /// The store, opened.
    pub async fn get(&self) -> Result<&Arc<dyn ConversationStore>, ConversationError> {
        self.opened().await.map(|opened| &opened.store)
    }

    /// Whether certainly no other gateway uses the store. Then a turn of another holder is one of a process that ended.
    pub(crate) async fn is_ours_alone(&self) -> Result<bool, ConversationError> {
        Ok(match self.opened().await?.sharing {
            Sharing::Locked(_) | Sharing::Own => true,
            Sharing::Shared => false,
        })
    }

    async fn opened(&self) -> Result<&Opened, ConversationError> {
        let open = || async {
            let Inner { location, options, .. } = &*self.0;
            let location = location.as_ref().map_err(|error| ConversationError::Unavailable {
                place: Arc::from("the address in `conversations.store`"),
                attempt: "reading the address",
                cause: Box::new(*error),
            })?;
            // Two gateways in one directory would take each other's turns for those of a process that ended.
            let sharing = match location {
                Location::Memory => Sharing::Own,
                Location::Directory(directory) => Sharing::Locked(DirectoryLock::take(directory)?),
                _ => Sharing::Shared,
            };
            let store = conversations::open(location, options).await?;
            Ok(Opened { store, sharing })
        };
        self.0.opened.get_or_try_init(open).await
    }
}

/// An error of the store with its causes.
pub(crate) fn described(error: &ConversationError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
