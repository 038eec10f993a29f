//! Tables of HTML.

mod cells;
mod grid;
mod header;

use portion_json::span::Span;

use super::{DocumentTable, MAX_COUNTED_ROWS, MAX_TABLES, TableFormat};
use crate::html::HtmlTags;
use cells::HtmlRows;
use grid::Grid;
pub(super) use header::HeaderRows;

/// Returns the tables of a text whose header is clear. A table around another one is no table of records.
pub(super) fn find(text: &str) -> Vec<DocumentTable> {
    let mut found = Vec::new();
    let mut start = None;
    for tag in HtmlTags::new(text, 0..text.len()).filter(|tag| tag.is("table")) {
        if found.len() >= MAX_TABLES {
            return found;
        }
        if !tag.is_closing {
            start = Some(tag.start);
        } else if let Some(start) = start.take() {
            found.extend(table(text, Span::new(start, tag.start)));
        }
    }
    found.extend(start.and_then(|start| table(text, Span::new(start, text.len()))));
    found
}

/// Returns the table in a span, if it has a row below a header.
fn table(text: &str, span: Span) -> Option<DocumentTable> {
    let header = HeaderRows::detect(text, HtmlRows::new(text, span))?;
    let below = || HtmlRows::new(text, span).skip(header.count).take(MAX_COUNTED_ROWS);
    // Headers that are repeated between the rows are none.
    let read = if below().any(|row| row.is_header()) {
        rows(text, span, &header, &|at| at >= header.count + MAX_COUNTED_ROWS)
    } else {
        None
    };
    let count = || 1 + below().filter(|row| !row.cells.is_empty()).count();
    let row_count = read.map_or_else(count, |rows| rows.len());
    (row_count > 1).then_some(DocumentTable { span, format: TableFormat::Html(header), row_count })
}

/// Returns the names of the columns and the rows of an HTML table. A cell that spans columns or rows is repeated in each.
///
/// Returns `None` if `should_stop` says so, or too many cells are repeated.
pub(super) fn rows(
    text: &str,
    table: Span,
    header: &HeaderRows,
    should_stop: &dyn Fn(usize) -> bool,
) -> Option<Vec<Vec<String>>> {
    let mut grid = Grid::default();
    let mut names: Vec<Vec<String>> = Vec::new();
    let mut rows = vec![Vec::new()];
    for (at, row) in HtmlRows::new(text, table).enumerate() {
        if should_stop(at) {
            return None;
        }
        // A cell that spans a row of data is a heading of the rows below it, and stands once.
        let is_heading = at >= header.count && row.cells.len() == 1;
        let cells = grid.expand(text, &row, is_heading)?;
        if row.cells.is_empty() {
            continue;
        }
        if at < header.count {
            if at >= header.caption_count {
                names.push(cells);
            }
        } else if !(row.is_header() && names.contains(&cells)) {
            rows.push(cells);
        }
    }
    rows[0] = header::joined_names(&names);
    Some(rows)
}

#[cfg(test)]
mod tests;
