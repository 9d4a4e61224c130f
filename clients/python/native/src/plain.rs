//! Plain objects: exact dicts with keys of type str, exact lists, str, int, float, bool and None. They can be compared and copied
//! without running code of Python.
#![expect(
    unsafe_code,
    reason = "objects are compared and copied through the C interface, without code of Python between"
)]

use std::ptr;

use gateway_bindings::JSON_DEPTH;
use pyo3::ffi;
use pyo3::prelude::*;

/// A plain object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Dict,
    List,
    Text,
    Int,
    Float,
    /// `True`, `False` and `None`, of which there is one each.
    Single,
}

impl Kind {
    /// The kind of a live object; `None` if it is not plain.
    fn of(object: *mut ffi::PyObject) -> Option<Self> {
        // SAFETY: `object` is a live object; type objects are static.
        unsafe {
            let kind = ffi::Py_TYPE(object);
            if kind == &raw mut ffi::PyUnicode_Type {
                Some(Self::Text)
            } else if kind == &raw mut ffi::PyDict_Type {
                Some(Self::Dict)
            } else if kind == &raw mut ffi::PyList_Type {
                Some(Self::List)
            } else if kind == &raw mut ffi::PyBool_Type || object == ffi::Py_None() {
                Some(Self::Single)
            } else if kind == &raw mut ffi::PyLong_Type {
                Some(Self::Int)
            } else if kind == &raw mut ffi::PyFloat_Type {
                Some(Self::Float)
            } else {
                None
            }
        }
    }

    fn is_container(self) -> bool {
        matches!(self, Self::Dict | Self::List)
    }
}

/// Whether `other` is written as the same JSON as `one`, which is a template's: same types, same members in the same order.
fn same(one: *mut ffi::PyObject, other: *mut ffi::PyObject) -> bool {
    // A template shares only what cannot change, so that nearly everything is settled here.
    if one == other {
        return true;
    }
    let Some(kind) = Kind::of(one) else { return false };
    if Kind::of(other) != Some(kind) {
        return false;
    }
    // SAFETY: both are live objects of this kind, and nothing here runs code that could change them.
    unsafe {
        match kind {
            Kind::Single => false,
            Kind::Text => ffi::PyUnicode_Compare(one, other) == 0,
            Kind::Int => ffi::PyObject_RichCompareBool(one, other, ffi::Py_EQ) == 1,
            Kind::Float => ffi::PyFloat_AsDouble(one).to_bits() == ffi::PyFloat_AsDouble(other).to_bits(),
            Kind::List => {
                let length = ffi::PyList_Size(one);
                let item = |list, index| ffi::PyList_GetItem(list, index);
                length == ffi::PyList_Size(other)
                    && (0..length).all(|index| same(item(one, index), item(other, index)))
            }
            Kind::Dict => {
                if ffi::PyDict_Size(one) != ffi::PyDict_Size(other) {
                    return false;
                }
                let (mut at, mut key, mut value) = (0, ptr::null_mut(), ptr::null_mut());
                let (mut at_other, mut own_key, mut own_value) = (0, ptr::null_mut(), ptr::null_mut());
                while ffi::PyDict_Next(one, &raw mut at, &raw mut key, &raw mut value) != 0 {
                    if ffi::PyDict_Next(other, &raw mut at_other, &raw mut own_key, &raw mut own_value) == 0
                        || (key != own_key && !same(key, own_key))
                        || !same(value, own_value)
                    {
                        return false;
                    }
                }
                true
            }
        }
    }
}

/// A plain object that is never changed or handed out, and is copied again and again.
pub(crate) struct Template {
    object: Py<PyAny>,
    values: usize,
}

