//! Errors of the engine as exceptions of Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

pyo3::create_exception!(
    _engine,
    EngineError,
    PyValueError,
    "The engine refused its input. `code` is for programs, `message` says what was attempted and what to try."
);

/// The exception for an error.
pub(crate) fn raised(py: Python<'_>, error: gateway_bindings::EngineError) -> PyErr {
    refused(py, error.code, error.message)
}

/// An exception with a code.
pub(crate) fn refused(py: Python<'_>, code: &str, message: String) -> PyErr {
    let exception = EngineError::new_err((message.clone(),));
    let value = exception.value(py);
    match value.setattr("code", code).and_then(|()| value.setattr("message", message)) {
        Ok(()) => exception,
        Err(error) => error,
    }
}
