//! Redacts tables of HTML: the columns whose heading is hidden, and the second cell of a row of two whose first one is a
//! hidden name.

use std::ops::Range;

use memchr::memchr_iter;

use super::delimited::{holds_secret, match_column_name};
use super::{NameMatch, REDACTED, RedactedNames, RedactionRules, TextEdit};

/// Maximum bytes of a tag.
const MAX_TAG_BYTES: usize = 512;
/// Maximum columns of one cell.
const MAX_COLSPAN: usize = 1_000;
/// Maximum bytes of a heading, with its marks.
const MAX_HEADING_BYTES: usize = 256;

/// Adds the edits for the tables of a text. The work is proportional to the text.
pub(super) fn collect_edits(
    redact: &RedactionRules,
    text: &str,
    edits: &mut Vec<TextEdit>,
    names: &mut RedactedNames,
) {
    let mut table: Option<Table> = None;
    for at in memchr_iter(b'<', text.as_bytes()) {
        let Some((tag, after)) = Tag::read(text, at) else { continue };
        if tag == Tag::Table {
            table = Some(Table::default());
            continue;
        }
        let Some(open) = &mut table else { continue };
        open.close_cell(at);
        match tag {
            Tag::Cell { is_heading, columns } => open.cell = Some((after, is_heading, columns)),
            Tag::CellEnd | Tag::Table => {}
            Tag::Row | Tag::TableEnd => {
                open.finish_row(redact, text, edits, names);
                if tag == Tag::TableEnd {
                    table = None;
                }
            }
        }
    }
    if let Some(mut open) = table {
        open.close_cell(text.len());
        open.finish_row(redact, text, edits, names);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    Table,
    TableEnd,
    /// Start or end of a row.
    Row,
    Cell {
        is_heading: bool,
        columns: usize,
    },
    CellEnd,
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
            "th" => Self::Cell { is_heading: true, columns: colspan(attributes) },
            "td" => Self::Cell { is_heading: false, columns: colspan(attributes) },
            "/th" | "/td" => Self::CellEnd,
            _ => return None,
        };
        Some((kind, after))
    }
}

struct Cell {
    content: Range<usize>,
    is_heading: bool,
    column: usize,
}

/// A table that is being read.
#[derive(Default)]
struct Table {
    /// Hidden columns with their headings; `None` before the first row.
    hidden: Option<Vec<(usize, String, NameMatch)>>,
    row: Vec<Cell>,
    next_column: usize,
    /// Start of the content of the open cell, true if it is a heading, and its columns.
    cell: Option<(usize, bool, usize)>,
}

impl Table {
    fn close_cell(&mut self, end: usize) {
        let Some((start, is_heading, columns)) = self.cell.take() else { return };
        self.row.push(Cell { content: start..end, is_heading, column: self.next_column });
        self.next_column += columns;
    }

    fn finish_row(
        &mut self,
        redact: &RedactionRules,
        text: &str,
        edits: &mut Vec<TextEdit>,
        names: &mut RedactedNames,
    ) {
        let row = std::mem::take(&mut self.row);
        self.next_column = 0;
        if row.is_empty() {
            return;
        }
        let mut hide = |cell: &Cell, name: &str, verdict| {
            let shown = text[cell.content.clone()].trim();
            if holds_secret(shown, verdict) {
                let start = cell.content.end - text[cell.content.clone()].trim_start().len();
                let end = start + shown.len();
                edits.push(TextEdit { start, end, replacement: REDACTED.into() });
                names.add(name.to_owned());
            }
        };
        let hidden_name = |cell: &Cell| {
            let name = plain_text(&text[cell.content.clone()])?;
            let verdict = match_column_name(redact, &name);
            verdict.is_hidden().then_some((name, verdict))
        };
        if let [name, value] = &*row
            && !value.is_heading
            && let Some((name, verdict)) = hidden_name(name)
        {
            hide(value, &name, verdict);
            self.hidden.get_or_insert_default();
            return;
        }
        if let Some(hidden) = &self.hidden {
            for cell in &row {
                if let Some((_, name, verdict)) = hidden.iter().find(|(column, ..)| *column == cell.column) {
                    hide(cell, name, *verdict);
                }
            }
        } else {
            let names = row
                .iter()
                .filter_map(|cell| hidden_name(cell).map(|(name, verdict)| (cell.column, name, verdict)));
            self.hidden = Some(names.collect());
        }
    }
}

/// Returns the columns of a cell.
fn colspan(attributes: &str) -> usize {
    let lower = attributes.to_ascii_lowercase();
    let value = lower.split_once("colspan").map_or("", |(_, value)| value);
    let digits = value.trim_start_matches([' ', '=', '"', '\'']);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().unwrap_or(1).clamp(1, MAX_COLSPAN)
}

/// Returns the text of a heading without tags, or `None` if it is too long for a name.
fn plain_text(content: &str) -> Option<String> {
    if content.len() > MAX_HEADING_BYTES {
        return None;
    }
    let mut plain = String::new();
    for piece in content.split('<') {
        let visible = piece.split_once('>').map_or(piece, |(_, visible)| visible);
        plain.push_str(visible);
    }
    Some(plain.trim().to_owned())
}
