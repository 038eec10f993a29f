//! Hides the data of Kubernetes secrets in YAML with braces: `{kind: Secret, data: {db: aHVudGVyMg==}}`.
//!
//! One pass without recursion over all braces of a text. A manifest that is cut off ends with the text.

use std::ops::Range;

use super::{
    ITEMS_KEY, KIND_KEY, REDACTED, RedactedNames, SECRET_KIND, SECRET_LIST_KIND, TextEdit, is_data_key,
};

/// Maximum containers that are open at once. Braces of source code may never be closed.
const MAX_DEPTH: usize = 64;
/// Values that are no secrets.
const NULLS: [&str; 2] = ["null", "~"];

/// Adds the edits for the secrets in braces.
pub(super) fn collect_edits(text: &str, edits: &mut Vec<TextEdit>, names: &mut RedactedNames) {
    let mut reader = FlowReader { text, open: Vec::new(), unclosed_until: 0, edits, names };
    let mut at = 0;
    while let Some(next) = reader.read_token(at) {
        at = next;
    }
    while !reader.open.is_empty() {
        reader.close();
    }
}

/// Adds the edits for the data of a secret, whose opening brace stands before `from`. Returns the end of the data.
pub(super) fn collect_data_edits(
    text: &str,
    from: usize,
    edits: &mut Vec<TextEdit>,
    names: &mut RedactedNames,
) -> usize {
    let secret = Container { is_secret: true, ..Container::default() };
    let data = Container { is_data: true, ..Container::default() };
    let mut reader = FlowReader { text, open: vec![secret, data], unclosed_until: 0, edits, names };
    let mut at = from;
    while reader.open.len() > 1
        && let Some(next) = reader.read_token(at)
    {
        at = next;
    }
    while !reader.open.is_empty() {
        reader.close();
    }
    at
}

/// A mapping or a list that is open.
#[derive(Default)]
struct Container {
    is_list: bool,
    /// True for a mapping that is the `data` of another one.
    is_data: bool,
    is_secret: bool,
    is_secret_list: bool,
    /// Key of the current member, and the last scalar.
    key: Option<Range<usize>>,
    scalar: Option<Range<usize>>,
    /// Members of data.
    members: Vec<Member>,
    /// Members of the data of a mapping, or of the mappings in a list.
    data: Vec<Member>,
    /// Members of the data of a mapping's items.
    item_data: Vec<Member>,
}

struct Member {
    key: Range<usize>,
    value: Range<usize>,
}

struct FlowReader<'t, 'e> {
    text: &'t str,
    open: Vec<Container>,
    /// Offset before which no quote is closed.
    unclosed_until: usize,
    edits: &'e mut Vec<TextEdit>,
    names: &'e mut RedactedNames,
}

impl FlowReader<'_, '_> {
    /// Reads the token at an offset and returns its end; `None` at the end of the text.
    fn read_token(&mut self, at: usize) -> Option<usize> {
        let text = self.text;
        let bytes = text.as_bytes();
        let rest = bytes.get(at..)?;
        let at = if self.open.is_empty() { at + memchr::memchr2(b'{', b'[', rest)? } else { at };
        let byte = *bytes.get(at)?;
        Some(match byte {
            b'[' if text[at..].starts_with(REDACTED) => {
                self.add_scalar(at..at + REDACTED.len());
                at + REDACTED.len()
            }
            b'{' | b'[' => {
                self.enter(byte == b'[');
                at + 1
            }
            b'}' | b']' => {
                if self.open.last().is_some_and(|open| open.is_list == (byte == b']')) {
                    self.close();
                }
                at + 1
            }
            b',' => {
                self.finish_member();
                at + 1
            }
            b':' => {
                self.begin_value();
                at + 1
            }
            b'#' => memchr::memchr(b'\n', rest_of(bytes, at)).map_or(bytes.len(), |len| at + len),
            byte if byte.is_ascii_whitespace() => at + 1,
            _ => self.read_scalar(at),
        })
    }

