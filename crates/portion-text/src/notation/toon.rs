//! Reads TOON (Token-Oriented Object Notation) that holds records or arrays of several values: `users[2]{id,name}:` and a row on each line,
//! `users[2]:` and an item at each dash, `tags[2]: a,b`. An array has at most as many items as it states, and fewer where the text is cut off. Source: the specification of TOON 3.

use std::fmt::Write as _;

use portion_json::scan::{is_json, quote, unescape};
use portion_json::span::Span;

/// Levels of objects and lists.
const MAX_DEPTH: usize = 64;
/// Beginning of a list item. The other members of an object are below its first one, behind the dash.
const DASH: &str = "- ";

/// Reads a text of TOON that holds records or arrays of values.
pub(super) fn read(text: &str) -> Option<(Span, String)> {
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    if !(text.contains("}:") || text.contains("]:")) || !(first.contains('[') || first.contains(':')) {
        return None;
    }
    let mut reader = Reader { begins: Some(Container::Object), ..Reader::default() };
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).peekable();
    while let Some(line) = lines.next() {
        reader.is_last_line = lines.peek().is_none();
        reader.read_line(line)?;
    }
    let out = reader.finish()?;
    // An array without a name is the whole.
    let json = out.strip_prefix("{\"\":").and_then(|rest| rest.strip_suffix('}')).unwrap_or(&out);
    is_json(json).then(|| (Span::new(0, text.trim_end().len()), json.to_owned()))
}

/// A container of which lines are the members, items or rows.
enum Container {
    Object,
    List { missing: usize },
    Table { missing: usize, delimiter: char, fields: Vec<String> },
}

/// The JSON of the lines before.
#[derive(Default)]
struct Reader {
    out: String,
    /// The open containers, and the indents of what they contain.
    open: Vec<(Container, usize)>,
    /// The container that the line before begins.
    begins: Option<Container>,
    holds_data: bool,
    /// True in the last line, which may be cut off.
    is_last_line: bool,
}

impl Reader {
    fn read_line(&mut self, line: &str) -> Option<()> {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let is_inner = self.open.last().is_none_or(|(_, outer)| indent > *outer);
        if let Some(container) = self.begins.take_if(|_| is_inner) {
            (self.open.len() < MAX_DEPTH && (indent == 0 || !self.open.is_empty())).then_some(())?;
            self.enter(container, indent);
        } else {
            self.close_empty();
            while self.open.last().is_some_and(|(_, inner)| indent < *inner) {
                self.close();
            }
            self.open.last().filter(|(_, inner)| *inner == indent)?;
            self.out.push(',');
        }
        let (line, is_last) = (line.trim(), self.is_last_line);
        let (container, _) = self.open.last_mut()?;
        match container {
            Container::Object => self.member(Line::parse(line)?),
            Container::List { missing } => {
                *missing = missing.checked_sub(1)?;
                self.item(line.strip_prefix(DASH.trim_end())?, indent)
            }
            Container::Table { missing, delimiter, fields } => {
                *missing = missing.checked_sub(1)?;
                let values = values_of(line, *delimiter, (fields.len(), is_last))?;
                let members = fields.iter().zip(values);
                let members: Vec<String> =
                    members.map(|(name, value)| format!("{}:{value}", quote(name))).collect();
                let _ = write!(self.out, "{{{}}}", members.join(","));
                self.holds_data = true;
                Some(())
            }
        }
    }

    fn enter(&mut self, container: Container, indent: usize) {
        self.out.push(if matches!(container, Container::Object) { '{' } else { '[' });
        self.open.push((container, indent));
    }

    /// Closes the innermost container. Returns false if none is open.
    fn close(&mut self) -> bool {
        let container = self.open.pop().map(|(container, _)| container);
        self.out.push_str(match container {
            Some(Container::Object) => "}",
            Some(Container::List { .. } | Container::Table { .. }) => "]",
            None => "",
        });
        container.is_some()
    }

    /// Writes the container that the line before began, and that has nothing in it.
    fn close_empty(&mut self) {
        if let Some(container) = self.begins.take() {
            self.enter(container, 0);
            self.close();
        }
    }

    /// Reads a list item from what follows its dash.
    fn item(&mut self, item: &str, indent: usize) -> Option<()> {
        let content = item.strip_prefix(' ').unwrap_or(item).trim();
        match Line::parse(content) {
            _ if content.is_empty() => self.out.push_str("{}"),
            _ if content.len() == item.len() => return None,
            Some(Line { name, header: Some(header), value }) if name.is_empty() => {
                return self.array(header, value);
            }
            Some(member) => {
                self.enter(Container::Object, indent + DASH.len());
                self.holds_data = true;
                return self.member(member);
            }
            None => self.out.push_str(&scalar(content)?),
        }
        Some(())
    }

    fn member(&mut self, line: Line<'_>) -> Option<()> {
        self.out.push_str(&quote(&line.name));
        self.out.push(':');
        match line.header {
            Some(header) => self.array(header, line.value)?,
            None if line.value.is_empty() => self.begins = Some(Container::Object),
            None => self.out.push_str(&scalar(line.value)?),
        }
        Some(())
    }

