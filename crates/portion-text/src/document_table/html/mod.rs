//! Tables of HTML.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;

use portion_json::span::Span;

use super::{DocumentTable, MAX_CELLS, MAX_COUNTED_ROWS, MAX_TABLES, TableFormat};
use crate::html::{CellSpan, HtmlTag, HtmlTags, plain_text};

/// Returns the tables of a text whose header is clear.
pub(super) fn find(text: &str) -> Vec<DocumentTable> {
    html_tables(text).filter_map(|span| table(text, span)).take(MAX_TABLES).collect()
}

/// Yields the spans of the tables of a text. A table around another one is no table of records.
pub fn html_tables(text: &str) -> impl Iterator<Item = Span> {
    let mut tags = HtmlTags::new(text, 0..text.len()).filter(|tag| tag.is("table"));
    let mut start = None;
    std::iter::from_fn(move || {
        for tag in tags.by_ref() {
            if !tag.is_closing {
                start = Some(tag.start);
            } else if let Some(start) = start.take() {
                return Some(Span::new(start, tag.start));
            }
        }
        start.take().map(|start| Span::new(start, text.len()))
    })
}

/// The cells of a table as ranges of the text, one for each column. A cell that spans columns or rows stands in each.
#[derive(Debug)]
pub struct HtmlGrid {
    /// All rows, the header first.
    pub rows: Vec<Vec<Range<usize>>>,
    /// Number of the rows that name columns, or the table.
    pub header_count: usize,
    /// True if the first row is marked as one of names.
    pub has_headings: bool,
}

/// Bytes of repeated cells of a table for each of its own bytes, and for any table, where the work has to be proportional to the text.
const REPEATED_BYTES: usize = 64;
const MIN_REPEATED_BYTES: usize = 4 << 10;

/// Returns the cells of an HTML table. A header that is not clear is the first row. The work is proportional to the table: once too
/// many cells were repeated, further ones are not.
pub fn html_grid(text: &str, table: Span) -> HtmlGrid {
    let header_count = HeaderRows::detect(text, HtmlRows::new(text, table)).map_or(1, |header| header.count);
    let has_headings = HtmlRows::new(text, table).next().is_some_and(|row| row.is_in_head || row.is_header());
    let budget = MIN_REPEATED_BYTES + table.len() * REPEATED_BYTES;
    let mut grid = Grid { budget, ..Grid::default() };
    let unrepeated = |row: HtmlRow| row.cells.into_iter().map(|cell| cell.content).collect();
    let rows = HtmlRows::new(text, table);
    let rows = rows.map(|row| grid.expand(&row, false).unwrap_or_else(|| unrepeated(row))).collect();
    HtmlGrid { rows, header_count, has_headings }
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
    let count = || 1 + below().filter(|row| !row.cells.is_empty() && !row.is_in_foot).count();
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
        let cells = grid.expand(&row, is_heading)?;
        let cells = cells.into_iter().map(|cell| plain_text(text.get(cell).unwrap_or_default())).collect();
        if row.cells.is_empty() || row.is_in_foot {
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
    rows[0] = joined_names(&names);
    Some(rows)
}

/// A row.
#[derive(Debug, Default)]
struct HtmlRow {
    /// Its cells, without those of earlier rows that span it.
    cells: Vec<HtmlCell>,
    /// True if it is in a `<thead>`.
    is_in_head: bool,
    /// True if it is in a `<tfoot>`: a summary of the rows.
    is_in_foot: bool,
    /// Number of its group, which no cell spans beyond.
    group: usize,
}

/// A cell.
#[derive(Debug)]
struct HtmlCell {
    /// Its content in the text.
    content: Range<usize>,
    /// True for `<th>`.
    is_header: bool,
    /// Number of the columns that it spans.
    column_count: usize,
    /// Number of the rows that it spans.
    row_count: usize,
}

impl HtmlRow {
    /// Returns true if all its cells are headers.
    fn is_header(&self) -> bool {
        !self.cells.is_empty() && self.cells.iter().all(|cell| cell.is_header)
    }
}

/// Yields the rows of a table.
struct HtmlRows<'a> {
    tags: HtmlTags<'a>,
    end: usize,
    row: Option<HtmlRow>,
    is_in_head: bool,
    is_in_foot: bool,
    group: usize,
}

impl<'a> HtmlRows<'a> {
    fn new(text: &'a str, table: Span) -> Self {
        let end = table.end as usize;
        let tags = HtmlTags::new(text, table.range());
        Self { tags, end, row: None, is_in_head: false, is_in_foot: false, group: 0 }
    }

    /// Returns a row without cells at this place.
    fn empty_row(&self) -> HtmlRow {
        let Self { is_in_head, is_in_foot, group, .. } = *self;
        HtmlRow { cells: Vec::new(), is_in_head, is_in_foot, group }
    }

    /// Ends the last cell of the row, unless it ended before.
    fn end_cell(&mut self, at: usize) {
        if let Some(cell) = self.row.as_mut().and_then(|row| row.cells.last_mut()) {
            cell.content.end = cell.content.end.min(at);
        }
    }

