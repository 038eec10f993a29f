//! Reads records below each other, with each value on a line behind its name: `Format-List` of PowerShell, `\x` of psql, `\G` of mysql,
//! and the lines `Title: …` that many servers write.
//!
//! Records begin with the same name, behind a blank line or a rule such as `---`, `-[ RECORD 2 ]---` and `## Record 2`. Without those,
//! all records have the same names. A value goes on in lines without a name, and the last value of a record of several names
//! in paragraphs. A heading of Markdown above each record is its first value.

use std::borrow::Cow;

use portion_json::scan::is_json;
use portion_json::span::Span;

use super::terminal::{Table, split_footer};

/// Lines that may stand before the records.
const MAX_LINES_BEFORE: usize = 4;
/// Fewer records need a rule that says what they are.
const MIN_RECORDS: usize = 3;
/// Names that records have without anything between them.
const MIN_NAMES: usize = 3;
/// Most names of records.
const MAX_NAMES: usize = 200;
/// Name of the heading above a record.
const HEADING: &str = "heading";
/// Longest name, in bytes, and in words.
const MAX_NAME: (usize, usize) = (40, 5);

/// Reads a text that is a list of records.
pub(super) fn read(text: &str) -> Option<(Span, String)> {
    let mut lines = text.trim_end().lines();
    let mut is_first = true;
    for _ in 0..=MAX_LINES_BEFORE {
        let rest = lines.clone();
        let line = lines.next()?;
        let has_value = Field::of(line).is_some_and(|field| !field.value.is_empty());
        let (level, lines) = (heading_level(line), rest.collect::<Vec<_>>());
        // A heading of a higher level ends the records below headings.
        let is_end = |line: &&str| (1..level).contains(&heading_level(line));
        let lines = &lines[..lines.iter().position(is_end).unwrap_or(lines.len())];
        if (is_first && has_value || level > 0 || is_named_rule(line))
            && let Some(table) = records(text, lines)
        {
            let offset = |part: &str| part.as_ptr().addr() - text.as_ptr().addr();
            let end = lines.iter().rfind(|line| !line.trim().is_empty())?.trim_end();
            return Some((
                Span::new(offset(line), offset(end) + end.len()),
                events(&table).unwrap_or_else(|| table.to_json()),
            ));
        }
        is_first = !has_value;
    }
    None
}

/// Returns the data of server-sent events.
fn events(table: &Table<'_>) -> Option<String> {
    let at = table.names.iter().position(|name| *name == "data")?;
    let is_event = |name: &&str| matches!(*name, "data" | "event" | "id" | "retry");
    let data: Vec<&str> = table.rows.iter().map(|row| row[at].as_ref()).collect();
    let is_read = table.names.iter().all(is_event) && data.iter().all(|data| is_json(data));
    is_read.then(|| format!("[{}]", data.join(",")))
}

/// A line with a name and a value.
struct Field<'a> {
    name: &'a str,
    value: &'a str,
    /// Places of the name and of the sign behind it, of which one is the same for all names.
    places: (usize, usize),
}

impl<'a> Field<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let sign = [": ", " | ", ":**"].iter().filter_map(|sign| line.find(sign)).min();
        let sign = sign.unwrap_or(line.trim_end().len().checked_sub(1)?);
        let (name, value) = (line.get(..sign)?, line.get(sign..)?.trim_start());
        let (name, value) = (name, value.strip_prefix([':', '|'])?.trim());
        let written = name.trim_start().trim_start_matches("- ");
        let place = name.len() - written.len();
        let (name, value) = match written.strip_prefix("**") {
            Some(name) => (name.trim_end_matches('*'), value.trim_start_matches("**").trim_start()),
            None => (written.trim_end(), value),
        };
        let is_sign = |c: char| c.is_alphanumeric() || " _-./()#%*&$@?".contains(c);
        let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && name.chars().all(is_sign)
            && name.len() <= MAX_NAME.0
            && name.split(' ').count() <= MAX_NAME.1;
        is_name.then_some(Self { name, value, places: (place, sign) })
    }
}

