//! Reads several tables below each other, of a terminal or of separated values, as lists under the words above them.
//!
//! `kubectl get all` prints one for each kind, databases one for each statement, and readers of workbooks one for each sheet. Blank
//! lines stand between them.

use std::borrow::Cow;
use std::ops::Range;

use portion_json::scan::quote;
use portion_json::span::Span;

use super::terminal::{Table, may_begin, with_plain_rules};
use crate::chunk::chunker_for;
use crate::delimited;
use crate::names::UniqueNames;

/// Lines of words above a table.
const MAX_WORD_LINES: usize = 4;

/// Tables of a text, below each other.
struct Tables<'a> {
    blocks: Vec<TableBlock<'a>>,
    /// Other words above the tables.
    notes: Vec<&'a str>,
    /// Numbers of the lines of the tables and of the words above them.
    lines: Range<usize>,
}

/// A table of several.
struct TableBlock<'a> {
    title: Option<&'a str>,
    columns: Vec<String>,
    /// True if a column of numbers has a name, so that the first row is none of values.
    has_numbers: bool,
    json: String,
}

/// Reads a text of two or more tables and the words above them. Those of the same columns without words are one list.
pub(super) fn read(text: &str) -> Option<(Span, String)> {
    text.trim_end().lines().find(|line| is_blank(line))?;
    let plain = with_plain_rules(text);
    let lines: Vec<&str> = plain.trim_end().lines().collect();
    let tables = Tables::read(&lines)?;
    let line = |number| text.lines().nth(number);
    let (first, last) = (line(tables.lines.start)?, line(tables.lines.end - 1)?);
    let place = |line: &str| line.as_ptr().addr() - text.as_ptr().addr();
    Some((Span::new(place(first), place(last) + last.len()), tables.to_json()))
}

impl<'a> Tables<'a> {
    fn read(lines: &[&'a str]) -> Option<Self> {
        let mut tables = Self { blocks: Vec::new(), notes: Vec::new(), lines: 0..0 };
        // Words above the next table, the number of the first of them, and that of the first line of a block.
        let (mut words, mut words_start, mut next) = (Vec::<&str>::new(), 0, 0);
        for block in lines.split(|line| is_blank(line)) {
            let start = next;
            next += block.len() + 1;
            let mut table_starts = (0..block.len()).take(MAX_WORD_LINES + 1);
            let found = table_starts.find_map(|at| Some((at, TableBlock::read(&block[at..])?)));
            if words.is_empty() {
                words_start = start;
            }
            words.extend(&block[..found.as_ref().map_or(block.len(), |(at, _)| *at)]);
            (words.len() <= MAX_WORD_LINES).then_some(())?;
            let Some((_, mut table)) = found else { continue };
            let is_sign = |c: char| !c.is_alphanumeric() && c != ')';
            let title = words.pop().map(|title| title.trim_matches(is_sign));
            table.title = title.filter(|title| !title.is_empty());
            tables.notes.append(&mut words);
            // Rows below a blank line may go on with the table above.
            let is_apart = |above: &TableBlock<'_>| {
                table.title.is_some() || table.has_numbers || above.columns.len() != table.columns.len()
            };
            tables.blocks.last().is_none_or(is_apart).then_some(())?;
            let start = if tables.blocks.is_empty() { words_start } else { tables.lines.start };
            tables.lines = start..next - 1;
            tables.blocks.push(table);
        }
        (tables.blocks.len() > 1).then_some(tables)
    }

