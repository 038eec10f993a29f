//! Table of query results: text left-aligned, numbers right-aligned.

use std::fmt;

use portion_text::display::{display_width, printable_name, truncate};

use super::cell::Cell;

/// Spaces between two columns.
const COLUMN_GAP: usize = 2;
/// Widest text of a cell, in columns of the terminal; longer text is cut.
const MAX_TEXT_WIDTH: usize = 48;
/// Width to which texts are cut on a narrow terminal.
const MIN_TEXT_WIDTH: usize = 8;

/// Rows, the titles first.
#[derive(Debug)]
pub(super) struct Table {
    rows: Vec<Vec<TableCell>>,
    /// Widest line. The last columns are omitted if they do not fit.
    max_width: Option<usize>,
}

#[derive(Debug)]
struct TableCell {
    text: String,
    is_numeric: bool,
    /// True for texts of any length, unlike times.
    is_text: bool,
}

/// Properties that the cells of a column share.
#[derive(Clone, Copy, Debug, Default)]
struct ColumnShape {
    /// Width of the widest cell.
    width: usize,
    is_numeric: bool,
    is_text: bool,
}

/// Columns that fit.
#[derive(Debug)]
struct Layout {
    columns: Vec<usize>,
    /// Width to which their texts are cut.
    text_width: usize,
}

impl Table {
    pub(super) fn new<'a>(titles: impl Iterator<Item = &'a str>, max_width: Option<usize>) -> Self {
        let title = |text: &str| TableCell { text: text.to_owned(), is_numeric: false, is_text: false };
        Self { rows: vec![titles.map(title).collect()], max_width }
    }

    pub(super) fn row(&mut self, cells: impl Iterator<Item = Cell>) {
        let shown = cells.map(|cell| TableCell {
            text: printable(&cell.human()),
            is_numeric: cell.is_numeric(),
            is_text: cell.is_text(),
        });
        self.rows.push(shown.collect());
    }

    fn shapes(&self) -> Vec<ColumnShape> {
        let mut shapes = vec![ColumnShape::default(); self.rows[0].len()];
        for row in &self.rows {
            for (shape, cell) in shapes.iter_mut().zip(row) {
                shape.width = shape.width.max(display_width(&cell.text));
                shape.is_numeric |= cell.is_numeric;
                shape.is_text |= cell.is_text;
            }
        }
        shapes
    }

    /// Chooses the columns that fit. Texts in front of the first figure are cut, and if that is not enough, the last of them
    /// are omitted: a table without figures says little.
    fn layout(&self, shapes: &[ColumnShape]) -> Layout {
        let Some(max_width) = self.max_width else {
            return Layout { columns: (0..shapes.len()).collect(), text_width: MAX_TEXT_WIDTH };
        };
        let fits = |columns: &[usize], text_width: usize| {
            let widths = columns.iter().map(|column| shapes[*column].cut_width(text_width) + COLUMN_GAP);
            widths.sum::<usize>() <= max_width + COLUMN_GAP
        };
        let figure = shapes.iter().position(|shape| shape.is_numeric);
        let with_figure = (1..=figure.unwrap_or(0)).rev().find_map(|count| {
            let columns: Vec<usize> = (0..count).chain(figure).collect();
            let text_width = (MIN_TEXT_WIDTH..=MAX_TEXT_WIDTH).rev().find(|width| fits(&columns, *width))?;
            Some(Layout { columns, text_width })
        });
        let mut layout = with_figure.unwrap_or_else(|| Layout {
            columns: vec![0],
            text_width: max_width.clamp(MIN_TEXT_WIDTH, MAX_TEXT_WIDTH),
        });
        for column in layout.columns.last().map_or(0, |last| last + 1)..shapes.len() {
            layout.columns.push(column);
            if !fits(&layout.columns, layout.text_width) {
                layout.columns.pop();
                break;
            }
        }
        layout
    }
}

