//! The module `mcp_tool_gateway._engine`: the engine over Python's own objects.
//!
//! Objects are read into the engine's values and written from them, without JSON text between. The interpreter is
//! let go while the engine works.

mod conversion_cache;
mod error;
mod plain_objects;
mod read;
mod stream;
mod write;

use gateway_bindings::{Converter, GivenTool, LeftOut, Operation, Settings, ToolDocument, UnreadTool};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use serde_json::Value;

use conversion_cache::{Lookup, Omitted};
use error::{EngineError, raised};
use plain_objects::CollectorPause;
use read::{BigNumbers, Fault, read};
use write::Writer;

// Values are many small pieces, which are made and dropped in a fifth less time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The engine in process. Use it through `mcp_tool_gateway.engine`, which has types and words.
// Containers of Python are walked by references that they lend, which another thread must not take away.
#[pymodule(gil_used = true)]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", gateway_bindings::VERSION)?;
    module.add("EngineError", module.py().get_type::<EngineError>())?;
    module.add_class::<stream::Stream>()?;
    module.add_function(wrap_pyfunction!(convert, module)?)?;
    module.add_function(wrap_pyfunction!(convert_text, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(run_text, module)?)
}

/// Tools → the value of the provider's request field, and what was left out.
#[pyfunction]
fn convert<'py>(
    py: Python<'py>,
    tools: &Bound<'py, PyAny>,
    options: &Bound<'py, PyDict>,
) -> PyResult<(Bound<'py, PyAny>, Omitted)> {
    match conversion_cache::find(tools, options)? {
        Lookup::Hit(answer, omitted) => Ok((answer, omitted)),
        Lookup::Miss => converted(py, tools, options),
        Lookup::Second(slot) => {
            let (answer, omitted) = converted(py, slot.tools.object(py), slot.options.object(py).cast()?)?;
            let _pause = CollectorPause::new(py);
            slot.keep(&answer, &omitted)?;
            Ok((answer, omitted))
        }
    }
}

fn converted<'py>(
    py: Python<'py>,
    tools: &Bound<'py, PyAny>,
    options: &Bound<'py, PyDict>,
) -> PyResult<(Bound<'py, PyAny>, Omitted)> {
    let converter = Converter::new(settings(options)?).map_err(|error| raised(py, error))?;
    let tools = read_tools(tools)?;
    let translation = py.detach(|| converter.translate(&tools)).map_err(|error| raised(py, error))?;
    let writer = Writer::new(py);
    if converter.reports() {
        let answer = py.detach(|| converter.answer(&translation));
        let _pause = CollectorPause::new(py);
        return Ok((writer.value(&answer)?, Vec::new()));
    }
    // What is written may be kept, and code that the collector calls could change it before.
    let _pause = CollectorPause::new(py);
    let definitions = translation.tools.iter().filter_map(|tool| tool.definition.as_ref());
    let list = PyList::empty(py);
    for tool in definitions {
        list.append(writer.json(tool)?)?;
    }
    Ok((list.into_any(), omitted(converter.left_out(&translation))))
}

/// The same over JSON text.
#[pyfunction]
fn convert_text(
    py: Python<'_>,
    text: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
) -> PyResult<(String, Omitted)> {
    let converter = Converter::new(settings(options)?).map_err(|error| raised(py, error))?;
    let text = Text::of(text)?;
    let text = text.as_str()?;
    let answer = py.detach(|| converter.convert_text(text));
    answer.map(|(text, left_out)| (text, omitted(left_out))).map_err(|error| raised(py, error))
}

/// Any other operation, by name.
#[pyfunction]
fn run<'py>(
    py: Python<'py>,
    operation: &str,
    input: &Bound<'py, PyAny>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let operation = Operation::named(operation).map_err(|error| raised(py, error))?;
    let settings = settings(options)?;
    if operation == Operation::Check {
        let tools = read_tools(input)?;
        let report = py.detach(|| gateway_bindings::check(&tools, settings));
        return Writer::new(py).value(&report.map_err(|error| raised(py, error))?);
    }
    let numbers = match operation {
        Operation::RenderResults => BigNumbers::Text,
        Operation::ParseCalls | Operation::ConvertHistory => BigNumbers::Refused,
        Operation::Convert | Operation::Check | Operation::Transform | Operation::DetectModel => {
            BigNumbers::Rounded
        }
    };
    let input = read(input, numbers).map_err(|fault| fault.raised(py))?;
    let answer = py.detach(|| gateway_bindings::run(operation, input, settings));
    Writer::new(py).value(&answer.map_err(|error| raised(py, error))?)
}

