//! The header of an HTML table, of one row or several.

use super::cells::{HtmlCell, HtmlRow};
use crate::html::plain_text;

/// Largest number of rows of a header.
const MAX_HEADER_ROWS: usize = 8;

/// The rows of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::document_table) struct HeaderRows {
    /// Number of the rows, including those above the names.
    pub(super) count: usize,
    /// Number of the first rows that are empty, or one cell that names the table.
    pub(super) caption_count: usize,
}

impl HeaderRows {
    /// Detects the header: the rows in `<thead>`, else the first rows of `<th>`, else the first row, with the rows that its cells
    /// span. A first row with numbers is none.
    ///
    /// Returns `None` if cells span columns or rows and nothing says which rows are names.
    pub(super) fn detect(text: &str, rows: impl Iterator<Item = HtmlRow>) -> Option<Self> {
        let first: Vec<HtmlRow> = rows.take(MAX_HEADER_ROWS + 1).collect();
        let captions = first.iter().take_while(|row| row.cells.is_empty() || is_caption(row)).count();
        let below = first.get(captions..).unwrap_or_default();
        let leading = |is_header: fn(&HtmlRow) -> bool| {
            below.iter().take_while(|row| is_header(row) && !is_caption(row)).count()
        };
        let marked = match leading(|row| row.is_in_head) {
            0 => leading(HtmlRow::is_header),
            marked => marked,
        };
        // A table of headers only has names in its first row.
        let is_marked = marked > 0 && marked < below.len();
        let is_number = |cell: &HtmlCell| {
            text.get(cell.content.clone()).is_some_and(|html| plain_text(html).parse::<f64>().is_ok())
        };
        let has_names = below.first().is_some_and(|row| !row.cells.iter().any(is_number));
        let mut count = captions + if is_marked { marked } else { usize::from(has_names) };
        let spans = |row: &HtmlRow, rows: bool| {
            row.cells.iter().any(|cell| if rows { cell.row_count > 1 } else { cell.column_count > 1 })
        };
        let names = first.get(captions..count)?;
        let spans_columns = names.iter().any(|row| spans(row, false));
        let spans_rows = names.iter().any(|row| spans(row, true));
        let last = |(at, row): (usize, &HtmlRow)| {
            captions + at + row.cells.iter().map(|cell| cell.row_count).max().unwrap_or(1)
        };
        let spanned = names.iter().enumerate().map(last).max().unwrap_or(count);
        let is_clear =
            if is_marked { spanned <= count || spans_columns } else { spans_columns == spans_rows };
        count = count.max(if spans_columns { spanned } else { count });
        (is_clear && count <= MAX_HEADER_ROWS).then_some(Self { count, caption_count: captions })
    }
}

/// Returns true for a row of one cell that spans columns.
fn is_caption(row: &HtmlRow) -> bool {
    matches!(row.cells.as_slice(), [cell] if cell.column_count > 1 && cell.row_count == 1)
}

/// Joins the names of each column, from the first row to the last. A name that spans rows stands once.
pub(super) fn joined_names(rows: &[Vec<String>]) -> Vec<String> {
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    let joined = |at: usize| {
        let mut parts: Vec<&str> = rows.iter().filter_map(|row| row.get(at)).map(String::as_str).collect();
        parts.retain(|part| !part.is_empty());
        parts.dedup();
        parts.join(" ")
    };
    (0..width).map(joined).collect()
}
