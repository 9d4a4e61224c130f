//! The answer of a turn that runs.

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use gateway_store::conversations::ConversationId;
use tokio::sync::mpsc;

use super::error::ConversationsError;
use super::request::WantedEvents;
use super::turn::TurnEvent;
use super::{ChatItem, ChatStream, write};
use crate::run::Finished;

/// A turn whose answer somebody waits for. Dropping it ends the turn.
pub(super) struct RunningTurn {
    pub(super) id: ConversationId,
    pub(super) events: mpsc::Receiver<TurnEvent>,
    pub(super) wanted: WantedEvents,
}

impl RunningTurn {
    pub(super) async fn whole(mut self) -> Result<Bytes, ConversationsError> {
        while let Some(event) = self.events.recv().await {
            match event {
                TurnEvent::Happened(_) => {}
                TurnEvent::Done(outcome) => {
                    return outcome.map(|finished: Finished| write::whole(self.id, &finished));
                }
            }
        }
        Err(ConversationsError::BrokenOff)
    }

    pub(super) fn stream(self) -> ChatStream {
        let Self { id, events, wanted } = self;
        let steps = stream::unfold(Some(events), |events| async move {
            let mut events = events?;
            match events.recv().await {
                Some(event @ TurnEvent::Happened(_)) => Some((event, Some(events))),
                Some(done @ TurnEvent::Done(_)) => Some((done, None)),
                None => Some((TurnEvent::Done(Box::new(Err(ConversationsError::BrokenOff))), None)),
            }
        });
        let mut has_begun = false;
        let items = steps.flat_map(move |event| {
            let mut items = Vec::new();
            let failed = matches!(&event, TurnEvent::Done(outcome) if outcome.is_err());
            let shown: Vec<Bytes> = match &event {
                TurnEvent::Happened(event) => write::happened(event, wanted).into_iter().collect(),
                TurnEvent::Done(outcome) => match &**outcome {
                    Ok(finished) => write::end(finished),
                    Err(_) => Vec::new(),
                },
            };
            if !has_begun && !failed && !shown.is_empty() {
                has_begun = true;
                items.push(ChatItem::Bytes(write::begin(id)));
            }
            items.extend(shown.into_iter().map(ChatItem::Bytes));
            if let TurnEvent::Done(outcome) = event
                && let Err(error) = *outcome
            {
                let begin = (!has_begun).then(|| write::begin(id));
                items.push(ChatItem::Failed { error, begin });
            }
            stream::iter(items)
        });
        Box::pin(items)
    }
}
