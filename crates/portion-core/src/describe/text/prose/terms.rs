//! Splits a sentence into terms: words in lower case, and pairs of characters in scripts without spaces
//! between words.
//!
//! Terms are distinguished by their hashes alone. Two terms of a text collide with a probability of about one
//! in ten thousand, which does not change the ranking noticeably.

/// Number of possible terms.
pub(super) const TERM_COUNT: usize = 1 << 16;

/// Calls `take` with each term of a text.
pub(super) fn for_each_term(text: &str, mut take: impl FnMut(u16)) {
    let mut word = TermHash::new();
    let mut above: Option<char> = None;
    let mut annotation = false;
    for c in text.chars() {
        // `{vocalsound}`: an annotation of the transcriber.
        annotation = c == '{' || annotation && c != '}';
        if annotation {
            word.end(&mut take);
            above = None;
        } else if is_unspaced_script(c) {
            word.end(&mut take);
            if let Some(above) = above {
                let mut pair = TermHash::new();
                pair.add(above);
                pair.add(c);
                pair.end(&mut take);
            }
            above = Some(c);
        } else {
            above = None;
            if c.is_ascii_alphanumeric() {
                word.add(c.to_ascii_lowercase());
            } else if c.is_alphanumeric() {
                c.to_lowercase().for_each(|c| word.add(c));
            } else if !is_word_mark(c) {
                word.end(&mut take);
            }
        }
    }
    word.end(&mut take);
}

/// Returns true for letters of Han, kana, Thai, Lao, Khmer and Burmese.
fn is_unspaced_script(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
        && c.is_alphanumeric()
}

/// Returns true for marks inside a word: combining marks, Arabic vowels, tatweel, joiners.
fn is_word_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{64b}'..='\u{65f}' | '\u{640}' | '\u{670}' | '\u{ad}' | '\u{200c}' | '\u{200d}')
}

/// FNV-1a hash over characters, folded to 16 bits.
struct TermHash {
    state: u32,
    is_empty: bool,
}

impl TermHash {
    fn new() -> Self {
        Self { state: 0x811c_9dc5, is_empty: true }
    }

    fn add(&mut self, c: char) {
        self.state = (self.state ^ u32::from(c)).wrapping_mul(0x0100_0193);
        self.is_empty = false;
    }

    fn end(&mut self, take: &mut impl FnMut(u16)) {
        if !self.is_empty {
            take((self.state >> 16 ^ self.state & 0xffff) as u16);
            *self = Self::new();
        }
    }
}
