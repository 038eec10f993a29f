//! Segments of paths that lead to another folder, in every spelling.

use percent_encoding::percent_decode_str;

/// A dot, a slash and a backslash in overlong UTF-8, which lenient servers decode.
const OVERLONG: [&str; 5] = ["%c0%ae", "%e0%80%ae", "%c0%af", "%e0%80%af", "%c1%9c"];
/// Levels of percent-encoding that are decoded; a path with more is rejected.
const MAX_ESCAPE_LEVELS: usize = 4;

/// Returns true if a path has a segment `.` or `..` as any server reads it: escaped once or several times, after a
/// backslash, with parameters, or in overlong UTF-8.
///
/// ```
/// use portion_net::dot_segments::has_dot_segment;
///
/// assert!(has_dot_segment("/a/../b") && has_dot_segment("/a/%252e%252e%2Fb"));
/// assert!(!has_dot_segment("/a..b/.c/..."));
/// ```
pub fn has_dot_segment(path: &str) -> bool {
    let mut path = path.to_ascii_lowercase();
    for _ in 0..MAX_ESCAPE_LEVELS {
        let is_dots = |segment: &str| matches!(segment.split(';').next(), Some("." | ".."));
        let is_overlong = OVERLONG.iter().any(|overlong| path.contains(overlong));
        if is_overlong || path.split(['/', '\\']).any(is_dots) {
            return true;
        }
        let decoded = percent_decode_str(&path).decode_utf8_lossy().to_ascii_lowercase();
        if decoded == path {
            return false;
        }
        path = decoded;
    }
    true
}
