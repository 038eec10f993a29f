//! Names of the controls.

/// Names of all controls, as callers write them.
pub const CONTROLS: [&str; 13] = [
    "cursor",
    "limit",
    "page",
    "pages",
    "offset",
    "fields",
    "section",
    "path",
    "startLine",
    "endLine",
    "sort",
    "raw",
    "maxTokens",
];

/// Returns the control that a name means, also in another case or with separators: `start_line` is `startLine`.
pub fn control_named(name: &str) -> Option<&'static str> {
    let letters = |name: &str| -> Vec<u8> {
        let plain = name.bytes().filter(|byte| !matches!(byte, b'_' | b'-'));
        plain.map(|byte| byte.to_ascii_lowercase()).collect()
    };
    let exact = CONTROLS.into_iter().find(|control| *control == name);
    exact.or_else(|| CONTROLS.into_iter().find(|control| letters(control) == letters(name)))
}
