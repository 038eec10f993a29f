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

/// Parameter of a query string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter<'a> {
    /// As it is written.
    pub text: &'a str,
    /// Decoded.
    pub name: String,
    /// Decoded; empty if there is none.
    pub value: String,
}

/// Returns the parameters of a query string, without empty ones.
///
/// ```
/// use portion_policy::query_string::parameters;
///
/// let names: Vec<String> = parameters("a%62=1&&c").map(|parameter| parameter.name).collect();
/// assert_eq!(names, ["ab", "c"]);
/// ```
pub fn parameters(query: &str) -> impl Iterator<Item = Parameter<'_>> {
    query.split('&').filter(|text| !text.is_empty()).map(|text| {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        Parameter { text, name: decode_component(name), value: decode_component(value) }
    })
}
