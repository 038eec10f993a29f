//! Completes JSON that is cut off or faulty, so that it can be parsed.
//!
//! ```
//! use portion_text::broken_json::complete;
//!
//! let completed = complete(r#"{"a":[1,{"b":"c"#, "[hidden]");
//! assert_eq!((completed.json.as_str(), completed.len), (r#"{"a":[1,{"b":"c"}]}"#, 15));
//! ```

use std::ops::Range;

use portion_json::scan::is_json;

/// Maximum bytes of a comment.
const MAX_COMMENT_BYTES: usize = 4 << 10;

/// The beginning of a text, completed to one JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletedJson {
    /// The bytes of the text, mended, and what closes them. Every value has the offset that it has in the text.
    pub json: String,
    /// Bytes of the text that were read.
    pub len: usize,
}

impl CompletedJson {
    /// Returns the number of containers left open in the text by a value that ends at `end` of the JSON.
    pub fn open_containers(&self, end: usize) -> usize {
        let closers = self.json.get(self.len.min(end)..end).unwrap_or_default();
        closers.bytes().filter(|b| matches!(b, b'}' | b']')).count()
    }
}

/// Returns the next offset at which JSON may begin: a bracket with a plausible successor, or a string at the
/// start of the text.
pub fn next_start(text: &str, from: usize) -> Option<usize> {
    if from == 0 && text.trim_start().starts_with('"') {
        return Some(text.len() - text.trim_start().len());
    }
    let bytes = text.as_bytes();
    memchr::memchr2_iter(b'{', b'[', &bytes[from..]).map(|at| from + at).find(|at| {
        let next = bytes[at + 1..].iter().find(|b| !b.is_ascii_whitespace());
        match bytes[*at] {
            // Comments may come before the first key.
            b'{' => matches!(next, Some(b'"' | b'/')),
            _ => next.is_some_and(|b| matches!(b, b'{' | b'[' | b'"' | b'-') || b.is_ascii_alphanumeric()),
        }
    })
}

/// Completes the JSON value at the start of a text, as far as it can be read.
///
/// Trailing commas, comments, unknown words, control characters in strings and invalid escapes are mended. A string
/// continues after a line break if its next quote closes a string; else it ends there. `mark` stands without quotes in place of a hidden
/// value and becomes `null`, so that it stays.
pub fn complete(text: &str, mark: &str) -> CompletedJson {
    let (bytes, expected) = (text.as_bytes(), Expected::Value);
    let mut completer =
        Completer { text, mark, bytes, at: 0, open: Vec::new(), expected, comma: None, mends: Vec::new() };
    let cut = completer.read();
    let mut json = bytes[..completer.at].to_vec();
    for (range, word, filler) in completer.mends {
        json[range.clone()].fill(filler);
        json[range.start..range.start + word.len()].copy_from_slice(word.as_bytes());
    }
    let len = json.len();
    if let Some(closing) = cut {
        json.extend_from_slice(closing.as_bytes());
        json.extend(completer.open.iter().rev());
    }
    CompletedJson { json: String::from_utf8(json).unwrap_or_default(), len }
}

/// The token expected next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// The value of a member, or the only one.
    Value,
    ItemOrEnd,
    KeyOrEnd,
    Colon,
    CommaOrEnd,
}

struct Completer<'a> {
    text: &'a str,
    mark: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// Closing brackets of the open containers.
    open: Vec<u8>,
    expected: Expected,
    /// The comma after which nothing was read.
    comma: Option<usize>,
    /// Ranges to overwrite, with a word and the byte for the rest.
    mends: Vec<(Range<usize>, &'static str, u8)>,
}

