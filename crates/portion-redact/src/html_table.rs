//! Redacts tables of HTML: the columns with a hidden heading, in any row of the header, and the second cell of a row of two whose
//! first one is a hidden name.

use std::ops::Range;

use portion_text::document_table::{HtmlGrid, html_grid, html_tables};
use portion_text::html::plain_text;

use super::columns::{Columns, match_column_name};
use super::edit::REDACTED;
use super::pair::PairColumns;
use super::value::facts_of_name;
use super::{Findings, NameMatch, RedactionRules};

/// Maximum bytes of a heading, with its marks.
const MAX_HEADING_BYTES: usize = 256;

/// Hides the cells of the tables of a text. The work is proportional to the text.
pub(super) fn redact(rules: &RedactionRules, text: &str, found: &mut Findings) {
    let plain = |cell: &Range<usize>| {
        let content = text.get(cell.clone()).filter(|content| content.len() <= MAX_HEADING_BYTES);
        plain_text(content.unwrap_or_default())
    };
    for span in html_tables(text) {
        let HtmlGrid { rows, header_count, has_headings } = html_grid(text, span);
        let header = &rows[..header_count.min(rows.len())];
        let width = header.iter().map(Vec::len).max().unwrap_or_default();
        // The name of a column is the first one that is hidden.
        let name = |column: usize| {
            let mut names = header.iter().filter_map(|row| row.get(column)).map(plain);
            let is_hidden = |name: &String| match_column_name(rules, name).is_hidden();
            names.clone().find(is_hidden).or_else(|| names.next_back()).unwrap_or_default()
        };
        let mut names: Vec<String> = Vec::new();
        for column in 0..width {
            let is_repeated = column > 0 && header.iter().all(|row| row.get(column) == row.get(column - 1));
            names.push(if is_repeated { names[column - 1].clone() } else { name(column) });
        }
        let mut columns = Columns::of(rules, names);
        // Rows of a name and a value.
        let are_pairs = !has_headings && width == 2 && facts_of_name(&columns.names[1]) == 0;
        if are_pairs {
            columns.verdicts[0] = NameMatch::default();
            columns.pairs = Some(PairColumns::of_two(false));
        }
        for row in rows.iter().skip(if are_pairs { 0 } else { header_count }) {
            let trimmed = |cell: &Range<usize>| {
                let content = &text[cell.clone()];
                let start = cell.end - content.trim_start().len();
                start..start + content.trim().len()
            };
            let cells: Vec<_> = row.iter().map(trimmed).collect();
            columns.redact_row(rules, text, &cells, found, |_| REDACTED.into());
        }
    }
}
