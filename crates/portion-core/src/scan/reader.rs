//! A pull reader over JSON text: the caller walks what it knows, and skips the rest validated.

mod usual;

use thiserror::Error;

use super::block::{BLOCK, WIDE, digits, plain, well_within};
use super::nesting::Nesting;
use crate::span::Span;
pub use usual::KnownKey;

/// What a value is, told by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    String,
    /// `-1.5e3`
    Number,
    /// `true`, `false`
    Bool,
    /// `null`
    Null,
}

impl Kind {
    /// The kind of a value that is known to be valid JSON.
    pub fn of(value: &str) -> Self {
        match value.bytes().find(|b| !is_space(*b)) {
            Some(b'{') => Self::Object,
            Some(b'[') => Self::Array,
            Some(b'"') => Self::String,
            Some(b't' | b'f') => Self::Bool,
            Some(b'n') => Self::Null,
            _ => Self::Number,
        }
    }

    /// Whether it is an object or an array.
    pub fn is_container(self) -> bool {
        matches!(self, Self::Object | Self::Array)
    }
}

/// Why a text is not JSON (RFC 8259), and where.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("not JSON at byte {at}: {what}")]
pub struct ScanError {
    /// Byte offset of the first byte that cannot be.
    pub at: usize,
    /// What was expected there.
    pub what: &'static str,
}

/// A position in JSON text. Every step validates what it passes.
///
/// ```
/// use portion_core::scan::Reader;
/// let mut reader = Reader::new(r#"{"id":7,"tags":["a","b"]}"#);
/// reader.enter_object()?;
/// while let Some(key) = reader.next_key()? {
///     let value = reader.skip()?;
///     println!("{} is {}", reader.text(key), reader.text(value));
/// }
/// reader.end()?;
/// # Ok::<(), portion_core::scan::ScanError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// Set by `enter_*`: the next member has no comma before it.
    first: bool,
}

impl<'a> Reader<'a> {
    /// A reader at the start of the text.
    pub fn new(text: &'a str) -> Self {
        Self::resume(text, 0)
    }

    /// A reader at the byte offset of a value, of an item or of a key: as if its container had just
    /// been entered there.
    pub fn resume(text: &'a str, at: usize) -> Self {
        Self { text, bytes: text.as_bytes(), at, first: true }
    }

