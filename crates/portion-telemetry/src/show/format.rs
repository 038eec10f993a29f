//! The three forms that rows are written in.

use std::str::FromStr;

use serde_json::Value;

use super::cell::Cell;
use super::table::Table;

/// The form that rows are written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// For people.
    #[default]
    Table,
    /// An array of objects.
    Json,
    /// With a line of names, as RFC 4180 has it.
    Csv,
}

/// A column: what it is called, and what is in it.
#[derive(Debug)]
pub(super) struct Column<T> {
    /// Its name in JSON and CSV; `None` where it is for people alone.
    pub(super) name: Option<&'static str>,
    /// What stands above it in a table; `None` where it is for programs alone.
    pub(super) title: Option<&'static str>,
    pub(super) cell: fn(&T) -> Cell,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Table, Self::Json, Self::Csv];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Json => "json",
            Self::Csv => "csv",
        }
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| format!("{name:?} is no format; there are table, json and csv"))
    }
}

impl<T> Column<T> {
    pub(super) const fn both(name: &'static str, title: &'static str, cell: fn(&T) -> Cell) -> Self {
        Self { name: Some(name), title: Some(title), cell }
    }

    pub(super) const fn programs(name: &'static str, cell: fn(&T) -> Cell) -> Self {
        Self { name: Some(name), title: None, cell }
    }

    pub(super) const fn people(title: &'static str, cell: fn(&T) -> Cell) -> Self {
        Self { name: None, title: Some(title), cell }
    }
}

/// Rows that are written down one by one: of what is for programs, none is kept.
#[derive(Debug)]
pub(super) struct Rows<T: 'static> {
    columns: &'static [Column<T>],
    format: Format,
    /// Whether nothing was written yet.
    first: bool,
    /// Columns are as wide as all that is in them: a table comes at the end.
    table: Table,
}

impl<T> Rows<T> {
    pub(super) fn new(columns: &'static [Column<T>], format: Format) -> Self {
        let table = Table::new(columns.iter().filter_map(|column| column.title));
        Self { columns, format, first: true, table }
    }

    /// What is to be written of a row now.
    pub(super) fn row(&mut self, row: &T) -> String {
        let text = match self.format {
            Format::Table => {
                let columns = self.columns.iter().filter(|column| column.title.is_some());
                self.table.row(columns.map(|column| (column.cell)(row)));
                String::new()
            }
            Format::Json => {
                let object = format!("{:#}", object(row, self.columns)).replace('\n', "\n  ");
                format!("{}\n  {object}", if self.first { "[" } else { "," })
            }
            Format::Csv => {
                let columns = self.columns.iter().filter(|column| column.name.is_some());
                let fields: Vec<String> = columns.map(|column| (column.cell)(row).plain()).collect();
                self.names() + &line(&fields)
            }
        };
        self.first = false;
        text
    }

    /// What is to be written after all of them.
    pub(super) fn end(self) -> String {
        match self.format {
            Format::Table => self.table.to_string(),
            Format::Json => if self.first { "[]\n" } else { "\n]\n" }.to_owned(),
            Format::Csv => self.names(),
        }
    }

    /// The line above all others, where it is not written yet.
    fn names(&self) -> String {
        let names = || self.columns.iter().filter_map(|column| column.name.map(str::to_owned));
        if self.first { line(&names().collect::<Vec<_>>()) } else { String::new() }
    }
}

/// Writes rows down.
pub(super) fn write<T>(rows: &[T], columns: &'static [Column<T>], format: Format) -> String {
    let mut written = Rows::new(columns, format);
    let text: String = rows.iter().map(|row| written.row(row)).collect();
    text + &written.end()
}

/// An array of objects.
pub(super) fn values<T>(rows: &[T], columns: &[Column<T>]) -> Value {
    rows.iter().map(|row| object(row, columns)).collect()
}

fn object<T>(row: &T, columns: &[Column<T>]) -> Value {
    columns.iter().filter_map(|column| Some((column.name?, (column.cell)(row).json()))).collect()
}

fn line(fields: &[String]) -> String {
    let quoted = |field: &String| {
        if field.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field.clone()
        }
    };
    let mut line = fields.iter().map(quoted).collect::<Vec<_>>().join(",");
    line.push_str("\r\n");
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_have_to_be() {
        let check = |fields: &[&str], expect: &str| {
            let fields: Vec<String> = fields.iter().map(|&field| field.to_owned()).collect();
            assert_eq!(line(&fields), expect);
        };
        check(&["a", "", "b c"], "a,,b c\r\n");
        check(&["a,b", "say \"x\"", "two\nlines"], "\"a,b\",\"say \"\"x\"\"\",\"two\nlines\"\r\n");
    }

    #[test]
    fn rows_that_are_written_one_by_one_are_what_they_are_together() {
        const COLUMNS: &[Column<&str>] = &[
            Column::both("name", "name", |text| Cell::text(*text)),
            Column::programs("size", |text| Cell::Count(text.len() as u64)),
        ];
        for rows in [&[][..], &["a\n\"b"], &["a", "b", "c"]] {
            assert_eq!(write(rows, COLUMNS, Format::Json), format!("{:#}\n", values(rows, COLUMNS)));
        }
        assert_eq!(write(&["a", "b"], COLUMNS, Format::Csv), "name,size\r\na,1\r\nb,1\r\n");
        assert_eq!(write(&[], COLUMNS, Format::Csv), "name,size\r\n");
        assert_eq!(write(&["a", "b"], COLUMNS, Format::Table), "name\na\nb\n");
    }

    #[test]
    fn names_become_formats() {
        assert_eq!(Format::ALL.map(|format| format.name().parse()), Format::ALL.map(Ok));
        assert!("xml".parse::<Format>().is_err_and(|error| error.contains("table, json and csv")));
    }
}
