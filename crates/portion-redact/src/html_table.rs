//! Redacts tables of HTML: the columns with a hidden heading, in any row of the header, and the second cell of a row of two
//! whose first one is a hidden name.

use std::ops::Range;

use portion_text::document_table::{HtmlCell, HtmlRow, html_rows, html_tables};
use portion_text::html::plain_text;

use super::columns::match_column_name;
use super::value::{Form, facts_of_name};
use super::{Findings, NameMatch, RedactionRules};

/// Maximum cells that span rows, which limits the work for each row.
const MAX_SPANNING: usize = 256;
/// Maximum bytes of a heading, with its marks.
const MAX_HEADING_BYTES: usize = 256;

/// Hides the cells of the tables of a text. The work is proportional to the text.
pub(super) fn redact(rules: &RedactionRules, text: &str, found: &mut Findings) {
    for span in html_tables(text) {
        let mut table = Table::default();
        html_rows(text, span).for_each(|row| table.redact_row(rules, text, &row, found));
    }
}

/// A table that is being read.
#[derive(Default)]
struct Table {
    /// Hidden columns with their headings.
    hidden: Vec<(Range<usize>, String, NameMatch)>,
    /// True after the first row of names.
    has_names: bool,
    /// True after the first row that is no row of the header.
    has_body: bool,
    /// Columns that cells span beyond their row, and the number of further rows.
    spanning: Vec<(Range<usize>, usize)>,
}

impl Table {
    /// Returns the columns of the cells of a row.
    fn columns_of(&mut self, row: &HtmlRow) -> Vec<Range<usize>> {
        let above = std::mem::take(&mut self.spanning);
        self.spanning.extend(
            above.iter().filter(|(_, rows)| *rows > 1).map(|(columns, rows)| (columns.clone(), rows - 1)),
        );
        let mut next = 0;
        let place = |cell: &HtmlCell| {
            while let Some((spanning, _)) = above.iter().find(|(columns, _)| columns.contains(&next)) {
                next = spanning.end;
            }
            let columns = next..next + cell.column_count;
            next = columns.end;
            if cell.row_count > 1 && self.spanning.len() < MAX_SPANNING {
                self.spanning.push((columns.clone(), cell.row_count - 1));
            }
            columns
        };
        row.cells.iter().map(place).collect()
    }

    /// Returns true if a row belongs to the header: it is in `<thead>`, has only headings, or is the first one below a row of
    /// one cell, which names the table.
    fn is_header(&mut self, row: &HtmlRow) -> bool {
        let is_caption = matches!(row.cells.as_slice(), [cell] if cell.column_count > 1);
        let is_header = !self.has_body && (!self.has_names || row.is_in_head || row.is_header());
        self.has_names |= is_header && !is_caption;
        self.has_body |= !is_header;
        is_header
    }

    fn redact_row(&mut self, rules: &RedactionRules, text: &str, row: &HtmlRow, found: &mut Findings) {
        let columns = self.columns_of(row);
        let mut hide = |index: usize, name: &str, verdict: NameMatch| {
            let cell = &row.cells[index].content;
            let content = &text[cell.clone()];
            let (start, shown) = (cell.end - content.trim_start().len(), content.trim());
            if verdict.hides(name, shown, Form::Data) {
                found.hide(name, start..start + shown.len());
            }
        };
        let contents = row.cells.iter().map(|cell| &text[cell.content.clone()]);
        let heading =
            |content: &str| plain_text(if content.len() > MAX_HEADING_BYTES { "" } else { content });
        let headings: Vec<String> = contents.map(heading).collect();
        let hidden_name = |index: usize| {
            let verdict = match_column_name(rules, &headings[index]).among(&headings);
            verdict.is_hidden().then(|| (headings[index].clone(), verdict))
        };
        let above = |hidden: &[(Range<usize>, String, NameMatch)], index: usize| {
            let own = &columns[index];
            hidden.iter().find(|(above, ..)| above.start < own.end && own.start < above.end).cloned()
        };
        if let [_, value] = row.cells.as_slice()
            && !value.is_header
            && facts_of_name(&headings[1]) == 0
            && above(&self.hidden, 0).is_none()
            && let Some((name, verdict)) = hidden_name(0)
        {
            hide(1, &name, verdict);
            self.has_names = true;
            return;
        }
        let is_header = !row.cells.is_empty() && self.is_header(row);
        for (index, own) in columns.iter().enumerate() {
            let above = above(&self.hidden, index);
            // Outside of the header of the table, a row of headings may have values.
            let may_be_name = is_header && (row.is_in_head || above.is_none());
            if let Some((name, verdict)) = hidden_name(index).filter(|_| may_be_name) {
                self.hidden.push((own.clone(), name, verdict));
            } else if let Some((_, name, verdict)) = above {
                hide(index, &name, verdict);
            }
        }
    }
}
