//! The escapes of JSON Pointer (RFC 6901): `~0` is `~`, `~1` is `/`.

use std::borrow::Cow;

/// A name as one step of a pointer.
pub fn escape(name: &str) -> Cow<'_, str> {
    if name.contains(['~', '/']) {
        Cow::Owned(name.replace('~', "~0").replace('/', "~1"))
    } else {
        Cow::Borrowed(name)
    }
}

/// The name that one step of a pointer stands for. A `~` that begins no escape stays as it is.
pub fn unescape(step: &str) -> Cow<'_, str> {
    if step.contains('~') {
        // `~1` first: `~01` is an escaped `~1`, not a slash.
        Cow::Owned(step.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(step)
    }
}

/// The names that a pointer leads through.
pub fn steps(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').skip(1).map(unescape)
}

/// A pointer as people and models read it: `/a/b` is `a.b`.
pub fn dotted(pointer: &str) -> String {
    steps(pointer).collect::<Vec<_>>().join(".")
}

/// Lengthens a pointer by one step.
pub fn push(pointer: &mut String, name: &str) {
    pointer.push('/');
    pointer.push_str(&escape(name));
}

/// `pointer` lengthened by one step.
pub fn join(pointer: &str, name: &str) -> String {
    let mut joined = String::with_capacity(pointer.len() + 1 + name.len());
    joined.push_str(pointer);
    push(&mut joined, name);
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of RFC 6901, section 5, and the trap of section 4.
    #[test]
    fn steps_are_escaped_as_the_standard_has_it() {
        for (name, step) in [
            ("foo", "foo"),
            ("", ""),
            ("a/b", "a~1b"),
            ("c%d", "c%d"),
            ("k\"l", "k\"l"),
            ("m~n", "m~0n"),
            ("~1", "~01"),
            ("~/~", "~0~1~0"),
        ] {
            assert_eq!((&*escape(name), &*unescape(step)), (step, name));
            assert_eq!(join("/x", name), format!("/x/{step}"));
        }
        assert_eq!(unescape("~2~"), "~2~");
    }

    #[test]
    fn a_pointer_is_a_list_of_names() {
        let read = |pointer| steps(pointer).map(Cow::into_owned).collect::<Vec<_>>();
        assert_eq!(read(""), [""; 0]);
        assert_eq!(read("/"), [""]);
        assert_eq!(read("/a~1b/0/m~0n"), ["a/b", "0", "m~n"]);
        assert_eq!((dotted(""), dotted("/a~1b/0")), (String::new(), "a/b.0".to_owned()));
    }
}
