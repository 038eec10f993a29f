//! Tables in documents as `items`: pipe tables of Markdown, and tables of HTML.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use portion_core::snapshot::Slice;
use portion_json::scan::quote;
use portion_json::span::Span;

use super::csv::{CellKinds, parse_number};
use crate::cell::Cell;
use crate::column::{ColumnDef, UniqueNames};
use crate::limits::QueryDeadline;
use crate::table_rows::{RowBuffer, RowSource, TableRows, should_stop_at};
use crate::value_kinds::ValueKinds;

/// Maximum tables of a document that are looked for, rows that are counted to find the largest, and cells of a row.
const MAX_TABLES: usize = 500;
const MAX_COUNTED_ROWS: usize = 10_000;
const MAX_CELLS: usize = 1_900;

/// A table in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DocumentTable {
    pub(crate) span: Span,
    is_html: bool,
    /// Number of its rows, with the header.
    pub(crate) row_count: usize,
}

/// Source of the rows of a table in a document.
pub(crate) struct DocumentTableSource {
    pub(crate) text: Slice,
    pub(crate) table: DocumentTable,
}

/// Returns the tables of a document with at least one row below the header.
pub(crate) fn document_tables(text: &str) -> Vec<DocumentTable> {
    let mut found = pipe_tables(text);
    if found.is_empty() {
        found = html_tables(text);
    }
    found
}

fn pipe_tables(text: &str) -> Vec<DocumentTable> {
    let mut found = Vec::new();
    let (mut at, mut header, mut in_code) = (0, None::<usize>, false);
    let mut open: Option<(usize, usize, usize)> = None;
    for line in text.split_inclusive('\n') {
        let (start, trimmed) = (at, line.trim());
        at += line.len();
        in_code ^= trimmed.starts_with("```") || trimmed.starts_with("~~~");
        let is_row = !in_code && trimmed.contains('|');
        if let Some((first, rows, _)) = open {
            if is_row {
                open = Some((first, rows + 1, at));
                continue;
            }
            close_pipe_table(open.take(), &mut found);
        }
        match header.take() {
            Some(first) if is_row && is_delimiter_row(trimmed) => open = Some((first, 0, at)),
            _ => header = is_row.then_some(start),
        }
    }
    close_pipe_table(open, &mut found);
    found
}

fn close_pipe_table(open: Option<(usize, usize, usize)>, found: &mut Vec<DocumentTable>) {
    if let Some((start, rows @ 1.., end)) = open
        && found.len() < MAX_TABLES
    {
        let row_count = rows + 1;
        found.push(DocumentTable { span: Span::new(start, end), is_html: false, row_count });
    }
}

/// Returns true if a text begins with a pipe table, which could be read as separated values.
pub(crate) fn is_pipe_table(text: &str) -> bool {
    text.lines().nth(1).is_some_and(|line| line.len() < 4_096 && is_delimiter_row(line.trim()))
}

/// Returns true for the second line of a pipe table: `|---|:-:|`.
fn is_delimiter_row(line: &str) -> bool {
    let mut cells = line.trim_matches('|').split('|').map(str::trim).peekable();
    cells.peek().is_some()
        && cells.all(|cell| {
            let dashes = cell.trim_start_matches(':').trim_end_matches(':');
            !dashes.is_empty() && dashes.bytes().all(|b| b == b'-')
        })
}

fn html_tables(text: &str) -> Vec<DocumentTable> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = find_tag(text, at..text.len(), "<table").filter(|_| found.len() < MAX_TABLES) {
        let end = find_tag(text, start..text.len(), "</table").unwrap_or(text.len());
        let first = find_tag(text, start..end, "<tr");
        let row_count = std::iter::successors(first, |row| find_tag(text, row + 3..end, "<tr"))
            .take(MAX_COUNTED_ROWS)
            .count();
        if row_count > 1 {
            found.push(DocumentTable { span: Span::new(start, end), is_html: true, row_count });
        }
        at = (end + 1).min(text.len());
        while !text.is_char_boundary(at) {
            at += 1;
        }
    }
    found
}

/// Returns the offset of a tag in a range, whatever its case.
fn find_tag(text: &str, range: Range<usize>, tag: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'<', bytes.get(range.clone())?).map(|at| range.start + at).find(|at| {
        let name =
            bytes.get(*at..at + tag.len()).is_some_and(|name| name.eq_ignore_ascii_case(tag.as_bytes()));
        name && bytes.get(at + tag.len()).is_none_or(|next| !next.is_ascii_alphanumeric())
    })
}