/// Reads lines that are records, up to the end.
fn records<'a>(text: &'a str, lines: &[&'a str]) -> Option<Table<'a>> {
    let (lines, footer) = split_footer(lines);
    let level = lines.first().map_or(0, |line| heading_level(line));
    let first = lines.iter().find(|line| !is_between(line) && heading_level(line) == 0);
    let first = first.and_then(|line| Field::of(line))?;
    let first_name = if level > 0 { HEADING } else { first.name };
    let mut is_below_heading = level > 0;
    let mut names: Vec<&str> = Vec::new();
    let mut records: Vec<Vec<(usize, Span)>> = Vec::new();
    let (mut is_begin, mut has_rules, mut fields) = (true, true, 0);
    let mut is_paragraph = false;
    for line in lines {
        if is_between(line) {
            is_begin = true;
            continue;
        }
        let field = if level > 0 && heading_level(line) == level {
            Some(Field { name: HEADING, value: line[level..].trim(), places: first.places })
        } else {
            Field::of(line)
        };
        let field =
            field.filter(|Field { places, .. }| places.0 == first.places.0 || places.1 == first.places.1);
        let start = |part: &str| part.as_ptr().addr() - text.as_ptr().addr();
        let is_whole =
            records.last().is_some_and(|record| names.len() >= MIN_NAMES && record.len() == names.len());
        is_paragraph = match &field {
            Some(field) => is_paragraph && !(is_begin && field.name == first_name),
            None => is_paragraph || is_begin && is_whole,
        };
        let Some(Field { name, value, .. }) = field.filter(|_| !is_paragraph) else {
            (is_paragraph || !is_begin && line.contains(char::is_alphanumeric)).then_some(())?;
            records.last_mut()?.last_mut()?.1.end = (start(line) + line.trim_end().len()) as u32;
            (is_begin, is_below_heading) = (false, heading_level(line) > 0);
            continue;
        };
        if name == first_name {
            // A heading that only some records have is of the record below, or of both.
            (!is_below_heading || level > 0).then_some(())?;
            has_rules &= is_begin;
            records.push(Vec::new());
        } else if is_begin && !is_below_heading {
            return None;
        }
        (is_begin, is_below_heading) = (false, name == HEADING);
        let at = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        });
        let record = records.last_mut()?;
        // A name twice, or many rare ones, are sentences.
        (!record.iter().any(|(known, _)| *known == at)).then_some(())?;
        record.push((at, Span::new(start(value), start(value) + value.len())));
        fields += 1;
        let is_dense = names.len() * records.len() <= 2 * (fields + names.len());
        (is_dense && names.len() <= MAX_NAMES).then_some(())?;
    }
    let is_regular = records.len() >= MIN_RECORDS && (names.len() > 1 || first.name == "data")
        || is_named_rule(lines.first()?);
    let is_regular = is_regular && (level == 0 || names.len() >= MIN_NAMES);
    let is_told = has_rules || names.len() >= MIN_NAMES && fields == names.len() * records.len();
    let value = |record: &Vec<(usize, Span)>, at: usize| {
        let value = record.iter().find(|(name, _)| *name == at).map(|(_, value)| value.slice(text).trim());
        Cow::Borrowed(value.unwrap_or_default())
    };
    let rows = records.iter().map(|record| (0..names.len()).map(|at| value(record, at)).collect()).collect();
    (is_regular && is_told).then_some(Table { names, rows })?.counted(footer)
}

/// Returns true for a line between two records: it has no words but those that number records.
fn is_between(line: &str) -> bool {
    line.chars().all(|c| c.is_whitespace() || "-=*_#".contains(c)) || is_named_rule(line)
}

/// Returns the level of a heading of Markdown that is no number of a record; 0 for other lines.
fn heading_level(line: &str) -> usize {
    let text = line.trim_start_matches('#');
    if text.starts_with(' ') && !is_named_rule(line) { line.len() - text.len() } else { 0 }
}

/// Returns true for `-[ RECORD 2 ]---`, `**** 2. row ****` and `## Record 2`.
fn is_named_rule(line: &str) -> bool {
    let letters = || line.chars().filter(|c| c.is_alphabetic()).map(|c| c.to_ascii_lowercase());
    line.starts_with(['-', '*', '#']) && (letters().eq("record".chars()) || letters().eq("row".chars()))
}

#[cfg(test)]
mod tests {
    use super::read;

    fn check(text: &str, json: Option<&str>) {
        assert_eq!(read(text).map(|(_, json)| json).as_deref(), json, "{text}");
    }

