//! Strings of arguments that may come from results: names, numbers, paths, lines.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use aho_corasick::AhoCorasick;
use serde_json::Value;

/// Characters from which a plain word counts. Shorter ones are in every result.
const MIN_WORD_CHARS: usize = 8;
/// Least characters of any string.
const MIN_CHARS: usize = 3;

/// Number of a string among those of a session.
pub(super) type StringId = usize;

/// A line of an argument, and the words in it, for lines that are in no result.
#[derive(Debug)]
pub(super) struct UsedLine {
    pub(super) line: StringId,
    pub(super) words: Vec<StringId>,
}

/// All strings of a session's arguments.
#[derive(Debug, Default)]
pub(super) struct StringTable {
    ids: HashMap<String, StringId>,
    strings: Vec<String>,
}

/// Finds the strings of a table in texts.
#[derive(Debug)]
pub(super) struct StringFinder {
    strings: Vec<String>,
    automaton: Option<AhoCorasick>,
}

impl StringTable {
    /// Adds the lines of all values of arguments.
    pub(super) fn add(&mut self, arguments: &Value) -> Vec<UsedLine> {
        let mut pending = vec![arguments];
        let mut used = Vec::new();
        while let Some(value) = pending.pop() {
            match value {
                Value::Array(items) => pending.extend(items.iter().rev()),
                Value::Object(members) => pending.extend(members.values().rev()),
                Value::String(text) => used.extend(text.lines().map(|line| self.add_line(line))),
                Value::Number(number) => used.push(self.add_line(&number.to_string())),
                Value::Null | Value::Bool(_) => {}
            }
        }
        used.into_iter().flatten().collect()
    }

    fn add_line(&mut self, line: &str) -> Option<UsedLine> {
        let line = line.trim();
        let is_separator = |c: char| c.is_whitespace() || "\"'`,;()[]{}=<>|&".contains(c);
        let words: Vec<&str> =
            line.split(is_separator).filter(|word| is_distinctive(word) && *word != line).collect();
        is_distinctive(line).then(|| UsedLine {
            words: words.into_iter().map(|word| self.id(word)).collect(),
            line: self.id(line),
        })
    }

    fn id(&mut self, text: &str) -> StringId {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        self.strings.push(text.to_owned());
        self.ids.insert(text.to_owned(), self.strings.len() - 1);
        self.strings.len() - 1
    }

    /// Returns a finder of the strings. Without one that is found, if there are too many.
    pub(super) fn into_finder(self) -> StringFinder {
        let automaton = AhoCorasick::new(&self.strings).ok().filter(|_| !self.strings.is_empty());
        StringFinder { strings: self.strings, automaton }
    }
}

/// Returns true for what is more than a common word.
fn is_distinctive(text: &str) -> bool {
    let count = text.chars().count();
    count >= MIN_WORD_CHARS || (count >= MIN_CHARS && !text.chars().all(char::is_alphabetic))
}

impl StringFinder {
    /// Returns a string.
    pub(super) fn get(&self, id: StringId) -> &str {
        &self.strings[id]
    }

    /// Returns the strings that a text contains as whole words, as they are or escaped as in JSON.
    pub(super) fn find_in(&self, text: &str) -> HashSet<StringId> {
        let mut found = HashSet::new();
        let Some(automaton) = &self.automaton else { return found };
        let mut search = |text: &str| {
            let matches = automaton.find_overlapping_iter(text);
            let matches = matches.filter(|found| is_word(text, found.start(), found.end()));
            found.extend(matches.map(|found| found.pattern().as_usize()));
        };
        search(text);
        if let Cow::Owned(unescaped) = unescape_all(text) {
            search(&unescaped);
        }
        found
    }
}

/// Returns true if a range does not begin or end inside of a word.
fn is_word(text: &str, start: usize, end: usize) -> bool {
    let joins = |a: Option<char>, b: Option<char>| {
        a.is_some_and(char::is_alphanumeric) && b.is_some_and(char::is_alphanumeric)
    };
    let (before, inside, after) = (&text[..start], &text[start..end], &text[end..]);
    !joins(before.chars().next_back(), inside.chars().next())
        && !joins(inside.chars().next_back(), after.chars().next())
}

/// Undoes the escapes of JSON strings that lines can contain.
fn unescape_all(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut unescaped = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match (c, rest.clone().next()) {
            ('\\', Some(next @ ('"' | '\\' | '/' | 'n' | 't'))) => {
                unescaped.push(match next {
                    'n' => '\n',
                    't' => '\t',
                    next => next,
                });
                rest.next();
            }
            _ => unescaped.push(c),
        }
    }
    Cow::Owned(unescaped)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(arguments: &Value, text: &str, expect: &[&str]) {
        let mut table = StringTable::default();
        table.add(arguments);
        let finder = table.into_finder();
        let mut found: Vec<&str> = finder.find_in(text).into_iter().map(|id| finder.get(id)).collect();
        found.sort_unstable();
        assert_eq!(found, expect, "{arguments} in {text}");
    }

    #[test]
    fn names_and_numbers_are_found_as_whole_words() {
        check(&json!({"id": "INV-7"}), r#"[{"id":"INV-7"},{"id":"INV-71"}]"#, &["INV-7"]);
        check(&json!({"id": "INV-7"}), r#"[{"id":"INV-71"}]"#, &[]);
        check(&json!({"ids": [4711, 12]}), "no 4711, no 12", &["4711"]);
        check(&json!({"order": "desc", "all": true}), "desc", &[]);
        check(&json!({"command": "sed -n 1,9p src/a.rs"}), "M src/a.rs", &["src/a.rs"]);
        check(&json!({"n": 4711}), "47110 and 14711", &[]);
    }

    #[test]
    fn lines_are_found_in_json_too() {
        let text = r#"{"source":"fn main() {\n\tprint(\"hi\");\n}"}"#;
        check(&json!({"old": "fn main() {\n\tprint(\"hi\");\n}"}), text, &["fn main() {", "print(\"hi\");"]);
        check(&json!({"path": "C:\\new"}), r#"{"path":"C:\\new"}"#, &["C:\\new"]);
        check(&json!({"städte": "Köln, Düsseldorf"}), "Düsseldorf", &["Düsseldorf"]);
    }
}
