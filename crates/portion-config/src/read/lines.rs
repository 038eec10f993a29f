//! The lines of a file, to show what stands at a place: never one that may hold a secret.

use crate::origin::{Origin, Place};
use crate::problem::Problem;

/// The most characters of a line that are shown.
const MOST: usize = 120;

/// The lines of a file that may be shown.
pub(crate) struct Lines<'a> {
    lines: Vec<&'a str>,
    hidden: &'a [(usize, usize)],
}

impl<'a> Lines<'a> {
    /// Those of a text without some, first and last.
    pub(crate) fn new(text: &'a str, hidden: &'a [(usize, usize)]) -> Self {
        Self { lines: text.lines().collect(), hidden }
    }

    /// Adds to a problem what stands at its place.
    pub(crate) fn show(&self, problem: &mut Problem) {
        if let Origin::File(_, place) = &problem.at {
            problem.snippet = self.snippet(*place);
        }
    }

    fn snippet(&self, Place { line, column }: Place) -> Option<String> {
        if self.hidden.iter().any(|(first, last)| (*first..=*last).contains(&line)) {
            return None;
        }
        let text = self.lines.get(line.checked_sub(1)?)?;
        if column > MOST {
            return None;
        }
        // Tabs keep their width, so that the mark stands below its place.
        let shown: String =
            text.chars().take(MOST).map(|c| if c.is_control() && c != '\t' { ' ' } else { c }).collect();
        let before: String =
            shown.chars().take(column.saturating_sub(1)).map(|c| if c == '\t' { c } else { ' ' }).collect();
        let number = line.to_string();
        let gutter = " ".repeat(number.len());
        Some(format!("  {number} | {shown}\n  {gutter} | {before}^"))
    }
}