    /// Reads a scalar in quotes or without, and returns its end.
    fn read_scalar(&mut self, at: usize) -> usize {
        let text = self.text;
        let bytes = text.as_bytes();
        if matches!(bytes[at], b'"' | b'\'') && at >= self.unclosed_until {
            match closing_quote(bytes, at) {
                Ok(closing) => {
                    self.add_scalar(at + 1..closing);
                    return closing + 1;
                }
                Err(line_end) => self.unclosed_until = line_end,
            }
        }
        let len = plain_len(rest_of(bytes, at));
        let value = text[at..at + len].trim_end();
        self.add_scalar(at..at + value.len());
        at + len
    }

    fn enter(&mut self, is_list: bool) {
        let key = self.open.last().filter(|around| !around.is_list).and_then(|around| around.key.clone());
        let is_data = !is_list && key.is_some_and(|key| is_data_key(&self.text[key]));
        if self.open.len() == MAX_DEPTH {
            self.open.clear();
        }
        self.open.push(Container { is_list, is_data, ..Container::default() });
    }

    /// Adds a scalar to the innermost container. A value may have several lines.
    fn add_scalar(&mut self, range: Range<usize>) {
        let Some(open) = self.open.last_mut() else { return };
        let start = open.scalar.as_ref().map_or(range.start, |before| before.start);
        open.scalar = Some(start..range.end);
    }

    fn begin_value(&mut self) {
        let Some(open) = self.open.last_mut() else { return };
        if open.key.is_none() {
            open.key = open.scalar.take();
        }
    }

    fn finish_member(&mut self) {
        let Some(open) = self.open.last_mut() else { return };
        let (Some(key), Some(value)) = (open.key.take(), open.scalar.take()) else { return };
        if &self.text[key.clone()] == KIND_KEY {
            open.is_secret = &self.text[value.clone()] == SECRET_KIND;
            open.is_secret_list = &self.text[value.clone()] == SECRET_LIST_KIND;
        }
        if open.is_data {
            open.members.push(Member { key, value });
        }
    }

    /// Closes the innermost container, and hides its data if it is a secret.
    fn close(&mut self) {
        self.finish_member();
        let Some(closed) = self.open.pop() else { return };
        if closed.is_secret {
            self.hide(&closed.data);
        }
        if closed.is_secret_list {
            self.hide(&closed.item_data);
        }
        let Some(around) = self.open.last_mut() else { return };
        around.scalar = None;
        let key = around.key.clone().map_or("", |key| &self.text[key]);
        if closed.is_data {
            around.data.extend(closed.members);
        } else if closed.is_list && key == ITEMS_KEY {
            around.item_data.extend(closed.data);
        } else if around.is_list && !closed.is_list && !closed.is_secret {
            around.data.extend(closed.data);
        }
    }

    fn hide(&mut self, members: &[Member]) {
        for Member { key, value: Range { start, end } } in members {
            let value = &self.text[*start..*end];
            if !(value.is_empty() || NULLS.contains(&value) || value.starts_with(REDACTED)) {
                self.edits.push(TextEdit { start: *start, end: *end, replacement: REDACTED.into() });
                self.names.add(self.text[key.clone()].to_owned());
            }
        }
    }
}

fn rest_of(bytes: &[u8], at: usize) -> &[u8] {
    bytes.get(at..).unwrap_or_default()
}

/// Returns the offset of the quote that closes the one at `at`, or the end of the line if there is none.
fn closing_quote(bytes: &[u8], at: usize) -> Result<usize, usize> {
    let quote = bytes[at];
    let mut end = at + 1;
    while let Some(byte) = bytes.get(end) {
        match byte {
            b'\n' => break,
            b'\\' if quote == b'"' => end += 2,
            b'\'' if quote == b'\'' && bytes.get(end + 1) == Some(&b'\'') => end += 2,
            byte if *byte == quote => return Ok(end),
            _ => end += 1,
        }
    }
    Err(end.min(bytes.len()))
}

/// Returns the length of a scalar without quotes, on its line.
fn plain_len(rest: &[u8]) -> usize {
    let ends = |(at, byte): (usize, &u8)| match byte {
        b',' | b'[' | b']' | b'{' | b'}' | b'\n' => true,
        b':' => rest.get(at + 1).is_none_or(|next| next.is_ascii_whitespace() || b",[]{}".contains(next)),
        b'#' => at > 0 && rest[at - 1].is_ascii_whitespace(),
        _ => false,
    };
    rest.iter().enumerate().position(ends).unwrap_or(rest.len())
}
