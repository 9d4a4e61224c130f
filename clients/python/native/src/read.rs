//! Python's objects → the engine's values.
//!
//! Exact built-in types are read through the C interface; whatever else stands for JSON is asked for what it holds. Containers are
//! held while they are read, because asking an object runs Python code that may take them apart.
#![expect(unsafe_code, reason = "an object is read in a tenth of the time through the C interface")]

use std::ffi::c_int;
use std::slice;

use gateway_bindings::JSON_DEPTH;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyUnicodeEncodeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};
use serde_json::{Map, Number, Value};

use crate::error::refused;

/// What becomes of whole numbers that do not fit into 64 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum BigNumbers {
    /// They are doubles, as in JSON text that the engine reads.
    Rounded,
    /// They are refused: arguments must not lose digits.
    Refused,
    /// They are texts, as in results that the engine reads.
    Text,
}

/// Why an object cannot be read.
pub(crate) enum Fault {
    /// There is no end to it, or none within what JSON may be.
    TooDeep {
        /// What the outermost object says under `name`.
        name: Option<String>,
    },
    /// It holds something that is no JSON.
    NoJson {
        /// The steps to it, the last one first.
        path: Vec<String>,
        reason: String,
        is_type: bool,
    },
    /// Code of Python raised this.
    Raised(PyErr),
}

impl Fault {
    fn of_value(reason: impl Into<String>) -> Self {
        Self::NoJson { path: Vec::new(), reason: reason.into(), is_type: false }
    }

    fn under(mut self, step: impl FnOnce() -> String) -> Self {
        if let Self::NoJson { path, .. } = &mut self {
            path.push(step());
        }
        self
    }

    /// The same for what is an item of a list.
    pub(crate) fn at_item(self, index: usize) -> Self {
        self.under(|| index.to_string())
    }

    /// The exception.
    pub(crate) fn raised(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Raised(error) => error,
            Self::TooDeep { .. } => {
                let message =
                    format!("the input is nested more than {JSON_DEPTH} levels deep, or holds itself");
                refused(py, "VALIDATION_ERROR", message)
            }
            Self::NoJson { path, reason, is_type } => {
                let place = if path.is_empty() {
                    "the input".to_owned()
                } else {
                    path.iter().rev().fold(String::new(), |all, step| {
                        all + "/" + &step.replace('~', "~0").replace('/', "~1")
                    })
                };
                let message = format!("{place} is no JSON: {reason}");
                if is_type { PyTypeError::new_err(message) } else { refused(py, "VALIDATION_ERROR", message) }
            }
        }
    }
}

/// Reads an object.
pub(crate) fn read(object: &Bound<'_, PyAny>, numbers: BigNumbers) -> Result<Value, Fault> {
    let reader = Reader { py: object.py(), numbers };
    reader.value(object.as_ptr(), 0).map_err(|fault| match fault {
        Fault::TooDeep { .. } => Fault::TooDeep { name: name_of(object) },
        other => other,
    })
}

fn name_of(object: &Bound<'_, PyAny>) -> Option<String> {
    object.cast::<PyDict>().ok()?.get_item("name").ok()??.extract().ok()
}

struct Reader<'py> {
    py: Python<'py>,
    numbers: BigNumbers,
}

