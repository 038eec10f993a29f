//! Reads YAML that is a list of records, some documents of records, or an object that is mostly such a list.
//!
//! Other YAML stays text: settings are read by their lines. So does YAML with aliases or tags, which a copy would multiply or lose.

use portion_json::containers::{items, members};
use portion_json::scan::{JsonKind, is_json, quote};
use portion_json::span::Span;
use saphyr_parser::{Event, Parser, ScalarStyle};

/// Longest text that is read. Parsing takes about ten times as long as for JSON.
const MAX_BYTES: usize = 16 << 20;
/// Levels of a document.
const MAX_DEPTH: usize = 128;
/// Bytes of words before a list.
const MAX_WORDS: usize = 400;
/// Fewer objects under names are settings.
const MIN_MAP_RECORDS: usize = 8;
/// Share of an object that its list of records takes, in percent.
const MIN_LIST_PERCENT: usize = 50;

/// Reads a text of YAML that holds records. Words may stand before a list.
pub(super) fn read(text: &str) -> Option<(Span, String)> {
    // The header of a list in TOON: `users[2]:`, `users[2]{id,name}:`.
    let is_header = |line: &str| line.ends_with("]:") || line.ends_with("}:");
    if text.len() > MAX_BYTES || text.lines().map(str::trim_end).any(is_header) {
        return None;
    }
    let head = &text[..text.floor_char_boundary(MAX_WORDS)];
    let is_list = |start: &usize| {
        let is_field = |line: &str| line.starts_with("  ") || line.starts_with("- {");
        head[..*start].trim_end().ends_with(':') && text[*start..].lines().nth(1).is_some_and(is_field)
    };
    let list = head.find("\n- ").map(|at| at + 1).filter(is_list);
    std::iter::once(0)
        .chain(list)
        .find_map(|start| Some((Span::new(start, text.trim_end().len()), records(&text[start..])?)))
}

/// Reads a text of YAML, with records or without.
pub(super) fn read_any(text: &str) -> Option<(Span, String)> {
    let json = if text.len() > MAX_BYTES { return None } else { json_of(text)? };
    Some((Span::new(0, text.trim_end().len()), json))
}

/// Counts the lines of comments. Those in the lines of a text, below `|` or `>`, are of that text.
pub(super) fn comment_count(text: &str) -> usize {
    let (mut count, mut text_indent) = (0, None);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (indent, content) = (line.len() - line.trim_start().len(), line.trim());
        if text_indent.is_some_and(|above| indent > above) {
            continue;
        }
        count += usize::from(content.starts_with('#'));
        let is_modifier = |c: char| matches!(c, '+' | '-') || c.is_ascii_digit();
        let begins_text =
            [" |", " >"].iter().any(|sign| content.trim_end_matches(is_modifier).ends_with(sign));
        text_indent = begins_text.then_some(indent);
    }
    count
}

fn json_of(text: &str) -> Option<String> {
    let mut documents = documents(text)?;
    if documents.len() == 1 { documents.pop() } else { Some(format!("[{}]", documents.join(","))) }
}

fn records(text: &str) -> Option<String> {
    let json = if may_be_records(text) { json_of(text)? } else { return None };
    let all = Span::new(0, json.len());
    let is_large = |value: Span| value.len() * 100 >= json.len() * MIN_LIST_PERCENT;
    let holds_records = are_records(&json, all)
        || members(&json, all).any(|member| is_large(member.value) && are_records(&json, member.value));
    holds_records.then_some(json)
}

/// Returns true if the first line with content begins a record, a document or an object.
fn may_be_records(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.next().is_some_and(|line| {
        let name = line.split_once(':').filter(|(_, value)| value.is_empty() || value.starts_with(' '));
        let is_name =
            |name: &str| !name.contains(['<', '*']) && (line.starts_with("- ") || !name.contains(['"', '{']));
        line == "---" || line == "-" || name.is_some_and(|(name, _)| is_name(name))
    })
}

/// Returns true if a value is a list of at least two objects, or an object of many, most of which have the first key of the first one.
fn are_records(json: &str, value: Span) -> bool {
    let (records, min): (Vec<Span>, usize) = match JsonKind::of_value(value.slice(json)) {
        JsonKind::Array => (items(json, value).collect(), 2),
        JsonKind::Object => (members(json, value).map(|member| member.value).collect(), MIN_MAP_RECORDS),
        _ => return false,
    };
    let is_object = |record: &Span| JsonKind::of_value(record.slice(json)) == JsonKind::Object;
    if records.len() < min || !records.iter().all(is_object) {
        return false;
    }
    let Some(first) = members(json, records[0]).next() else { return false };
    let key = first.key.slice(json);
    let has_key = |record: &&Span| members(json, **record).any(|member| member.key.slice(json) == key);
    records.iter().filter(has_key).count() * 2 > records.len()
}

