//! Splits text into words, which no token spans, by the published patterns.
//!
//! A pattern is a list of alternatives, of which the first that matches counts. The functions below find what an engine
//! with backtracking finds, but look at each character a bounded number of times.

/// `\p{L}`
const LETTER: CharSet = CharSet::UPPER.or(CharSet::LOWER).or(CharSet::CASELESS);
/// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
const CAPITAL: CharSet = CharSet::UPPER.or(CharSet::CASELESS).or(CharSet::MARK);
/// `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
const SMALL: CharSet = CharSet::LOWER.or(CharSet::CASELESS).or(CharSet::MARK);
/// `[^\r\n\p{L}\p{N}]`
const PREFIX: CharSet = CharSet::MARK.or(CharSet::BLANK).or(CharSet::OTHER);
/// `[^\s\p{L}\p{N}]`
const SYMBOL: CharSet = CharSet::MARK.or(CharSet::OTHER);
/// `\s`
const SPACE: CharSet = CharSet::NEWLINE.or(CharSet::BLANK);

/// The pattern of a vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordPattern {
    /// ```text
    /// [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
    /// [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
    /// \p{N}{1,3}
    ///  ?[^\s\p{L}\p{N}]+[\r\n/]*
    /// \s*[\r\n]+
    /// \s+(?!\S)
    /// \s+
    /// ```
    O200k,
    /// ```text
    /// (?i:'s|'t|'re|'ve|'m|'ll|'d)
    /// [^\r\n\p{L}\p{N}]?\p{L}+
    /// \p{N}{1,3}
    ///  ?[^\s\p{L}\p{N}]+[\r\n]*
    /// \s*[\r\n]+
    /// \s+(?!\S)
    /// \s+
    /// ```
    Cl100k,
}

impl WordPattern {
    /// Returns the length of a short ASCII word, as most are, from the bytes that begin with it. Returns `None` if these do not
    /// decide where it ends, or if a character beyond ASCII does.
    #[expect(clippy::inline_always, reason = "a call would take as long as most words")]
    #[inline(always)]
    pub(super) fn short_word_len(self, bytes: &[u8; WINDOW_BYTES]) -> Option<usize> {
        let kind = |at: usize| bytes.get(at).map(|byte| CharSet(BYTE_KINDS[usize::from(*byte)]));
        let (first, next) = (kind(0)?, kind(1)?);
        // Returns an end where the next character is ASCII, and so no part of the word.
        let decided = |end: usize| bytes.get(end)?.is_ascii().then_some(end);
        if first == CharSet::NUMBER {
            let two = next == CharSet::NUMBER;
            return if two && kind(2)? == CharSet::NUMBER { Some(3) } else { decided(1 + usize::from(two)) };
        }
        if self == Self::Cl100k
            && let Some(end) = contraction_end(bytes, 0)
        {
            return Some(end);
        }
        let is_prefix = PREFIX.meets(first);
        if LETTER.meets(first) || is_prefix && LETTER.meets(next) {
            let mut end = usize::from(is_prefix);
            let all = u128::from_le_bytes(*bytes);
            if self == Self::O200k {
                while CharSet::UPPER.meets(kind(end)?) {
                    end += 1;
                }
                end += small_letters(all >> (8 * end));
            } else {
                end += small_letters((all | SMALL_BITS) >> (8 * end));
            }
            return match bytes.get(end)? {
                b'\'' if self == Self::O200k => {
                    (end + 4 <= WINDOW_BYTES).then(|| contraction_end(bytes, end).unwrap_or(end))
                }
                _ => decided(end),
            };
        }
        let mut end = 1;
        if first == CharSet::OTHER || bytes[0] == b' ' && next == CharSet::OTHER {
            while SYMBOL.meets(kind(end)?) {
                end += 1;
            }
            while self.trails_symbols(*bytes.get(end)?) {
                end += 1;
            }
            return decided(end);
        }
        while SPACE.meets(kind(end)?) {
            end += 1;
        }
        let newline = bytes[..end].iter().rposition(|byte| matches!(byte, b'\r' | b'\n'));
        // The last space belongs to the next word, unless it is the only one.
        let end = decided(end).filter(|_| SPACE.meets(first))?;
        Some(newline.map_or((end - 1).max(1), |newline| newline + 1))
    }

    /// Returns the end of the word that starts at an offset of a text, unless the text ends there.
    pub(super) fn word_end(self, text: &str, start: usize) -> Option<usize> {
        let (first, after_first) = CharSet::at(text, start)?;
        let letters = if PREFIX.has(first) { after_first } else { start };
        let letters_end = match self {
            Self::O200k => cased_word_end(text, letters, first),
            Self::Cl100k => contraction_end(text.as_bytes(), start)
                .or_else(|| Some(LETTER.run_end(text, letters)).filter(|end| *end > letters)),
        };
        Some(letters_end.unwrap_or_else(|| match first {
            CharSet::NUMBER => number_end(text, after_first),
            _ => self.symbols_end(text, start).unwrap_or_else(|| spaces_end(text, start, after_first)),
        }))
    }

    /// Returns the end of ` ?[^\s\p{L}\p{N}]+` and of the line breaks after it.
    fn symbols_end(self, text: &str, start: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let symbols = start + usize::from(bytes[start] == b' ');
        let end = SYMBOL.run_end(text, symbols);
        (end > symbols).then(|| self.line_end(bytes, end))
    }

