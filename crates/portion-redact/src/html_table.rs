//! Redacts tables of HTML: the columns with a hidden heading, in any row of the header, and the second cell of a row of two
//! whose first one is a hidden name.

use std::ops::Range;

use memchr::memchr_iter;
use portion_text::html::{CellSpan, plain_text};

use super::columns::match_column_name;
use super::pattern::is_in;
use super::value::{Form, is_linguistic_name};
use super::{Findings, NameMatch, RedactionRules};

/// Maximum bytes of a tag, and of its name.
const MAX_TAG_BYTES: usize = 512;
const MAX_NAME_BYTES: usize = 8;
/// Maximum cells that span rows, which limits the work for each row.
const MAX_SPANNING: usize = 256;
/// Maximum bytes of a heading, with its marks.
const MAX_HEADING_BYTES: usize = 256;
/// The tags that are read.
const TAGS: &str = "table /table thead /thead tr /tr th /th td /td";

/// Hides the cells of the tables of a text. The work is proportional to the text.
pub(super) fn redact(rules: &RedactionRules, text: &str, found: &mut Findings) {
    let (mut table, mut done): (Option<Table>, usize) = (None, 0);
    for at in memchr_iter(b'<', text.as_bytes()) {
        let near = &text[at + 1..text.floor_char_boundary(at + MAX_TAG_BYTES)];
        let tag = near.split('>').next().unwrap_or_default();
        let (name, attributes) = tag.split_at(tag.find(char::is_whitespace).unwrap_or(tag.len()));
        let name = name[..name.floor_char_boundary(MAX_NAME_BYTES)].to_ascii_lowercase();
        // What stands in a tag that lacks its `>` is no tag.
        if at < done || tag.len() == near.len() || !is_in(TAGS, &name) {
            continue;
        }
        done = at + 1 + tag.len() + 1;
        if name == "table" {
            table = Some(Table::default());
            continue;
        }
        let Some(open) = &mut table else { continue };
        open.close_cell(at);
        if matches!(name.as_str(), "th" | "td") {
            open.cell = Some((done, name == "th", CellSpan::of_tag(attributes)));
        } else if !matches!(name.as_str(), "/th" | "/td") {
            open.finish_row(rules, text, found);
        }
        match name.as_str() {
            "thead" | "/thead" => open.is_in_head = name == "thead",
            "/table" => table = None,
            _ => {}
        }
    }
    if let Some(mut open) = table {
        open.close_cell(text.len());
        open.finish_row(rules, text, found);
    }
}

struct Cell {
    content: Range<usize>,
    is_heading: bool,
    columns: Range<usize>,
}

/// A table that is being read.
#[derive(Default)]
struct Table {
    /// Hidden columns with their headings.
    hidden: Vec<(Range<usize>, String, NameMatch)>,
    /// True in the rows of `<thead>`.
    is_in_head: bool,
    /// True after the first row of names.
    has_names: bool,
    /// True after the first row that is no row of the header.
    has_body: bool,
    row: Vec<Cell>,
    /// Number of the row, from 0.
    row_number: usize,
    next_column: usize,
    /// Columns that cells span beyond their row, and the last row.
    spanning: Vec<(Range<usize>, usize)>,
    /// The open cell: the start of its content, whether it is a heading, and what it spans.
    cell: Option<(usize, bool, CellSpan)>,
}

impl Table {
    fn close_cell(&mut self, end: usize) {
        let Some((start, is_heading, span)) = self.cell.take() else { return };
        while let Some((above, _)) = self.spanning.iter().find(|(above, _)| above.contains(&self.next_column))
        {
            self.next_column = above.end;
        }
        let columns = self.next_column..self.next_column + span.columns;
        self.next_column = columns.end;
        self.row.push(Cell { content: start..end, is_heading, columns: columns.clone() });
        if span.rows > 1 && self.spanning.len() < MAX_SPANNING {
            self.spanning.push((columns, self.row_number + span.rows - 1));
        }
    }

    /// Returns true if a row belongs to the header: it is in `<thead>`, has only headings, or is the first one below a row of
    /// one cell, which names the table.
    fn is_header(&mut self, row: &[Cell]) -> bool {
        let is_caption = matches!(row, [cell] if cell.columns.len() > 1);
        let is_header =
            !self.has_body && (!self.has_names || self.is_in_head || row.iter().all(|cell| cell.is_heading));
        self.has_names |= is_header && !is_caption;
        self.has_body |= !is_header;
        is_header
    }

    fn finish_row(&mut self, rules: &RedactionRules, text: &str, found: &mut Findings) {
        let row = std::mem::take(&mut self.row);
        self.next_column = 0;
        if row.is_empty() {
            return;
        }
        self.row_number += 1;
        self.spanning.retain(|(_, last)| *last >= self.row_number);
        let mut hide = |cell: &Cell, name: &str, verdict: NameMatch| {
            let content = &text[cell.content.clone()];
            let start = cell.content.end - content.trim_start().len();
            let shown = content.trim();
            if verdict.hides(name, shown, Form::Data) {
                found.hide(name, start..start + shown.len());
            }
        };
        let contents = row.iter().map(|cell| &text[cell.content.clone()]);
        let is_long = |content: &str| content.len() > MAX_HEADING_BYTES;
        let headings: Vec<String> =
            contents.map(|content| plain_text(if is_long(content) { "" } else { content })).collect();
        let hidden_name = |index: usize| {
            let verdict = match_column_name(rules, &headings[index]).among(&headings);
            verdict.is_hidden().then(|| (headings[index].clone(), verdict))
        };
        let is_below = |(columns, ..): &&(Range<usize>, String, NameMatch), cell: &Cell| {
            columns.start < cell.columns.end && cell.columns.start < columns.end
        };
        if let [name, value] = &*row
            && !value.is_heading
            && !is_linguistic_name(&headings[1])
            && !self.hidden.iter().any(|hidden| is_below(&hidden, name))
            && let Some((name, verdict)) = hidden_name(0)
        {
            hide(value, &name, verdict);
            self.has_names = true;
            return;
        }
        let is_header = self.is_header(&row);
        for (index, cell) in row.iter().enumerate() {
            let above = self.hidden.iter().find(|hidden| is_below(hidden, cell));
            // Outside of the header of the table, a row of headings may have values.
            let may_be_name = is_header && (self.is_in_head || above.is_none());
            if let Some((name, verdict)) = hidden_name(index).filter(|_| may_be_name) {
                self.hidden.push((cell.columns.clone(), name, verdict));
            } else if let Some((_, name, verdict)) = above {
                hide(cell, name, *verdict);
            }
        }
    }
}