/// Returns the documents of a text as JSON.
fn documents(text: &str) -> Option<Vec<String>> {
    let (mut documents, mut out) = (Vec::new(), String::new());
    // For each open container, true for an object; and the number of values and keys in it.
    let mut open: Vec<(bool, usize)> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, _) = event.ok()?;
        match &event {
            Event::SequenceStart(0, None) | Event::MappingStart(0, None) | Event::Scalar(_, _, 0, None) => {
                if let Some((is_object, count)) = open.last_mut() {
                    let is_key = *is_object && *count % 2 == 0;
                    out.push_str(if *is_object && !is_key {
                        ":"
                    } else if *count > 0 {
                        ","
                    } else {
                        ""
                    });
                    *count += 1;
                    if is_key {
                        let Event::Scalar(key, ..) = &event else { return None };
                        out.push_str(&quote(key));
                        continue;
                    }
                }
                match &event {
                    Event::Scalar(value, style, ..) => out.push_str(&scalar(value, *style)),
                    Event::MappingStart(..) => {
                        out.push('{');
                        open.push((true, 0));
                    }
                    _ => {
                        out.push('[');
                        open.push((false, 0));
                    }
                }
                if open.len() > MAX_DEPTH {
                    return None;
                }
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let (is_object, _) = open.pop()?;
                out.push(if is_object { '}' } else { ']' });
            }
            Event::DocumentEnd => documents.push(std::mem::take(&mut out)),
            Event::DocumentStart(_) | Event::StreamStart | Event::StreamEnd | Event::Nothing => {}
            // A copy of an alias may be large without end, and a tag changes what a value is.
            Event::Alias(_) | Event::Scalar(..) | Event::SequenceStart(..) | Event::MappingStart(..) => {
                return None;
            }
        }
    }
    documents.retain(|document| document != "null");
    (!documents.is_empty()).then_some(documents)
}

/// Returns a scalar as JSON, by the core schema of YAML 1.2. A number that JSON writes otherwise stays a text.
fn scalar(value: &str, style: ScalarStyle) -> String {
    let is_number = || value.starts_with(|c: char| c == '-' || c.is_ascii_digit()) && is_json(value);
    match value {
        _ if style != ScalarStyle::Plain => quote(value),
        "" | "~" | "null" | "Null" | "NULL" => "null".to_owned(),
        "true" | "True" | "TRUE" => "true".to_owned(),
        "false" | "False" | "FALSE" => "false".to_owned(),
        _ if is_number() => value.to_owned(),
        _ => quote(value),
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use portion_json::scan::is_json;

    fn check(text: &str, json: Option<&str>) {
        let found = read(text).map(|(_, json)| json);
        assert_eq!(found.as_deref(), json, "{text}");
        assert!(found.is_none_or(|json| is_json(&json)), "{text}");
    }

    #[test]
    fn comments_are_counted_outside_of_texts() {
        let check = |text: &str, expect: usize| assert_eq!(super::comment_count(text), expect, "{text}");
        check("# a\na: 1\n  # b\nb: x # c\n", 2);
        check(
            "- run: |\n    # a line of the script\n    make\n\n    # another\n- name: x\n  # a comment\n",
            1,
        );
        check("a: >-\n  # folded\nb: |2+\n  # kept\n# end\n", 1);
    }

    #[test]
    fn records_are_read() {
        let list = r#"[{"id":1,"on":true,"at":null},{"id":2,"tags":["a","01"]}]"#;
        check("- id: 1\n  on: true\n  at:\n- id: 2\n  tags: [a, '01']\n", Some(list));
        check(
            "# pods\n---\nkind: A\nn: 1.5\n---\nkind: B\nn: 0x1\n",
            Some(r#"[{"kind":"A","n":1.5},{"kind":"B","n":"0x1"}]"#),
        );
        check(
            "total: 2\nitems:\n- name: a\n- name: b\n",
            Some(r#"{"total":2,"items":[{"name":"a"},{"name":"b"}]}"#),
        );
        check(
            "- name: a\n  text: |\n    one\n    two\n- name: b\n  text: x\n",
            Some("[{\"name\":\"a\",\"text\":\"one\\ntwo\\n\"},{\"name\":\"b\",\"text\":\"x\"}]"),
        );
    }

    #[test]
    fn lists_behind_words_and_maps_are_read() {
        let home = "Live Context: An overview of the areas and the devices in this smart home:\n- names: Lamp\n  state: 'on'\n- names: Fan\n  state: 'off'\n";
        check(home, Some(r#"[{"names":"Lamp","state":"on"},{"names":"Fan","state":"off"}]"#));
        check(
            "- {id: 1, \"full name\": a}\n- {id: 2, \"full name\": b}\n",
            Some(r#"[{"id":1,"full name":"a"},{"id":2,"full name":"b"}]"#),
        );
        check("- \"user id\": 1\n- \"user id\": 2\n", Some(r#"[{"user id":1},{"user id":2}]"#));
        let hosts =
            |count: usize| (0..count).map(|n| format!("host{n}:\n  ip: {n}\n")).collect::<Vec<_>>().concat();
        let json = |count: usize| {
            let host = |n: usize| format!(r#""host{n}":{{"ip":{n}}}"#);
            format!("{{{}}}", (0..count).map(host).collect::<Vec<_>>().join(","))
        };
        check(&hosts(9), Some(&json(9)));
        let services = format!("services:\n  {}", hosts(9).trim_end().replace('\n', "\n  "));
        check(&services, Some(&format!(r#"{{"services":{}}}"#, json(9))));
        check(&hosts(3), None);
    }

    #[test]
    fn other_texts_stay_texts() {
        for text in [
            "",
            "---",
            "- milk\n- bread\n",
            "- Note: one\n- Bene: two\n- And: three\n",
            "name: app\nport: 80\n",
            "Note: see below.\n\nThe rest.\n",
            "- a: &x 1\n- a: *x\n",
            "- a: !Ref b\n- a: c\n",
            "- a: 1\n  - b: 2\n",
            "Changes, see: here:\n\n- Fix: one\n- Fix: two\n",
            "# Title\n\n- **Bold**: text\n- **More**: text\n",
            "- a: 1\n",
            "total: 2\nusers[2]:\n  - id: 1\n    name: a\n  - id: 2\n    name: b\n",
        ] {
            check(text, None);
        }
        check(&format!("- a: {}\n- a: 1\n", "[".repeat(100_000)), None);
    }
}
