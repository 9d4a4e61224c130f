//! The engine's values → Python's objects, written straight from the translation.
#![expect(unsafe_code, reason = "an object is written in a fraction of the time through the C interface")]

use std::cell::RefCell;
use std::ffi::c_char;

use gateway_bindings::Json;
use pyo3::ffi;
use pyo3::prelude::*;
use serde_json::{Number, Value};

/// Keys that are kept: schemas have few, again and again.
const KEYS: usize = 256;
/// Longer keys are names of parameters, which seldom come again.
const LONGEST_KEY: usize = 24;

/// Writes objects; keeps the keys that it has made, whose hashes are then known too.
pub(crate) struct Writer<'py> {
    py: Python<'py>,
    keys: RefCell<Vec<Option<Key<'py>>>>,
}

/// A key, and the object that was made of it.
type Key<'py> = (Box<str>, Bound<'py, PyAny>);

impl<'py> Writer<'py> {
    pub(crate) fn new(py: Python<'py>) -> Self {
        Self { py, keys: RefCell::new(Vec::new()) }
    }

    /// A part of a translation.
    pub(crate) fn json(&self, json: &Json<'_>) -> PyResult<Bound<'py, PyAny>> {
        match json {
            Json::Same(value) => self.value(value),
            Json::Null => Ok(self.py.None().into_bound(self.py)),
            Json::Bool(flag) => Ok(self.flag(*flag)),
            Json::Number(number) => self.number(number),
            Json::Text(text) => self.text(text),
            Json::Array(items) => self.list(items.iter().map(|item| self.json(item)), items.len()),
            Json::Object(entries) => {
                let dict = self.dict()?;
                for (key, value) in entries {
                    self.set(&dict, key, &self.json(value)?)?;
                }
                Ok(dict)
            }
        }
    }

    /// A value.
    pub(crate) fn value(&self, value: &Value) -> PyResult<Bound<'py, PyAny>> {
        match value {
            Value::Null => Ok(self.py.None().into_bound(self.py)),
            Value::Bool(flag) => Ok(self.flag(*flag)),
            Value::Number(number) => self.number(number),
            Value::String(text) => self.text(text),
            Value::Array(items) => self.list(items.iter().map(|item| self.value(item)), items.len()),
            Value::Object(members) => {
                let dict = self.dict()?;
                for (key, value) in members {
                    self.set(&dict, key, &self.value(value)?)?;
                }
                Ok(dict)
            }
        }
    }

    fn flag(&self, flag: bool) -> Bound<'py, PyAny> {
        pyo3::types::PyBool::new(self.py, flag).to_owned().into_any()
    }

    fn number(&self, number: &Number) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: all three make new objects.
        unsafe {
            let made = if let Some(number) = number.as_i64() {
                ffi::PyLong_FromLongLong(number)
            } else if let Some(number) = number.as_u64() {
                ffi::PyLong_FromUnsignedLongLong(number)
            } else {
                ffi::PyFloat_FromDouble(number.as_f64().unwrap_or_default())
            };
            Bound::from_owned_ptr_or_err(self.py, made)
        }
    }

    fn text(&self, text: &str) -> PyResult<Bound<'py, PyAny>> {
        let length = ffi::Py_ssize_t::try_from(text.len())?;
        // SAFETY: the text is copied.
        unsafe {
            let made = ffi::PyUnicode_FromStringAndSize(text.as_ptr().cast::<c_char>(), length);
            Bound::from_owned_ptr_or_err(self.py, made)
        }
    }

    fn dict(&self) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: a new object.
        unsafe { Bound::from_owned_ptr_or_err(self.py, ffi::PyDict_New()) }
    }

    fn list(
        &self,
        items: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
        length: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: the list is new and seen by nobody; each place is filled once, and takes the item over.
        unsafe {
            let list = ffi::PyList_New(ffi::Py_ssize_t::try_from(length)?);
            let list = Bound::from_owned_ptr_or_err(self.py, list)?;
            for (index, item) in (0..).zip(items) {
                if ffi::PyList_SetItem(list.as_ptr(), index, item?.into_ptr()) != 0 {
                    return Err(PyErr::fetch(self.py));
                }
            }
            Ok(list)
        }
    }

    fn set(&self, dict: &Bound<'py, PyAny>, key: &str, value: &Bound<'py, PyAny>) -> PyResult<()> {
        let put = |key: &Bound<'py, PyAny>| {
            // SAFETY: `dict` is a dict; the dict holds key and value itself.
            if unsafe { ffi::PyDict_SetItem(dict.as_ptr(), key.as_ptr(), value.as_ptr()) } == 0 {
                Ok(())
            } else {
                Err(PyErr::fetch(self.py))
            }
        };
        if key.len() > LONGEST_KEY {
            return put(&self.text(key)?);
        }
        let mut keys = self.keys.borrow_mut();
        if keys.is_empty() {
            keys.resize_with(KEYS, || None);
        }
        let Some(slot) = keys.get_mut(slot_of(key)) else { return put(&self.text(key)?) };
        match slot {
            Some((own, made)) if **own == *key => put(made),
            _ => {
                let made = self.text(key)?;
                put(&made)?;
                *slot = Some((key.into(), made));
                Ok(())
            }
        }
    }
}

/// Where a key is kept.
fn slot_of(key: &str) -> usize {
    let mixed = key.bytes().fold(key.len(), |hash, byte| hash.wrapping_mul(31) ^ usize::from(byte));
    mixed % KEYS
}