/// Returns the cells of a line of a pipe table.
fn pipe_cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let (mut cells, mut cell, mut escaped) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            '|' if !escaped => cells.push(std::mem::take(&mut cell)),
            '|' => {
                cell.pop();
                cell.push('|');
            }
            c => cell.push(c),
        }
        escaped = c == '\\' && !escaped;
    }
    if !cell.trim().is_empty() {
        cells.push(cell);
    }
    cells.into_iter().take(MAX_CELLS).map(|cell| plain_markdown(cell.trim())).collect()
}

/// Returns the text of a cell without emphasis and code marks around it, and of a link its text.
fn plain_markdown(cell: &str) -> String {
    let mut text = cell;
    for mark in ["**", "__", "`", "*"] {
        let inner = text.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
        text = inner.filter(|inner| !inner.is_empty() && !inner.contains(mark)).unwrap_or(text);
    }
    let link =
        text.strip_prefix('[').and_then(|rest| rest.strip_suffix(')')).and_then(|rest| rest.split_once("]("));
    link.filter(|(label, target)| !label.contains(']') && !target.contains(')'))
        .map_or(text, |(label, _)| label)
        .to_owned()
}

/// Returns the rows of an HTML table. A cell that spans columns or rows is repeated in each.
fn html_rows(text: &str, table: Span, clock: &QueryDeadline) -> Option<Vec<Vec<String>>> {
    let (mut rows, end) = (Vec::new(), table.end as usize);
    let mut budget = MAX_REPEATED_BYTES;
    // Cells of earlier rows that span further ones: the number of rows that are left, by column.
    let mut spanning: BTreeMap<usize, (usize, String)> = BTreeMap::new();
    let mut next = find_tag(text, table.start as usize..end, "<tr");
    while let Some(start) = next {
        next = find_tag(text, start + 3..end, "<tr");
        let row_end = next.unwrap_or(end);
        let (mut cells, mut at) = (Vec::new(), start + 3);
        while let Some(cell) = first_cell(text, at..row_end) {
            let stop = first_cell(text, cell + 3..row_end).unwrap_or(row_end);
            let html = text.get(cell..stop).unwrap_or_default();
            let tag = html.split('>').next().unwrap_or_default();
            let (columns, row_count) = (span_of(tag, "colspan"), span_of(tag, "rowspan"));
            let plain = html_text(html);
            take_spanning(&mut spanning, &mut cells, &mut budget);
            for repeat in 0..columns {
                if cells.len() >= MAX_CELLS || repeat > 0 && !spend(&mut budget, &plain) {
                    break;
                }
                if row_count > 1 {
                    spanning.insert(cells.len(), (row_count, plain.clone()));
                }
                cells.push(plain.clone());
            }
            at = cell + 3;
        }
        take_spanning(&mut spanning, &mut cells, &mut budget);
        spanning.retain(|_, (row_count, _)| {
            *row_count -= 1;
            *row_count > 0
        });
        rows.push(cells);
        if should_stop_at(rows.len(), clock) {
            return None;
        }
    }
    Some(rows)
}

/// Appends the cells of earlier rows that span this row at its next columns.
fn take_spanning(
    spanning: &mut BTreeMap<usize, (usize, String)>,
    cells: &mut Vec<String>,
    budget: &mut usize,
) {
    while let Some((_, plain)) = spanning.get(&cells.len())
        && spend(budget, plain)
    {
        cells.push(plain.clone());
    }
}

/// Takes the bytes of a repeated cell from the budget of a table; false if it is spent.
fn spend(budget: &mut usize, plain: &str) -> bool {
    let rest = budget.checked_sub(plain.len() + size_of::<String>());
    *budget = rest.unwrap_or(0);
    rest.is_some()
}

/// Largest number of bytes of the repeated cells of a table.
const MAX_REPEATED_BYTES: usize = 4 << 20;
/// Largest number of columns or rows that a cell may span.
const MAX_SPAN: usize = 100;

/// Returns the number in an attribute of a tag, between 1 and [`MAX_SPAN`].
fn span_of(tag: &str, attribute: &str) -> usize {
    let tag = tag.to_ascii_lowercase();
    let value = tag.split_once(attribute).and_then(|(_, rest)| rest.trim_start().strip_prefix('='));
    let value = value.unwrap_or_default().trim_start().trim_start_matches(['"', '\'']);
    let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    value[..digits].parse().unwrap_or(1).clamp(1, MAX_SPAN)
}