impl ColumnShape {
    /// Returns the width of the column if its texts are cut.
    fn cut_width(self, text_width: usize) -> usize {
        if self.is_text { self.width.min(text_width) } else { self.width }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shapes = self.shapes();
        let Layout { columns, text_width } = self.layout(&shapes);
        let mut table = TextTable::new(0, COLUMN_GAP);
        for row in &self.rows {
            table.row(columns.iter().map(|column| {
                let (shape, cell) = (shapes[*column], &row[*column]);
                let text = truncate(&cell.text, shape.cut_width(text_width));
                // A title is aligned like the cells below it.
                if shape.is_numeric { TextCell::right(text) } else { TextCell::left(text) }
            }));
        }
        write!(f, "{table}")?;
        let titles = self.rows[0].iter().enumerate();
        let omitted = titles.filter(|(column, _)| !columns.contains(column));
        let omitted: Vec<&str> = omitted.map(|(_, title)| title.text.as_str()).collect();
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
    truncate(&printable_name(text), MAX_TEXT_WIDTH)
}

/// A cell: its text, its style, and its alignment.
#[derive(Clone, Debug)]
pub struct TextCell {
    text: String,
    is_right: bool,
    /// Control sequences before and after the text. They have no width.
    style: (String, String),
}

/// Rows of cells. Each column is as wide as its widest cell.
///
/// ```
/// use portion_telemetry::show::{TextCell, TextTable};
///
/// let mut table = TextTable::new(0, 2);
/// table.row([TextCell::left("name"), TextCell::right("n")]);
/// table.row([TextCell::left("a"), TextCell::right("12")]);
/// assert_eq!(table.to_string(), "name   n\na     12\n");
/// ```
#[derive(Clone, Debug, Default)]
pub struct TextTable {
    rows: Vec<Vec<TextCell>>,
    margin: usize,
    gap: usize,
}

impl TextCell {
    /// Creates a left-aligned cell.
    pub fn left(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_right: false, style: Default::default() }
    }

    /// Creates a right-aligned cell.
    pub fn right(text: impl Into<String>) -> Self {
        Self { is_right: true, ..Self::left(text) }
    }

    /// Sets the control sequences before and after the text.
    #[must_use]
    pub fn styled(self, before: impl fmt::Display, after: impl fmt::Display) -> Self {
        Self { style: (before.to_string(), after.to_string()), ..self }
    }

    fn width(&self) -> usize {
        display_width(&self.text)
    }
}

impl TextTable {
    /// Creates a table with spaces before the first column (`margin`) and between columns (`gap`).
    pub fn new(margin: usize, gap: usize) -> Self {
        Self { rows: Vec::new(), margin, gap }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = TextCell>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl fmt::Display for TextTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let widest =
            |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(TextCell::width).max();
        let widths: Vec<usize> = (0..columns).map(|column| widest(column).unwrap_or_default()).collect();
        for row in &self.rows {
            let mut spaces = self.margin;
            for (cell, width) in row.iter().zip(&widths) {
                // Spaces are outside of the style, and are written only if text follows.
                let padding = width - cell.width();
                let (before, after) = if cell.is_right { (padding, 0) } else { (0, padding) };
                spaces += before;
                if !cell.text.is_empty() {
                    write!(f, "{:spaces$}{}{}{}", "", cell.style.0, cell.text, cell.style.1)?;
                    spaces = 0;
                }
                spaces += after + self.gap;
            }
            writeln!(f)?;
        }
        Ok(())
    }
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

    #[test]
    fn texts_are_cut_before_the_first_figure_is_omitted() {
        let check = |max_width: usize, expect: &str| {
            let mut table = Table::new(["time", "name", "outcome", "n"].into_iter(), Some(max_width));
            let time = Cell::Timestamp(1_760_000_000_123_456);
            let cells = [time, Cell::text("客房列表/list_rooms"), Cell::text("paginated"), Cell::Count(7)];
            table.row(cells.into_iter());
            let text = table.to_string();
            assert_eq!(text.split("\n\n").next().map(str::trim_end), Some(expect), "{max_width}");
            assert_eq!(text.contains("Not shown"), !expect.contains("outcome"), "{text}");
        };
        let whole = "time                  name                 outcome    n\n\
                     2025-10-09 08:53:20Z  客房列表/list_rooms  paginated  7";
        let cut = "time                  name        outcome    n\n\
                   2025-10-09 08:53:20Z  客房列表/…  paginated  7";
        let omitted = "time                  name       n\n\
                       2025-10-09 08:53:20Z  客房列表…  7";
        check(55, whole);
        check(46, cut);
        check(34, omitted);
    }

    #[test]
    fn styles_have_no_width() {
        let mut table = TextTable::new(2, 3);
        table.row([TextCell::left("name"), TextCell::right("n").styled("<", ">"), TextCell::left("")]);
        table.row([TextCell::left("a"), TextCell::right("1,000"), TextCell::left("end")]);
        assert_eq!(table.to_string(), "  name       <n>\n  a      1,000   end\n");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        let mut table = TextTable::new(0, 2);
        table.row([TextCell::left("name"), TextCell::right("n")]);
        table.row([TextCell::left("客房🏨"), TextCell::right("12")]);
        assert_eq!(table.to_string(), "name     n\n客房🏨  12\n");
    }
}
