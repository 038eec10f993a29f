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

/// Returns the difference between two texts, without line ends of Windows; empty if there is none.
pub fn unified(name: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
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
}
