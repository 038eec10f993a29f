//! The preview of an edit: a unified diff.
//!
//! ```
//! use portion_install::diff::unified;
//!
//! let shown = unified("mcp.json", "{\n}\n", "{\n  \"servers\": {}\n}\n");
//! assert!(shown.contains("+  \"servers\": {}"));
//! ```

use similar::{Algorithm, TextDiff};

/// Lines of context.
const CONTEXT: usize = 3;
/// Longest line shown whole. A client may write its file on a single line.
const LINE_WIDTH: usize = 400;
/// Longest line that is not broken. An edit may make a line longer, which must be broken before and after it.
const BREAK_WIDTH: usize = LINE_WIDTH / 2;

/// Returns the difference between two texts, without line ends of Windows; empty if there is none.
///
/// If a line is too long to be shown whole, long lines are broken at commas and brackets, as a formatter would do:
/// otherwise the change could be in the part that is left out.
pub fn unified(name: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    if has_long_line(old) || has_long_line(new) {
        return difference(name, &broken(old), &broken(new));
    }
    difference(name, old, new)
}

fn has_long_line(text: &str) -> bool {
    text.lines().any(|line| line.chars().nth(LINE_WIDTH).is_some())
}

fn difference(name: &str, old: &str, new: &str) -> String {
    let diff = TextDiff::configure().algorithm(Algorithm::Patience).diff_lines(old, new);
    let mut unified = diff.unified_diff();
    let text = unified.context_radius(CONTEXT).header(name, name).to_string();
    let mut shown = String::with_capacity(text.len());
    for line in text.lines() {
        let line = line.trim_end_matches('\r');
        match line.char_indices().nth(LINE_WIDTH) {
            None => shown.push_str(line),
            Some((at, _)) => {
                shown.push_str(&line[..at]);
                shown.push_str(" … (");
                shown.push_str(&line[at..].chars().count().to_string());
                shown.push_str(" more characters)");
            }
        }
        shown.push('\n');
    }
    shown
}

/// Returns a text whose long lines are broken.
fn broken(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for line in text.split_inclusive('\n') {
        if line.chars().nth(BREAK_WIDTH).is_some() {
            break_line(line, &mut out);
        } else {
            out.push_str(line);
        }
    }
    out
}

/// Adds a line with a line end after each comma and each opening bracket, and before each closing one, outside of strings.
fn break_line(line: &str, out: &mut String) {
    let (mut in_string, mut is_escaped, mut is_broken) = (false, false, false);
    for char in line.chars() {
        if is_broken && char == ' ' {
            continue;
        }
        is_broken = false;
        if !in_string && matches!(char, '}' | ']') {
            end_line(out);
        }
        out.push(char);
        match char {
            _ if is_escaped => is_escaped = false,
            '\\' if in_string => is_escaped = true,
            '"' => in_string = !in_string,
            ',' | '{' | '[' if !in_string => {
                end_line(out);
                is_broken = true;
            }
            _ => {}
        }
    }
}

fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_shown_with_context() {
        assert_eq!(unified("f", "a", "a"), "");
        let shown = unified("f", "a\r\nb\r\nc", "a\r\nB\r\nc");
        let expect = "--- f\n+++ f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n\\ No newline at end of file\n";
        assert_eq!(shown, expect);
        let long = unified("f", &"x".repeat(500), &"y".repeat(500));
        assert!(long.contains("+yyyy") && long.contains(" … (101 more characters)"), "{long}");
    }

    #[test]
    fn the_change_of_a_file_on_one_line_is_shown() {
        let text = |command: &str| {
            let history = "\"a \\\"quoted\\\", word\",".repeat(100);
            format!(r#"{{"history":[{history}1],"mcpServers":{{"git":{{"command":{command}}}}}}}"#)
        };
        let new = text(r#""portion","args":["wrap","--","uvx"]"#);
        let shown = unified("f", &text(r#""uvx""#), &new);
        for line in ["-\"command\":\"uvx\"\n", "+\"command\":\"portion\",\n", "+\"wrap\",\n", " \"git\":{\n"]
        {
            assert!(shown.contains(line), "{line} in {shown}");
        }
        assert!(!shown.contains("more characters"), "{shown}");
    }
}