    fn to_json(&self) -> String {
        let columns = self.blocks.first().map(|first| &first.columns);
        if self.blocks.iter().all(|table| table.title.is_none() && Some(&table.columns) == columns) {
            let rows: Vec<&str> =
                self.blocks.iter().map(|table| &table.json[1..table.json.len() - 1]).collect();
            return format!("[{}]", rows.join(","));
        }
        let mut names = UniqueNames::default();
        let mut members: Vec<String> =
            self.notes.iter().map(|note| format!("{}:null", quote(&names.unique(note)))).collect();
        members.extend(self.blocks.iter().enumerate().map(|(at, table)| {
            let title = table.title.map_or_else(|| format!("table_{}", at + 1), str::to_owned);
            format!("{}:{}", quote(&names.unique(&title)), table.json)
        }));
        format!("{{{}}}", members.join(","))
    }
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// Returns true if the first line, or the one below it, looks like that of a table, or both have as many separators.
fn may_begin_table(lines: &[&str]) -> bool {
    let Some(below) = lines.get(1) else { return false };
    let is_separated = |sign| {
        let count = lines[0].matches(sign).count();
        count > 0 && count == below.matches(sign).count()
    };
    may_begin(lines[0]) || may_begin(below) || [',', '\t', ';', '|'].into_iter().any(is_separated)
}

impl<'a> TableBlock<'a> {
    fn read(lines: &[&'a str]) -> Option<Self> {
        may_begin_table(lines).then_some(())?;
        Table::read_part(lines)
            .map(|table| Self::of(&table))
            .or_else(|| Self::read_separated(&lines.join("\n")))
    }

    fn read_separated(text: &str) -> Option<Self> {
        // A blank line in quotes ends no table.
        text.matches('"').count().is_multiple_of(2).then_some(())?;
        let format = delimited::detect(text, chunker_for(text))?;
        (format.has_header && format.is_quoted && format.start == 0).then_some(())?;
        let (columns, rows) = format.columns_and_rows(text);
        let row = |row: delimited::DelimitedRow| {
            let cells: Vec<Cow<'_, str>> = row.cells().map(|cell| cell.to_owned().into()).collect();
            (cells.len() == columns.len()).then_some(cells)
        };
        let rows = rows.map(row).collect::<Option<_>>()?;
        Some(Self::of(&Table { names: columns.iter().map(String::as_str).collect(), rows }))
    }

    fn of(table: &Table<'_>) -> Self {
        Self {
            title: None,
            columns: table.names.iter().map(|name| (*name).to_owned()).collect(),
            has_numbers: table.number_columns().contains(&true),
            json: table.to_json(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    fn check(text: &str, json: Option<&str>) {
        assert_eq!(read(text).map(|(_, json)| json).as_deref(), json, "{text}");
    }

    #[test]
    fn tables_of_programs() {
        let pods = "NAME        READY   AGE\npod/web-1   1/1     3d\npod/web-2   0/1     12d\n";
        let services = "NAME          TYPE        PORT(S)   AGE\nservice/web   ClusterIP   443/TCP   3d\n";
        check(
            &format!("{pods}\n{services}"),
            Some(concat!(
                r#"{"table_1":[{"NAME":"pod/web-1","READY":"1/1","AGE":"3d"},{"NAME":"pod/web-2","READY":"0/1","AGE":"12d"}],"#,
                r#""table_2":[{"NAME":"service/web","TYPE":"ClusterIP","PORT(S)":"443/TCP","AGE":"3d"}]}"#
            )),
        );
        check(pods, None);
        let psql = " id | name \n----+------\n  1 | a\n  2 | b\n(2 rows)\n";
        check(
            &format!("{psql}\n{}", psql.replace("name", "city")),
            Some(concat!(
                r#"{"table_1":[{"id":1,"name":"a"},{"id":2,"name":"b"}],"#,
                r#""table_2":[{"id":1,"city":"a"},{"id":2,"city":"b"}]}"#
            )),
        );
        check(
            &format!("{psql}\n{psql}"),
            Some(r#"[{"id":1,"name":"a"},{"id":2,"name":"b"},{"id":1,"name":"a"},{"id":2,"name":"b"}]"#),
        );
    }

    #[test]
    fn tables_of_separated_values() {
        let orders = "id,name,qty\n1,a,3\n2,b,4\n3,c,5\n";
        let prices = "code,price\nA,1.5\nB,2.5\nC,3.5\n";
        let json = |orders: &str, prices: &str| {
            format!(
                "{{\"{orders}\":[{{\"id\":1,\"name\":\"a\",\"qty\":3}},{{\"id\":2,\"name\":\"b\",\"qty\":4}},{{\"id\":3,\"name\":\"c\",\"qty\":5}}],\
                 \"{prices}\":[{{\"code\":\"A\",\"price\":1.5}},{{\"code\":\"B\",\"price\":2.5}},{{\"code\":\"C\",\"price\":3.5}}]}}"
            )
        };
        check(&format!("{orders}\n{prices}"), Some(&json("table_1", "table_2")));
        check(
            &format!("Sheet: Orders\n{orders}\n# Prices\n\n{prices}\nThe end."),
            Some(&json("Sheet: Orders", "Prices")),
        );
        // Rows go on below a blank line.
        let rows = "name,city,state\nLee,Oslo,new\nBo,Rome,old\nAl,Bonn,new\n";
        check(&format!("{rows}\nCy,Bern,old\nDo,Graz,new\nEd,Lyon,old\n"), None);
        check(&format!("{orders}\n4,d,6\n5,e,7\n6,f,8\n"), None);
        check("id,note,qty\n1,\"a\n\nb\",3\n2,\"c\n\nd\",4\n3,e,5\n", None);
        // Sentences between tables are more than a title.
        check(&format!("{orders}\n{}{prices}", "A line of words.\n".repeat(5)), None);
    }
}
