//! Reads TOON (Token-Oriented Object Notation) that holds a table: `users[2]{id,name}:` and a row on each line.
//!
//! Lists of items with dashes are not read: such a text stays text. Source: the specification of TOON 3.

use std::fmt::Write as _;

use portion_json::scan::{is_json, quote, unescape};
use portion_json::span::Span;

/// Levels of objects.
const MAX_DEPTH: usize = 64;

/// Reads a text of TOON that holds a table.
pub(super) fn read(text: &str) -> Option<(Span, String)> {
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    if !text.contains("}:") || !(first.contains('[') || first.contains(':')) {
        return None;
    }
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).peekable();
    let mut out = String::new();
    let mut has_table = false;
    // Indents of the members of the open objects.
    let mut open: Vec<usize> = Vec::new();
    // True if the line before began an object.
    let mut begins = true;
    while let Some(line) = lines.next() {
        let indent = indent_of(line);
        if begins && open.last().is_none_or(|outer| indent > *outer) {
            if open.len() == MAX_DEPTH || open.is_empty() && indent > 0 {
                return None;
            }
            out.push('{');
            open.push(indent);
        } else {
            if begins {
                out.push_str("{}");
            }
            while open.last().is_some_and(|members| indent < *members) {
                open.pop();
                out.push('}');
            }
            if open.last() != Some(&indent) {
                return None;
            }
            out.push(',');
        }
        let Line { name, header, value } = Line::parse(line.trim())?;
        begins = header.is_none() && value.is_empty();
        out.push_str(&quote(&name));
        out.push(':');
        let Some(Header { delimiter, fields }) = header else {
            out.push_str(&if begins { String::new() } else { scalar(value)? });
            continue;
        };
        if fields.is_empty() {
            let values = cells(value, delimiter).map(scalar).collect::<Option<Vec<_>>>()?;
            let _ = write!(out, "[{}]", values.join(","));
            continue;
        }
        has_table = true;
        let mut rows = Vec::new();
        while let Some(row) = lines.next_if(|row| indent_of(row) > indent) {
            let values = cells(row.trim(), delimiter).map(scalar).collect::<Option<Vec<_>>>()?;
            if values.len() != fields.len() {
                return None;
            }
            let members: Vec<String> =
                fields.iter().zip(values).map(|(field, value)| format!("{}:{value}", quote(field))).collect();
            rows.push(format!("{{{}}}", members.join(",")));
        }
        let _ = write!(out, "[{}]", rows.join(","));
    }
    if begins {
        out.push_str("{}");
    }
    out.push_str(&"}".repeat(open.len()));
    // A table without a name is the whole.
    let json = out.strip_prefix("{\"\":").and_then(|rest| rest.strip_suffix('}')).unwrap_or(&out);
    (has_table && is_json(json)).then(|| (Span::new(0, text.trim_end().len()), json.to_owned()))
}

/// A member: its name, and a value or the header of an array.
struct Line<'a> {
    name: String,
    header: Option<Header>,
    value: &'a str,
}

/// What follows the name of an array: `[2]`, and the names of its fields.
struct Header {
    delimiter: char,
    fields: Vec<String>,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let name_end = if line.starts_with('"') {
            quoted_end(line)?
        } else {
            line.find([':', '[']).filter(|end| !line[..*end].contains([' ', '"', '{', '<']))?
        };
        let name = unquoted(&line[..name_end])?;
        let rest = &line[name_end..];
        if let Some(value) = rest.strip_prefix(':') {
            return (value.is_empty() || value.starts_with(' ')).then(|| Self {
                name,
                header: None,
                value: value.trim(),
            });
        }
        let (length, rest) = rest.strip_prefix('[')?.split_once(']')?;
        let length = length.trim_start_matches('#');
        let digits = length.trim_end_matches(['\t', '|']);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let delimiter = length[digits.len()..].chars().next().unwrap_or(',');
        let (fields, value) = match rest.strip_prefix('{') {
            Some(rest) => {
                let (fields, value) = rest.split_once("}:")?;
                (cells(fields, delimiter).map(unquoted).collect::<Option<Vec<_>>>()?, value)
            }
            None => (Vec::new(), rest.strip_prefix(':')?),
        };
        Some(Self { name, header: Some(Header { delimiter, fields }), value: value.trim() }).filter(|line| {
            line.header.as_ref().is_none_or(|header| header.fields.is_empty() || line.value.is_empty())
        })
    }
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Returns the end of the quoted text that a text begins with.
fn quoted_end(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().enumerate().skip(1).find_map(|(at, byte)| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends.then_some(at + 1)
    })
}

/// Returns the parts of a text between delimiters that are in no quotes.
fn cells(text: &str, delimiter: char) -> impl Iterator<Item = &str> {
    let mut rest = Some(text).filter(|text| !text.is_empty());
    std::iter::from_fn(move || {
        let text = rest?;
        let quoted = if text.starts_with('"') { quoted_end(text).unwrap_or(text.len()) } else { 0 };
        let end = text[quoted..].find(delimiter).map(|end| quoted + end);
        rest = end.map(|end| &text[end + delimiter.len_utf8()..]);
        Some(text[..end.unwrap_or(text.len())].trim())
    })
}

fn unquoted(text: &str) -> Option<String> {
    if text.starts_with('"') { is_json(text).then(|| unescape(text)) } else { Some(text.to_owned()) }
}

fn scalar(text: &str) -> Option<String> {
    match text {
        _ if text.starts_with('"') => is_json(text).then(|| text.to_owned()),
        "true" | "false" | "null" => Some(text.to_owned()),
        _ if text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) && is_json(text) => {
            Some(text.to_owned())
        }
        _ => Some(quote(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    fn check(text: &str, expect: Option<&str>) {
        assert_eq!(read(text).map(|(_, json)| json).as_deref(), expect, "{text}");
    }

    #[test]
    fn tables_are_read() {
        check(
            "context:\n  task: Our hikes\n  season: \"spring, 2025\"\nfriends[3]: ana,luis,sam\nhikes[2]{id,name,km,sunny}:\n  1,Blue Lake,7.5,true\n  2,\"Ridge, \\\"old\\\"\",9,false\n",
            Some(
                r#"{"context":{"task":"Our hikes","season":"spring, 2025"},"friends":["ana","luis","sam"],"hikes":[{"id":1,"name":"Blue Lake","km":7.5,"sunny":true},{"id":2,"name":"Ridge, \"old\"","km":9,"sunny":false}]}"#,
            ),
        );
        check("[2]{id,at}:\n  1,10:30\n  2,null\n", Some(r#"[{"id":1,"at":"10:30"},{"id":2,"at":null}]"#));
        check(
            "a:\n  b:\n    rows[#1|]{x|y}:\n      1|2,3\n  c: 4\nd: 5",
            Some(r#"{"a":{"b":{"rows":[{"x":1,"y":"2,3"}]},"c":4},"d":5}"#),
        );
        check("e:\nrows[0]{x}:\nn: 1", Some(r#"{"e":{},"rows":[],"n":1}"#));
    }

    #[test]
    fn other_texts_are_no_tables() {
        check("title: x\nbody: y\n", None);
        check("a[1]{x}:\n  1,2\n", None);
        check("a[1]{x}:\n  1\nItems[2]:\n  - x\n", None);
        check("let a[1]{x}: = 2", None);
        check("fn main() {\n  x: y}:\n", None);
        check(
            &("a:\n".to_owned() + &(1..200).map(|n| " ".repeat(n) + "a:\n").collect::<String>() + "b[0]{x}:"),
            None,
        );
    }
}
