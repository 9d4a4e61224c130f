//! What all operations of a process share: the dialects, and translators that were made once.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use gateway_dialects::{Dialect, Dialects, Protocol, Translator};

use crate::error::EngineError;
use crate::settings::Choice;

/// Translators that are kept. Programs ask for a few, again and again.
const KEPT: usize = 64;

static DIALECTS: LazyLock<Dialects> = LazyLock::new(Dialects::builtin);

static TRANSLATORS: Mutex<Vec<(Choice, Arc<Translator>)>> = Mutex::new(Vec::new());

pub(crate) fn dialects() -> &'static Dialects {
    &DIALECTS
}

/// The translator for a choice: one that was made before, or a new one.
pub(crate) fn translator(choice: &Choice) -> Result<Arc<Translator>, EngineError> {
    if choice.is_empty() {
        return Err(EngineError::invalid("say which dialect: name it with `to`, or a model with `model`"));
    }
    let mut kept = TRANSLATORS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(index) = kept.iter().position(|(own, _)| own == choice) {
        // The latest ones are found first, and the oldest ones are dropped.
        let hit = kept.remove(index);
        let translator = Arc::clone(&hit.1);
        kept.insert(0, hit);
        return Ok(translator);
    }
    // Making one takes a while, and others must not wait for it.
    drop(kept);
    let dialect = dialects().choose(choice.name.as_deref(), choice.model.as_deref(), &choice.compat())?;
    let translator = Arc::new(Translator::with(dialects(), dialect, choice.options.clone())?);
    let mut kept = TRANSLATORS.lock().unwrap_or_else(PoisonError::into_inner);
    kept.truncate(KEPT - 1);
    kept.insert(0, (choice.clone(), Arc::clone(&translator)));
    Ok(translator)
}

/// The plainest dialect of a protocol, for replies whose dialect nobody named: the one that others extend.
pub(crate) fn dialect_of(protocol: Protocol) -> Option<Dialect> {
    let all = dialects().names().filter_map(|name| dialects().get(name).ok());
    let own = all.filter(|dialect| !dialect.layer && dialect.messages.protocol == protocol);
    own.min_by_key(|dialect| (dialect.extends.is_some(), dialect.name.len()))
}

/// What the caller should know of a choice that was taken: that no rule knows the model, what the options mean.
pub(crate) fn warnings(choice: &Choice) -> Vec<String> {
    let unknown = choice.model.as_ref().filter(|model| dialects().for_model(model).is_err());
    let unknown = unknown.map(|model| format!("no rule knows the model `{model}`, so it changes nothing"));
    unknown.into_iter().chain(choice.options.warning().map(str::to_owned)).collect()
}
