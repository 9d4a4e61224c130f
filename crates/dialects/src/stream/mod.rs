//! Tool calls out of streamed replies.
