//! Reads tables as programs print them on a terminal: `psql` with its rule, `mysql`, `sqlite` and `DuckDB` in a box, columns such as
//! those of `kubectl` and `docker`, and records below each other (`\x` of `psql`, `\G` of `mysql`).
//!
//! Rules and the number of rows below are no records. A value is a text as it is written, without the spaces around it; the values of a
//! column of numbers are numbers, and nothing is null.

mod aligned;

use std::borrow::Cow;

use portion_json::scan::{is_json, quote};
use portion_json::span::Span;

use self::aligned::{columns_of, is_header};
use crate::column_form::{ColumnForm, FormLearner};
use crate::names::UniqueNames;

/// Lines that may stand before a table, such as a prompt.
const MAX_LINES_BEFORE: usize = 4;
/// Lines that may stand below a table without rules, such as a legend.
const MAX_LINES_BELOW: usize = 8;
/// Fewer rows are no table without rules.
const MIN_ROWS: usize = 3;

/// Reads a text that is one table.
pub(super) fn read(text: &str) -> Option<(Span, String)> {
    let plain = with_plain_rules(text);
    let mut first = plain.lines().take(MAX_LINES_BEFORE + 2);
    if !first.any(|line| is_rule(line.trim()) || is_header(line) || is_record_rule(line)) {
        return None;
    }
    let lines: Vec<&str> = plain.trim_end().lines().collect();
    let is_before =
        |at: &usize| !lines.iter().take(*at).any(|line| is_rule(line.trim()) || is_record_rule(line));
    let mut starts = (0..=MAX_LINES_BEFORE).take_while(is_before);
    let (start, table) = starts.find_map(|at| Some((at, Table::read(lines.get(at..)?)?)))?;
    let offset = text.lines().nth(start)?.as_ptr().addr() - text.as_ptr().addr();
    Some((Span::new(offset, text.trim_end().len()), table.to_json()))
}

/// Returns a text in which the rules of boxes are dashes, pluses and bars.
fn with_plain_rules(text: &str) -> Cow<'_, str> {
    if !text.contains('│') {
        return text.into();
    }
    let plain = |c: char| match c {
        '│' => '|',
        '─' => '-',
        '┌' | '┬' | '┐' | '├' | '┼' | '┤' | '└' | '┴' | '┘' => '+',
        c => c,
    };
    text.chars().map(plain).collect::<String>().into()
}

/// A column of a table whose columns begin below their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalColumn<'a> {
    /// The name in the first line.
    pub name: &'a str,
    /// Its cells.
    pub cells: Vec<Span>,
}

/// Returns the columns of a table such as those of `kubectl` and `docker`; none of other texts.
pub fn terminal_columns(text: &str) -> Vec<TerminalColumn<'_>> {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let Some((names, rows)) = columns_of(&lines) else { return Vec::new() };
    let offset = |cell: &str| cell.as_ptr().addr() - text.as_ptr().addr();
    let span = |cell: &str| Span::new(offset(cell), offset(cell) + cell.len());
    let cells = |at: usize| rows.iter().map(|row| span(row[at])).collect();
    let columns = names.into_iter().enumerate();
    columns.map(|(at, name)| TerminalColumn { name, cells: cells(at) }).collect()
}

/// A table with as many values in each row as there are names.
struct Table<'a> {
    names: Vec<&'a str>,
    rows: Vec<Vec<Cow<'a, str>>>,
}

