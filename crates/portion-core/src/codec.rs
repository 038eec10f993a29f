//! Writes and reads the binary encoding of snapshots and views.
//!
//! Numbers are LEB128, texts are prefixed with their length. Reading is total: any bytes give a value or a
//! [`DecodeError`], and no more memory is reserved than the bytes can fill.

use portion_json::span::Span;
use thiserror::Error;

/// The error for bytes that are not a valid encoding.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum DecodeError {
    /// Written by another version of the format.
    #[error("the encoding has version {given}, and only version {known} is known")]
    Version {
        /// Version that was read.
        given: u64,
        /// Version that this program writes and reads.
        known: u64,
    },
    /// The bytes end too early.
    #[error("the encoding ends too early")]
    Truncated,
    /// A value cannot be valid.
    #[error("the encoding has an invalid {0}")]
    Invalid(&'static str),
}

/// Writes an encoding.
#[derive(Debug, Default)]
pub(crate) struct ByteWriter {
    bytes: Vec<u8>,
}

impl ByteWriter {
    pub(crate) fn uint(&mut self, value: impl TryInto<u64>) {
        let mut value: u64 = value.try_into().unwrap_or(u64::MAX);
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    pub(crate) fn flag(&mut self, value: bool) {
        self.bytes.push(u8::from(value));
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.uint(text.len());
        self.bytes.extend_from_slice(text.as_bytes());
    }

    pub(crate) fn span(&mut self, span: Span) {
        self.uint(span.start);
        self.uint(span.len());
    }

    pub(crate) fn texts<'a>(&mut self, texts: impl ExactSizeIterator<Item = &'a str>) {
        self.uint(texts.len());
        texts.for_each(|text| self.text(text));
    }

    pub(crate) fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }

    /// Appends what another writer wrote.
    pub(crate) fn append(&mut self, other: Self) {
        self.bytes.extend(other.bytes);
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Reads an encoding.
#[derive(Debug)]
pub(crate) struct ByteReader<'a> {
    rest: &'a [u8],
}

impl<'a> ByteReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn uint(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or(DecodeError::Truncated)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(DecodeError::Invalid("number"))
    }

    /// Reads a number of any narrower type.
    pub(crate) fn number<T: TryFrom<u64>>(&mut self) -> Result<T, DecodeError> {
        T::try_from(self.uint()?).map_err(|_| DecodeError::Invalid("number"))
    }

    /// Reads the number of items that follow, each of at least one byte.
    pub(crate) fn count(&mut self) -> Result<usize, DecodeError> {
        let count: usize = self.number()?;
        if count > self.rest.len() { Err(DecodeError::Truncated) } else { Ok(count) }
    }

    pub(crate) fn flag(&mut self) -> Result<bool, DecodeError> {
        match self.uint()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(DecodeError::Invalid("flag")),
        }
    }

    pub(crate) fn text(&mut self) -> Result<String, DecodeError> {
        let len = self.count()?;
        let (text, rest) = self.rest.split_at_checked(len).ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        String::from_utf8(text.to_vec()).map_err(|_| DecodeError::Invalid("text"))
    }

    pub(crate) fn texts(&mut self) -> Result<Vec<String>, DecodeError> {
        (0..self.count()?).map(|_| self.text()).collect()
    }

    /// Reads a span of `text`.
    pub(crate) fn span(&mut self, text: &str) -> Result<Span, DecodeError> {
        let (start, len): (u32, u32) = (self.number()?, self.number()?);
        let end = start.checked_add(len).ok_or(DecodeError::Invalid("span"))?;
        let span = Span { start, end };
        text.get(span.range()).map(|_| span).ok_or(DecodeError::Invalid("span"))
    }

    pub(crate) fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, DecodeError> {
        if self.flag()? { read(self).map(Some) } else { Ok(None) }
    }

    /// Reads one of `choices` by its index.
    pub(crate) fn choice<T: Copy>(&mut self, choices: &[T], name: &'static str) -> Result<T, DecodeError> {
        let index: usize = self.number()?;
        choices.get(index).copied().ok_or(DecodeError::Invalid(name))
    }

    /// Fails unless everything was read.
    pub(crate) fn expect_end(&self) -> Result<(), DecodeError> {
        if self.rest.is_empty() { Ok(()) } else { Err(DecodeError::Invalid("end")) }
    }
}

impl ByteWriter {
    /// Writes the index of a value in `choices`.
    pub(crate) fn choice<T: PartialEq>(&mut self, choices: &[T], value: &T) {
        self.uint(choices.iter().position(|choice| choice == value).unwrap_or(choices.len()));
    }
}
