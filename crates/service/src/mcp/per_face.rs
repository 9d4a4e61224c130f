//! What is made once for each face and each version of the catalogue.

use std::sync::{Mutex, PoisonError};

use super::face::Face;
use gateway_runtime::least_recently_used::LeastRecentlyUsed;

/// Faces are configured; more than these cannot be meant.
const FACES: usize = 256;

/// A value for each face, with the version of the catalogue that it was made from.
#[derive(Debug)]
pub(super) struct PerFace<T>(Mutex<LeastRecentlyUsed<Face, (u64, T)>>);

impl<T> Default for PerFace<T> {
    fn default() -> Self {
        Self(Mutex::new(LeastRecentlyUsed::new(FACES, usize::MAX)))
    }
}

impl<T: Clone> PerFace<T> {
    /// The value of this version. Two that ask at once may both make it.
    pub(super) fn get(&self, face: &Face, version: u64, make: impl FnOnce() -> T) -> T {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = lock().get(face).filter(|(known, _)| *known == version) {
            return known.clone();
        }
        let made = make();
        lock().insert(face.clone(), (version, made.clone()), 0);
        made
    }
}