impl Template {
    /// Copies an object; `None` if it is not plain, or too deep to be JSON.
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        // The copy is judged, not the original: making it may have run code that changed that.
        let Some(own) = copied(object, 0)? else { return Ok(None) };
        Ok(claim(own.as_ptr()).map(|values| Self { object: own.unbind(), values }))
    }

    /// A copy, which shares only what cannot change.
    pub(crate) fn copy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let object = self.object.bind(py);
        Ok(copied(object, 0)?.unwrap_or_else(|| object.clone()))
    }

    /// Whether `object` is plain and has what this has.
    pub(crate) fn is_same(&self, object: &Bound<'_, PyAny>) -> bool {
        same(self.object.as_ptr(), object.as_ptr())
    }

    /// The object itself, to be read only.
    pub(crate) fn object<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.object.bind(py)
    }

    /// How many values it has, itself included.
    pub(crate) fn values(&self) -> usize {
        self.values
    }
}

/// A copy with containers of its own; `None` if they are too deep to be JSON.
fn copied<'py>(object: &Bound<'py, PyAny>, depth: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    let Some(kind) = Kind::of(object.as_ptr()).filter(|kind| kind.is_container()) else {
        return Ok(Some(object.clone()));
    };
    if depth >= JSON_DEPTH {
        return Ok(None);
    }
    // SAFETY: `object` is a live dict or list. The copy of it is owned here and seen by nobody else; what is read from it is held while
    // the next copy is made, which may run code.
    unsafe {
        if kind == Kind::Dict {
            let copy = Bound::from_owned_ptr_or_err(py, ffi::PyDict_Copy(object.as_ptr()))?;
            let (mut at, mut key, mut value) = (0, ptr::null_mut(), ptr::null_mut());
            while ffi::PyDict_Next(copy.as_ptr(), &raw mut at, &raw mut key, &raw mut value) != 0 {
                if Kind::of(value).is_some_and(Kind::is_container) {
                    let key = Bound::from_borrowed_ptr(py, key);
                    let Some(inner) = copied(&Bound::from_borrowed_ptr(py, value), depth + 1)? else {
                        return Ok(None);
                    };
                    // Only the value of a key that is there is replaced, so that the walk can go on.
                    if ffi::PyDict_SetItem(copy.as_ptr(), key.as_ptr(), inner.as_ptr()) != 0 {
                        return Err(PyErr::fetch(py));
                    }
                }
            }
            return Ok(Some(copy));
        }
        let all = ffi::PyList_GetSlice(object.as_ptr(), 0, ffi::Py_ssize_t::MAX);
        let copy = Bound::from_owned_ptr_or_err(py, all)?;
        for index in 0..ffi::PyList_Size(copy.as_ptr()) {
            let item = ffi::PyList_GetItem(copy.as_ptr(), index);
            if Kind::of(item).is_some_and(Kind::is_container) {
                let Some(inner) = copied(&Bound::from_borrowed_ptr(py, item), depth + 1)? else {
                    return Ok(None);
                };
                if ffi::PyList_SetItem(copy.as_ptr(), index, inner.into_ptr()) != 0 {
                    return Err(PyErr::fetch(py));
                }
            }
        }
        Ok(Some(copy))
    }
}

/// How many values a copy has; `None` if it is not plain. Its containers have no cycles, and there may be many: the garbage collector need
/// not look at them any more.
fn claim(object: *mut ffi::PyObject) -> Option<usize> {
    let kind = Kind::of(object)?;
    let mut values = 1;
    // SAFETY: `object` is a live object whose containers nobody else has, and nothing here runs code.
    unsafe {
        if kind == Kind::Dict {
            let (mut at, mut key, mut value) = (0, ptr::null_mut(), ptr::null_mut());
            while ffi::PyDict_Next(object, &raw mut at, &raw mut key, &raw mut value) != 0 {
                if Kind::of(key) != Some(Kind::Text) {
                    return None;
                }
                values += claim(value)?;
            }
        } else if kind == Kind::List {
            for index in 0..ffi::PyList_Size(object) {
                values += claim(ffi::PyList_GetItem(object, index))?;
            }
        }
        if kind.is_container() {
            ffi::PyObject_GC_UnTrack(object.cast());
        }
    }
    Some(values)
}