impl Reader<'_> {
    /// `object` is borrowed from somebody who holds it.
    fn value(&self, object: *mut ffi::PyObject, depth: usize) -> Result<Value, Fault> {
        // SAFETY: `object` is a live object and the interpreter is held; type objects are static.
        unsafe {
            let kind = ffi::Py_TYPE(object);
            if kind == &raw mut ffi::PyUnicode_Type {
                return self.text(object).map(Value::String);
            }
            if kind == &raw mut ffi::PyDict_Type {
                return self.dict(object, depth);
            }
            if kind == &raw mut ffi::PyList_Type {
                return self.list(object, depth);
            }
            if kind == &raw mut ffi::PyBool_Type {
                return Ok(Value::Bool(object == ffi::Py_True()));
            }
            if object == ffi::Py_None() {
                return Ok(Value::Null);
            }
            if kind == &raw mut ffi::PyLong_Type {
                return self.whole(object);
            }
            if kind == &raw mut ffi::PyFloat_Type {
                return Self::double(object);
            }
            // Subclasses are what they derive from.
            let flags = ffi::PyType_GetFlags(kind);
            if flags & ffi::Py_TPFLAGS_UNICODE_SUBCLASS != 0 {
                return self.text(object).map(Value::String);
            }
            if flags & ffi::Py_TPFLAGS_DICT_SUBCLASS != 0 {
                return self.dict(object, depth);
            }
            if flags & ffi::Py_TPFLAGS_LIST_SUBCLASS != 0 {
                return self.list(object, depth);
            }
            if flags & ffi::Py_TPFLAGS_TUPLE_SUBCLASS != 0 {
                return self.tuple(object, depth);
            }
            if flags & ffi::Py_TPFLAGS_LONG_SUBCLASS != 0 {
                return self.whole(object);
            }
            if ffi::PyObject_TypeCheck(object, &raw mut ffi::PyFloat_Type) != 0 {
                return Self::double(object);
            }
            let object = Bound::from_borrowed_ptr(self.py, object);
            self.other(&object, depth)
        }
    }

    fn text(&self, object: *mut ffi::PyObject) -> Result<String, Fault> {
        self.borrowed(object).map(str::to_owned)
    }

    /// The text of `object`, which must live as long as the text is used.
    fn borrowed<'t>(&self, object: *mut ffi::PyObject) -> Result<&'t str, Fault> {
        let mut length = 0;
        // SAFETY: `object` is a live str; the interpreter keeps its UTF-8 as long as the object lives.
        unsafe {
            let start = ffi::PyUnicode_AsUTF8AndSize(object, &raw mut length);
            let Ok(length) = usize::try_from(length) else { return Err(self.half_pair()) };
            if start.is_null() {
                return Err(self.half_pair());
            }
            Ok(std::str::from_utf8_unchecked(slice::from_raw_parts(start.cast::<u8>(), length)))
        }
    }

    fn half_pair(&self) -> Fault {
        let error =
            PyErr::take(self.py).filter(|error| !error.is_instance_of::<PyUnicodeEncodeError>(self.py));
        if let Some(error) = error {
            return Fault::Raised(error);
        }
        Fault::of_value("the text has half of a surrogate pair, which no UTF-8 can hold")
    }

    fn dict(&self, object: *mut ffi::PyObject, depth: usize) -> Result<Value, Fault> {
        let depth = deeper(depth)?;
        // SAFETY: `object` is a live dict, and is held here. `PyDict_Next` stays within it even where code changes it meanwhile; keys
        // and values are held where such code may run.
        unsafe {
            let held = Bound::from_borrowed_ptr(self.py, object);
            let size = usize::try_from(ffi::PyDict_Size(held.as_ptr())).unwrap_or_default();
            let mut map = Map::with_capacity(size);
            let mut position = 0;
            let (mut key, mut value) = (std::ptr::null_mut(), std::ptr::null_mut());
            while ffi::PyDict_Next(held.as_ptr(), &raw mut position, &raw mut key, &raw mut value) != 0 {
                if ffi::PyUnicode_Check(key) == 0 {
                    let kind = Bound::from_borrowed_ptr(self.py, key).get_type();
                    return Err(Fault::NoJson {
                        path: Vec::new(),
                        reason: format!("a key is of type {}, not str", kind.name().map_err(Fault::Raised)?),
                        is_type: true,
                    });
                }
                let name = self.text(key)?;
                let read = self.value(value, depth).map_err(|fault| fault.under(|| name.clone()))?;
                map.insert(name, read);
            }
            Ok(Value::Object(map))
        }
    }

    fn list(&self, object: *mut ffi::PyObject, depth: usize) -> Result<Value, Fault> {
        let depth = deeper(depth)?;
        // SAFETY: `object` is a live list, and is held here; its length is asked for before each item.
        unsafe {
            let held = Bound::from_borrowed_ptr(self.py, object);
            let mut items = Vec::with_capacity(usize::try_from(ffi::PyList_Size(held.as_ptr())).unwrap_or(0));
            let mut index = 0;
            while index < ffi::PyList_Size(held.as_ptr()) {
                let item = ffi::PyList_GetItem(held.as_ptr(), index);
                if item.is_null() {
                    return Err(Fault::Raised(PyErr::fetch(self.py)));
                }
                items.push(self.value(item, depth).map_err(|fault| fault.under(|| index.to_string()))?);
                index += 1;
            }
            Ok(Value::Array(items))
        }
    }

    fn tuple(&self, object: *mut ffi::PyObject, depth: usize) -> Result<Value, Fault> {
        let depth = deeper(depth)?;
        // SAFETY: `object` is a live tuple, which cannot change.
        unsafe {
            let held = Bound::from_borrowed_ptr(self.py, object);
            let size = ffi::PyTuple_Size(held.as_ptr());
            let mut items = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
            for index in 0..size {
                let item = ffi::PyTuple_GetItem(held.as_ptr(), index);
                items.push(self.value(item, depth).map_err(|fault| fault.under(|| index.to_string()))?);
            }
            Ok(Value::Array(items))
        }
    }

    fn whole(&self, object: *mut ffi::PyObject) -> Result<Value, Fault> {
        let mut overflow: c_int = 0;
        // SAFETY: `object` is a live int.
        let (number, large) = unsafe {
            let number = ffi::PyLong_AsLongLongAndOverflow(object, &raw mut overflow);
            if overflow == 0 {
                return Ok(Value::Number(Number::from(number)));
            }
            (Bound::from_borrowed_ptr(self.py, object), overflow > 0)
        };
        if large && let Ok(number) = number.extract::<u64>() {
            return Ok(Value::Number(Number::from(number)));
        }
        match self.numbers {
            BigNumbers::Rounded => match number.extract::<f64>().map(Number::from_f64) {
                Ok(Some(number)) => Ok(Value::Number(number)),
                Err(error) if !error.is_instance_of::<PyOverflowError>(self.py) => Err(Fault::Raised(error)),
                Ok(None) | Err(_) => {
                    Err(Fault::of_value("the number is larger than any number that JSON readers take"))
                }
            },
            BigNumbers::Refused => Err(Fault::of_value(
                "the number does not fit into 64 bits and would lose digits; send it as text",
            )),
            BigNumbers::Text => match self.digits(&number) {
                Ok(digits) => Ok(Value::String(digits)),
                Err(error) => Err(Fault::of_value(error.value(self.py).to_string())),
            },
        }
    }

    /// The digits of a whole number, whatever its class says of it.
    fn digits(&self, number: &Bound<'_, PyAny>) -> PyResult<String> {
        // SAFETY: `number` is a live int; the text is a new object.
        let digits =
            unsafe { Bound::from_owned_ptr_or_err(self.py, ffi::PyNumber_ToBase(number.as_ptr(), 10)) };
        digits?.extract()
    }

    fn double(object: *mut ffi::PyObject) -> Result<Value, Fault> {
        // SAFETY: `object` is a live float.
        let number = unsafe { ffi::PyFloat_AsDouble(object) };
        Number::from_f64(number)
            .map(Value::Number)
            .ok_or_else(|| Fault::of_value(format!("JSON has no {}", name_of_double(number))))
    }

    /// Models of pydantic, dataclasses, and other mappings.
    fn other(&self, object: &Bound<'_, PyAny>, depth: usize) -> Result<Value, Fault> {
        let py = self.py;
        let inner = (|| -> PyResult<Option<Bound<'_, PyAny>>> {
            if object.is_instance_of::<pyo3::types::PyType>() {
                return Ok(None);
            }
            if let Some(dump) = object.getattr_opt("model_dump")? {
                let options = PyDict::new(py);
                options.set_item("mode", "json")?;
                options.set_item("by_alias", true)?;
                options.set_item("exclude_none", true)?;
                return dump.call((), Some(&options)).map(Some);
            }
            if object.hasattr("__dataclass_fields__")? {
                let members = PyDict::new(py);
                for field in py.import("dataclasses")?.call_method1("fields", (object,))?.try_iter()? {
                    let name = field?.getattr("name")?;
                    members.set_item(&name, object.getattr(name.cast()?)?)?;
                }
                return Ok(Some(members.into_any()));
            }
            if object.cast::<PyMapping>().is_ok() {
                let members = PyDict::new(py);
                members.update(object.cast()?)?;
                return Ok(Some(members.into_any()));
            }
            Ok(None)
        })();
        match inner.map_err(Fault::Raised)? {
            // What it gave counts its level itself.
            Some(inner) if inner.is_exact_instance_of::<PyDict>() => self.value(inner.as_ptr(), depth),
            Some(inner) => self.value(inner.as_ptr(), deeper(depth)?),
            None => Err(Fault::NoJson {
                path: Vec::new(),
                reason: format!(
                    "it is of type {}; expected dict, list, tuple, str, int, float, bool, None or an object with `model_dump`",
                    object.get_type().name().map_err(Fault::Raised)?
                ),
                is_type: true,
            }),
        }
    }
}

fn deeper(depth: usize) -> Result<usize, Fault> {
    if depth >= JSON_DEPTH { Err(Fault::TooDeep { name: None }) } else { Ok(depth + 1) }
}

fn name_of_double(number: f64) -> &'static str {
    if number.is_nan() { "NaN" } else { "infinity" }
}
