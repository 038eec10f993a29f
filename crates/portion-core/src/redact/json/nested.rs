//! Selects the strings in JSON that are searched for secrets. Most strings need no search.

use memchr::memchr2_iter;

/// Returns true if a string, as written in JSON, may hold the name of a hidden value: JSON, markup, a table or a setting.
pub(super) fn may_hide(quoted: &str) -> bool {
    // A character that is written as `\u003d` may be any.
    quoted.contains(['{', '<', '|'])
        || quoted.contains("\\u00")
        || quoted.contains("\\n") && (quoted.contains([',', ';']) || quoted.contains("\\t"))
        || may_hold_setting(quoted)
        || quoted.contains('@') && quoted.contains("://")
}

/// Returns true if a separator may follow a name. A URL and a time of day have none.
fn may_hold_setting(quoted: &str) -> bool {
    let bytes = quoted.as_bytes();
    let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    memchr2_iter(b'=', b':', bytes).any(|at| {
        let is_url = bytes[at..].starts_with(b"://");
        let is_time = digit(at.checked_sub(2)) && digit(at.checked_sub(1)) && digit(Some(at + 1));
        !is_url && !is_time
    })
}
