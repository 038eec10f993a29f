//! Quick ways past what records of a list usually hold: the key that the last one had here, a whole number of a few
//! digits, a word. Where something else stands, nothing is passed.

use super::super::block::digits;
use super::{Reader, ScanError};
use crate::span::Span;

/// Bytes of a key that are compared at once.
const HEAD: usize = 16;

/// A key that is expected, ready to be compared.
#[derive(Clone, Debug)]
pub struct KnownKey {
    /// As it is written, quotes included, and the colon after it.
    written: Box<str>,
    /// Its first bytes, and which of sixteen these are.
    head: u128,
    mask: u128,
}

impl KnownKey {
    /// A key that is written so, quotes included.
    pub fn new(quoted: &str) -> Self {
        let written = format!("{quoted}:");
        let mut head = [0; HEAD];
        head.iter_mut().zip(written.bytes()).for_each(|(to, byte)| *to = byte);
        let mask = head.map(|byte| if byte > 0 { u8::MAX } else { 0 });
        Self { written: written.into(), head: u128::from_le_bytes(head), mask: u128::from_le_bytes(mask) }
    }

    /// As it is written, quotes included.
    pub fn quoted(&self) -> &str {
        self.written.strip_suffix(':').unwrap_or_default()
    }

    #[inline]
    fn begins(&self, bytes: &[u8]) -> bool {
        match bytes.first_chunk::<HEAD>() {
            Some(head) => {
                u128::from_le_bytes(*head) & self.mask == self.head
                    && (self.written.len() <= HEAD || bytes.starts_with(self.written.as_bytes()))
            }
            None => bytes.starts_with(self.written.as_bytes()),
        }
    }
}

impl Reader<'_> {
    /// Passes the next key of the object entered where it is this one; otherwise nothing is passed. Records of a list
    /// are alike, and comparing a key is quicker than reading it.
    #[inline]
    pub fn pass_key(&mut self, key: &KnownKey) -> bool {
        let comma = usize::from(!self.first);
        let rest = self.bytes.get(self.at + comma..).unwrap_or_default();
        if (self.first || self.byte() == Some(b',')) && key.begins(rest) {
            self.at += comma + key.written.len();
            self.first = false;
            return true;
        }
        self.pass_key_in_space(key)
    }

    #[cold]
    fn pass_key_in_space(&mut self, key: &KnownKey) -> bool {
        let before = self.at;
        self.space();
        if !self.first && self.byte() == Some(b',') {
            self.at += 1;
            self.space();
        } else if !self.first {
            self.at = before;
            return false;
        }
        let passed = key.begins(self.bytes.get(self.at..).unwrap_or_default());
        if passed {
            self.at += key.written.len();
            self.first = false;
        } else {
            self.at = before;
        }
        passed
    }

    /// Passes and reads a whole number of a few digits that stands here; `None`, nothing being passed, where it has
    /// more, or where something else does.
    // A call would take as long as what is done.
    #[inline(always)]
    pub fn pass_whole(&mut self) -> Option<i64> {
        const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);
        let minus = self.byte()? == b'-';
        let at = self.at + usize::from(minus);
        let block = *self.bytes.get(at..)?.first_chunk::<8>()?;
        let many = digits(block);
        let word = u64::from_le_bytes(block);
        let after = word.checked_shr(8 * many as u32)? as u8;
        let ends = matches!(after, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t');
        if many == 0 || !ends || block[0] == b'0' && many > 1 {
            return None;
        }
        // The digits as the last of eight, those before being zeros.
        let all = (word ^ ZEROS) << (64 - 8 * many);
        let number = eight(all) as i64;
        self.at = at + many;
        self.first = false;
        Some(if minus { -number } else { number })
    }

    /// Passes `true`, `false` or `null`.
    ///
    /// # Errors
    /// Where none of them stands here.
    #[inline]
    pub fn skip_word(&mut self) -> Result<Span, ScanError> {
        self.space();
        let start = self.at;
        self.first = false;
        match self.byte() {
            Some(b't') => self.literal("true")?,
            Some(b'f') => self.literal("false")?,
            Some(b'n') => self.literal("null")?,
            _ => return Err(self.expected("a word")),
        }
        Ok(Span::new(start, self.at))
    }
}

/// The number of eight digits, a byte each, the first being the lowest: neighbours are joined to pairs, pairs to fours,
/// those to the whole (Lemire, "Quickly parsing eight digits", 2018).
#[inline]
fn eight(digits: u64) -> u64 {
    const PAIRS: u64 = 0x0000_00ff_0000_00ff;
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let high = (pairs & PAIRS).wrapping_mul(100 + (1_000_000 << 32));
    let low = (pairs >> 16 & PAIRS).wrapping_mul(1 + (10_000 << 32));
    high.wrapping_add(low) >> 32
}
