//! Rewrites `DESCRIBE items` and `SHOW TABLES` to a SELECT over the table of all columns.

use super::edits::Edits;
use super::token::TokenKind;

/// A statement about tables and columns.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CatalogStatement {
    /// The tables.
    Tables,
    /// The columns of the table of this name.
    Columns(String),
}

/// Reads a statement about tables and columns; `None` if it is another statement.
pub(crate) fn parse(sql: &str) -> Option<CatalogStatement> {
    let edits = Edits::new(sql);
    let length = (0..edits.len()).rev().find(|at| !edits.is_sign(*at, ";")).map_or(0, |last| last + 1);
    let (first, second) = (0, 1);
    if edits.is_word(first, "show") {
        let skipped = usize::from(edits.is_word_of(second, "all full"));
        if edits.is_word(second + skipped, "tables") && length == 2 + skipped {
            return Some(CatalogStatement::Tables);
        }
        let is_columns = edits.is_word_of(second + skipped, "columns fields");
        let table = 3 + skipped;
        if is_columns && edits.is_word_of(2 + skipped, "from in") && length == table + 1 {
            return name(&edits, table).map(CatalogStatement::Columns);
        }
        return None;
    }
    if edits.is_word(first, "pragma") {
        let is_columns = edits.is_word_of(second, "table_info table_xinfo") && length == 5;
        return if is_columns { name(&edits, 3).map(CatalogStatement::Columns) } else { None };
    }
    if !edits.is_word_of(first, "describe desc summarize") {
        return None;
    }
    let table = second + usize::from(edits.is_word(second, "table") && length > 2);
    match length {
        1 => Some(CatalogStatement::Tables),
        2 if edits.is_word(second, "tables") => Some(CatalogStatement::Tables),
        length if length == table + 1 => name(&edits, table).map(CatalogStatement::Columns),
        _ => None,
    }
}

fn name(edits: &Edits<'_>, at: usize) -> Option<String> {
    match edits.kind(at)? {
        TokenKind::Word => Some(edits.text(at).to_owned()),
        TokenKind::QuotedName | TokenKind::Text => {
            let text = edits.text(at);
            text.get(1..text.len().checked_sub(1)?).map(str::to_owned)
        }
        _ => None,
    }
}

impl CatalogStatement {
    /// Returns the SELECT; `fields`: the name of the table of all columns.
    pub(crate) fn to_select(&self, fields: &str) -> String {
        match self {
            Self::Tables => format!(
                "SELECT table_name AS name, max(present) AS \"rows\", count(*) AS columns FROM \"{fields}\" \
                 GROUP BY table_name ORDER BY min(rowid)"
            ),
            Self::Columns(table) => {
                let table = table.replace('\'', "''");
                format!("SELECT name, kind, present FROM \"{fields}\" WHERE table_name = '{table}'")
            }
        }
    }
}