    /// Returns the end of the line breaks that belong to the symbols before them.
    fn line_end(self, bytes: &[u8], start: usize) -> usize {
        start + bytes[start..].iter().take_while(|byte| self.trails_symbols(**byte)).count()
    }

    fn trails_symbols(self, byte: u8) -> bool {
        matches!(byte, b'\r' | b'\n') || self == Self::O200k && byte == b'/'
    }
}

/// Bytes among which a short word is looked for.
pub(super) const WINDOW_BYTES: usize = 16;
/// The bits that make capitals small.
const SMALL_BITS: u128 = u128::from_le_bytes([0x20; WINDOW_BYTES]);

/// Counts the letters from `a` to `z` with which bytes begin. Eight of them are compared at once.
#[inline]
fn small_letters(bytes: u128) -> usize {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = EACH << 7;
    let others = |bytes: u64| {
        let from_a = (bytes & !HIGH) + EACH * u64::from(0x80 - b'a');
        let beyond_z = (bytes & !HIGH) + EACH * u64::from(0x7F - b'z');
        !(from_a & !beyond_z & !bytes) & HIGH
    };
    let (low, high) = (others(bytes as u64), others((bytes >> 64) as u64));
    (if low != 0 { low.trailing_zeros() } else { 64 + high.trailing_zeros() }) as usize / 8
}

/// Returns the end of the first two alternatives of o200k. `letters`: where they start, after the prefix.
fn cased_word_end(text: &str, letters: usize, first: CharSet) -> Option<usize> {
    let capitals_end = CAPITAL.run_end(text, letters);
    let small_end = SMALL.run_end(text, capitals_end);
    let end = if small_end > capitals_end {
        small_end
    } else if let Some(end) = last_small_end(text, letters, capitals_end) {
        end
    } else if first == CharSet::MARK {
        // The mark is no prefix, but the small letter that the first alternative needs.
        letters
    } else if capitals_end > letters {
        capitals_end
    } else {
        return None;
    };
    Some(contraction_end(text.as_bytes(), end).unwrap_or(end))
}

/// Returns the end of the last character among capitals that is also a small one: an engine turns back to it.
fn last_small_end(text: &str, start: usize, end: usize) -> Option<usize> {
    let capitals = &text[start..end];
    if capitals.is_ascii() {
        return None;
    }
    capitals.char_indices().rev().find_map(|(at, _)| {
        let (kind, after) = CharSet::at(capitals, at)?;
        (kind != CharSet::UPPER).then_some(start + after)
    })
}

/// Returns the end of `(?i:'s|'t|'re|'ve|'m|'ll|'d)`. In this, `ſ` is an `s`.
fn contraction_end(bytes: &[u8], start: usize) -> Option<usize> {
    let length = match bytes.get(start..)? {
        [b'\'', b's' | b'S' | b't' | b'T' | b'm' | b'M' | b'd' | b'D', ..] => 2,
        [b'\'', b'r' | b'R' | b'v' | b'V', b'e' | b'E', ..] | [b'\'', b'l' | b'L', b'l' | b'L', ..] => 3,
        [b'\'', rest @ ..] if rest.starts_with("ſ".as_bytes()) => 3,
        _ => return None,
    };
    Some(start + length)
}

fn number_end(text: &str, after_first: usize) -> usize {
    let mut end = after_first;
    for _ in 1..3 {
        match CharSet::at(text, end) {
            Some((CharSet::NUMBER, after)) => end = after,
            _ => break,
        }
    }
    end
}

/// Returns the end of the last three alternatives, for a space at the start.
fn spaces_end(text: &str, start: usize, after_first: usize) -> usize {
    let end = SPACE.run_end(text, start);
    let spaces = &text[start..end];
    if let Some(newline) = spaces.rfind(['\r', '\n']) {
        return start + newline + 1;
    }
    if end == text.len() {
        return end;
    }
    // The last space belongs to the next word, unless it is the only one.
    let last = spaces.char_indices().next_back().map_or(0, |(at, _)| at);
    after_first.max(start + last)
}

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

    /// Returns true if a kind of `other` is in this set.
    const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
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
    use super::{CharSet, WordPattern};

    /// `|` marks the end of each word.
    fn check(pattern: WordPattern, marked: &str) {
        let text = marked.replace('|', "");
        let (mut start, mut found) = (0, Vec::new());
        while let Some(end) = pattern.word_end(&text, start) {
            found.push(&text[start..end]);
            start = end;
        }
        assert_eq!(found.join("|"), marked, "{pattern:?}");
    }

    #[test]
    fn o200k() {
        let check = |marked| check(WordPattern::O200k, marked);
        check("");
        check("it's| John'LL| we're| x'ſ|'q");
        check("Camel|Case| HTTPServer| ABC");
        check("ABC\u{301}|DE| f");
        check("漢|A|!| 漢b");
        check("123|45| |6");
        check("a|  | b|\t|\tc| \n| | d|  ");
        check("!!\n/\n| //|x|.\u{301}|A|-Ab");
        check("\u{301}|ABC");
    }

    #[test]
    fn cl100k() {
        let check = |marked| check(WordPattern::Cl100k, marked);
        check("it|'s| John|'LL| we|'re| x|'ſ|'q");
        check("CamelCase| HTTPServer");
        check("ABC|\u{301}DEf");
        check("123|45| |6");
        check("a|  | b|\t|\tc| \n| | d|  ");
        check("!!\n|/\n| //|x|.\u{301}|A|-Ab");
    }

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