    /// The byte offset of the next unread byte.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The text at a span of this reader.
    pub fn text(&self, span: Span) -> &'a str {
        span.of(self.text)
    }

    /// What the next value is.
    ///
    /// # Errors
    /// Where no value can begin.
    #[inline]
    pub fn peek(&mut self) -> Result<Kind, ScanError> {
        self.space();
        Ok(match self.byte() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b'-' | b'0'..=b'9') => Kind::Number,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'n') => Kind::Null,
            _ => return Err(self.expected("a value")),
        })
    }

    /// Steps into an object; follow with [`next_key`](Self::next_key).
    ///
    /// # Errors
    /// Where no object begins here.
    pub fn enter_object(&mut self) -> Result<(), ScanError> {
        self.enter(b'{', "an object")
    }

    /// Steps into an array; follow with [`next_item`](Self::next_item).
    ///
    /// # Errors
    /// Where no array begins here.
    pub fn enter_array(&mut self) -> Result<(), ScanError> {
        self.enter(b'[', "an array")
    }

    fn enter(&mut self, open: u8, what: &'static str) -> Result<(), ScanError> {
        self.space();
        if self.byte() != Some(open) {
            return Err(self.expected(what));
        }
        self.at += 1;
        self.first = true;
        Ok(())
    }

    /// The next key of the object entered, quotes included, the reader then being before its value;
    /// `None` when the object ends.
    ///
    /// # Errors
    /// Where the object is malformed.
    pub fn next_key(&mut self) -> Result<Option<Span>, ScanError> {
        if !self.next(b'}', "`,` or `}`")? {
            return Ok(None);
        }
        let start = self.at;
        self.key()?;
        let mut end = self.at - 1;
        while is_space(self.bytes[end - 1]) {
            end -= 1;
        }
        Ok(Some(Span::new(start, end)))
    }

    /// Whether the array entered goes on; the reader is then before the item.
    ///
    /// # Errors
    /// Where the array is malformed.
    pub fn next_item(&mut self) -> Result<bool, ScanError> {
        self.next(b']', "`,` or `]`")
    }

    fn next(&mut self, close: u8, what: &'static str) -> Result<bool, ScanError> {
        self.space();
        match self.byte() {
            Some(b) if b == close => {
                // A comma before the close is caught below: after it, a value must come.
                self.at += 1;
                self.first = false;
                return Ok(false);
            }
            Some(b',') if !self.first => self.at += 1,
            Some(_) if self.first => {}
            _ => return Err(self.expected(what)),
        }
        self.first = false;
        self.space();
        if self.byte() == Some(close) {
            return Err(self.expected("a value after `,`"));
        }
        Ok(true)
    }

    /// Passes one value of any depth and returns its span, without surrounding space.
    ///
    /// # Errors
    /// Where the value is malformed.
    pub fn skip(&mut self) -> Result<Span, ScanError> {
        self.space();
        let start = self.at;
        self.first = false;
        let mut nesting = Nesting::default();
        'value: loop {
            match self.byte() {
                Some(b'"') => self.string()?,
                Some(b'{') => {
                    self.at += 1;
                    self.space();
                    if self.byte() == Some(b'}') {
                        self.at += 1;
                    } else {
                        nesting.push(true);
                        self.key()?;
                        self.space();
                        continue 'value;
                    }
                }
                Some(b'[') => {
                    self.at += 1;
                    self.space();
                    if self.byte() == Some(b']') {
                        self.at += 1;
                    } else {
                        nesting.push(false);
                        continue 'value;
                    }
                }
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.literal("true")?,
                Some(b'f') => self.literal("false")?,
                Some(b'n') => self.literal("null")?,
                _ => return Err(self.expected("a value")),
            }
            loop {
                let Some(object) = nesting.in_object() else {
                    return Ok(Span::new(start, self.at));
                };
                self.space();
                match self.byte() {
                    Some(b',') => {
                        self.at += 1;
                        self.space();
                        if object {
                            self.key()?;
                            self.space();
                        }
                        continue 'value;
                    }
                    Some(b'}') if object => self.at += 1,
                    Some(b']') if !object => self.at += 1,
                    _ if object => return Err(self.expected("`,` or `}`")),
                    _ => return Err(self.expected("`,` or `]`")),
                }
                nesting.pop();
            }
        }
    }

    /// Passes one value as [`skip`](Self::skip) does, expecting it to be a string.
    ///
    /// # Errors
    /// Where no valid string begins here.
    #[inline]
    pub fn skip_string(&mut self) -> Result<Span, ScanError> {
        self.space();
        let start = self.at;
        self.string()?;
        Ok(Span::new(start, self.at))
    }

    /// Passes one value as [`skip`](Self::skip) does, expecting it to be a number.
    ///
    /// # Errors
    /// Where no valid number begins here.
    #[inline]
    pub fn skip_number(&mut self) -> Result<Span, ScanError> {
        self.space();
        let start = self.at;
        self.number()?;
        Ok(Span::new(start, self.at))
    }

    /// Succeeds at the end of the text, trailing space allowed.
    ///
    /// # Errors
    /// Where more text follows.
    pub fn end(&mut self) -> Result<(), ScanError> {
        self.space();
        if self.at == self.bytes.len() { Ok(()) } else { Err(self.expected("the end")) }
    }

    #[inline]
    fn byte(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    fn space(&mut self) {
        while self.byte().is_some_and(is_space) {
            self.at += 1;
        }
    }

    #[cold]
    fn expected(&self, what: &'static str) -> ScanError {
        ScanError { at: self.at, what }
    }

    /// A key and its colon.
    #[inline]
    fn key(&mut self) -> Result<(), ScanError> {
        self.string()?;
        self.space();
        if self.byte() != Some(b':') {
            return Err(self.expected("`:`"));
        }
        self.at += 1;
        Ok(())
    }

    #[inline]
    fn string(&mut self) -> Result<(), ScanError> {
        if self.byte() != Some(b'"') {
            return Err(self.expected("a string"));
        }
        // Most strings are keys and words, short and without escapes.
        let inside = self.at + 1;
        if let Some(block) = self.bytes.get(inside..inside + BLOCK) {
            let end = inside + plain(block);
            if self.bytes.get(end) == Some(&b'"') {
                self.at = end + 1;
                return Ok(());
            }
        }
        self.any_string()
    }

    /// Passes a string of whatever length, with whatever is in it.
    #[inline(never)]
    fn any_string(&mut self) -> Result<(), ScanError> {
        let bytes = self.bytes;
        let mut i = self.at + 1;
        let mut long = i + WIDE;
        loop {
            if i >= long {
                i = well_within(bytes, i);
                long = usize::MAX;
            }
            while let Some(block) = bytes.get(i..i + BLOCK) {
                let plain = plain(block);
                i += plain;
                if plain < BLOCK || i >= long {
                    break;
                }
            }
            match bytes.get(i) {
                Some(b'"') => {
                    self.at = i + 1;
                    return Ok(());
                }
                Some(b'\\') => match bytes.get(i + 1) {
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => i += 2,
                    Some(b'u') => {
                        let digits = bytes.get(i + 2..i + 6);
                        if !digits.is_some_and(|d| d.iter().all(u8::is_ascii_hexdigit)) {
                            return Err(ScanError { at: i, what: "four hexadecimal digits after \\u" });
                        }
                        i += 6;
                    }
                    _ => return Err(ScanError { at: i, what: "a known escape" }),
                },
                Some(0..=0x1f) => return Err(ScanError { at: i, what: "an escaped control character" }),
                Some(_) => i += 1,
                None => return Err(ScanError { at: i, what: "the end of the string" }),
            }
        }
    }

    #[inline]
    fn number(&mut self) -> Result<(), ScanError> {
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        match self.byte() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.expected("a digit")),
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.byte(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        Ok(())
    }

    fn some_digits(&mut self) -> Result<(), ScanError> {
        if !self.byte().is_some_and(|b| b.is_ascii_digit()) {
            return Err(self.expected("a digit"));
        }
        self.digits();
        Ok(())
    }

    #[inline]
    fn digits(&mut self) {
        while let Some(block) = self.bytes[self.at..].first_chunk::<8>() {
            let digits = digits(*block);
            self.at += digits;
            if digits < block.len() {
                return;
            }
        }
        while self.byte().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn literal(&mut self, word: &'static str) -> Result<(), ScanError> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(self.expected(word));
        }
        self.at += word.len();
        Ok(())
    }
}

#[inline]
fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\n' | b'\r' | b'\t')
}
