//! Shows the source line of a problem, but never a line that may contain a secret.

use crate::settings::{FilePosition, Origin, Problem};

/// Maximum characters of a line that are shown.
const MAX_SNIPPET_CHARS: usize = 120;

/// The lines of a file that may be shown.
pub(crate) struct SourceLines<'a> {
    lines: Vec<&'a str>,
    secret_ranges: &'a [(usize, usize)],
}

impl<'a> SourceLines<'a> {
    /// Creates the lines of a text; `hidden` holds the first and last line of each secret range.
    pub(crate) fn new(text: &'a str, hidden: &'a [(usize, usize)]) -> Self {
        Self { lines: text.lines().collect(), secret_ranges: hidden }
    }

    /// Adds the line at the place of a problem to it.
    pub(crate) fn add_snippet(&self, problem: &mut Problem) {
        if let Origin::File(_, place) = &problem.origin {
            problem.snippet = self.snippet(*place);
        }
    }

    fn snippet(&self, FilePosition { line, column }: FilePosition) -> Option<String> {
        let text = self.lines.get(line.checked_sub(1)?)?;
        if column > MAX_SNIPPET_CHARS {
            return None;
        }
        let key;
        let mut text = *text;
        let mut ranges = self.secret_ranges.iter().filter(|(first, last)| (*first..=*last).contains(&line));
        if let Some((first, _)) = ranges.next() {
            if *first != line || ranges.any(|(first, _)| *first != line) {
                return None;
            }
            key = format!("{} …", key_at(text, column)?);
            text = &key;
        }
        // Tabs keep their width, so that the mark is below its place.
        let shown: String = text
            .chars()
            .take(MAX_SNIPPET_CHARS)
            .map(|c| if c.is_control() && c != '\t' { ' ' } else { c })
            .collect();
        let before: String =
            shown.chars().take(column.saturating_sub(1)).map(|c| if c == '\t' { c } else { ' ' }).collect();
        let number = line.to_string();
        let gutter = " ".repeat(number.len());
        Some(format!("  {number} | {shown}\n  {gutter} | {before}^"))
    }
}

/// Returns the line up to the colon of the key that begins at `column` (from 1), if nothing is before the key.
fn key_at(text: &str, column: usize) -> Option<&str> {
    let (start, _) = text.char_indices().nth(column.checked_sub(1)?)?;
    let is_indented = text[..start].chars().all(|c| matches!(c, ' ' | '\t' | '-'));
    let (key, _) = text[start..].split_once(':')?;
    let is_name =
        !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    (is_indented && is_name).then(|| &text[..=start + key.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_line_with_a_secret_only_its_key_is_shown() {
        let text = "tokn: hunter2\n  - keey: hunter2\n{a: hunter2, b: c}\ntext: |\n  pass: hunter2";
        let hidden = [(1, 1), (2, 2), (3, 3), (4, 5)];
        let lines = SourceLines::new(text, &hidden);
        let check = |line, column, expect: Option<&str>| {
            assert_eq!(lines.snippet(FilePosition { line, column }).as_deref(), expect, "{line}:{column}");
        };
        check(1, 1, Some("  1 | tokn: …\n    | ^"));
        check(2, 5, Some("  2 |   - keey: …\n    |     ^"));
        check(1, 7, None);
        check(3, 13, None);
        check(5, 3, None);
    }
}
