//! Columns that text takes on a terminal: two for a Chinese character or an emoji, none for a combining mark.

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Mark of an omission, one column wide.
const ELLIPSIS: char = '…';

/// Returns the columns of a line.
///
/// ```
/// use portion_text::width::display_width;
///
/// assert_eq!(display_width("list"), 4);
/// assert_eq!(display_width("客房"), 4);
/// ```
pub fn display_width(line: &str) -> usize {
    line.width()
}

/// Returns a line in at most `width` columns. What is cut off is replaced by `…`.
///
/// ```
/// use portion_text::width::truncate;
///
/// assert_eq!(truncate("list_bookings", 8), "list_bo…");
/// assert_eq!(truncate("客房列表", 6), "客房…");
/// ```
pub fn truncate(line: &str, width: usize) -> String {
    if display_width(line) <= width {
        return line.to_owned();
    }
    let mut shown = prefix(line, width.saturating_sub(1)).to_owned();
    shown.push(ELLIPSIS);
    shown
}

/// Returns the end of a line in at most `width` columns, after `…`.
pub fn truncate_start(line: &str, width: usize) -> String {
    let mut free = width.saturating_sub(1);
    let characters = line.graphemes(true).rev().take_while(|character| take(&mut free, character));
    let length: usize = characters.map(str::len).sum();
    format!("{ELLIPSIS}{}", &line[line.len() - length..])
}

/// Breaks a line after `width` columns, and nowhere inside a character. The first part has at least one character.
pub fn split_at_width(line: &str, width: usize) -> (&str, &str) {
    let first = line.graphemes(true).next().map_or(0, str::len);
    line.split_at(prefix(line, width).len().max(first))
}

/// Returns the characters at the beginning of a line that fit.
fn prefix(line: &str, width: usize) -> &str {
    let mut free = width;
    let characters = line.graphemes(true).take_while(|character| take(&mut free, character));
    let length: usize = characters.map(str::len).sum();
    &line[..length]
}

/// Takes the columns of a character from those that are free; returns false if they are too few.
fn take(free: &mut usize, character: &str) -> bool {
    let rest = free.checked_sub(display_width(character));
    *free = rest.unwrap_or_default();
    rest.is_some()
}

#[cfg(test)]
mod tests {
    use super::{display_width, split_at_width, truncate, truncate_start};

    #[test]
    fn columns_are_counted() {
        let check = |line: &str, expect: usize| assert_eq!(display_width(line), expect, "{line}");
        check("", 0);
        check("é", 1);
        check("e\u{301}", 1);
        check("你好", 4);
        check("한국", 4);
        check("🏨", 2);
        check("…–\u{fffd}", 3);
    }

    #[test]
    fn lines_are_cut_between_characters() {
        let check = |line: &str, width: usize, start: &str, end: &str| {
            assert_eq!((truncate(line, width).as_str(), truncate_start(line, width).as_str()), (start, end));
        };
        check("abcdef", 4, "abc…", "…def");
        check("你好吗", 5, "你好…", "…好吗");
        check("你好吗", 4, "你…", "…吗");
        check("ae\u{301}io", 3, "ae\u{301}…", "…io");
        check("abc", 1, "…", "…");
        assert_eq!(truncate("你好", 4), "你好");
    }

    #[test]
    fn a_part_is_never_empty() {
        assert_eq!(split_at_width("你好吗", 5), ("你好", "吗"));
        assert_eq!(split_at_width("你好", 1), ("你", "好"));
        assert_eq!(split_at_width("ab", 0), ("a", "b"));
        assert_eq!(split_at_width("", 3), ("", ""));
    }
}
