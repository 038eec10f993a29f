//! Reads the rows of an HTML table, as they are written.

use std::ops::Range;

use portion_json::span::Span;

use crate::html::{CellSpan, HtmlTag, HtmlTags};

/// A row.
#[derive(Debug, Default)]
pub(super) struct HtmlRow {
    pub(super) cells: Vec<HtmlCell>,
    /// True if it is in a `<thead>`.
    pub(super) is_in_head: bool,
    /// Number of its group, which no cell spans beyond.
    pub(super) group: usize,
}

/// A cell.
#[derive(Debug)]
pub(super) struct HtmlCell {
    /// Its content in the text.
    pub(super) content: Range<usize>,
    /// True for `<th>`.
    pub(super) is_header: bool,
    /// Number of the columns that it spans.
    pub(super) column_count: usize,
    /// Number of the rows that it spans.
    pub(super) row_count: usize,
}

impl HtmlRow {
    /// Returns true if all its cells are headers.
    pub(super) fn is_header(&self) -> bool {
        !self.cells.is_empty() && self.cells.iter().all(|cell| cell.is_header)
    }
}

/// Yields the rows of a table.
pub(super) struct HtmlRows<'a> {
    tags: HtmlTags<'a>,
    end: usize,
    row: Option<HtmlRow>,
    is_in_head: bool,
    group: usize,
}

impl<'a> HtmlRows<'a> {
    pub(super) fn new(text: &'a str, table: Span) -> Self {
        let end = table.end as usize;
        Self { tags: HtmlTags::new(text, table.range()), end, row: None, is_in_head: false, group: 0 }
    }

    /// Ends the last cell of the row, unless it ended before.
    fn end_cell(&mut self, at: usize) {
        if let Some(cell) = self.row.as_mut().and_then(|row| row.cells.last_mut()) {
            cell.content.end = cell.content.end.min(at);
        }
    }

    fn begin_cell(&mut self, tag: &HtmlTag<'_>) {
        let (is_in_head, group) = (self.is_in_head, self.group);
        let row = self.row.get_or_insert_with(|| HtmlRow { cells: Vec::new(), is_in_head, group });
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
            let (is_in_head, group) = (self.is_in_head, self.group);
            if is_group {
                self.is_in_head = tag.is("thead") && !tag.is_closing;
                self.group += 1;
            }
            let begun =
                (!is_group && !tag.is_closing).then(|| HtmlRow { cells: Vec::new(), is_in_head, group });
            if let Some(row) = std::mem::replace(&mut self.row, begun) {
                return Some(row);
            }
        }
        self.end_cell(self.end);
        self.row.take()
    }
}
