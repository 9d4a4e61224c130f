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

/// Whether an object is plain, and not too deep to be JSON.
pub(crate) fn is_plain(object: &Bound<'_, PyAny>) -> bool {
    bytes_at(object.as_ptr(), 0).is_some()
}

/// How many bytes a plain object takes, roughly; `None` if it is not plain, or too deep to be JSON.
fn bytes_at(object: *mut ffi::PyObject, depth: usize) -> Option<usize> {
    let kind = Kind::of(object)?;
    let mut bytes = BYTES_OF_A_VALUE;
    // SAFETY: `object` is a live object, and nothing here runs code that could change it.
    unsafe {
        match kind {
            Kind::Dict | Kind::List if depth >= JSON_DEPTH => return None,
            Kind::Dict => {
                let (mut at, mut key, mut value) = (0, ptr::null_mut(), ptr::null_mut());
                while ffi::PyDict_Next(object, &raw mut at, &raw mut key, &raw mut value) != 0 {
                    if Kind::of(key) != Some(Kind::Text) {
                        return None;
                    }
                    bytes += length(key) + bytes_at(value, depth + 1)?;
                }
            }
            Kind::List => {
                for index in 0..ffi::PyList_Size(object) {
                    bytes += bytes_at(ffi::PyList_GetItem(object, index), depth + 1)?;
                }
            }
            Kind::Text => bytes += length(object),
            Kind::Int | Kind::Float | Kind::Single => {}
        }
    }
    Some(bytes)
}

/// What a value takes beside its text.
const BYTES_OF_A_VALUE: usize = 80;

fn length(text: *mut ffi::PyObject) -> usize {
    // SAFETY: `text` is a live str.
    usize::try_from(unsafe { ffi::PyUnicode_GetLength(text) }).unwrap_or(0)
}

/// A plain object that is never changed or handed out, and is copied again and again.
pub(crate) struct Template {
    object: Py<PyAny>,
    bytes: usize,
}

impl Template {
    /// Copies an object; `None` if it is not plain, or too deep to be JSON.
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let own = copied(object, Tracking::Off, 0)?;
        // The copy is judged, not the original: making it may have run code that changed that.
        Ok(bytes_at(own.as_ptr(), 0).map(|bytes| Self { object: own.unbind(), bytes }))
    }

    /// A copy, which shares only what cannot change.
    pub(crate) fn copy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        copied(self.object.bind(py), Tracking::On, 0)
    }

    /// Whether `object` is plain and has what this has.
    pub(crate) fn is_same(&self, object: &Bound<'_, PyAny>) -> bool {
        same(self.object.as_ptr(), object.as_ptr())
    }

    /// The object itself, to be read only.
    pub(crate) fn object<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.object.bind(py)
    }

    /// How many bytes it takes, roughly.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Whether the garbage collector knows a copy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tracking {
    On,
    /// It is nobody's business: it has no cycles, and what the collector knows, other code of Python can find and change.
    Off,
}

impl Tracking {
    fn apply(self, copy: &Bound<'_, PyAny>) {
        if self == Self::Off {
            // SAFETY: `copy` is a live container; one that is untracked stays so.
            unsafe { ffi::PyObject_GC_UnTrack(copy.as_ptr().cast()) };
        }
    }
}

/// A copy with containers of its own. What is not plain, and what is too deep, is shared.
fn copied<'py>(object: &Bound<'py, PyAny>, tracking: Tracking, depth: usize) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let kind = Kind::of(object.as_ptr()).filter(|kind| kind.is_container() && depth < JSON_DEPTH);
    // SAFETY: `object` is a live dict or list. The copy is owned here. Making the next one may run code, which in older versions of Python
    // finds a tracked copy too: what is read from it is held meanwhile, and may no longer be there afterwards.
    unsafe {
        match kind {
            Some(Kind::Dict) => {
                let copy = Bound::from_owned_ptr_or_err(py, ffi::PyDict_Copy(object.as_ptr()))?;
                tracking.apply(&copy);
                let (mut at, mut key, mut value) = (0, ptr::null_mut(), ptr::null_mut());
                while ffi::PyDict_Next(copy.as_ptr(), &raw mut at, &raw mut key, &raw mut value) != 0 {
                    if !Kind::of(value).is_some_and(Kind::is_container) {
                        continue;
                    }
                    let key = Bound::from_borrowed_ptr(py, key);
                    let inner = copied(&Bound::from_borrowed_ptr(py, value), tracking, depth + 1)?;
                    // Only the value of a key that is there is replaced, so that the walk can go on.
                    if ffi::PyDict_SetItem(copy.as_ptr(), key.as_ptr(), inner.as_ptr()) != 0 {
                        return Err(PyErr::fetch(py));
                    }
                    // A dict is tracked as soon as it gets a container.
                    tracking.apply(&copy);
                }
                Ok(copy)
            }
            Some(Kind::List) => {
                let all = ffi::PyList_GetSlice(object.as_ptr(), 0, ffi::Py_ssize_t::MAX);
                let copy = Bound::from_owned_ptr_or_err(py, all)?;
                tracking.apply(&copy);
                let mut index = 0;
                while index < ffi::PyList_Size(copy.as_ptr()) {
                    let item = ffi::PyList_GetItem(copy.as_ptr(), index);
                    if Kind::of(item).is_some_and(Kind::is_container) {
                        let inner = copied(&Bound::from_borrowed_ptr(py, item), tracking, depth + 1)?;
                        if ffi::PyList_SetItem(copy.as_ptr(), index, inner.into_ptr()) != 0 {
                            return Err(PyErr::fetch(py));
                        }
                    }
                    index += 1;
                }
                Ok(copy)
            }
            _ => Ok(object.clone()),
        }
    }
}

/// While it lives the garbage collector does not run, nor code that it would call. The interpreter must not be let go meanwhile: other
/// threads have a say in whether the collector runs.
pub(crate) struct CollectorPause {
    was_enabled: bool,
}

impl CollectorPause {
    pub(crate) fn new(_held: Python<'_>) -> Self {
        // SAFETY: the interpreter is held.
        Self { was_enabled: unsafe { ffi::PyGC_Disable() } == 1 }
    }
}

impl Drop for CollectorPause {
    fn drop(&mut self) {
        if self.was_enabled {
            // SAFETY: the interpreter is held, as it was.
            unsafe { ffi::PyGC_Enable() };
        }
    }
}
