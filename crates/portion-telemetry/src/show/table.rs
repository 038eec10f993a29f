//! A table that reads well in a terminal: words to the left, figures to the right.

use std::fmt;

use super::cell::Cell;

/// Blanks between two columns.
const GAP: usize = 2;
/// Characters of a cell; what is longer is cut.
const WIDEST: usize = 48;

/// Rows below titles.
#[derive(Debug)]
pub(super) struct Table {
    rows: Vec<Vec<(String, bool)>>,
}

impl Table {
    pub(super) fn new<'a>(titles: impl Iterator<Item = &'a str>) -> Self {
        // Which side a title keeps to is told by what stands below.
        Self { rows: vec![titles.map(|title| (title.to_owned(), false)).collect()] }
    }

    pub(super) fn row(&mut self, cells: impl Iterator<Item = Cell>) {
        let shown = cells.map(|cell| (shown(&cell.spoken()), cell.is_figure()));
        self.rows.push(shown.collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.first().map_or(0, Vec::len);
        let in_column = |column: usize| self.rows.iter().filter_map(move |row| row.get(column));
        let wide = |column| in_column(column).map(|(text, _)| text.chars().count()).max().unwrap_or_default();
        let widths: Vec<usize> = (0..columns).map(wide).collect();
        let right: Vec<bool> =
            (0..columns).map(|column| in_column(column).any(|(_, is_figure)| *is_figure)).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (((text, _), width), right) in row.iter().zip(&widths).zip(&right) {
                let padding = " ".repeat(width - text.chars().count());
                let (before, after) =
                    if *right { (padding, String::new()) } else { (String::new(), padding) };
                line.extend([before.as_str(), text, &after, &" ".repeat(GAP)]);
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// What is shown of a text. Names come from elsewhere: what a terminal would obey is not shown.
pub fn shown(text: &str) -> String {
    let printed = |character: char| if character.is_control() { '\u{fffd}' } else { character };
    let mut shown: String = text.chars().take(WIDEST).map(printed).collect();
    if text.chars().nth(WIDEST).is_some() {
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
        table.row([Cell::text("x".repeat(60)), Cell::Nothing].into_iter());
        let long = format!("{}…", "x".repeat(47));
        let expect =
            format!("{:<48}  {:>5}\n{:<48}  1,000\n{long}      –\n", "endpoint", "n", "list\u{fffd}[31m");
        assert_eq!(table.to_string(), expect);
    }
}
