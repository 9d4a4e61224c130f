//! Words for programs.

/// A word, and when it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorCode {
    /// The word.
    pub word: &'static str,
    /// When it comes, in one sentence.
    pub meaning: &'static str,
}

impl ErrorCode {
    /// A word with its meaning, for tables of other crates.
    pub const fn new(word: &'static str, meaning: &'static str) -> Self {
        Self { word, meaning }
    }
}

/// One table for the constants and [`ALL`], so that no word can be missing where they are listed.
macro_rules! codes {
    ($(#[doc = $meaning:literal] $word:ident;)+) => {
        $(#[doc = $meaning] pub const $word: &str = stringify!($word);)+

        /// All words, in no order that means anything.
        pub const ALL: &[ErrorCode] =
            &[$(ErrorCode { word: $word, meaning: $meaning.trim_ascii() }),+];
    };
}

codes! {
    /// A server cannot be reached, is off, or its connection ended before it answered.
    CONNECTION_ERROR;
    /// No tool has the name that was given.
    TOOL_NOT_FOUND;
    /// No server has the resource.
    RESOURCE_NOT_FOUND;
    /// The request or its arguments are wrong; nothing ran.
    VALIDATION_ERROR;
    /// The server answered with an error, or with something that is no result.
    SERVER_ERROR;
    /// The server, the model or the rest of the request did not come in time; a call may have run.
    TIMEOUT;
    /// The tool ran and reports itself that it failed; its text says why.
    TOOL_ERROR;
    /// No server has the name that was given.
    SERVER_NOT_FOUND;
    /// No provider or dialect has the name that was given.
    UNKNOWN_PROVIDER;
    /// There is no such route, or nothing under the id that was given.
    NOT_FOUND;
    /// The route has no such method; `Allow` names those that it has.
    METHOD_NOT_ALLOWED;
    /// The body is larger than it may be.
    BODY_TOO_LARGE;
    /// The body is not declared as a type that is read here.
    UNSUPPORTED_MEDIA_TYPE;
    /// A key is missing or wrong.
    UNAUTHORIZED;
    /// The `Host`, the `Origin` or the key may not do this, or what is asked for belongs to somebody else.
    FORBIDDEN;
    /// Too much at once; nothing ran, and the same request may work later.
    OVERLOADED;
    /// The tool ran, but there was no room for its result.
    RESULT_DROPPED;
    /// The `Idempotency-Key` was used for another request, or for one that ran and whose answer could not be kept.
    IDEMPOTENCY_CONFLICT;
    /// The policy, or somebody who was asked, denies the call; it did not run.
    TOOL_DENIED;
    /// Somebody has to approve the call before it runs.
    APPROVAL_REQUIRED;
    /// The tool stands in the configuration file, which is where it is changed.
    REGISTRY_CONFLICT;
    /// No more tools can be registered.
    REGISTRY_FULL;
    /// The definition that is to be accepted is another one by now, or none waits.
    DEFINITION_CHANGED;
    /// The server wants to know something that the caller did not offer to answer.
    INPUT_REQUIRED;
    /// What a server wanted to know came too late, or twice.
    INPUT_EXPIRED;
    /// The caller went away before the call or the turn ended.
    CANCELLED;
    /// A tool cannot be written in the provider's format, and its server is configured to refuse the list then.
    CONVERSION_ERROR;
    /// What is asked for, or what came of it, has personal data in it that the configuration does not let pass.
    PERSONAL_DATA;
    /// The caller has no such conversation.
    CONVERSATION_NOT_FOUND;
    /// The conversation would be larger than it may be.
    CONVERSATION_FULL;
    /// The conversation was changed meanwhile, or another message of it is being answered.
    CONFLICT;
    /// The store of conversations cannot be used.
    STORE_ERROR;
    /// The model gave no answer, or an empty one.
    MODEL_ERROR;
    /// A bound of the loop between model and tools was reached.
    LIMIT_EXCEEDED;
    /// Anything else, chiefly a mistake of the gateway itself; the log has more under the correlation id.
    UNKNOWN;
}
