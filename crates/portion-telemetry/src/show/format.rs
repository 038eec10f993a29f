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

/// Writes rows down.
pub(super) fn write<T>(rows: &[T], columns: &[Column<T>], format: Format) -> String {
    match format {
        Format::Table => table(rows, columns),
        Format::Json => json(rows, columns),
        Format::Csv => csv(rows, columns),
    }
}

fn table<T>(rows: &[T], columns: &[Column<T>]) -> String {
    let columns = || columns.iter().filter_map(|column| Some((column.title?, column.cell)));
    let mut table = Table::new(columns().map(|(title, _)| title));
    for row in rows {
        table.row(columns().map(|(_, cell)| cell(row)));
    }
    table.to_string()
}

fn json<T>(rows: &[T], columns: &[Column<T>]) -> String {
    format!("{:#}\n", values(rows, columns))
}

/// An array of objects.
pub(super) fn values<T>(rows: &[T], columns: &[Column<T>]) -> Value {
    let object = |row: &T| {
        let members = columns.iter().filter_map(|column| Some((column.name?, (column.cell)(row).json())));
        members.collect::<Value>()
    };
    rows.iter().map(object).collect()
}

fn csv<T>(rows: &[T], columns: &[Column<T>]) -> String {
    let columns = || columns.iter().filter_map(|column| Some((column.name?, column.cell)));
    let names = columns().map(|(name, _)| name.to_owned()).collect();
    let lines = rows.iter().map(|row| columns().map(|(_, cell)| cell(row).plain()).collect::<Vec<_>>());
    std::iter::once(names).chain(lines).map(|fields| line(&fields)).collect()
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
    fn names_become_formats() {
        assert_eq!(Format::ALL.map(|format| format.name().parse()), Format::ALL.map(Ok));
        assert!("xml".parse::<Format>().is_err_and(|error| error.contains("table, json and csv")));
    }
}
