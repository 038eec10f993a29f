//! Lines of binary patches of git.

/// Returns true for a line of a binary patch of git: its kind and size, its data, or the blank line at its end.
pub(super) fn is_patch_line(line: &str) -> bool {
    let is_size = |size: &str| !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit());
    let kind = line.strip_prefix("literal ").or_else(|| line.strip_prefix("delta "));
    let is_data = line.len() > 5
        && line.len() % 5 == 1
        && line.len() <= 66
        && line.starts_with(|c: char| c.is_ascii_alphabetic())
        && line.bytes().all(|byte| byte.is_ascii_graphic());
    line.is_empty() || kind.is_some_and(is_size) || is_data
}