    /// Reads the values of an array that stand behind its header, or begins one of rows or items.
    fn array(&mut self, header: Header, value: &str) -> Option<()> {
        let Header { length, delimiter, fields } = header;
        if value.is_empty() {
            self.begins = Some(if fields.is_empty() {
                Container::List { missing: length }
            } else {
                Container::Table { missing: length, delimiter, fields }
            });
            return Some(());
        }
        let values = values_of(value, delimiter, (length, self.is_last_line))?;
        let _ = write!(self.out, "[{}]", values.join(","));
        self.holds_data |= values.len() > 1;
        Some(())
    }

    /// Returns the JSON of all lines, if they hold data.
    fn finish(mut self) -> Option<String> {
        self.close_empty();
        while self.close() {}
        self.holds_data.then_some(self.out)
    }
}

/// A member: its name, and a value or the header of an array.
struct Line<'a> {
    name: String,
    header: Option<Header>,
    value: &'a str,
}

/// What follows the name of an array: `[2]`, and the names of its fields.
struct Header {
    length: usize,
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
            return (value.is_empty() || value.starts_with(' ')).then_some(Self {
                name,
                header: None,
                value: value.trim(),
            });
        }
        let (stated, rest) = rest.strip_prefix('[')?.split_once(']')?;
        let stated = stated.trim_start_matches('#');
        let digits = stated.trim_end_matches(['\t', '|']);
        let length = digits.parse().ok().filter(|_| !digits.starts_with('+'))?;
        let delimiter = stated[digits.len()..].chars().next().unwrap_or(',');
        let (fields, value) = match rest.strip_prefix('{') {
            Some(rest) => {
                let (fields, value) = rest.split_once("}:")?;
                (cells(fields, delimiter).map(unquoted).collect::<Option<Vec<_>>>()?, value)
            }
            None => (Vec::new(), rest.strip_prefix(':')?),
        };
        let value = value.trim();
        (fields.is_empty() || value.is_empty()).then_some(Self {
            name,
            header: Some(Header { length, delimiter, fields }),
            value,
        })
    }
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

/// Returns the JSON of as many values as stated, or of fewer where the line is cut off.
fn values_of(line: &str, delimiter: char, (stated, may_be_cut): (usize, bool)) -> Option<Vec<String>> {
    let value = |cell| scalar(cell).or_else(|| may_be_cut.then(|| quote(cell)));
    let values = cells(line, delimiter).map(value).collect::<Option<Vec<_>>>()?;
    (values.len() == stated || may_be_cut && values.len() < stated).then_some(values)
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
        check("e:\nrows[0]{x}:\nt[1]{x}:\n  1", Some(r#"{"e":{},"rows":[],"t":[{"x":1}]}"#));
    }

    #[test]
    fn tables_that_are_cut_off_are_read() {
        check(
            "u[9]{id,name}:\n  1,Ann\n  2,\"Bo",
            Some(r#"{"u":[{"id":1,"name":"Ann"},{"id":2,"name":"\"Bo"}]}"#),
        );
        check("u[9]{id,name}:\n  1,Ann\n  2", Some(r#"{"u":[{"id":1,"name":"Ann"},{"id":2}]}"#));
        check("u[1]{id}:\n  1\ntags[5]: a,\"b", Some(r#"{"u":[{"id":1}],"tags":["a","\"b"]}"#));
    }

    #[test]
    fn arrays_of_values_are_read() {
        check("id: 7\ntags[2]: a,b\n", Some(r#"{"id":7,"tags":["a","b"]}"#));
        check("tags[3]: a,b\nid: 7\n", None);
        check("sshd[2]: started", None);
    }

    #[test]
    fn lists_are_read() {
        check(
            "total: 2\nusers[2]:\n  - id: 1\n    name: ana\n    keys[2]{id,v}:\n      1,a\n      2,b\n    tags[2]: x,y\n  - id: 2\n    at:\n      zone: utc\n",
            Some(
                r#"{"total":2,"users":[{"id":1,"name":"ana","keys":[{"id":1,"v":"a"},{"id":2,"v":"b"}],"tags":["x","y"]},{"id":2,"at":{"zone":"utc"}}]}"#,
            ),
        );
        check(
            "[5]:\n  - a[1]{x}:\n      1\n    b: 2\n  - [2]: 1,2\n  - text\n  -\n  - \"a: b\"\n",
            Some(r#"[{"a":[{"x":1}],"b":2},[1,2],"text",{},"a: b"]"#),
        );
    }

    #[test]
    fn other_texts_are_no_tables() {
        check("title: x\nbody: y\n", None);
        check("a[1]{x}:\n  1,2\n", None);
        check("a[1]{x}:\n  1\nItems[1]:\n  - x\n  - y\n", None);
        check("a[1]{x}:\n  1\n  2\n", None);
        check("Steps[2]:\n- one: 1\n- two: 2\n", None);
        check("Steps[2]:\n  one: 1\n  two: 2\n", None);
        check("words[2]:\n  - a\n  - b\n", None);
        check("let a[1]{x}: = 2", None);
        check("fn main() {\n  x: y}:\n", None);
        check(
            &("a:\n".to_owned() + &(1..200).map(|n| " ".repeat(n) + "a:\n").collect::<String>() + "b[0]{x}:"),
            None,
        );
    }
}
