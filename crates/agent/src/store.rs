//! Where conversations, and turns that wait for their caller, are kept.

use std::sync::Arc;

use gateway_config::ServiceConfig;
use gateway_store::conversations::{
    self, ConversationError, ConversationOptions, ConversationStore, Location,
};
use tokio::sync::OnceCell;

/// The store of the configuration, opened when it is needed first, or when the gateway starts.
#[derive(Clone, Debug)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    location: Location,
    options: ConversationOptions,
    opened: OnceCell<Arc<dyn ConversationStore>>,
}

impl Store {
    /// The store that is configured.
    pub fn new(config: &ServiceConfig) -> Self {
        let location = config.data.clone().map_or(Location::Memory, Location::Directory);
        Self(Arc::new(Inner { location, options: ConversationOptions::default(), opened: OnceCell::new() }))
    }

    /// Whether the store is open, and what is wrong with it if it is and does not answer.
    pub async fn status(&self) -> (bool, Option<String>) {
        match self.0.opened.get() {
            Some(store) => (true, store.ping().await.err().map(|error| error.to_string())),
            None => (false, None),
        }
    }

    /// The store, opened.
    pub async fn get(&self) -> Result<&Arc<dyn ConversationStore>, ConversationError> {
        let inner = &self.0;
        inner.opened.get_or_try_init(|| conversations::open(&inner.location, &inner.options)).await
    }
}
