//! Sets of characters that the patterns of vocabularies distinguish.

/// A set of kinds of characters, by their general category in Unicode. Each character is of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CharSet(u8);

/// Blocks of 256 characters, with the kind of each, and the block of each 256 characters of Unicode.
static BLOCKS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kinds.blocks"));
static INDEX: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kinds.index"));

/// The kind of each ASCII character; none for the bytes of other characters.
static BYTE_KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        kinds[byte] = BLOCKS[byte];
        byte += 1;
    }
    kinds
};

impl CharSet {
    /// `Lu` and `Lt`.
    pub(super) const UPPER: Self = Self(1);
    /// `Ll`.
    pub(super) const LOWER: Self = Self(2);
    /// Letters without case: `Lm` and `Lo`.
    pub(super) const CASELESS: Self = Self(4);
    /// `M`.
    pub(super) const MARK: Self = Self(8);
    /// `N`.
    pub(super) const NUMBER: Self = Self(16);
    /// Carriage return and line feed.
    pub(super) const NEWLINE: Self = Self(32);
    /// Other characters with the property `White_Space`.
    pub(super) const BLANK: Self = Self(64);
    /// Punctuation, symbols, controls and unassigned characters.
    pub(super) const OTHER: Self = Self(128);

    pub(super) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns true if all kinds of `other` are in this set.
    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the kind of the character at an offset of a text, and the offset of the next one.
    #[inline]
    pub(super) fn at(text: &str, offset: usize) -> Option<(Self, usize)> {
        let byte = *text.as_bytes().get(offset)?;
        if byte.is_ascii() {
            Some((Self(BLOCKS[usize::from(byte)]), offset + 1))
        } else {
            Self::beyond_ascii(text, offset)
        }
    }

    fn beyond_ascii(text: &str, offset: usize) -> Option<(Self, usize)> {
        let c = text.get(offset..)?.chars().next()?;
        Some((Self::of(c), offset + c.len_utf8()))
    }

    /// Returns true if a byte is an ASCII character in this set.
    #[inline]
    pub(super) fn has_byte(self, byte: u8) -> bool {
        BYTE_KINDS[usize::from(byte)] & self.0 != 0
    }

    /// Returns the end of the run of ASCII characters in this set that starts at an offset.
    #[inline]
    pub(super) fn byte_run_end(self, bytes: &[u8], start: usize) -> usize {
        let mut end = start;
        while bytes.get(end).is_some_and(|byte| self.has_byte(*byte)) {
            end += 1;
        }
        end
    }

    /// Returns the end of the run of characters in this set that starts at an offset of a text.
    #[inline]
    pub(super) fn run_end(self, text: &str, start: usize) -> usize {
        let mut end = start;
        while let Some(byte) = text.as_bytes().get(end) {
            if byte.is_ascii() && BLOCKS[usize::from(*byte)] & self.0 != 0 {
                end += 1;
            } else if byte.is_ascii() {
                break;
            } else {
                match Self::beyond_ascii(text, end) {
                    Some((kind, after)) if self.has(kind) => end = after,
                    _ => break,
                }
            }
        }
        end
    }

    fn of(c: char) -> Self {
        let (block, offset) = (2 * (c as usize >> 8), c as usize & 0xFF);
        let block = u16::from_le_bytes([INDEX[block], INDEX[block + 1]]);
        Self(BLOCKS[usize::from(block) << 8 | offset])
    }
}

#[cfg(test)]
mod tests {
    use super::CharSet;

    #[test]
    fn each_kind_has_its_characters() {
        let kinds = [
            (CharSet::UPPER, "AZÉǅΩ"),
            (CharSet::LOWER, "azéßω"),
            (CharSet::CASELESS, "漢ʰあ한ª"),
            (CharSet::MARK, "\u{301}\u{20dd}\u{903}"),
            (CharSet::NUMBER, "07½²٣Ⅷ"),
            (CharSet::NEWLINE, "\r\n"),
            (CharSet::BLANK, " \t\u{b}\u{85}\u{a0}\u{2028}\u{3000}"),
            (CharSet::OTHER, "\0_-'\u{7f}👍。\u{200d}\u{feff}\u{F0000}\u{10FFFF}"),
        ];
        for (kind, characters) in kinds {
            for c in characters.chars() {
                assert_eq!(CharSet::of(c), kind, "{c:?}");
            }
        }
    }
}
