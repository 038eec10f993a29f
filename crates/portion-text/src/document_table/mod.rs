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
mod pipe;

use portion_json::span::Span;

use crate::unique_names::UniqueNames;
use html::HeaderRows;
pub use pipe::is_pipe_table;

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
    let mut found = pipe::find(text);
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
            TableFormat::Pipe => Some(pipe::rows(self.span.slice(text))),
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
