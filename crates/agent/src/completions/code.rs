//! Words for programs in errors of `/v1`, beside those of the whole gateway.

use gateway_runtime::failure::code::ErrorCode;

/// One table for the constants and [`ALL`], so that no word can be missing where they are listed.
macro_rules! codes {
    ($(#[doc = $meaning:literal] $name:ident = $word:literal;)+) => {
        $(#[doc = $meaning] pub const $name: &str = $word;)+

        /// All words, in no order that means anything.
        pub const ALL: &[ErrorCode] = &[$(ErrorCode::new($name, $meaning.trim_ascii())),+];
    };
}

codes! {
    /// No model has the name that was given.
    MODEL_NOT_FOUND = "model_not_found";
    /// The conversation is longer than the model takes; shorten it.
    CONTEXT_LENGTH_EXCEEDED = "context_length_exceeded";
    /// The model sent nothing for too long.
    MODEL_TIMEOUT = "model_timeout";
    /// The model's API cannot be reached, or its connection ended before the answer did.
    MODEL_UNREACHABLE = "model_unreachable";
    /// The model's API sent an error in place of the rest of an answer, or something that is no answer.
    MODEL_ERROR = "model_error";
    /// The model answered nothing, several times.
    EMPTY_ANSWER = "empty_answer";
    /// A bound of the loop between model and tools was reached.
    LIMIT_EXCEEDED = "limit_exceeded";
    /// What the loop has to keep could not be kept; nothing followed from it.
    STORE_UNAVAILABLE = "store_unavailable";
    /// The caller went away before the answer ended.
    CANCELLED = "cancelled";
}