impl<'a> Table<'a> {
    fn read(lines: &[&'a str]) -> Option<Self> {
        let table = Self::boxed(lines)
            .or_else(|| Self::ruled(lines))
            .or_else(|| Self::in_columns(lines))
            .or_else(|| Self::below_each_other(lines))?;
        let is_named = table.names.len() > 1 && table.names.iter().all(|name| !name.is_empty());
        (is_named && !table.rows.is_empty()).then_some(table)
    }

    /// Reads a table in a box: a rule, the names, maybe their types, a rule, the rows, and a rule.
    fn boxed(lines: &[&'a str]) -> Option<Self> {
        let (top, lines) = lines.split_first()?;
        if !top.starts_with('+') || !is_rule(top) {
            return None;
        }
        let below = lines.iter().take(3).position(|line| line == top).filter(|at| *at > 0)?;
        let rows = &lines[below + 1..];
        let end = rows.iter().position(|line| line == top)?;
        let rule = top.strip_prefix('+')?.strip_suffix('+')?;
        let inside = |line: &'a str| cells_below(line.trim().strip_prefix('|')?.strip_suffix('|')?, rule);
        let names = inside(lines[0])?;
        let rows = rows[..end].iter().map(|line| inside(line).filter(|cells| !are_left_out(cells)));
        // What follows says how many rows there are.
        (lines.len() - below - end <= 4).then(|| Self::of(names, rows))?
    }

    /// Reads a table with a rule below its names, and their number below the rows.
    fn ruled(lines: &[&'a str]) -> Option<Self> {
        let [names, rule, rows @ ..] = lines else { return None };
        if !is_rule(rule.trim())
            || !rule.contains('+')
            || rule.matches('+').count() != names.matches('|').count()
        {
            return None;
        }
        let end = rows.len() - rows.iter().rev().take(2).filter(|line| is_row_count(line)).count();
        let names: Vec<&str> = names.split('|').collect();
        Self::of(names, rows[..end].iter().map(|line| cells_below(line, rule)))
    }

    /// Reads records below each other, each with a rule above it and its values behind their names.
    fn below_each_other(lines: &[&'a str]) -> Option<Self> {
        let sign = if is_record_rule(lines.first()?) {
            if lines[0].starts_with('-') { '|' } else { ':' }
        } else {
            return None;
        };
        let end = lines.len() - lines.iter().rev().take(2).filter(|line| is_row_count(line)).count();
        let mut table = Self { names: Vec::new(), rows: Vec::new() };
        for record in lines[1..end].split(|line| is_record_rule(line)) {
            let fields: Option<Vec<(&str, &str)>> = record.iter().map(|line| line.split_once(sign)).collect();
            let (names, values): (Vec<&str>, Vec<&str>) =
                fields?.into_iter().map(|(name, value)| (name.trim(), value.trim())).unzip();
            if table.rows.is_empty() {
                table.names.clone_from(&names);
            }
            (table.names == names).then_some(())?;
            table.rows.push(values.into_iter().map(Cow::Borrowed).collect());
        }
        Some(table)
    }

    fn in_columns(lines: &[&'a str]) -> Option<Self> {
        let is_end = |line: &&str| line.is_empty() || line.starts_with('[') && line.ends_with(" columns]");
        let end = lines.iter().position(is_end).unwrap_or(lines.len());
        if lines.len() - end > MAX_LINES_BELOW {
            return None;
        }
        let (names, rows) = columns_of(&lines[..end])?;
        let rows: Vec<Vec<Cow<'_, str>>> =
            rows.into_iter().map(|row| row.into_iter().map(Cow::Borrowed).collect()).collect();
        (rows.len() >= MIN_ROWS).then_some(Self { names, rows })
    }

    /// Returns the table of these cells. A cell that ends in `+` goes on in the next line.
    fn of(names: Vec<&'a str>, lines: impl Iterator<Item = Option<Vec<&'a str>>>) -> Option<Self> {
        let names: Vec<&str> = names.into_iter().map(str::trim).collect();
        let mut rows: Vec<Vec<Cow<'a, str>>> = Vec::new();
        let mut goes_on = false;
        for cells in lines {
            let cells = cells.filter(|cells| cells.len() == names.len())?;
            let part = |cell: &'a str| cell.strip_suffix('+').unwrap_or(cell).trim();
            if let Some(row) = rows.last_mut().filter(|_| goes_on) {
                for (value, cell) in row.iter_mut().zip(&cells).filter(|(_, cell)| !part(cell).is_empty()) {
                    *value = format!("{value}\n{}", part(cell)).into();
                }
            } else {
                rows.push(cells.iter().map(|cell| part(cell).into()).collect());
            }
            goes_on = cells.iter().any(|cell| cell.ends_with('+'));
        }
        Some(Self { names, rows })
    }

    fn to_json(&self) -> String {
        let is_number =
            |value: &str| value.starts_with(|c: char| c == '-' || c.is_ascii_digit()) && is_json(value);
        let is_null = |value: &str| matches!(value, "" | "NULL");
        // Versions, codes and the like are texts, as they are in CSV.
        let has_numbers = |column: usize| {
            let mut learner = FormLearner::default();
            let mut values = self.rows.iter().map(|row| &row[column]).filter(|value| !is_null(value));
            let all = values.all(|value| {
                learner.insert(value);
                is_number(value)
            });
            all && FormLearner::forms(std::iter::once(&learner)) == [ColumnForm::Number]
        };
        let are_numbers: Vec<bool> = (0..self.names.len()).map(has_numbers).collect();
        let mut unique = UniqueNames::default();
        let names: Vec<String> = self.names.iter().map(|name| quote(&unique.unique(name))).collect();
        let member = |(at, value): (usize, &Cow<'_, str>)| {
            let value = match value.as_ref() {
                value if is_null(value) => "null".to_owned(),
                value if are_numbers[at] => value.to_owned(),
                value => quote(value),
            };
            format!("{}:{value}", names[at])
        };
        let record = |row: &Vec<Cow<'_, str>>| {
            format!("{{{}}}", row.iter().enumerate().map(member).collect::<Vec<_>>().join(","))
        };
        format!("[{}]", self.rows.iter().map(record).collect::<Vec<_>>().join(","))
    }
}

/// Returns the cells of a row, which are between bars below the pluses of a rule, also where values have bars.
fn cells_below<'a>(line: &'a str, rule: &str) -> Option<Vec<&'a str>> {
    let between: Vec<&str> = line.split('|').collect();
    if between.len() == rule.matches('+').count() + 1 {
        return Some(between);
    }
    let (mut cells, mut start) = (Vec::new(), 0);
    for ((at, bar), _) in line.char_indices().zip(rule.chars()).filter(|(_, sign)| *sign == '+') {
        cells.push((bar == '|').then(|| &line[start..at])?);
        start = at + 1;
    }
    cells.push(&line[start..]);
    Some(cells)
}

/// Returns true for a row of dots, in place of rows that a program left out.
fn are_left_out(cells: &[&str]) -> bool {
    cells.iter().all(|cell| cell.trim() == "·")
}

/// Returns true for the rule above a record: `-[ RECORD 1 ]----`, `**** 1. row ****`.
fn is_record_rule(line: &str) -> bool {
    line.starts_with("-[ RECORD ") || line.starts_with("*****") && line.contains(". row *****")
}

/// Returns true for a line of dashes, crossed by pluses.
fn is_rule(line: &str) -> bool {
    line.contains('-') && line.bytes().all(|byte| matches!(byte, b'-' | b'+'))
}

/// Returns true for a line such as `(300 rows)`, and for one that says how long that took.
fn is_row_count(line: &str) -> bool {
    let line = line.trim();
    line.is_empty()
        || line.starts_with("Time:")
        || line.starts_with('(') && (line.ends_with(" rows)") || line == "(1 row)")
}

#[cfg(test)]
mod tests {
    use super::read;

    fn check(text: &str, json: Option<&str>) {
        assert_eq!(read(text).map(|(_, json)| json).as_deref(), json, "{text}");
    }

    #[test]
    fn psql() {
        let records = r#"[{"id":1,"name":"a\nb","zip":"01"},{"id":2,"name":null,"zip":"x | y"},{"id":3,"name":"c","zip":"2"}]"#;
        let text = " id | name | zip \n----+------+------\n  1 | a   +| 01\n    | b    | \n  2 |      | x ! y\n  3 | c    | 2\n(3 rows)\n";
        check(&text.replace('!', "/"), Some(&records.replace(" | ", " / ")));
        check(&format!("shop=# select\n{}", text.replace('!', "/")), Some(&records.replace(" | ", " / ")));
        // A bar in a value stands below no plus.
        check(&text.replace('!', "|"), Some(records));
        check(" a | b\n---+---\n 1 | 2 | 3\n 1 | 2\n| 1 | 2\n", None);
    }

    #[test]
    fn versions_are_texts() {
        let text = " ver  | n \n------+---\n 1.9  | 1\n 1.10 | 2\n 1.1  | 3\n(3 rows)\n";
        check(text, Some(r#"[{"ver":"1.9","n":1},{"ver":"1.10","n":2},{"ver":"1.1","n":3}]"#));
    }

    #[test]
    fn boxes_of_lines() {
        let rows = "│  1 │ a    │\n│  2 │ b    │\n│  3 │ c    │\n";
        let json = Some(r#"[{"id":1,"name":"a"},{"id":2,"name":"b"},{"id":3,"name":"c"}]"#);
        let head = "┌────┬──────┐\n│ id │ name │\n";
        let rule = "├────┼──────┤\n";
        check(&format!("{head}{rule}{rows}└────┴──────┘\n"), json);
        let types = "│ i8 │ text │\n";
        check(&format!("{head}{types}{rule}{rows}├────┴──────┤\n│ 3 rows    │\n└───────────┘\n"), json);
        let dots = "│  · │ ·    │\n";
        check(&format!("{head}{rule}{rows}{dots}└────┴──────┘\n"), None);
    }

    #[test]
    fn records_below_each_other() {
        let json = Some(r#"[{"id":1,"at":"10:30"},{"id":2,"at":null},{"id":3,"at":"a | b"}]"#);
        let values = [("1", "10:30"), ("2", ""), ("3", "a | b")];
        let psql = values.map(|(id, at)| format!("-[ RECORD {id} ]\nid | {id}\nat | {at}\n")).concat();
        check(&format!("{psql}\n"), json);
        let stars = "*".repeat(27);
        let mysql =
            values.map(|(id, at)| format!("{stars} {id}. row {stars}\nid: {id}\nat: {at}\n")).concat();
        check(&mysql, json);
        check(&psql.replace("at | 10:30", "by | 10:30"), None);
    }

    #[test]
    fn mysql() {
        let rule = "+----+-------+";
        let text = format!(
            "{rule}\n| id | name  |\n{rule}\n|  1 | one   |\n|  2 | NULL  |\n|  3 | three |\n{rule}\n3 rows in set (0.00 sec)\n"
        );
        check(&text, Some(r#"[{"id":1,"name":"one"},{"id":2,"name":null},{"id":3,"name":"three"}]"#));
        let two = r#"[{"id":1,"name":"one"},{"id":2,"name":null}]"#;
        check(&text.replace("|  3 | three |\n", ""), Some(two));
    }

    #[test]
    fn columns() {
        let text = "NAME    READY   LAST SEEN\npod-a   1/1     3d\npod-b   0/1     \npod-c   1/1     2h\n";
        check(
            text,
            Some(
                r#"[{"NAME":"pod-a","READY":"1/1","LAST SEEN":"3d"},{"NAME":"pod-b","READY":"0/1","LAST SEEN":null},{"NAME":"pod-c","READY":"1/1","LAST SEEN":"2h"}]"#,
            ),
        );
        check("NAME    READY\nthis is a sentence\nand another one\nand one more\n", None);
        let df = "Filesystem      Size  Used Avail Use% Mounted on\n/dev/sda1        98G   45G   49G  48% /\ntmpfs           7.8G     0  7.8G   0% /dev/shm\n/dev/sdb1        20G  1.2G   18G   7% /mnt/data disk\n";
        check(
            df,
            Some(
                r#"[{"Filesystem":"/dev/sda1","Size":"98G","Used":"45G","Avail":"49G","Use%":"48%","Mounted on":"/"},{"Filesystem":"tmpfs","Size":"7.8G","Used":"0","Avail":"7.8G","Use%":"0%","Mounted on":"/dev/shm"},{"Filesystem":"/dev/sdb1","Size":"20G","Used":"1.2G","Avail":"18G","Use%":"7%","Mounted on":"/mnt/data disk"}]"#,
            ),
        );
        let pip =
            "Package    Version\n---------- -------\ncertifi    2024.2\nidna       3.6\nurllib3    2.10\n";
        check(
            pip,
            Some(
                r#"[{"Package":"certifi","Version":"2024.2"},{"Package":"idna","Version":"3.6"},{"Package":"urllib3","Version":"2.10"}]"#,
            ),
        );
        let pandas = "     name  age  city\n0     Ann   30  Bonn\n1  Bo Lee   25   NaN\n10    Cid   41  Rome\n\n[3 rows x 3 columns]\n";
        check(
            pandas,
            Some(
                r#"[{"index":0,"name":"Ann","age":30,"city":"Bonn"},{"index":1,"name":"Bo Lee","age":25,"city":"NaN"},{"index":10,"name":"Cid","age":41,"city":"Rome"}]"#,
            ),
        );
        check(&pandas.replace("1  Bo Lee   25   NaN", "..    ...  ...   ..."), None);
    }

    #[test]
    fn numbers_beside_their_place() {
        let ps = "USER         PID %CPU %MEM    VSZ   RSS COMMAND\nroot           1  0.0  0.1 167276 11304 /sbin/init splash\nann         2101  3.5  4.2 34359738 691200 /opt/chrome --type=gpu\nann        99120  0.0  0.0  10068  3328 ps aux\n";
        check(
            ps,
            Some(
                r#"[{"USER":"root","PID":1,"%CPU":0.0,"%MEM":0.1,"VSZ":167276,"RSS":11304,"COMMAND":"/sbin/init splash"},{"USER":"ann","PID":2101,"%CPU":3.5,"%MEM":4.2,"VSZ":34359738,"RSS":691200,"COMMAND":"/opt/chrome --type=gpu"},{"USER":"ann","PID":99120,"%CPU":0.0,"%MEM":0.0,"VSZ":10068,"RSS":3328,"COMMAND":"ps aux"}]"#,
            ),
        );
        check(&ps.replace("ann         2101", "ann lee     2101"), None);
    }

    #[test]
    fn aligned_lines_without_names_are_no_table() {
        check(
            "Deploy notes  and more\n  first step  of all\n  second one  of two\n  a third    of three\n",
            None,
        );
        check("usage:  tool  [options]\n  -a    all   list\n  -b    brief list\n  -c    count list\n", None);
        check("NOTES\nfirst\nsecond\nthird\n", None);
    }

    #[test]
    fn documents_are_no_tables() {
        check("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n", None);
        check("Title\n-----\n\nSome text | more\n", None);
    }
}
