//! The dialect of Chat Completions, built once: building it costs more than a whole call.

use std::sync::{Arc, LazyLock};

use gateway_dialects::{Dialect, Dialects};

/// The dialect in which callers of `/v1` write, and results of written calls are rendered.
pub(crate) fn chat_dialect() -> &'static Arc<Dialect> {
    static CHAT: LazyLock<Arc<Dialect>> = LazyLock::new(|| {
        #[expect(clippy::expect_used, reason = "the dialect is part of the binary")]
        let dialect = Dialects::builtin().get("openai-chat").expect("openai-chat is a built-in dialect");
        Arc::new(dialect)
    });
    &CHAT
}
