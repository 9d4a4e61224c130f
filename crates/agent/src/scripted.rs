//! A model whose replies are known beforehand, for tests and examples.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use gateway_dialects::Dialect;
use gateway_dialects::stream::StreamEvent;
use gateway_runtime::lock::locked;

use crate::chat_dialect::chat_dialect;
use crate::error::{ModelError, ModelFailure};
use crate::model::{Answer, Ask, Model};

/// A model whose replies are known beforehand.
#[derive(Debug)]
pub struct ScriptedModel {
    replies: Mutex<VecDeque<Vec<StreamEvent>>>,
}

impl ScriptedModel {
    /// One that gives these replies, one for each time that it is asked.
    pub fn new(replies: impl IntoIterator<Item = Vec<StreamEvent>>) -> Self {
        Self { replies: Mutex::new(replies.into_iter().collect()) }
    }
}

impl Model for ScriptedModel {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn dialect(&self) -> &Arc<Dialect> {
        chat_dialect()
    }

    fn ask<'a>(&'a self, _ask: Ask<'a>) -> BoxFuture<'a, Result<Answer, ModelError>> {
        let next = locked(&self.replies).pop_front().ok_or_else(|| ModelError {
            model: self.name().to_owned(),
            kind: None,
            failure: ModelFailure::Request("the script is over".to_owned()),
        });
        let answer = next.map(|events| Answer {
            events: stream::iter(events.into_iter().map(Ok)).boxed(),
            ignored: Vec::new(),
        });
        async move { answer }.boxed()
    }
}
