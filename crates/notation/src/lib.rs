//! Small notations that several parts of the gateway read and write, each once, so that a name pattern of an allow
//! list means the same as one of a deny list.
//!
//! - [`pattern`]: names with the wildcards `*` and `?`;
//! - [`pointer`]: the escapes of JSON Pointer;
//! - [`spelling`]: which name was meant by a misspelt one.
//!
//! ```
//! assert!(gateway_notation::pattern::matches("files/rm_?", "files/rm_x"));
//! assert_eq!(gateway_notation::pointer::escape("a/b"), "a~1b");
//! assert_eq!(gateway_notation::spelling::nearest_names("get-Wether", ["get_weather", "add"]), ["get_weather"]);
//! ```

pub mod pattern;
pub mod pointer;
pub mod spelling;
