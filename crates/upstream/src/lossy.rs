//! Channels of notifications, of which a slow receiver misses some.

use tokio::sync::mpsc;

/// Longer notifications do not queue up.
const SHORT: usize = 1024;

/// Sends a notification of so many bytes, if there is room. A long one only waits alone: receivers that do not read must not
/// fill the memory.
pub fn send_lossy<T>(sender: &mpsc::Sender<T>, notification: T, bytes: usize) {
    let waiting = sender.max_capacity() - sender.capacity();
    if bytes <= SHORT || waiting == 0 {
        let _ = sender.try_send(notification);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_notifications_wait_alone() {
        let (sender, mut receiver) = mpsc::channel(3);
        for (name, bytes) in [("long", SHORT + 1), ("longer", SHORT + 2), ("a", 1), ("b", SHORT), ("c", 1)] {
            send_lossy(&sender, name, bytes);
        }
        drop(sender);
        let names: Vec<_> = std::iter::from_fn(|| receiver.try_recv().ok()).collect();
        assert_eq!(names, ["long", "a", "b"]);
    }
}
