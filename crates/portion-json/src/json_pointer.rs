//! Encodes keys as steps of JSON Pointers (RFC 6901).
//!
//! ```
//! use portion_json::json_pointer::{escape_step, step_from_quoted};
//!
//! assert_eq!(escape_step("a/b~c"), "a~1b~0c");
//! assert_eq!(step_from_quoted(r#""caf\u00e9""#), "café");
//! ```

use crate::scan::unescape;

/// Encodes a quoted key as a step of a JSON Pointer.
pub fn step_from_quoted(quoted: &str) -> String {
    escape_step(&unescape(quoted))
}

/// Returns the key that a step of a JSON Pointer encodes.
pub fn unescape_step(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

/// Encodes a key as a step of a JSON Pointer.
pub fn escape_step(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
