//! Reads tables as programs print them on a terminal: `psql` with its rule, `mysql`, `DuckDB`, rich and tabulate in a box, and columns
//! such as those of `kubectl`, `docker` and `sqlcmd`.
//!
//! Rules and what is below the last one are no records. The number of rows, if it is stated there, must be that of the records. A
//! value is a text as it is written, without the spaces around it; the values of a column of numbers are numbers, and nothing is
//! null.

mod aligned;

use std::borrow::Cow;

use portion_json::scan::{is_json, quote};
use portion_json::span::Span;

use self::aligned::{columns_of, is_header, is_in_capitals};
use crate::column_form::{ColumnForm, FormLearner};
use crate::names::UniqueNames;

/// Lines that may stand before a table, such as a prompt.
const MAX_LINES_BEFORE: usize = 4;
/// Lines that may stand below a table without rules, such as a legend.
const MAX_LINES_BELOW: usize = 8;
/// Wider lines may be as long as a program allows, so that it breaks values.
const MIN_WRAPPED_CHARS: usize = 60;
/// Fewer rows are no table without rules.
const MIN_ROWS: usize = 3;

/// Reads a text that is one table.
pub(super) fn read(text: &str) -> Option<(Span, String)> {
    let plain = with_plain_rules(text);
    let mut first = plain.lines().take(MAX_LINES_BEFORE + 2);
    if !first.any(may_begin) {
        return None;
    }
    let lines: Vec<&str> = plain.trim_end().lines().collect();
    let is_before = |at: &usize| !lines.iter().take(*at).any(|line| is_rule(line));
    let mut starts = (0..=MAX_LINES_BEFORE).take_while(is_before);
    let (start, (table, count)) =
        starts.find_map(|at| Some((at, Table::of_rows(lines.get(at..)?, MIN_ROWS)?)))?;
    let own = |line| text.lines().nth(line);
    let (first, last) = (own(start)?, own(start + count - 1)?);
    let offset = |line: &str| line.as_ptr().addr() - text.as_ptr().addr();
    Some((Span::new(offset(first), offset(last) + last.trim_end().len()), table.to_json()))
}

/// Returns true for a line that may be the first of a table, or the rule below it.
pub(super) fn may_begin(line: &str) -> bool {
    is_rule(line) || is_header(line) || names_in_rule(line).is_some()
}

/// Returns a text without colours, in which the rules of boxes are dashes, pluses and bars.
pub(super) fn with_plain_rules(text: &str) -> Cow<'_, str> {
    // The first bytes of these signs are found at once.
    let may_have = memchr::memchr2(b'\x1b', 0xE2, text.as_bytes()).is_some();
    if !may_have || !text.contains(['│', '┃', '║', '\u{1b}']) {
        return text.into();
    }
    let plain = |c: char| match c {
        '│' | '┃' | '┆' | '║' => '|',
        '─' | '━' => '-',
        '═' => '=',
        '┌'..='╋' | '╒'..='╰' => '+',
        c => c,
    };
    let is_code = |c: char| c.is_ascii_digit() || c == ';';
    let mut out = String::with_capacity(text.len());
    for (at, part) in text.split("\u{1b}[").enumerate() {
        let part = if at == 0 { part } else { part.trim_start_matches(is_code).trim_start_matches('m') };
        out.extend(part.chars().map(plain));
    }
    out.into()
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
pub(super) struct Table<'a> {
    pub(super) names: Vec<&'a str>,
    pub(super) rows: Vec<Vec<Cow<'a, str>>>,
}

