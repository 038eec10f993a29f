//! Finds tables in documents: pipe tables of Markdown, and tables of HTML.
//!
//! ```
//! use portion_text::document_table::document_tables;
//!
//! let text = "# Sizes\n\n| name | size |\n|---|---|\n| a | 1 |\n| b | 2 |\n";
//! let tables = document_tables(text);
//! assert_eq!(tables[0].rows(text, &|_| false), Some(vec![vec!["name".into(), "size".into()], vec!["a".into(), "1".into()], vec!["b".into(), "2".into()]]));
//! ```

mod html;

use portion_json::span::Span;

use crate::names::UniqueNames;
use crate::row_ranges::RowReader;
use html::HeaderRows;
pub use html::{HtmlGrid, html_grid, html_tables};

/// Maximum tables of a document that are looked for, rows that are counted to find the largest, and cells of a row.
const MAX_TABLES: usize = 500;
const MAX_COUNTED_ROWS: usize = 10_000;
const MAX_CELLS: usize = 1_900;

/// A table in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentTable {
    /// Its span in the document.
    pub span: Span,
    format: TableFormat,
    /// Number of its rows, with the header.
    pub row_count: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TableFormat {
    Pipe,
    Html(HeaderRows),
}

/// Returns the tables of a document with at least one row below the header.
pub fn document_tables(text: &str) -> Vec<DocumentTable> {
    let mut found = find(text);
    if found.is_empty() {
        found = html::find(text);
    }
    found
}

/// Returns the index of the largest of these tables.
pub fn largest_table(tables: &[DocumentTable]) -> Option<usize> {
    (0..tables.len()).rev().max_by_key(|at| tables[*at].row_count)
}

impl DocumentTable {
    /// Returns the cells of each row, the header first; `None` if `should_stop` returned true for the number of rows so far.
    pub fn rows(&self, text: &str, should_stop: &dyn Fn(usize) -> bool) -> Option<Vec<Vec<String>>> {
        match &self.format {
            TableFormat::Html(header) => html::rows(text, self.span, header, should_stop),
            TableFormat::Pipe => Some(rows(self.span.slice(text))),
        }
    }

    /// Returns the cells of the first row.
    pub fn header(&self, text: &str) -> Vec<String> {
        match &self.format {
            TableFormat::Html(_) => {
                self.rows(text, &|_| false).unwrap_or_default().into_iter().next().unwrap_or_default()
            }
            TableFormat::Pipe => self.span.slice(text).lines().next().map(pipe_cells).unwrap_or_default(),
        }
    }

    /// Returns the unique names of the columns of these rows below a header; those without a name are numbered.
    pub fn column_names(header: &[String], rows: &[Vec<String>]) -> Vec<String> {
        let width = rows.iter().map(Vec::len).max().unwrap_or_default().max(header.len());
        let mut names = UniqueNames::default();
        let name = |at: usize| header.get(at).map_or("", |name| name.trim());
        (0..width)
            .map(|at| match name(at) {
                "" => names.unique(&format!("column_{}", at + 1)),
                name => names.unique(name),
            })
            .collect()
    }
}

/// Returns the pipe tables of a text.
fn find(text: &str) -> Vec<DocumentTable> {
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
        found.push(DocumentTable { span: Span::new(start, end), format: TableFormat::Pipe, row_count });
    }
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

/// Returns true if a text begins with a pipe table or a table with a rule, which could be read as separated values.
pub fn is_pipe_table(text: &str) -> bool {
    let is_rule = |line: &str| line.contains("-+-") && line.bytes().all(|byte| matches!(byte, b'-' | b'+'));
    let second = text.lines().nth(1).map(str::trim).filter(|line| line.len() < 4_096);
    second.is_some_and(|line| is_delimiter_row(line) || is_rule(line))
}

/// Returns the cells of each line of a table but the one below the header.
fn rows(table: &str) -> Vec<Vec<String>> {
    table.lines().enumerate().filter(|(at, _)| *at != 1).map(|(_, line)| pipe_cells(line)).collect()
}

/// Returns the cells of a line of a pipe table.
fn pipe_cells(line: &str) -> Vec<String> {
    let row = RowReader { text: line, quotes_enabled: false }.read_row(0, '|');
    let cells = row.map_or_else(Vec::new, |(cells, _)| cells).into_iter().take(MAX_CELLS);
    cells.map(|cell| plain_markdown(&line[cell].replace("\\|", "|"))).collect()
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
