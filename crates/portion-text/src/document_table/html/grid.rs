//! Repeats cells in the columns and rows that they span.

use std::collections::BTreeMap;

use super::super::MAX_CELLS;
use super::cells::HtmlRow;
use crate::html::plain_text;

/// Largest number of bytes of the repeated cells of a table.
const MAX_REPEATED_BYTES: usize = 4 << 20;

/// The cells of earlier rows that span further ones.
pub(super) struct Grid {
    /// The number of rows that are left, by column, and the text.
    spanning: BTreeMap<usize, (usize, String)>,
    /// Group of the last row.
    group: usize,
    /// Bytes of repeated cells that are left.
    budget: usize,
}

impl Default for Grid {
    fn default() -> Self {
        Self { spanning: BTreeMap::new(), group: 0, budget: MAX_REPEATED_BYTES }
    }
}

impl Grid {
    /// Returns the texts of the next row, one for each column. `is_heading`: the only cell is not repeated.
    pub(super) fn expand(&mut self, text: &str, row: &HtmlRow, is_heading: bool) -> Vec<String> {
        if self.group != row.group {
            self.spanning.clear();
            self.group = row.group;
        }
        let is_heading = is_heading && self.spanning.is_empty();
        let mut cells = Vec::new();
        for cell in &row.cells {
            let plain = plain_text(text.get(cell.content.clone()).unwrap_or_default());
            self.take_spanning(&mut cells);
            for repeat in 0..if is_heading { 1 } else { cell.column_count } {
                if cells.len() >= MAX_CELLS || repeat > 0 && !self.spend(plain.len()) {
                    break;
                }
                if cell.row_count > 1 {
                    // The row itself is counted below.
                    self.spanning.insert(cells.len(), (cell.row_count, plain.clone()));
                }
                cells.push(plain.clone());
            }
        }
        self.take_spanning(&mut cells);
        self.spanning.retain(|_, (row_count, _)| {
            *row_count -= 1;
            *row_count > 0
        });
        cells
    }

    /// Appends the cells of earlier rows that span this row at its next columns.
    fn take_spanning(&mut self, cells: &mut Vec<String>) {
        while let Some(len) = self.spanning.get(&cells.len()).map(|(_, plain)| plain.len())
            && self.spend(len)
            && let Some((_, plain)) = self.spanning.get(&cells.len())
        {
            cells.push(plain.clone());
        }
    }

    /// Takes the bytes of a repeated cell from the budget; false if it is spent.
    fn spend(&mut self, len: usize) -> bool {
        let rest = self.budget.checked_sub(len + size_of::<String>());
        self.budget = rest.unwrap_or(0);
        rest.is_some()
    }
}
