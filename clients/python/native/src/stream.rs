//! Streamed replies.

use std::sync::{Mutex, PoisonError};

use gateway_bindings::StreamAssembler;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;

use crate::error::raised;
use crate::read::{BigNumbers, read};
use crate::write::Writer;
use crate::{Text, settings};

/// One streamed reply. Threads may share it, one at a time.
#[pyclass(frozen, module = "mcp_tool_gateway._engine")]
pub(crate) struct Stream(Mutex<StreamAssembler>);

#[pymethods]
impl Stream {
    #[new]
    fn new(options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let assembler = StreamAssembler::new(settings(options)?);
        assembler.map(|assembler| Self(Mutex::new(assembler))).map_err(|error| raised(options.py(), error))
    }

    /// Takes bytes, or a text.
    fn push<'py>(&self, py: Python<'py>, bytes: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let text = Text::of(bytes)?;
        let bytes = match &text {
            Text::Text(text) => text.to_str()?.as_bytes(),
            Text::Bytes(bytes) => bytes.as_bytes(),
        };
        self.events(py, |assembler| assembler.push(bytes))
    }

    /// Takes a chunk that somebody parsed.
    fn push_chunk<'py>(
        &self,
        py: Python<'py>,
        chunk: &Bound<'py, PyAny>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let chunk = read(chunk, BigNumbers::Refused).map_err(|fault| fault.raised(py))?;
        self.events(py, |assembler| assembler.push_chunk(&chunk))
    }

    /// Ends the reply.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.events(py, StreamAssembler::finish)
    }
}

impl Stream {
    fn events<'py>(
        &self,
        py: Python<'py>,
        work: impl FnOnce(&mut StreamAssembler) -> Result<Vec<Value>, gateway_bindings::EngineError> + Send,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        // Waited for without the interpreter, which whoever has it may need.
        let events = py.detach(|| work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)));
        let writer = Writer::new(py);
        events.map_err(|error| raised(py, error))?.iter().map(|event| writer.value(event)).collect()
    }
}