impl<'a> Table<'a> {
    /// Reads a table that stands beside others: names in capitals need one row to be told from words.
    pub(super) fn read_part(lines: &[&'a str]) -> Option<Self> {
        let min_rows = if is_in_capitals(lines.first()?) { 1 } else { MIN_ROWS };
        Self::of_rows(lines, min_rows).map(|(table, _)| table)
    }

    /// Reads a table of at least so many rows. Returns it with the number of its lines, those of rules and of the number of rows
    /// below it included.
    fn of_rows(lines: &[&'a str], min_rows: usize) -> Option<(Self, usize)> {
        let (table, row_lines) = Self::crossed(lines).or_else(|| Self::in_columns(lines, min_rows))?;
        let is_blank = |line: &str| line.trim().is_empty();
        let is_of_table = |line: &&&str| {
            is_blank(line) || is_rule(line) || row_count(line).is_some() || line.starts_with("Time:")
        };
        let count = row_lines + lines[row_lines..].iter().take_while(is_of_table).count();
        let count = lines[..count].iter().rposition(|line| !is_blank(line))? + 1;
        let is_named = table.names.len() > 1 && table.names.iter().all(|name| !name.is_empty());
        (is_named && !table.rows.is_empty()).then_some((table, count))
    }

    /// Reads a table with rules that are crossed where its columns end: a box, or one rule below the names.
    fn crossed(lines: &[&'a str]) -> Option<(Self, usize)> {
        let top = *lines.first()?;
        let (is_boxed, in_rule) = (is_crossed(top), names_in_rule(top));
        let is_closed = is_boxed || in_rule.is_some();
        let head = &lines[usize::from(is_boxed)..];
        let below =
            if in_rule.is_some() { 0 } else { head.iter().take(4).position(|line| is_crossed(line))? };
        let rule = plain_rule(head[below]);
        if is_boxed && plain_rule(top) != rule || !is_closed && (below != 1 || !rule.contains('+')) {
            return None;
        }
        let inside = |line: &'a str| {
            let mut cells = cells_below(line, &rule)?;
            // Spaces, or the numbers of rows, stand beside a box.
            if rule.trim().starts_with('+') {
                cells.pop().filter(|after| after.trim().is_empty())?;
                cells.remove(0);
            }
            Some(cells)
        };
        let names = in_rule.or_else(|| inside(head[0]))?;
        let mut parts: Vec<&[&str]> = head[below + 1..].split(|line| is_crossed(line)).collect();
        let mut footer = parts.pop()?;
        let mut row_lines = lines.len() - footer.len();
        if is_closed {
            (footer.len() <= MAX_LINES_BELOW).then_some(())?;
            // DuckDB says in the box how many rows there are.
            if let Some(inner) = parts.pop_if(|part| part.iter().any(|line| row_count(line).is_some())) {
                footer = inner;
            }
        } else {
            let rows;
            (rows, footer) = split_footer(footer);
            parts.push(rows);
            row_lines += rows.len();
        }
        // Rules between the rows tell where each ends, if the one below the names is another.
        let is_grid = parts.len() > 1 && parts.iter().any(|part| part.len() > 1);
        if is_grid && !head[below].contains('=') {
            return None;
        }
        Some((Self::of(names, &parts, inside, is_grid)?.counted(footer)?, row_lines))
    }

    fn in_columns(lines: &[&'a str], min_rows: usize) -> Option<(Self, usize)> {
        let is_end = |(at, line): (usize, &&str)| {
            line.trim().is_empty()
                || row_count(line).is_some()
                || line.starts_with('(') && line.trim_end().ends_with(')')
                || at > 1 && is_rule(line) && !line.trim().contains(' ')
        };
        let end = lines.iter().enumerate().position(is_end).unwrap_or(lines.len());
        // What is below may have sums, and is no other table.
        let is_other = |line: &&str| is_header(line) && !line.contains(|c: char| c.is_ascii_digit());
        if lines.len() - end > MAX_LINES_BELOW || lines[end..].iter().any(is_other) {
            return None;
        }
        let (names, rows) = columns_of(&lines[..end])?;
        let rows: Vec<Vec<Cow<'_, str>>> =
            rows.into_iter().map(|row| row.into_iter().map(Cow::Borrowed).collect()).collect();
        let table = (rows.len() >= min_rows).then_some(Self { names, rows })?;
        Some((table.counted(&lines[end..])?, end))
    }

    /// Returns the table if lines below it state no other number of rows.
    pub(super) fn counted(self, footer: &[&str]) -> Option<Self> {
        let count = footer.iter().find_map(|line| row_count(line));
        count.is_none_or(|count| count == self.rows.len()).then_some(self)
    }

    /// Returns the table of these lines. A row goes on in the next line behind a cell that ends in `+`, and in a grid up to the
    /// next rule.
    fn of(
        names: Vec<&'a str>,
        parts: &[&[&'a str]],
        inside: impl Fn(&'a str) -> Option<Vec<&'a str>>,
        is_grid: bool,
    ) -> Option<Self> {
        let names: Vec<&str> = names.into_iter().map(str::trim).collect();
        let mut rows: Vec<Vec<Cow<'a, str>>> = Vec::new();
        let mut above: Vec<&str> = Vec::new();
        for (at, line) in parts.iter().flat_map(|part| part.iter().enumerate()) {
            let cells = inside(line).filter(|cells| cells.len() == names.len() && !are_left_out(cells))?;
            let part = |cell: &'a str| cell.strip_suffix('+').unwrap_or(cell).trim();
            let goes_on = if is_grid { at > 0 } else { above.iter().any(|cell| cell.ends_with('+')) };
            if let Some(row) = rows.last_mut().filter(|_| goes_on) {
                for (value, cell) in row.iter_mut().zip(&cells).filter(|(_, cell)| !part(cell).is_empty()) {
                    *value = format!("{value}\n{}", part(cell)).into();
                }
            } else {
                (is_grid || !may_go_on(&above, &cells)).then_some(())?;
                rows.push(cells.iter().map(|cell| part(cell).into()).collect());
            }
            above = cells;
        }
        Some(Self { names, rows })
    }

    /// Returns true for each column of numbers. Versions, codes and the like are texts, as they are in CSV.
    pub(super) fn number_columns(&self) -> Vec<bool> {
        let is_number =
            |value: &str| value.starts_with(|c: char| c == '-' || c.is_ascii_digit()) && is_json(value);
        let has_numbers = |column: usize| {
            let mut learner = FormLearner::default();
            let mut values = self.rows.iter().map(|row| &row[column]).filter(|value| !is_null(value));
            let all = values.all(|value| {
                learner.insert(value);
                is_number(value)
            });
            all && FormLearner::forms(std::iter::once(&learner)) == [ColumnForm::Number]
        };
        (0..self.names.len()).map(has_numbers).collect()
    }

    pub(super) fn to_json(&self) -> String {
        let are_numbers = self.number_columns();
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

fn is_null(value: &str) -> bool {
    matches!(value, "" | "NULL" | "NaN")
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

/// Returns true if a line may be the rest of the one above: it has no value in some columns, and in the others are words that had no
/// place above. A narrow table breaks no first column.
fn may_go_on(above: &[&str], cells: &[&str]) -> bool {
    let width = |text: &str| text.chars().count();
    let is_number = |text: &str| text.trim().starts_with(|c: char| c.is_ascii_digit());
    let has_no_place = |(above, cell): (&&str, &&str)| {
        let word = cell.split_whitespace().next();
        let goes_on = |word| width(above.trim()) + 1 + width(word) + 2 > width(cell);
        word.is_none_or(|word| !(is_number(above) && is_number(word)) && goes_on(word))
    };
    let is_wide = cells.iter().map(|cell| width(cell)).sum::<usize>() > MIN_WRAPPED_CHARS;
    !above.is_empty()
        && cells.iter().any(|cell| cell.trim().is_empty())
        && (is_wide || cells[0].trim().is_empty())
        && above.iter().zip(cells).all(has_no_place)
}

/// Returns true for a row of dots, in place of rows that a program left out.
fn are_left_out(cells: &[&str]) -> bool {
    cells.iter().all(|cell| matches!(cell.trim(), "·" | "…" | "..."))
}

/// Returns true for a line of dashes or equals signs, which spaces, pluses or bars may cross.
fn is_rule(line: &str) -> bool {
    (line.contains("--") || line.contains("==")) && line.bytes().all(|byte| b"-=+| ".contains(&byte))
}

/// Returns true for a rule that tells where columns end.
fn is_crossed(line: &str) -> bool {
    let line = line.trim();
    is_rule(line) && line.contains(['+', '|']) && !line.contains(' ') && !line.starts_with('|')
}

/// Returns a rule of dashes, crossed by pluses.
fn plain_rule(line: &str) -> String {
    let plain = |c: char| match c {
        '|' | '+' => '+',
        ' ' => ' ',
        _ => '-',
    };
    line.trim_end().chars().map(plain).collect()
}

/// Returns the names that `ClickHouse` writes into the rule above its rows: `┌─id─┬─name─┐`.
fn names_in_rule(line: &str) -> Option<Vec<&str>> {
    let inside =
        line.trim().strip_prefix("+-")?.strip_suffix("-+").filter(|inside| inside.contains("-+-"))?;
    let names: Vec<&str> = inside.split("-+-").map(|name| name.trim_matches('-')).collect();
    names.iter().all(|name| !name.is_empty() && !name.contains('+')).then_some(names)
}

/// Splits lines where the number of rows, the time and blank lines begin.
pub(super) fn split_footer<'s, 'a>(lines: &'s [&'a str]) -> (&'s [&'a str], &'s [&'a str]) {
    let is_below =
        |line: &&str| line.trim().is_empty() || line.starts_with("Time:") || row_count(line).is_some();
    lines.split_at(lines.iter().rposition(|line| !is_below(line)).map_or(0, |last| last + 1))
}

/// Returns the number in a line such as `(300 rows)`, `300 rows in set (0.00 sec)` and `[300 rows x 3 columns]`.
fn row_count(line: &str) -> Option<usize> {
    let line = line.trim_matches(['(', '[', '|', ' ']);
    let (count, rest) = line.split_once(' ')?;
    let is_count = rest
        .strip_prefix("row")
        .is_some_and(|rest| !rest.trim_start_matches('s').starts_with(char::is_alphanumeric));
    is_count.then(|| count.parse().ok())?
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
    fn what_is_below_a_table_is_none_of_it() {
        let check = |below: &str, end: &str| {
            let pods = "NAME   READY   AGE\na      1/1     3d\nb      0/1     12d\nc      1/1     2d";
            let text = format!("{pods}{below}");
            let rest = read(&text).map(|(span, _)| text[span.end as usize..].trim().to_owned());
            assert_eq!(rest.as_deref(), Some(end), "{text}");
        };
        check("\n", "");
        check("\n\n(3 rows)\n", "");
        check("\n(3 of 90 rows shown)\n", "(3 of 90 rows shown)");
        check("\n\nWarning: 2 nodes did not respond\n", "Warning: 2 nodes did not respond");
        check("\n-------\nTOTAL   9\n\nFAIL of 80\n", "TOTAL   9\n\nFAIL of 80");
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
    fn mysql() {
        let rule = "+----+-------+";
        let text = format!(
            "{rule}\n| id | name  |\n{rule}\n|  1 | one   |\n|  2 | NULL  |\n|  3 | three |\n{rule}\n3 rows in set (0.00 sec)\n"
        );
        check(&text, Some(r#"[{"id":1,"name":"one"},{"id":2,"name":null},{"id":3,"name":"three"}]"#));
        let two = r#"[{"id":1,"name":"one"},{"id":2,"name":null}]"#;
        let two_rows = text.replace("|  3 | three |\n", "");
        check(&two_rows, None);
        check(&two_rows.replace("3 rows", "2 rows"), Some(two));
    }

    #[test]
    fn boxes_of_programs() {
        let json = Some(r#"[{"ID":0,"State":"down"},{"ID":1,"State":"up"}]"#);
        let rich = "   Deployments\n┏━━━━┳━━━━━━━┓\n┃ ID ┃ State ┃\n┡━━━━╇━━━━━━━┩\n│ 0  │ \u{1b}[31mdown\u{1b}[0m  │\n│ 1  │ up    │\n└────┴───────┘\n";
        check(rich, json);
        // The rest of a long value is no record.
        check(
            &rich.replace("│ 1  │ up    │", "│    │ again │").replace("down\u{1b}[0m ", "going\u{1b}[0m"),
            None,
        );
        let grid = "+------+---------+\n|   ID | State   |\n+======+=========+\n|    0 | down    |\n+------+---------+\n|    1 | up      |\n|      | again   |\n+------+---------+\n";
        check(grid, Some(r#"[{"ID":0,"State":"down"},{"ID":1,"State":"up\nagain"}]"#));
        check(&grid.replace('=', "-"), None);
        let polars = "shape: (2, 2)\n┌─────┬───────┐\n│ ID  ┆ State │\n│ --- ┆ ---   │\n│ i64 ┆ str   │\n╞═════╪═══════╡\n│ 0   ┆ down  │\n│ 1   ┆ up    │\n└─────┴───────┘\n";
        check(polars, json);
        check(&polars.replace("1   ┆ up ", "…   ┆ …  "), None);
        let clickhouse = "   ┌─ID─┬─State─┐\n1. │  0 │ down  │\n2. │  1 │ up    │\n   └────┴───────┘\n\n2 rows in set. Elapsed: 0.006 sec.\n";
        check(clickhouse, json);
        let jest = "---------|---------|-------------------\nFile     | % Stmts | Uncovered Line #s \n---------|---------|-------------------\n a.ts    |   41.80 | 3-5,9             \n b.ts    |      49 |                   \n---------|---------|-------------------\n";
        check(
            jest,
            Some(
                r#"[{"File":"a.ts","% Stmts":41.80,"Uncovered Line #s":"3-5,9"},{"File":"b.ts","% Stmts":49,"Uncovered Line #s":null}]"#,
            ),
        );
    }

    #[test]
    fn two_tables_are_none() {
        let pods = "NAME    READY   AGE\na       1/1     3d\nb       0/1     4d\nc       1/1     5d\n";
        check(&format!("{pods}\n{pods}"), None);
        check(&format!("{pods}\n{}", pods.replace("1/1", "1")), None);
    }

    #[test]
    fn rules_tell_columns() {
        let json = Some(
            r#"[{"id":0,"full name":"name a"},{"id":1,"full name":"name b"},{"id":10,"full name":"name c"}]"#,
        );
        check("  id  full name\n----  -----------\n   0  name a\n   1  name b\n  10  name c\n", json);
        let sqlcmd = "id          full name\n----------- ---------\n          0 name a   \n          1 name b   \n         10 name c   \n\n(3 rows affected)\n";
        check(sqlcmd, json);
        check(&sqlcmd.replace("(3", "(4"), None);
        check("\nid full name\n-- ---------\n 0 name a\n 1 name b\n10 name c\n\n\n", json);
        let coverage = "Name      Stmts   Miss  Cover   Missing\n---------------------------------------\na.py         74      8    97%   3-5, 9\nb.py          7      0   100%\nc.py        100      8    97%   3\n---------------------------------------\nTOTAL       181     16    97%\n";
        check(
            coverage,
            Some(
                r#"[{"Name":"a.py","Stmts":74,"Miss":8,"Cover":"97%","Missing":"3-5, 9"},{"Name":"b.py","Stmts":7,"Miss":0,"Cover":"100%","Missing":null},{"Name":"c.py","Stmts":100,"Miss":8,"Cover":"97%","Missing":"3"}]"#,
            ),
        );
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
                r#"[{"index":0,"name":"Ann","age":30,"city":"Bonn"},{"index":1,"name":"Bo Lee","age":25,"city":null},{"index":10,"name":"Cid","age":41,"city":"Rome"}]"#,
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
