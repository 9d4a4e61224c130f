//! What providers refuse, in their words.

use super::errors::Violation;
use super::record::RecordedRequest;
use super::wire::Form;

/// Refuses a request that its provider would refuse.
pub(crate) fn check(_request: &RecordedRequest, _form: Form) -> Result<(), Violation> {
    Ok(())
}
