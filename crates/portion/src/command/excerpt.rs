//! Excerpts of replies for people: lines are cut to a width, `…` marks omissions, and `·` what is not printable.

use portion_text::display::{is_printable, split_at_width, truncate, truncate_start};

/// Mark of an omission.
const ELLIPSIS: char = '…';

/// Mark in place of a character that is not printable.
const UNPRINTABLE: char = '·';

/// Least number of lines that are omitted.
const MIN_ELIDED_LINES: usize = 4;

/// Returns about `rows` lines of at most `width` columns: the beginning and the end of a text.
pub(crate) fn excerpt_lines(text: &str, rows: usize, width: usize) -> Vec<String> {
    let lines = split_lines(text);
    if let [line] = lines.as_slice() {
        return wrap(line, rows, width);
    }
    let mut shown: Vec<String> = lines.iter().map(|line| truncate(line, width)).collect();
    if shown.len() >= rows + MIN_ELIDED_LINES {
        let middle = rows.saturating_sub(2)..shown.len() - 1;
        let mark = format!("{ELLIPSIS} {} more {ELLIPSIS}", middle.len());
        shown.splice(middle, [mark]);
    }
    shown
}

/// Returns a text in at most `rows` rows of `width` columns. A longer text is cut in the middle.
pub(crate) fn wrap(text: &str, rows: usize, width: usize) -> Vec<String> {
    let printed: String = text.chars().map(|c| if is_printable(c) { c } else { UNPRINTABLE }).collect();
    let (mut shown, mut rest) = (Vec::new(), printed.as_str());
    while !rest.is_empty() && shown.len() <= rows {
        let (row, after) = split_at_width(rest, width);
        shown.push(row.to_owned());
        rest = after;
    }
    if shown.len() > rows {
        shown.truncate(rows.saturating_sub(1));
        shown.push(truncate_start(&printed, width));
    }
    shown
}

/// Returns the lines of a text. The lines of JSON are the items of its list.
fn split_lines(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    let is_json = text.starts_with(['{', '[']);
    let (mut depth, mut in_list, mut quoted, mut escaped) = (0_usize, false, false, false);
    for char in text.chars() {
        if let Some(line) = lines.last_mut() {
            match char {
                '\n' => {}
                '\t' => line.push_str("    "),
                other if !is_printable(other) => line.push(UNPRINTABLE),
                other => line.push(other),
            }
        }
        let ends = match char {
            '\n' => true,
            _ if !is_json => false,
            '"' if !escaped => {
                quoted = !quoted;
                false
            }
            '[' | '{' if !quoted => {
                depth += 1;
                if depth <= 2 {
                    in_list = char == '[';
                }
                in_list && depth == 2
            }
            ']' | '}' if !quoted => {
                depth = depth.saturating_sub(1);
                false
            }
            ',' => !quoted && in_list && depth == 2,
            _ => false,
        };
        escaped = quoted && char == '\\' && !escaped;
        if ends {
            lines.push(String::new());
        }
    }
    if lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[&str]) {
        assert_eq!(excerpt_lines(text, 4, 12), expect, "{text}");
    }

    #[test]
    fn shows_where_a_text_begins_and_ends() {
        check("", &[]);
        check("one\ntwo\n", &["one", "two"]);
        check("\ttab\nbell\u{7}", &["    tab", "bell·"]);
        check("a\u{202e}b\nc\u{2066}", &["a·b", "c·"]);
        check("1\n2\n3\n4\n5\n6\n7\n8", &["1", "2", "… 5 more …", "8"]);
        check("1\n2\n3\n4\n5\n6\n7", &["1", "2", "3", "4", "5", "6", "7"]);
        check("twelve chars\nthirteen char", &["twelve chars", "thirteen ch…"]);
    }

    #[test]
    fn breaks_json_at_the_items() {
        check(
            r#"{"c":2,"s":[{"a":1,"b":2},{"a":3}]}"#,
            &[r#"{"c":2,"s":["#, r#"{"a":1,"b":…"#, r#"{"a":3}]}"#],
        );
        check(r#"{"s":["a,\",]","b"]}"#, &[r#"{"s":["#, r#""a,\",]","#, r#""b"]}"#]);
    }

    #[test]
    fn wraps_what_has_no_lines() {
        check(r#"{"a":"0123456789"}"#, &[r#"{"a":"012345"#, r#"6789"}"#]);
        check(r#"{"a":{"b":1,"c":2}}"#, &[r#"{"a":{"b":1,"#, r#""c":2}}"#]);
        assert_eq!(wrap("abcdefghij", 2, 3), ["abc", "…ij"]);
        assert_eq!(wrap("a\u{202e}b", 1, 3), ["a·b"]);
        assert_eq!(wrap("客房列表", 2, 5), ["客房", "列表"]);
        assert_eq!(wrap("客房列表客房", 2, 5), ["客房", "…客房"]);
    }
}