impl Completer<'_> {
    /// Reads to the end of the value; returns the text that closes the innermost value if it does not end.
    fn read(&mut self) -> Option<&'static str> {
        use Expected::{Colon, CommaOrEnd, ItemOrEnd, KeyOrEnd, Value};
        loop {
            self.skip_whitespace();
            let next = self.bytes.get(self.at).copied().unwrap_or_default();
            let comma = self.comma.take();
            match (self.expected, next) {
                (Value | ItemOrEnd, b'[') if self.text[self.at..].starts_with(self.mark) => {
                    self.mend(self.mark.len(), "null", b' ');
                    self.expected = CommaOrEnd;
                }
                (Value | ItemOrEnd, b'{') => self.enter(b'}', KeyOrEnd),
                (Value | ItemOrEnd, b'[') => self.enter(b']', ItemOrEnd),
                (Value | ItemOrEnd, b'"') => {
                    if !self.read_string() {
                        return Some("\"");
                    }
                    self.expected = CommaOrEnd;
                }
                (KeyOrEnd, b'"') => {
                    if !self.read_string() {
                        return Some("\":null");
                    }
                    self.expected = Colon;
                }
                (Colon, b':') => {
                    self.at += 1;
                    self.expected = Value;
                }
                (CommaOrEnd, b',') => {
                    self.comma = Some(self.at);
                    self.at += 1;
                    self.expected = if self.open.last() == Some(&b']') { ItemOrEnd } else { KeyOrEnd };
                }
                (ItemOrEnd | KeyOrEnd | CommaOrEnd, b'}' | b']') if self.open.last() == Some(&next) => {
                    self.mends.extend(comma.map(|comma| (comma..comma + 1, "", b' ')));
                    self.open.pop();
                    self.at += 1;
                    self.expected = CommaOrEnd;
                }
                (Value | ItemOrEnd, _) if self.read_scalar() => self.expected = CommaOrEnd,
                (expected, _) => {
                    self.mends.extend(comma.map(|comma| (comma..comma + 1, "", b' ')));
                    return Some(match expected {
                        Value => "null",
                        Colon => ":null",
                        ItemOrEnd | KeyOrEnd | CommaOrEnd => "",
                    });
                }
            }
            if self.open.is_empty() && self.expected == CommaOrEnd {
                return None;
            }
        }
    }

    /// Overwrites the next bytes with a word, and with a byte for the rest.
    fn mend(&mut self, len: usize, word: &'static str, filler: u8) {
        self.mends.push((self.at..self.at + len, word, filler));
        self.at += len;
    }

    fn enter(&mut self, closer: u8, expected: Expected) {
        self.open.push(closer);
        self.at += 1;
        self.expected = expected;
    }

    /// Skips white space and comments, which become white space.
    fn skip_whitespace(&mut self) {
        loop {
            let rest = &self.bytes[self.at..];
            self.at += rest.iter().take_while(|b| matches!(b, b' ' | b'\n' | b'\r' | b'\t')).count();
            match comment_len(&self.bytes[self.at..]).filter(|_| !self.open.is_empty()) {
                Some(len) => self.mend(len, "", b' '),
                None => return,
            }
        }
    }

    /// Reads a string; returns true if it is closed.
    fn read_string(&mut self) -> bool {
        self.at += 1;
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b'"' => {
                    self.at += 1;
                    return true;
                }
                b'\n' | b'\r' if !closes_string(&self.bytes[self.at..]) => return false,
                b'\\' => match self.bytes.get(self.at + 1) {
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
                    Some(b'u') if self.has_code_point() => self.at += 6,
                    _ => self.mend(1, "", b' '),
                },
                0..0x20 => self.mend(1, "", b' '),
                _ => self.at += 1,
            }
        }
        false
    }

    /// Returns true if four hexadecimal digits follow `\u`.
    fn has_code_point(&self) -> bool {
        let digits = self.bytes.get(self.at + 2..self.at + 6);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    }

    /// Reads a number or a word; returns true if it is one value. An unknown word becomes a number of the same length, and the
    /// name of a variable a fraction, which is no secret.
    fn read_scalar(&mut self) -> bool {
        let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.' | b'_');
        let len = self.bytes[self.at..].iter().take_while(|b| is_part(b)).count();
        let end = self.at + len;
        let is_valid = is_json(&self.text[self.at..end]);
        let after = self.bytes[end..].iter().find(|b| !b.is_ascii_whitespace());
        if len == 0 || !is_valid && !matches!(after, None | Some(b',' | b'}' | b']')) {
            return false;
        }
        if is_valid {
            self.at = end;
        } else {
            let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
            let is_variable = len > 2 && self.bytes[self.at..end].iter().all(is_letter);
            self.mend(len, if is_variable { "0." } else { "1" }, b'0');
        }
        true
    }
}

/// Returns the bytes of the comment at the start of a text.
fn comment_len(bytes: &[u8]) -> Option<usize> {
    if bytes.starts_with(b"//") {
        let near = &bytes[..bytes.len().min(MAX_COMMENT_BYTES)];
        return memchr::memchr(b'\n', near).or((near.len() == bytes.len()).then_some(near.len()));
    }
    let inside = bytes.strip_prefix(b"/*")?;
    let near = &inside[..inside.len().min(MAX_COMMENT_BYTES)];
    memchr::memmem::find(near, b"*/").map(|len| len + 4)
}

/// Returns true if the next quote closes a string: what can follow one stands after it.
fn closes_string(bytes: &[u8]) -> bool {
    let mut at = 0;
    while let Some(len) = memchr::memchr2(b'"', b'\\', &bytes[at..]) {
        at += len;
        if bytes[at] == b'"' {
            let after = bytes[at + 1..].trim_ascii_start();
            return after.is_empty()
                || matches!(after[0], b',' | b'}' | b']' | b':')
                || comment_len(after).is_some();
        }
        at = (at + 2).min(bytes.len());
    }
    false
}

#[cfg(test)]
mod tests {
    use super::complete;

    fn check(text: &str, expect: &str, len: usize) {
        let completed = complete(text, "[redacted]");
        assert_eq!((completed.json.as_str(), completed.len), (expect, len), "{text}");
    }

    #[test]
    fn completes_what_is_cut_off() {
        check(r#"{"a":[1,{"b":"c"#, r#"{"a":[1,{"b":"c"}]}"#, 15);
        check(r#"{"a"#, r#"{"a":null}"#, 3);
        check(r#"{"a" "#, r#"{"a" :null}"#, 5);
        check(r#"{"a": "#, r#"{"a": null}"#, 6);
        check(r#"{"a":tru"#, r#"{"a":0.0}"#, 8);
        check("[1,", "[1 ]", 3);
        check(r#"{"a":1,"#, r#"{"a":1 }"#, 7);
        check("[\"a\\", "[\"a \"]", 4);
        check("[\"a\\u00", "[\"a u00\"]", 7);
    }

    #[test]
    fn mends_what_is_faulty() {
        check(r#"{"a":Na2,"b":[1,],}x"#, r#"{"a":100,"b":[1 ] }"#, 19);
        check(r#"{"a":NaN,"b":1}"#, r#"{"a":0.0,"b":1}"#, 15);
        check("[\"a\tb\\x\"]", "[\"a b x\"]", 9);
        check("{\"a\":[redacted],\"b\":1}", "{\"a\":null      ,\"b\":1}", 22);
        check("[1, # no\n2]", "[1  ]", 4);
        check("[\"a\n... [truncated]", "[\"a\"]", 3);
        check("[\"a\nb\",1]", "[\"a b\",1]", 9);
        check("[\"a\n{\"b\":1}", "[\"a\"]", 3);
        check("[1, // b\n/* c */ 2]", "[1,     \n        2]", 19);
    }
}
