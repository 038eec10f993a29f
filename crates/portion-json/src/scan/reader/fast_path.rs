//! Fast paths for the usual contents of list records: the same key as in the previous record, a short
//! integer, a literal. On anything else, nothing is consumed.

use super::super::block::digit_prefix_len;
use super::{JsonReader, ScanError};
use crate::span::Span;

/// Bytes of a key that are compared at once.
const KEY_PREFIX_BYTES: usize = 16;

/// An expected key, prepared for comparison.
#[derive(Clone, Debug)]
pub struct ExpectedKey {
    /// The key as written, quotes included, and the colon after it.
    encoded: Box<str>,
    /// Its first 16 bytes, and the mask of those that are used.
    prefix: u128,
    prefix_mask: u128,
}

impl ExpectedKey {
    /// Prepares a key that is written as `quoted`, quotes included.
    pub fn new(quoted: &str) -> Self {
        let written = format!("{quoted}:");
        let mut head = [0; KEY_PREFIX_BYTES];
        head.iter_mut().zip(written.bytes()).for_each(|(to, byte)| *to = byte);
        let mask = head.map(|byte| if byte > 0 { u8::MAX } else { 0 });
        Self {
            encoded: written.into(),
            prefix: u128::from_le_bytes(head),
            prefix_mask: u128::from_le_bytes(mask),
        }
    }

    /// Returns the key as written, quotes included.
    pub fn quoted(&self) -> &str {
        self.encoded.strip_suffix(':').unwrap_or_default()
    }

    #[inline]
    fn is_prefix_of(&self, bytes: &[u8]) -> bool {
        match bytes.first_chunk::<KEY_PREFIX_BYTES>() {
            Some(head) => {
                u128::from_le_bytes(*head) & self.prefix_mask == self.prefix
                    && (self.encoded.len() <= KEY_PREFIX_BYTES || bytes.starts_with(self.encoded.as_bytes()))
            }
            None => bytes.starts_with(self.encoded.as_bytes()),
        }
    }
}

impl JsonReader<'_> {
    /// Skips the next key of the entered object if it is `key`; otherwise consumes nothing. Records of a
    /// list are alike, and comparing a key is faster than reading it.
    #[inline]
    pub fn try_skip_key(&mut self, key: &ExpectedKey) -> bool {
        let comma = usize::from(!self.is_first);
        let rest = self.bytes.get(self.offset + comma..).unwrap_or_default();
        if (self.is_first || self.peek_byte() == Some(b',')) && key.is_prefix_of(rest) {
            self.offset += comma + key.encoded.len();
            self.is_first = false;
            return true;
        }
        self.try_skip_spaced_key(key)
    }

    #[cold]
    fn try_skip_spaced_key(&mut self, key: &ExpectedKey) -> bool {
        let before = self.offset;
        self.skip_whitespace();
        if !self.is_first && self.peek_byte() == Some(b',') {
            self.offset += 1;
            self.skip_whitespace();
        } else if !self.is_first {
            self.offset = before;
            return false;
        }
        let passed = key.is_prefix_of(self.bytes.get(self.offset..).unwrap_or_default());
        if passed {
            self.offset += key.encoded.len();
            self.is_first = false;
        } else {
            self.offset = before;
        }
        passed
    }

    /// Reads an integer of a few digits. Returns `None` and consumes nothing if the number is longer, or
    /// if another value stands here.
    // Inlined because a call would take as long as the work.
    #[inline(always)]
    pub fn try_read_integer(&mut self) -> Option<i64> {
        const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);
        let minus = self.peek_byte()? == b'-';
        let at = self.offset + usize::from(minus);
        let block = *self.bytes.get(at..)?.first_chunk::<8>()?;
        let many = digit_prefix_len(block);
        let word = u64::from_le_bytes(block);
        let after = word.checked_shr(8 * many as u32)? as u8;
        let ends = matches!(after, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t');
        if many == 0 || !ends || block[0] == b'0' && many > 1 {
            return None;
        }
        // Shifts the digits to the end of eight, with zeros before them.
        let all = (word ^ ZEROS) << (64 - 8 * many);
        let number = parse_eight_digits(all) as i64;
        self.offset = at + many;
        self.is_first = false;
        Some(if minus { -number } else { number })
    }

    /// Skips `true`, `false` or `null`.
    ///
    /// # Errors
    /// If another value stands here.
    #[inline]
    pub fn skip_literal(&mut self) -> Result<Span, ScanError> {
        self.skip_whitespace();
        let start = self.offset;
        self.is_first = false;
        match self.peek_byte() {
            Some(b't') => self.scan_literal("true")?,
            Some(b'f') => self.scan_literal("false")?,
            Some(b'n') => self.scan_literal("null")?,
            _ => return Err(self.expected_error("a word")),
        }
        Ok(Span::new(start, self.offset))
    }
}

/// Converts eight digits, one per byte, the first being the lowest: neighbours are combined into pairs,
/// pairs into fours, fours into the whole (Lemire, "Quickly parsing eight digits", 2018).
#[inline]
fn parse_eight_digits(digits: u64) -> u64 {
    const PAIRS: u64 = 0x0000_00ff_0000_00ff;
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let high = (pairs & PAIRS).wrapping_mul(100 + (1_000_000 << 32));
    let low = (pairs >> 16 & PAIRS).wrapping_mul(1 + (10_000 << 32));
    high.wrapping_add(low) >> 32
}