/// The same over JSON text.
#[pyfunction]
fn run_text(
    py: Python<'_>,
    operation: &str,
    text: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
) -> PyResult<String> {
    let operation = Operation::named(operation).map_err(|error| raised(py, error))?;
    let settings = settings(options)?;
    let text = Text::of(text)?;
    let text = text.as_str()?;
    py.detach(|| gateway_bindings::run_text(operation, text, settings)).map_err(|error| raised(py, error))
}

fn omitted(left_out: Vec<LeftOut>) -> Omitted {
    left_out.into_iter().map(|one| (one.tool, one.reason)).collect()
}

fn settings(options: &Bound<'_, PyDict>) -> PyResult<Settings> {
    let given = options.copy()?;
    let tools =
        options.get_item("tools")?.filter(|tools| !tools.is_none() && !tools.is_instance_of::<PyString>());
    if tools.is_some() {
        given.del_item("tools")?;
    }
    let settings = match read(&given, BigNumbers::Rounded).map_err(|fault| fault.raised(options.py()))? {
        Value::Object(options) => Settings::new(options),
        _ => Settings::default(),
    };
    Ok(match tools {
        Some(tools) => settings.with_tools(read_tools(&tools)?),
        None => settings,
    })
}

/// The tools of a list, of an object with a list under `tools`, or of whatever else a document may be. Each is read by itself: one
/// that is nested too deeply does not keep the others from being used.
fn read_tools(tools: &Bound<'_, PyAny>) -> PyResult<Vec<GivenTool>> {
    let py = tools.py();
    let list = match tools.cast::<PyDict>() {
        Ok(document) => document.get_item("tools")?.unwrap_or_else(|| tools.clone()),
        Err(_) => tools.clone(),
    };
    let document = |value| ToolDocument::of_value(value).map_err(|error| raised(py, error.into()));
    if !list.is_instance_of::<PyList>() && !list.is_instance_of::<PyTuple>() {
        return match read(tools, BigNumbers::Rounded) {
            Ok(whole) => Ok(document(whole)?.tools),
            Err(Fault::TooDeep { name: Some(name) }) => {
                Ok(vec![GivenTool::unread(String::new(), UnreadTool::too_deep(name))])
            }
            Err(fault) => Err(fault.raised(py)),
        };
    }
    let mut items = Vec::new();
    let mut deep = Vec::new();
    for (index, item) in list.try_iter()?.enumerate() {
        match read(&item?, BigNumbers::Rounded) {
            Ok(value) => items.push(value),
            Err(Fault::TooDeep { name }) => {
                let tool = UnreadTool::too_deep(name.unwrap_or_default());
                deep.push((items.len(), GivenTool::unread(format!("/{index}"), tool)));
            }
            Err(fault) => return Err(fault.at_item(index).raised(py)),
        }
    }
    if deep.is_empty() {
        return Ok(document(Value::Array(items))?.tools);
    }
    let mut given = Vec::with_capacity(items.len() + deep.len());
    let mut deep = deep.into_iter().peekable();
    for (index, item) in items.into_iter().enumerate() {
        while let Some((_, tool)) = deep.next_if(|(before, _)| *before == index) {
            given.push(tool);
        }
        given.extend(document(Value::Array(vec![item]))?.tools);
    }
    given.extend(deep.map(|(_, tool)| tool));
    Ok(given)
}

/// A text or the bytes of one, which stay where they are.
enum Text<'a, 'py> {
    Text(&'a Bound<'py, PyString>),
    Bytes(&'a Bound<'py, PyBytes>),
}

impl<'a, 'py> Text<'a, 'py> {
    fn of(given: &'a Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(text) = given.cast::<PyString>() {
            return Ok(Self::Text(text));
        }
        if let Ok(bytes) = given.cast::<PyBytes>() {
            return Ok(Self::Bytes(bytes));
        }
        let message = format!("expected JSON text as str or bytes, got {}", given.get_type().name()?);
        Err(pyo3::exceptions::PyTypeError::new_err(message))
    }

    fn as_str(&self) -> PyResult<&str> {
        match self {
            Self::Text(text) => text.to_str().map_err(|_| {
                let message = "the text has half of a surrogate pair, which no UTF-8 can hold".to_owned();
                error::refused(text.py(), "VALIDATION_ERROR", message)
            }),
            Self::Bytes(bytes) => std::str::from_utf8(bytes.as_bytes()).map_err(|error| {
                let message = format!("reading the bytes as UTF-8: {error}");
                error::refused(bytes.py(), "VALIDATION_ERROR", message)
            }),
        }
    }
}
