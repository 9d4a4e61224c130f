//! What is made once for each view and each version of the catalogue.

use std::sync::{Mutex, PoisonError};

use crate::view::View;
use gateway_runtime::least_recently_used::LeastRecentlyUsed;

/// Faces are configured; more than these cannot be meant.
const VIEWS: usize = 256;

/// A value for each view, with the version of the catalogue that it was made from.
#[derive(Debug)]
pub(crate) struct PerView<T>(Mutex<LeastRecentlyUsed<View, (u64, T)>>);

impl<T> Default for PerView<T> {
    fn default() -> Self {
        Self(Mutex::new(LeastRecentlyUsed::new(VIEWS, usize::MAX)))
    }
}

impl<T: Clone> PerView<T> {
    /// The value of this version. Two that ask at once may both make it.
    pub(crate) fn get(&self, view: &View, version: u64, make: impl FnOnce() -> T) -> T {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = lock().get(view).filter(|(known, _)| *known == version) {
            return known.clone();
        }
        let value = make();
        lock().insert(view.clone(), (version, value.clone()), 0);
        value
    }
}