fn first_cell(text: &str, range: Range<usize>) -> Option<usize> {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'<', bytes.get(range.clone())?).map(|at| range.start + at).find(|at| {
        let is_name = bytes
            .get(at + 1..at + 3)
            .is_some_and(|name| name.eq_ignore_ascii_case(b"td") || name.eq_ignore_ascii_case(b"th"));
        is_name && bytes.get(at + 3).is_none_or(|next| !next.is_ascii_alphanumeric())
    })
}

/// Returns the text of HTML without tags, with entities decoded and white space collapsed.
fn html_text(html: &str) -> String {
    let (mut plain, mut in_tag) = (String::new(), false);
    for c in html.chars() {
        match c {
            '<' => in_tag = true,
            '>' if in_tag => {
                in_tag = false;
                plain.push(' ');
            }
            c if !in_tag => plain.push(c),
            _ => {}
        }
    }
    let entities = [
        ("&nbsp;", " "),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&apos;", "'"),
        ("&amp;", "&"),
    ];
    let decoded = entities
        .iter()
        .fold(plain, |text, (entity, by)| if text.contains('&') { text.replace(entity, by) } else { text });
    decoded.split_whitespace().collect::<Vec<_>>().join(" ")
}

struct GridRows {
    rows: Vec<Vec<String>>,
    columns: Vec<ColumnDef>,
    keeps_text: Vec<bool>,
}

impl RowSource for DocumentTableSource {
    fn open(&self, clock: &QueryDeadline) -> Option<Arc<dyn TableRows>> {
        let mut rows = if self.table.is_html {
            html_rows(&self.text, self.table.span, clock)?
        } else {
            let lines = self.table.span.slice(&self.text).lines().enumerate();
            lines.filter(|(at, _)| *at != 1).map(|(_, line)| pipe_cells(line)).collect()
        };
        let header = if rows.is_empty() { Vec::new() } else { rows.remove(0) };
        let width = rows.iter().map(Vec::len).max().unwrap_or_default().max(header.len());
        let mut names = UniqueNames::default();
        let mut columns: Vec<ColumnDef> = (0..width)
            .map(|at| {
                let name = header.get(at).map_or("", |name| name.trim());
                let name = if name.is_empty() { format!("column_{}", at + 1) } else { name.to_owned() };
                ColumnDef::new(names.unique(&name), ValueKinds::default(), 0)
            })
            .collect();
        let mut kinds = vec![CellKinds::default(); columns.len()];
        for row in &rows {
            for ((column, kinds), cell) in columns.iter_mut().zip(&mut kinds).zip(row) {
                column.present_count += usize::from(!cell.is_empty());
                kinds.insert(cell);
            }
        }
        for (column, kinds) in columns.iter_mut().zip(&kinds) {
            column.kinds = kinds.value_kinds();
        }
        let builtin = |name: String, kinds| ColumnDef::new(name, kinds, rows.len()).into_hidden();
        let mut record = builtin(names.unique_builtin("item"), ValueKinds::OBJECT);
        record.is_record = true;
        columns.push(record);
        columns.push(builtin(names.unique_builtin("_index"), ValueKinds::INTEGER));
        let keeps_text = kinds.iter().map(CellKinds::keeps_text).collect();
        Some(Arc::new(GridRows { rows, columns, keeps_text }))
    }
}

impl TableRows for GridRows {
    fn columns(&self) -> &[ColumnDef] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn cell<'a>(&'a self, row: &'a RowBuffer, column: usize) -> Cell<'a> {
        match column.checked_sub(self.columns.len().saturating_sub(2)) {
            None => self.field(row.index, column),
            Some(0) => Cell::Text(self.as_object(row.index).into()),
            Some(_) => Cell::from_count(row.index),
        }
    }
}

impl GridRows {
    fn field(&self, row: usize, column: usize) -> Cell<'_> {
        let keeps_text = self.keeps_text.get(column).copied().unwrap_or(true);
        match self.rows.get(row).and_then(|row| row.get(column)).map_or("", String::as_str) {
            "" => Cell::Null,
            cell if keeps_text => Cell::text(cell),
            cell => parse_number(cell).unwrap_or(Cell::text(cell)),
        }
    }

    fn as_object(&self, row: usize) -> String {
        let fields = self.columns.len().saturating_sub(2);
        let members: Vec<String> = (0..fields)
            .filter_map(|at| {
                let value = match self.field(row, at) {
                    Cell::Null => "null".to_owned(),
                    Cell::Text(text) => quote(&text),
                    Cell::Integer(_) | Cell::Real(_) => self.rows.get(row)?.get(at)?.clone(),
                };
                Some(format!("{}:{value}", quote(&self.columns.get(at)?.name)))
            })
            .collect();
        format!("{{{}}}", members.join(","))
    }
}
