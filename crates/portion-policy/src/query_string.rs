//! Query strings of URLs.

use percent_encoding::percent_decode_str;

/// Decodes a name or a value of a query string. Invalid escapes stay as they are, and invalid UTF-8 is replaced.
///
/// ```
/// use portion_policy::query_string::decode_component;
///
/// assert_eq!(decode_component("a+b%20c%3d%zz"), "a b c=%zz");
/// ```
pub fn decode_component(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}
