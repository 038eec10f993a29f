//! A validating pull reader over JSON text: the caller steps through the values it needs and skips the
//! rest.

mod fast_path;

pub use fast_path::ExpectedKey;

use super::block::{BLOCK_BYTES, WIDE_BLOCK_BYTES, digit_prefix_len, plain_prefix_len, skip_plain_blocks};
use super::is_whitespace;
use super::{JsonKind, ScanError};
use crate::span::Span;

/// A position in JSON text. Every step validates what it passes.
///
/// ```
/// use portion_json::scan::JsonReader;
/// let mut reader = JsonReader::new(r#"{"id":7,"tags":["a","b"]}"#);
/// reader.enter_object()?;
/// while let Some(key) = reader.next_key()? {
///     let value = reader.skip()?;
///     println!("{} is {}", reader.text(key), reader.text(value));
/// }
/// reader.expect_end()?;
/// # Ok::<(), portion_json::scan::ScanError>(())
/// ```
#[derive(Clone, Debug)]
pub struct JsonReader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    offset: usize,
    /// Set by `enter_*`: no comma precedes the next member.
    is_first: bool,
}

/// Returns true if a text is exactly one JSON value, in any white space.
pub fn is_json(text: &str) -> bool {
    let mut reader = JsonReader::new(text);
    reader.skip().is_ok() && reader.expect_end().is_ok()
}

impl<'a> JsonReader<'a> {
    /// Creates a reader at the start of the text.
    pub fn new(text: &'a str) -> Self {
        Self::resume(text, 0)
    }

    /// Creates a reader at the byte offset of a value, an item or a key, as if its container had just
    /// been entered there.
    pub fn resume(text: &'a str, at: usize) -> Self {
        Self { text, bytes: text.as_bytes(), offset: at, is_first: true }
    }

    /// Returns the byte offset of the next unread byte.
    pub fn at(&self) -> usize {
        self.offset
    }

