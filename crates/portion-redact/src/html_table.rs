//! Redacts tables of HTML: the columns with a hidden heading, in any row of the header, and the second cell of a row of two
//! whose first one is a hidden name.

use std::collections::BTreeMap;
use std::ops::Range;

use memchr::memchr_iter;
use portion_text::html::CellSpan;

use super::columns::match_column_name;
use super::value::{Form, is_linguistic_name};
use super::{Findings, NameMatch, RedactionRules};

/// Maximum bytes of a tag.
const MAX_TAG_BYTES: usize = 512;
/// Columns in which cells may span rows, which limits the work for each row.
const MAX_SPANNED_COLUMNS: usize = 256;
/// Maximum bytes of a heading, with its marks.
const MAX_HEADING_BYTES: usize = 256;

/// Hides the cells of the tables of a text. The work is proportional to the text.
pub(super) fn redact(rules: &RedactionRules, text: &str, found: &mut Findings) {
    let (mut table, mut tag_end): (Option<Table>, usize) = (None, 0);
    for at in memchr_iter(b'<', text.as_bytes()) {
        // What stands in a tag that lacks its `>` is no tag.
        if at < tag_end {
            continue;
        }
        let Some((tag, after)) = Tag::read(text, at) else { continue };
        tag_end = after;
        if tag == Tag::Table {
            table = Some(Table::default());
            continue;
        }
        let Some(open) = &mut table else { continue };
        open.close_cell(at);
        match tag {
            Tag::Cell(shape) => open.cell = Some((after, shape)),
            Tag::CellEnd | Tag::Table => {}
            Tag::Row => open.finish_row(rules, text, found),
            Tag::Head { is_open } => {
                open.finish_row(rules, text, found);
                open.is_in_head = is_open;
            }
            Tag::TableEnd => {
                open.finish_row(rules, text, found);
                table = None;
            }
        }
    }
    if let Some(mut open) = table {
        open.close_cell(text.len());
        open.finish_row(rules, text, found);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    Table,
    TableEnd,
    /// Start or end of a row.
    Row,
    /// Start or end of the rows of the header.
    Head {
        is_open: bool,
    },
    Cell(CellShape),
    CellEnd,
}

/// The kind and the extent of a cell, by its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CellShape {
    is_heading: bool,
    span: CellSpan,
}

impl Tag {
    /// Reads the tag at an offset; `None` for all other tags. Also returns the offset after it.
    fn read(text: &str, at: usize) -> Option<(Self, usize)> {
        let rest = &text[at + 1..text.floor_char_boundary(at + MAX_TAG_BYTES)];
        let tag = &rest[..rest.find('>')?];
        let after = at + 1 + tag.len() + 1;
        let (name, attributes) = tag.split_at(tag.find(|c: char| c.is_whitespace()).unwrap_or(tag.len()));
        let kind = match name.to_ascii_lowercase().as_str() {
            "table" => Self::Table,
            "/table" => Self::TableEnd,
            "tr" | "/tr" => Self::Row,
            "thead" => Self::Head { is_open: true },
            "/thead" => Self::Head { is_open: false },
            "th" | "td" => Self::Cell(CellShape {
                is_heading: name.eq_ignore_ascii_case("th"),
                span: CellSpan::of_tag(attributes),
            }),
            "/th" | "/td" => Self::CellEnd,
            _ => return None,
        };
        Some((kind, after))
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
    /// Columns that cells span beyond their row, by the first one: the end of the columns, and the last row.
    spanning: BTreeMap<usize, (usize, usize)>,
    /// Start of the content of the open cell, and its shape.
    cell: Option<(usize, CellShape)>,
}

impl Table {
    fn close_cell(&mut self, end: usize) {
        let Some((start, shape)) = self.cell.take() else { return };
        self.skip_spanned_columns();
        let columns = self.next_column..self.next_column + shape.span.columns;
        self.next_column = columns.end;
        if shape.span.rows > 1 && columns.start < MAX_SPANNED_COLUMNS {
            self.spanning.insert(columns.start, (columns.end, self.row_number + shape.span.rows - 1));
        }
        self.row.push(Cell { content: start..end, is_heading: shape.is_heading, columns });
    }

    /// Moves to the next column that no cell of an earlier row spans.
    fn skip_spanned_columns(&mut self) {
        while let Some((start, (end, last))) = self.spanning.range(..=self.next_column).next_back() {
            let (start, end, last) = (*start, *end, *last);
            if last < self.row_number {
                self.spanning.remove(&start);
            } else if end > self.next_column {
                self.next_column = end;
            } else {
                return;
            }
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
        let mut hide = |cell: &Cell, name: &str, verdict: NameMatch| {
            let content = &text[cell.content.clone()];
            let start = cell.content.end - content.trim_start().len();
            let shown = content.trim();
            if verdict.hides(name, shown, Form::Data) {
                found.hide(name, start..start + shown.len());
            }
        };
        let headings: Vec<String> = row.iter().map(|cell| plain_text(&text[cell.content.clone()])).collect();
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

/// Returns the text of a heading without tags, or an empty one if it is too long for a name.
fn plain_text(content: &str) -> String {
    let pieces = content.split('<').filter(|_| content.len() <= MAX_HEADING_BYTES);
    let visible = pieces.map(|piece| piece.split_once('>').map_or(piece, |(_, visible)| visible));
    visible.collect::<String>().trim().to_owned()
}
