//! The terms of a sentence: its words in lower case; pairs of characters in scripts that put no spaces between words.
//!
//! Terms are told apart by their hashes alone, so nothing is kept of their letters. Two terms of a text fall
//! together once in some ten thousand, which moves no sentence.

/// How many terms there can be.
pub(super) const TERM_COUNT: usize = 1 << 16;

/// Calls `take` with each term of a text.
pub(super) fn for_each_term(text: &str, mut take: impl FnMut(u16)) {
    let mut word = TermHash::new();
    let mut above: Option<char> = None;
    let mut aside = false;
    for c in text.chars() {
        // `{vocalsound}`: what the one who wrote it down heard.
        aside = c == '{' || aside && c != '}';
        if aside {
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

/// Letters of Han, kana, Thai, Lao, Khmer and Burmese.
fn is_unspaced_script(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
        && c.is_alphanumeric()
}

/// Marks inside a word: combining ones, Arabic vowels, the tatweel, joiners.
fn is_word_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{64b}'..='\u{65f}' | '\u{640}' | '\u{670}' | '\u{ad}' | '\u{200c}' | '\u{200d}')
}

/// FNV-1a over characters, folded to 16 bits.
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
