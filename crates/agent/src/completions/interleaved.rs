//! Events of a loop and the loop itself, as one stream.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::Stream;
use gateway_runtime::progress::Step;
use tokio::sync::mpsc;

/// The messages that `work` sends while it goes on, and then what it gives. Dropping the stream drops the work.
///
/// Only the work itself may send. So nobody has to be woken for a message: whoever polls the work looks for it right afterwards. A
/// waker would run the whole task once more for each chunk of a reply, and wake another thread for it.
pub(super) struct Interleaved<W: Future, M> {
    work: Pin<Box<W>>,
    messages: mpsc::Receiver<M>,
    done: Option<W::Output>,
    is_over: bool,
}

impl<W: Future, M> Interleaved<W, M> {
    pub(super) fn new(work: W, messages: mpsc::Receiver<M>) -> Self {
        Self { work: Box::pin(work), messages, done: None, is_over: false }
    }
}

// Nothing in it is pinned but the work, which is in a box.
impl<W: Future, M> Unpin for Interleaved<W, M> {}

impl<W: Future, M> Stream for Interleaved<W, M> {
    type Item = Step<M, W::Output>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        if let Ok(message) = self.messages.try_recv() {
            return Poll::Ready(Some(Step::Message(message)));
        }
        if self.done.is_none()
            && let Poll::Ready(done) = self.work.as_mut().poll(context)
        {
            self.done = Some(done);
        }
        if let Ok(message) = self.messages.try_recv() {
            return Poll::Ready(Some(Step::Message(message)));
        }
        match self.done.take() {
            Some(done) => {
                self.is_over = true;
                Poll::Ready(Some(Step::Done(done)))
            }
            None => Poll::Pending,
        }
    }
}