    #[test]
    fn records_of_databases() {
        let json = Some(r#"[{"id":1,"at":"10:30"},{"id":2,"at":null},{"id":3,"at":"a | b"}]"#);
        let values = [("1", "10:30"), ("2", ""), ("3", "a | b")];
        let psql = values.map(|(id, at)| format!("-[ RECORD {id} ]\nid | {id}\nat | {at}\n")).concat();
        check(&format!("{psql}\n"), json);
        let stars = "*".repeat(27);
        let mysql =
            values.map(|(id, at)| format!("{stars} {id}. row {stars}\nid: {id}\nat: {at}\n")).concat();
        check(&mysql, json);
        check(&format!("{mysql}3 rows in set (0.00 sec)\n"), json);
        check(&format!("{mysql}4 rows in set (0.00 sec)\n"), None);
        check(&psql.replace("id | 2\n", ""), None);
    }

    #[test]
    fn records_of_servers() {
        let format_list = "\nName      : a\nStartType : Manual\n\nName      : b\nStartType : \n\nName      : c\nStartType : Automatic (Delayed\n            Start)\n\n";
        check(
            format_list,
            Some(
                "[{\"Name\":\"a\",\"StartType\":\"Manual\"},{\"Name\":\"b\",\"StartType\":null},{\"Name\":\"c\",\"StartType\":\"Automatic (Delayed\\n            Start)\"}]",
            ),
        );
        let git = ["e6ae", "17c6", "9be0"].map(|id| {
            format!("Commit: '{id}'\nAuthor: <git.Actor \"Ann <ann@x.io>\">\nMessage: 'Fix: {id}'\n\n")
        });
        let commit = |id: &str| {
            format!(
                r#"{{"Commit":"'{id}'","Author":"<git.Actor \"Ann <ann@x.io>\">","Message":"'Fix: {id}'"}}"#
            )
        };
        let commits = format!("[{},{},{}]", commit("e6ae"), commit("17c6"), commit("9be0"));
        check(&format!("Commit history:\n{}", git.concat()), Some(&commits));
        check(&format!("Commit history:\n{}", git.concat().replace("\n\n", "\n")), Some(&commits));
        let bodies = git.concat().replace("Fix: 17c6'\n", "Fix: 17c6'\n\nA body\nRefs: #2\n");
        let second = commit("17c6").replace("17c6'\"}", "17c6'\\n\\nA body\\nRefs: #2\"}");
        let long = format!("[{},{second},{}]", commit("e6ae"), commit("9be0"));
        check(&format!("Commit history:\n{bodies}"), Some(&long));
        let stackql =
            [1, 2, 3].map(|id| format!("## Record {id}\n\n- **id**: {id}\n- **url:** http://x/{id}\n\n"));
        check(
            &format!("# Pull Result\n\n{}", stackql.concat()),
            Some(r#"[{"id":1,"url":"http://x/1"},{"id":2,"url":"http://x/2"},{"id":3,"url":"http://x/3"}]"#),
        );
        let rules =
            "Found 3 records:\n\nId: 1\nName: a\n---\nId: 2\nName: b\nOwner: ann\n---\nId: 3\nName: c\n";
        check(
            rules,
            Some(
                r#"[{"Id":1,"Name":"a","Owner":null},{"Id":2,"Name":"b","Owner":"ann"},{"Id":3,"Name":"c","Owner":null}]"#,
            ),
        );
    }

    #[test]
    fn headings_are_of_the_record_below() {
        let issue = |id: u8| {
            format!(
                "## ISSUE-{id}\n\n**Culprit**: a{id}\n**Events**: {id}\n**Status**: open\n**URL**: http://x\n\n"
            )
        };
        let json = |id: u8| {
            format!(
                r#"{{"heading":"ISSUE-{id}","Culprit":"a{id}","Events":{id},"Status":"open","URL":"http://x"}}"#
            )
        };
        let issues = [1, 2, 3].map(issue).concat();
        let expect = format!("[{}]", [1, 2, 3].map(json).join(","));
        check(&format!("# Issues\n\n{issues}# Using this\n\n- Name the issue\n"), Some(&expect));
        check(&issues.replace("## ISSUE-1\n\n", ""), None);
        check("## a\n\nNote: one\n\n## b\n\nNote: two\n\n## c\n\nNote: three\n", None);
    }

    #[test]
    fn events_are_their_data() {
        let event = |id: u8| format!("event: message\nid: {id}\ndata: {{\"n\": {id}}}\n\n");
        let json = Some(r#"[{"n": 1},{"n": 2},{"n": 3}]"#);
        check(&[1, 2, 3].map(event).concat(), json);
        check(&[1, 2, 3].map(|id| format!("data: {{\"n\": {id}}}\n\n")).concat(), json);
    }

    #[test]
    fn other_lines_are_no_records() {
        for text in [
            "",
            "name: app\nport: 80\n",
            "INFO: a\nWARN: b\nINFO: c\nWARN: d\nINFO: e\nWARN: f\n",
            "Note: one.\n\nNote: two.\n\nNote: three.\n",
            "Title: a\nText: b\n\nTitle: c\nText: d\n\nAnd a sentence.\n\nTitle: e\nText: f\n",
            "Title: a\nText: b\n\nText: c\nTitle: d\n\nTitle: e\nText: f\n",
            "Name: a\nTel: 1\nTel: 2\n\nName: b\nTel: 3\n\nName: c\nTel: 4\n",
            "[\n  {\n    id: 1,\n    name: 'a'\n  },\n  {\n    id: 2,\n    name: 'b'\n  },\n  {\n    id: 3,\n    name: 'c'\n  }\n]\n",
            "Q: why?\nA: so\n\nQ: and?\nQ: or?\n\nQ: x?\nA: y\n",
        ] {
            check(text, None);
        }
    }
}
