//! The module `mcp_tool_gateway._engine`: the engine over Python's own objects.

use pyo3::prelude::*;

/// The engine in process. Use it through `mcp_tool_gateway.engine`, which has types.
#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", gateway_bindings::VERSION)
}
