//! Output formats: table, JSON and CSV.

use std::str::FromStr;

use portion_core::policy::MetadataStyle;
use serde_json::Value;

use super::cell::Cell;
use super::table::Table;

/// Output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// A table for people.
    #[default]
    Table,
    /// A JSON array of objects.
    Json,
    /// CSV with a header line, RFC 4180.
    Csv,
}

/// A format, and the width of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The format.
    pub format: Format,
    /// Widest line of a table, in columns; `None`: any width.
    pub max_width: Option<usize>,
    /// Style of the names in JSON and CSV.
    pub key_style: MetadataStyle,
}

impl From<Format> for Output {
    fn from(format: Format) -> Self {
        Self { format, ..Self::default() }
    }
}

/// A column: its names, and a function that returns its cell.
#[derive(Debug)]
pub(super) struct Column<T> {
    /// Name in JSON and CSV. `None` for columns of the table only.
    pub(super) name: Option<&'static str>,
    /// Title in the table. `None` for columns of JSON and CSV only.
    pub(super) title: Option<&'static str>,
    pub(super) cell: fn(&T) -> Cell,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Table, Self::Json, Self::Csv];

    /// Returns the name of the format.
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
        found.ok_or_else(|| format!("unknown format {name:?}; use table, json or csv"))
    }
}

impl<T> Column<T> {
    pub(super) const fn both(name: &'static str, title: &'static str, cell: fn(&T) -> Cell) -> Self {
        Self { name: Some(name), title: Some(title), cell }
    }

    pub(super) const fn machine(name: &'static str, cell: fn(&T) -> Cell) -> Self {
        Self { name: Some(name), title: None, cell }
    }

    pub(super) const fn human(title: &'static str, cell: fn(&T) -> Cell) -> Self {
        Self { name: None, title: Some(title), cell }
    }
}

/// Writes rows one by one. JSON and CSV rows are not kept in memory.
#[derive(Debug)]
pub(super) struct Rows<T: 'static> {
    columns: &'static [Column<T>],
    format: Format,
    key_style: MetadataStyle,
    /// No row was written yet.
    first: bool,
    /// Column widths depend on all rows, so a table is written at the end.
    table: Table,
}

impl<T> Rows<T> {
    pub(super) fn new(columns: &'static [Column<T>], output: impl Into<Output>) -> Self {
        let Output { format, max_width, key_style } = output.into();
        let table = Table::new(columns.iter().filter_map(|column| column.title), max_width);
        Self { columns, format, key_style, first: true, table }
    }

    /// Returns the text to write for a row now.
    pub(super) fn row(&mut self, row: &T) -> String {
        let text = match self.format {
            Format::Table => {
                let columns = self.columns.iter().filter(|column| column.title.is_some());
                self.table.row(columns.map(|column| (column.cell)(row)));
                String::new()
            }
            Format::Json => {
                let object = format!("{:#}", object(row, self.columns, self.key_style)).replace('\n', "\n  ");
                format!("{}\n  {object}", if self.first { "[" } else { "," })
            }
            Format::Csv => {
                let columns = self.columns.iter().filter(|column| column.name.is_some());
                let fields: Vec<String> = columns.map(|column| (column.cell)(row).csv()).collect();
                self.names() + &line(&fields)
            }
        };
        self.first = false;
        text
    }

    /// Returns the text to write after the last row.
    pub(super) fn end(self) -> String {
        match self.format {
            Format::Table => self.table.to_string(),
            Format::Json => if self.first { "[]\n" } else { "\n]\n" }.to_owned(),
            Format::Csv => self.names(),
        }
    }

    /// Returns the CSV header line, if it was not written yet.
    fn names(&self) -> String {
        let names =
            || self.columns.iter().filter_map(|column| column.name.map(|name| self.key_style.key(name)));
        if self.first { line(&names().collect::<Vec<_>>()) } else { String::new() }
    }
}

/// Formats rows.
pub(super) fn write<T>(rows: &[T], columns: &'static [Column<T>], output: impl Into<Output>) -> String {
    let mut writer = Rows::new(columns, output);
    let text: String = rows.iter().map(|row| writer.row(row)).collect();
    text + &writer.end()
}

/// Returns rows as a JSON array of objects.
pub(super) fn values<T>(rows: &[T], columns: &[Column<T>]) -> Value {
    rows.iter().map(|row| object(row, columns, MetadataStyle::Camel)).collect()
}

fn object<T>(row: &T, columns: &[Column<T>], style: MetadataStyle) -> Value {
    columns.iter().filter_map(|column| Some((style.key(column.name?), (column.cell)(row).json()))).collect()
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
            Column::machine("size", |text| Cell::Count(text.len() as u64)),
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
        assert!("xml".parse::<Format>().is_err_and(|error| error.contains("table, json or csv")));
    }
}
