//! Bodies of answers: complete, as events, or broken.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;

/// The body of an answer.
#[derive(Debug)]
pub(crate) enum Body {
    /// All at once.
    Whole(Option<Bytes>),
    /// Messages as server-sent events.
    Events(Events),
    /// Chunks of a faulty body.
    Pieces {
        pieces: mpsc::Receiver<io::Result<Bytes>>,
        /// The announced content length.
        promised: Option<u64>,
    },
}

/// A stream of events.
#[derive(Debug)]
pub(crate) struct Events {
    /// The text before the first message.
    pub(crate) opening: Option<Bytes>,
    /// Events, as they go out.
    pub(crate) messages: mpsc::UnboundedReceiver<Bytes>,
    /// Cancelled when the client disconnects.
    pub(crate) guard: Option<DropGuard>,
}

impl Body {
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::Whole(Some(bytes.into()))
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Events(events) => {
                if let Some(opening) = events.opening.take() {
                    return Poll::Ready(Some(Ok(Frame::data(opening))));
                }
                let message = events.messages.poll_recv(context);
                if matches!(message, Poll::Ready(None)) {
                    // Ended by the server, not by a disconnect.
                    if let Some(guard) = events.guard.take() {
                        guard.disarm();
                    }
                }
                message.map(|message| message.map(|message| Ok(Frame::data(message))))
            }
            Self::Pieces { pieces, .. } => {
                pieces.poll_recv(context).map(|piece| piece.map(|piece| piece.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Self::Events(_) | Self::Pieces { promised: None, .. } => SizeHint::default(),
            Self::Pieces { promised: Some(length), .. } => SizeHint::with_exact(*length),
        }
    }
}
