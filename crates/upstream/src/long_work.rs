//! Work on long texts, beside the threads that serve everybody.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Reading shorter texts takes less time than handing the thread's other tasks over.
const LONG: usize = 256 * 1024;

/// Does work that reads a text of so many bytes. While a long one is read, other tasks run on another thread.
pub(crate) fn reading<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes < LONG {
        return work();
    }
    let has_threads =
        Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    if has_threads { tokio::task::block_in_place(work) } else { work() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn others_run_while_a_long_text_is_read() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let reader = tokio::spawn(async move {
            // Sent by a task that the only thread cannot run while it waits here.
            tokio::spawn(async move { sender.send("ran").unwrap() });
            reading(LONG, || receiver.recv_timeout(std::time::Duration::from_secs(30)))
        });
        assert_eq!(reader.await.unwrap(), Ok("ran"));
    }

    #[tokio::test]
    async fn one_thread_is_enough() {
        assert_eq!(reading(LONG, || 1), 1);
    }
}
