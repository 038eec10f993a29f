//! Excerpts of replies for people: lines are cut to a width, `…` marks omissions, and `·` what is not printable.

use portion_text::printable::is_printable;

/// Mark of an omission.
const ELLIPSIS: char = '…';

/// Mark in place of a character that is not printable.
const UNPRINTABLE: char = '·';

/// Least number of lines that are omitted.
const MIN_ELIDED_LINES: usize = 4;

/// Returns about `rows` lines of at most `width` characters: the beginning and the end of a text.
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

/// Returns a text in at most `rows` rows of `width` characters. A longer text is cut in the middle.
pub(crate) fn wrap(text: &str, rows: usize, width: usize) -> Vec<String> {
    let printed = |c: char| if is_printable(c) { c } else { UNPRINTABLE };
    let mut shown: Vec<char> = text.chars().map(printed).collect();
    if shown.len() > rows * width {
        let head = rows.saturating_sub(1) * width;
        shown.splice(head..=shown.len() - width, [ELLIPSIS]);
    }
    shown.chunks(width).map(String::from_iter).collect()
}

fn truncate(line: &str, width: usize) -> String {
    match line.char_indices().nth(width) {
        None => line.to_owned(),
        Some(_) => line.chars().take(width - 1).chain([ELLIPSIS]).collect(),
    }
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
    }
}
