//! Tables that a query on a result can read, as its notice names them.

use serde_json::{Map, Value};

/// Tables of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryTables {
    /// A list whose items have no members of their own, or an answer.
    Items,
    /// A list of JSON values.
    ItemsAndLeaves,
    /// JSON lines.
    ItemsAndLines,
    /// A JSON object.
    Leaves,
    /// A text with rows of values.
    Rows,
    /// A log.
    Entries,
    /// A document with headings.
    Sections,
    /// Any other text.
    Lines,
}

/// Columns of the tables that are not records.
const LEAVES: (&str, &str) = ("leaves", "path,key,value,type");
const LINES: (&str, &str) = ("lines", "number,text");
const ENTRIES: (&str, &str) = ("entries", "start_line,time,level,text");
const SECTIONS: (&str, &str) = ("sections", "title,text");
/// The table of records. Its columns are the fields of the records.
const ITEMS: (&str, &str) = ("items", "");

impl QueryTables {
    /// Returns the arguments of a query, as an example. `rows` says which records are in the table, if the result says
    /// that there are more.
    pub(super) fn example(self, rows: Option<usize>) -> String {
        let rows = rows.map_or_else(String::new, |rows| format!(" (the {rows} here)"));
        match self {
            Self::Items => format!("sql: SELECT … FROM items{rows}"),
            Self::ItemsAndLeaves => format!("sql: SELECT … FROM items{rows} or leaves(path,key,value,type)"),
            Self::ItemsAndLines => format!("sql: SELECT … FROM items{rows} or lines(number,text)"),
            Self::Leaves => "sql: … FROM leaves(path,key,value,type)".to_owned(),
            Self::Rows => "find or sql: … FROM items".to_owned(),
            Self::Entries => "find or sql: … FROM entries(start_line,time,level,text)".to_owned(),
            Self::Sections => "find or sql: … FROM sections(title,text)".to_owned(),
            Self::Lines => "find or sql: … FROM lines(number,text)".to_owned(),
        }
    }

    /// Returns the tables with their columns: `{"items":"","leaves":"path,key,value,type"}`. The columns of `items` are
    /// the available fields.
    pub(super) fn columns(self) -> Map<String, Value> {
        let tables: &[(&str, &str)] = match self {
            Self::Items => &[ITEMS],
            Self::ItemsAndLeaves => &[ITEMS, LEAVES],
            Self::ItemsAndLines | Self::Rows => &[ITEMS, LINES],
            Self::Leaves => &[LEAVES],
            Self::Entries => &[ENTRIES, LINES],
            Self::Sections => &[SECTIONS, LINES],
            Self::Lines => &[LINES],
        };
        tables.iter().map(|(name, columns)| ((*name).to_owned(), (*columns).into())).collect()
    }
}
