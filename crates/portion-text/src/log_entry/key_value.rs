//! Finds values by key in one line: `"level":"error"` in JSON, `level=error` in logfmt.

use std::ops::Range;

/// Maximum bytes of a line that are searched.
const MAX_SCANNED_BYTES: usize = 1024;

/// Returns the value of the first of these keys that has one, without its quotes.
///
/// Text inside a string may be taken for a key, so the caller must check the value.
pub(super) fn find_value(line: &str, keys: &[&str]) -> Option<Range<usize>> {
    let head = &line[..line.floor_char_boundary(MAX_SCANNED_BYTES)];
    memchr::memchr2_iter(b':', b'=', head.as_bytes()).find_map(|at| {
        let is_json = head.as_bytes()[at] == b':';
        let before = if is_json { head[..at].strip_suffix('"')? } else { &head[..at] };
        let key =
            &before[before.rfind(|c: char| !is_key(c)).map_or(0, |end| before.ceil_char_boundary(end + 1))..];
        keys.contains(&key).then(|| read_value(head, at + 1)).flatten()
    })
}

fn is_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '@' | '.')
}

/// Returns the value that begins at `at`.
fn read_value(head: &str, at: usize) -> Option<Range<usize>> {
    let start = at + head[at..].len() - head[at..].trim_start_matches(' ').len();
    let rest = &head[start..];
    let (start, length) = match rest.strip_prefix('"') {
        Some(inside) => (start + 1, inside.find('"')?),
        None => (start, rest.find([' ', ',', '}', '\t']).unwrap_or(rest.len())),
    };
    (length > 0).then_some(start..start + length)
}
