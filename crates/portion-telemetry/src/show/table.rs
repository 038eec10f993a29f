//! Table of query results: text left-aligned, numbers right-aligned.

use std::fmt;

use portion_text::printable::printable_name;

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
    /// Widest line, in characters. The last columns are omitted if they do not fit.
    max_width: Option<usize>,
}

impl Table {
    pub(super) fn new<'a>(titles: impl Iterator<Item = &'a str>, max_width: Option<usize>) -> Self {
        Self { rows: vec![titles.map(|title| (title.to_owned(), false)).collect()], max_width }
    }

    pub(super) fn row(&mut self, cells: impl Iterator<Item = Cell>) {
        let shown = cells.map(|cell| (printable(&cell.human()), cell.is_numeric()));
        self.rows.push(shown.collect());
    }

    /// Returns how many columns fit; at least the first one.
    fn fitting_columns(&self) -> usize {
        let titles = self.rows[0].len();
        let Some(max_width) = self.max_width else { return titles };
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|(text, _)| text.chars().count()).max().unwrap_or(0) + COLUMN_GAP
        };
        let mut left = max_width + COLUMN_GAP;
        let fits = |column: &usize| {
            let rest = left.checked_sub(width(*column));
            left = rest.unwrap_or(0);
            rest.is_some()
        };
        (0..titles).take_while(fits).count().max(1)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A title is aligned like the cells below it.
        let is_right = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).any(|(_, is_numeric)| *is_numeric)
        };
        let (mut table, count) = (TextTable::new(0, COLUMN_GAP), self.fitting_columns());
        for row in &self.rows {
            let cell = |(column, (text, _)): (usize, &(String, bool))| {
                if is_right(column) { TextCell::right(text) } else { TextCell::left(text) }
            };
            table.row(row.iter().take(count).enumerate().map(cell));
        }
        write!(f, "{table}")?;
        let omitted: Vec<&str> = self.rows[0].iter().skip(count).map(|(title, _)| title.as_str()).collect();
        if omitted.is_empty() {
            return Ok(());
        }
        writeln!(
            f,
            "\nNot shown, because the terminal is too narrow: {}; --json has all.",
            omitted.join(", ")
        )
    }
}

/// Makes text safe and short for a terminal. What is not printable in upstream names is replaced.
pub fn printable(text: &str) -> String {
    let cut = text.char_indices().nth(MAX_CELL_WIDTH).map(|(at, _)| at);
    let mut shown = printable_name(&text[..cut.unwrap_or(text.len())]);
    if cut.is_some() {
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
        let mut table = Table::new(["endpoint", "n"].into_iter(), None);
        table.row([Cell::text("list\u{1b}[31\u{202e}m"), Cell::Count(1_000)].into_iter());
        table.row([Cell::text("x".repeat(60)), Cell::Empty].into_iter());
        let long = format!("{}…", "x".repeat(47));
        let expect = format!(
            "{:<48}  {:>5}\n{:<48}  1,000\n{long}      –\n",
            "endpoint", "n", "list\u{fffd}[31\u{fffd}m"
        );
        assert_eq!(table.to_string(), expect);
    }

    #[test]
    fn columns_that_do_not_fit_are_named() {
        let check = |max_width: usize, expect: &str| {
            let mut table = Table::new(["name", "size", "time"].into_iter(), Some(max_width));
            table.row([Cell::text("abc"), Cell::Count(1), Cell::Count(20)].into_iter());
            assert_eq!(table.to_string(), expect, "{max_width}");
        };
        let narrow = "\nNot shown, because the terminal is too narrow:";
        check(16, "name  size  time\nabc      1    20\n");
        check(15, &format!("name  size\nabc      1\n{narrow} time; --json has all.\n"));
        check(1, &format!("name\nabc\n{narrow} size, time; --json has all.\n"));
    }
}