    /// Returns the text at a span of this reader.
    pub fn text(&self, span: Span) -> &'a str {
        span.slice(self.text)
    }

    /// Returns the kind of the next value.
    ///
    /// # Errors
    /// If no value can begin.
    #[inline]
    pub fn peek(&mut self) -> Result<JsonKind, ScanError> {
        self.skip_whitespace();
        Ok(match self.peek_byte() {
            Some(b'{') => JsonKind::Object,
            Some(b'[') => JsonKind::Array,
            Some(b'"') => JsonKind::String,
            Some(b'-' | b'0'..=b'9') => JsonKind::Number,
            Some(b't' | b'f') => JsonKind::Bool,
            Some(b'n') => JsonKind::Null,
            _ => return Err(self.expected_error("a value")),
        })
    }

    /// Steps into an object; follow with [`next_key`](Self::next_key).
    ///
    /// # Errors
    /// If no object begins here.
    pub fn enter_object(&mut self) -> Result<(), ScanError> {
        self.enter(b'{', "an object")
    }

    /// Steps into an array; follow with [`next_item`](Self::next_item).
    ///
    /// # Errors
    /// If no array begins here.
    pub fn enter_array(&mut self) -> Result<(), ScanError> {
        self.enter(b'[', "an array")
    }

    fn enter(&mut self, open: u8, what: &'static str) -> Result<(), ScanError> {
        self.skip_whitespace();
        if self.peek_byte() != Some(open) {
            return Err(self.expected_error(what));
        }
        self.offset += 1;
        self.is_first = true;
        Ok(())
    }

    /// Reads the next key of the entered object and stops before its value. The span includes the quotes;
    /// `None` when the object ends.
    ///
    /// # Errors
    /// If the object is malformed.
    pub fn next_key(&mut self) -> Result<Option<Span>, ScanError> {
        if !self.advance(b'}', "`,` or `}`")? {
            return Ok(None);
        }
        let start = self.offset;
        self.scan_key()?;
        let mut end = self.offset - 1;
        while is_whitespace(self.bytes[end - 1]) {
            end -= 1;
        }
        Ok(Some(Span::new(start, end)))
    }

    /// Returns true if the entered array has a next item, and stops before it.
    ///
    /// # Errors
    /// If the array is malformed.
    pub fn next_item(&mut self) -> Result<bool, ScanError> {
        self.advance(b']', "`,` or `]`")
    }

    fn advance(&mut self, close: u8, what: &'static str) -> Result<bool, ScanError> {
        self.skip_whitespace();
        match self.peek_byte() {
            Some(b) if b == close => {
                // A comma before the close is caught below: after it, a value must come.
                self.offset += 1;
                self.is_first = false;
                return Ok(false);
            }
            Some(b',') if !self.is_first => self.offset += 1,
            Some(_) if self.is_first => {}
            _ => return Err(self.expected_error(what)),
        }
        self.is_first = false;
        self.skip_whitespace();
        if self.peek_byte() == Some(close) {
            return Err(self.expected_error("a value after `,`"));
        }
        Ok(true)
    }

    /// Skips one value of any depth and returns its span, without surrounding white space.
    ///
    /// # Errors
    /// If the value is malformed.
    pub fn skip(&mut self) -> Result<Span, ScanError> {
        self.skip_whitespace();
        let start = self.offset;
        self.is_first = false;
        match self.peek_byte() {
            Some(b'{' | b'[') => self.scan_container()?,
            _ => self.scan_scalar()?,
        }
        Ok(Span::new(start, self.offset))
    }

    #[inline]
    fn scan_scalar(&mut self) -> Result<(), ScanError> {
        match self.peek_byte() {
            Some(b'"') => self.scan_string(),
            Some(b'-' | b'0'..=b'9') => self.scan_number(),
            Some(b't') => self.scan_literal("true"),
            Some(b'f') => self.scan_literal("false"),
            Some(b'n') => self.scan_literal("null"),
            _ => Err(self.expected_error("a value")),
        }
    }

    fn scan_container(&mut self) -> Result<(), ScanError> {
        let mut nesting = NestingStack::default();
        'value: loop {
            match self.peek_byte() {
                Some(b'{') => {
                    self.offset += 1;
                    self.skip_whitespace();
                    if self.peek_byte() == Some(b'}') {
                        self.offset += 1;
                    } else {
                        nesting.push(true);
                        self.scan_key()?;
                        self.skip_whitespace();
                        continue 'value;
                    }
                }
                Some(b'[') => {
                    self.offset += 1;
                    self.skip_whitespace();
                    if self.peek_byte() == Some(b']') {
                        self.offset += 1;
                    } else {
                        nesting.push(false);
                        continue 'value;
                    }
                }
                _ => self.scan_scalar()?,
            }
            loop {
                let Some(object) = nesting.in_object() else { return Ok(()) };
                self.skip_whitespace();
                match self.peek_byte() {
                    Some(b',') => {
                        self.offset += 1;
                        self.skip_whitespace();
                        if object {
                            self.scan_key()?;
                            self.skip_whitespace();
                        }
                        continue 'value;
                    }
                    Some(b'}') if object => self.offset += 1,
                    Some(b']') if !object => self.offset += 1,
                    _ if object => return Err(self.expected_error("`,` or `}`")),
                    _ => return Err(self.expected_error("`,` or `]`")),
                }
                nesting.pop();
            }
        }
    }

    /// Skips one value like [`skip`](Self::skip), if it is a string.
    ///
    /// # Errors
    /// If no valid string begins here.
    #[inline]
    pub fn skip_string(&mut self) -> Result<Span, ScanError> {
        self.skip_whitespace();
        let start = self.offset;
        self.scan_string()?;
        Ok(Span::new(start, self.offset))
    }

    /// Skips one value like [`skip`](Self::skip), if it is a number.
    ///
    /// # Errors
    /// If no valid number begins here.
    #[inline]
    pub fn skip_number(&mut self) -> Result<Span, ScanError> {
        self.skip_whitespace();
        let start = self.offset;
        self.scan_number()?;
        Ok(Span::new(start, self.offset))
    }

    /// Succeeds at the end of the text; trailing white space is allowed.
    ///
    /// # Errors
    /// If more text follows.
    pub fn expect_end(&mut self) -> Result<(), ScanError> {
        self.skip_whitespace();
        if self.offset == self.bytes.len() { Ok(()) } else { Err(self.expected_error("the end")) }
    }

    #[inline]
    fn peek_byte(&self) -> Option<u8> {
        self.bytes.get(self.offset).copied()
    }

    #[inline]
    fn skip_whitespace(&mut self) {
        while self.peek_byte().is_some_and(is_whitespace) {
            self.offset += 1;
        }
    }

    #[cold]
    fn expected_error(&self, what: &'static str) -> ScanError {
        ScanError { offset: self.offset, expected: what }
    }

    /// Scans a key and its colon.
    #[inline]
    fn scan_key(&mut self) -> Result<(), ScanError> {
        self.scan_string()?;
        self.skip_whitespace();
        if self.peek_byte() != Some(b':') {
            return Err(self.expected_error("`:`"));
        }
        self.offset += 1;
        Ok(())
    }

    #[inline]
    fn scan_string(&mut self) -> Result<(), ScanError> {
        if self.peek_byte() != Some(b'"') {
            return Err(self.expected_error("a string"));
        }
        // Most strings are keys and words, short and without escapes.
        let inside = self.offset + 1;
        if let Some(block) = self.bytes.get(inside..inside + BLOCK_BYTES) {
            let end = inside + plain_prefix_len(block);
            if self.bytes.get(end) == Some(&b'"') {
                self.offset = end + 1;
                return Ok(());
            }
        }
        self.scan_long_string()
    }

    /// Scans a string of any length and content.
    #[inline(never)]
    fn scan_long_string(&mut self) -> Result<(), ScanError> {
        let bytes = self.bytes;
        let mut i = self.offset + 1;
        let mut long = i + WIDE_BLOCK_BYTES;
        loop {
            if i >= long {
                i = skip_plain_blocks(bytes, i);
                long = usize::MAX;
            }
            while let Some(block) = bytes.get(i..i + BLOCK_BYTES) {
                let plain = plain_prefix_len(block);
                i += plain;
                if plain < BLOCK_BYTES || i >= long {
                    break;
                }
            }
            match bytes.get(i) {
                Some(b'"') => {
                    self.offset = i + 1;
                    return Ok(());
                }
                Some(b'\\') => match bytes.get(i + 1) {
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => i += 2,
                    Some(b'u') => {
                        let digits = bytes.get(i + 2..i + 6);
                        if !digits.is_some_and(|d| d.iter().all(u8::is_ascii_hexdigit)) {
                            return Err(ScanError {
                                offset: i,
                                expected: "four hexadecimal digits after \\u",
                            });
                        }
                        i += 6;
                    }
                    _ => return Err(ScanError { offset: i, expected: "a known escape" }),
                },
                Some(0..=0x1f) => {
                    return Err(ScanError { offset: i, expected: "an escaped control character" });
                }
                Some(_) => i += 1,
                None => return Err(ScanError { offset: i, expected: "the end of the string" }),
            }
        }
    }

    #[inline]
    fn scan_number(&mut self) -> Result<(), ScanError> {
        if self.peek_byte() == Some(b'-') {
            self.offset += 1;
        }
        match self.peek_byte() {
            Some(b'0') => self.offset += 1,
            Some(b'1'..=b'9') => self.scan_digits(),
            _ => return Err(self.expected_error("a digit")),
        }
        if self.peek_byte() == Some(b'.') {
            self.offset += 1;
            self.scan_required_digits()?;
        }
        if matches!(self.peek_byte(), Some(b'e' | b'E')) {
            self.offset += 1;
            if matches!(self.peek_byte(), Some(b'+' | b'-')) {
                self.offset += 1;
            }
            self.scan_required_digits()?;
        }
        Ok(())
    }

    fn scan_required_digits(&mut self) -> Result<(), ScanError> {
        if !self.peek_byte().is_some_and(|b| b.is_ascii_digit()) {
            return Err(self.expected_error("a digit"));
        }
        self.scan_digits();
        Ok(())
    }

    #[inline]
    fn scan_digits(&mut self) {
        while let Some(block) = self.bytes[self.offset..].first_chunk::<8>() {
            let digits = digit_prefix_len(*block);
            self.offset += digits;
            if digits < block.len() {
                return;
            }
        }
        while self.peek_byte().is_some_and(|b| b.is_ascii_digit()) {
            self.offset += 1;
        }
    }

    fn scan_literal(&mut self, word: &'static str) -> Result<(), ScanError> {
        if !self.bytes[self.offset..].starts_with(word.as_bytes()) {
            return Err(self.expected_error(word));
        }
        self.offset += word.len();
        Ok(())
    }
}

/// A stack of containers; a set bit is an object.
#[derive(Debug, Default)]
pub(super) struct NestingStack {
    depth: usize,
    /// The innermost 64 levels; the others are in `outer_words`, 64 levels per word.
    inner_bits: u64,
    outer_words: Vec<u64>,
}

impl NestingStack {
    pub(super) fn push(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.outer_words.push(self.inner_bits);
            self.inner_bits = 0;
        }
        self.inner_bits = self.inner_bits << 1 | u64::from(object);
        self.depth += 1;
    }

    pub(super) fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.inner_bits = self.outer_words.pop().unwrap_or_default();
        } else {
            self.inner_bits >>= 1;
        }
    }

    /// Returns true if the innermost container is an object; `None` outside of any.
    pub(super) fn in_object(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.inner_bits & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::NestingStack;

    #[test]
    fn every_level_is_tracked() {
        let shape: Vec<bool> = (0..1_000).map(|i| i % 3 == 0 || i % 7 == 1).collect();
        let mut nesting = NestingStack::default();
        for object in &shape {
            nesting.push(*object);
        }
        for object in shape.iter().rev() {
            assert_eq!(nesting.in_object(), Some(*object));
            nesting.pop();
        }
        assert_eq!(nesting.in_object(), None);
    }
}