    fn begin_cell(&mut self, tag: &HtmlTag<'_>) {
        let empty = self.empty_row();
        let row = self.row.get_or_insert(empty);
        let CellSpan { columns, rows } = CellSpan::of_tag(tag.content);
        row.cells.push(HtmlCell {
            content: tag.end..self.end,
            is_header: tag.is("th"),
            column_count: columns,
            row_count: rows,
        });
    }
}

impl Iterator for HtmlRows<'_> {
    type Item = HtmlRow;

    fn next(&mut self) -> Option<HtmlRow> {
        while let Some(tag) = self.tags.next() {
            let is_group = ["thead", "tbody", "tfoot"].iter().any(|name| tag.is(name));
            let is_cell = tag.is("td") || tag.is("th");
            if !is_group && !is_cell && !tag.is("tr") {
                continue;
            }
            self.end_cell(tag.start);
            if is_cell {
                if !tag.is_closing {
                    self.begin_cell(&tag);
                }
                continue;
            }
            let begun = (!is_group && !tag.is_closing).then(|| self.empty_row());
            if is_group {
                self.is_in_head = tag.is("thead") && !tag.is_closing;
                self.is_in_foot = tag.is("tfoot") && !tag.is_closing;
                self.group += 1;
            }
            if let Some(row) = std::mem::replace(&mut self.row, begun) {
                return Some(row);
            }
        }
        self.end_cell(self.end);
        self.row.take()
    }
}

/// Largest number of bytes of the repeated cells of a table.
const MAX_REPEATED_BYTES: usize = 32 << 20;

/// The cells of earlier rows that span further ones.
struct Grid {
    /// The last row that a cell spans, by column, and its content.
    spanning: BTreeMap<usize, (usize, Range<usize>)>,
    /// Group of the last row.
    group: usize,
    /// Number of the next row.
    row: usize,
    /// Bytes of repeated cells that are left.
    budget: usize,
}

impl Default for Grid {
    fn default() -> Self {
        Self { spanning: BTreeMap::new(), group: 0, row: 0, budget: MAX_REPEATED_BYTES }
    }
}

impl Grid {
    /// Returns the contents of the next row, one for each column; `None` if too many cells are repeated. `is_heading`: the only cell
    /// is not repeated.
    fn expand(&mut self, row: &HtmlRow, is_heading: bool) -> Option<Vec<Range<usize>>> {
        if self.group != row.group {
            self.spanning.clear();
            self.group = row.group;
        }
        let number = self.row;
        self.row += 1;
        let is_heading = is_heading && self.spanning.values().all(|(last, _)| *last < number);
        let mut cells = Vec::new();
        for cell in &row.cells {
            self.take_spanning(number, &mut cells)?;
            for repeat in 0..if is_heading { 1 } else { cell.column_count } {
                if cells.len() >= MAX_CELLS {
                    break;
                }
                if repeat > 0 {
                    self.spend(cell.content.len())?;
                }
                if cell.row_count > 1 {
                    self.spanning.insert(cells.len(), (number + cell.row_count - 1, cell.content.clone()));
                }
                cells.push(cell.content.clone());
            }
        }
        self.take_spanning(number, &mut cells)?;
        Some(cells)
    }

    /// Appends the cells of earlier rows that span this row at its next columns. Returns `None` if too many cells are repeated.
    fn take_spanning(&mut self, row: usize, cells: &mut Vec<Range<usize>>) -> Option<()> {
        while let Some((last, content)) = self.spanning.get(&cells.len()) {
            if *last < row {
                self.spanning.remove(&cells.len());
                break;
            }
            let content = content.clone();
            self.spend(content.len())?;
            cells.push(content);
        }
        Some(())
    }

    /// Takes the bytes of a repeated cell from the budget; `None` if it is spent.
    fn spend(&mut self, len: usize) -> Option<()> {
        self.budget = self.budget.checked_sub(len + size_of::<Range<usize>>())?;
        Some(())
    }
}

/// Largest number of rows of a header.
const MAX_HEADER_ROWS: usize = 8;

/// The rows of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeaderRows {
    /// Number of the rows, including those above the names.
    count: usize,
    /// Number of the first rows that are empty, or one cell that names the table.
    caption_count: usize,
}

impl HeaderRows {
    /// Detects the header: the rows in `<thead>`, else the first rows of `<th>`, else the first row, with the rows that its cells
    /// span. A first row with numbers is none.
    ///
    /// Returns `None` if cells span columns or rows and nothing says which rows are names.
    fn detect(text: &str, rows: impl Iterator<Item = HtmlRow>) -> Option<Self> {
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
fn joined_names(rows: &[Vec<String>]) -> Vec<String> {
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    let joined = |at: usize| {
        let mut parts: Vec<&str> = rows.iter().filter_map(|row| row.get(at)).map(String::as_str).collect();
        parts.retain(|part| !part.is_empty());
        parts.dedup();
        parts.join(" ")
    };
    (0..width).map(joined).collect()
}
