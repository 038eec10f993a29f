//! Table of query results: text left-aligned, numbers right-aligned.

use std::fmt;

use super::cell::Cell;
use super::text_table::{TextCell, TextTable};

/// Spaces between two columns.
const COLUMN_GAP: usize = 2;
/// Maximum characters of a cell; longer text is cut.
const MAX_CELL_WIDTH: usize = 48;

/// Rows, the titles first.
#[derive(Debug)]
pub(super) struct Table {
    rows: Vec<Vec<(String, bool)>>,
}

impl Table {
    pub(super) fn new<'a>(titles: impl Iterator<Item = &'a str>) -> Self {
        Self { rows: vec![titles.map(|title| (title.to_owned(), false)).collect()] }
    }

    pub(super) fn row(&mut self, cells: impl Iterator<Item = Cell>) {
        let shown = cells.map(|cell| (printable(&cell.human()), cell.is_numeric()));
        self.rows.push(shown.collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A title is aligned like the cells below it.
        let is_right = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).any(|(_, is_numeric)| *is_numeric)
        };
        let mut table = TextTable::new(0, COLUMN_GAP);
        for row in &self.rows {
            let cell = |(column, (text, _)): (usize, &(String, bool))| {
                if is_right(column) { TextCell::right(text) } else { TextCell::left(text) }
            };
            table.row(row.iter().enumerate().map(cell));
        }
        write!(f, "{table}")
    }
}

/// Makes text safe and short for a terminal. Control characters from upstream names are replaced.
pub fn printable(text: &str) -> String {
    let printed = |character: char| if character.is_control() { '\u{fffd}' } else { character };
    let mut shown: String = text.chars().take(MAX_CELL_WIDTH).map(printed).collect();
    if text.chars().nth(MAX_CELL_WIDTH).is_some() {
        shown.pop();
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_left_and_figures_right() {
        let mut table = Table::new(["endpoint", "n"].into_iter());
        table.row([Cell::text("list\u{1b}[31m"), Cell::Count(1_000)].into_iter());
        table.row([Cell::text("x".repeat(60)), Cell::Empty].into_iter());
        let long = format!("{}…", "x".repeat(47));
        let expect =
            format!("{:<48}  {:>5}\n{:<48}  1,000\n{long}      –\n", "endpoint", "n", "list\u{fffd}[31m");
        assert_eq!(table.to_string(), expect);
    }
}
