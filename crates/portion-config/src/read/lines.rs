//! Shows the source line of a problem, but never a line that may contain a secret.

use crate::origin::{FilePosition, Origin};
use crate::problem::Problem;

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
        if self.secret_ranges.iter().any(|(first, last)| (*first..=*last).contains(&line)) {
            return None;
        }
        let text = self.lines.get(line.checked_sub(1)?)?;
        if column > MAX_SNIPPET_CHARS {
            return None;
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
