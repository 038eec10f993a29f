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
    /// Returns the end of the word that starts at an offset of a text, unless the text ends there.
    #[inline]
    pub(super) fn word_end(self, text: &str, start: usize) -> Option<usize> {
        self.ascii_word_end(text.as_bytes(), start).or_else(|| self.any_word_end(text, start))
    }

    /// Returns the end of an ASCII word, as most are, unless a character beyond ASCII decides about it.
    #[inline]
    fn ascii_word_end(self, bytes: &[u8], start: usize) -> Option<usize> {
        let first = CharSet::of_byte(*bytes.get(start)?);
        // The end of a text ends words as a line break does.
        let next = bytes.get(start + 1).map_or(CharSet::NEWLINE, |next| CharSet::of_byte(*next));
        if first == CharSet::NUMBER {
            let end = start + 1 + usize::from(next == CharSet::NUMBER);
            let has_third = next == CharSet::NUMBER && bytes.get(end).is_some_and(u8::is_ascii_digit);
            return if has_third { Some(end + 1) } else { decided_end(bytes, end) };
        }
        if self == Self::Cl100k
            && let Some(end) = contraction_end(bytes, start)
        {
            return Some(end);
        }
        let is_prefix = PREFIX.meets(first);
        if LETTER.meets(first) || is_prefix && LETTER.meets(next) {
            let letters = start + usize::from(is_prefix);
            return match self {
                Self::O200k => {
                    let capitals_end = CharSet::UPPER.byte_run_end(bytes, letters);
                    let end = decided_end(bytes, CharSet::LOWER.byte_run_end(bytes, capitals_end))?;
                    contraction_end(bytes, end).or(Some(end))
                }
                Self::Cl100k => decided_end(bytes, LETTER.byte_run_end(bytes, letters)),
            };
        }
        if first == CharSet::OTHER || bytes[start] == b' ' && next == CharSet::OTHER {
            let end = decided_end(bytes, SYMBOL.byte_run_end(bytes, start + 1))?;
            return Some(self.line_end(bytes, end));
        }
        let end = decided_end(bytes, SPACE.byte_run_end(bytes, start)).filter(|end| *end > start)?;
        Some(match bytes[start..end].iter().rposition(|byte| matches!(byte, b'\r' | b'\n')) {
            Some(newline) => start + newline + 1,
            None if end == bytes.len() => end,
            None => (end - 1).max(start + 1),
        })
    }

    fn any_word_end(self, text: &str, start: usize) -> Option<usize> {
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
        let trails = |byte: &u8| matches!(byte, b'\r' | b'\n') || (self == Self::O200k && *byte == b'/');
        start + bytes[start..].iter().take_while(|byte| trails(byte)).count()
    }
}

/// Returns the end of a run of ASCII characters, unless the next character is beyond ASCII and may belong to it.
fn decided_end(bytes: &[u8], end: usize) -> Option<usize> {
    bytes.get(end).is_none_or(u8::is_ascii).then_some(end)
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

    /// Returns the kind of an ASCII character, and none for the bytes of other characters.
    #[inline]
    fn of_byte(byte: u8) -> Self {
        Self(BYTE_KINDS[usize::from(byte)])
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

    /// Returns the end of the run of ASCII characters in this set that starts at an offset.
    #[inline]
    pub(super) fn byte_run_end(self, bytes: &[u8], start: usize) -> usize {
        let mut end = start;
        while bytes.get(end).is_some_and(|byte| self.meets(Self::of_byte(*byte))) {
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
