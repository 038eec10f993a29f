//! The sentences of a text, those of large texts from samples.

use crate::chunk::sentence_starts;

/// Bytes up to which a text is read whole; of larger ones half as much is read, in stretches evenly spread.
const WHOLE: usize = 512 * 1024;
const STRETCHES: usize = 64;
const STRETCH: usize = WHOLE / 2 / STRETCHES;
/// Bytes from which on what seems a sentence is cut at a space: text without punctuation.
const LONGEST: usize = 480;

/// The sentences of a text, in order.
#[derive(Debug, Default)]
pub(super) struct Sentences<'a> {
    pub(super) all: Vec<Sentence<'a>>,
    /// Whether they are only those of samples.
    pub(super) sampled: bool,
}

/// A sentence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sentence<'a> {
    /// All of it, without the white space around it.
    pub(super) text: &'a str,
    /// How much of it says who speaks.
    pub(super) name: usize,
}

impl<'a> Sentences<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let mut found = Self { sampled: text.len() > WHOLE, ..Self::default() };
        if !found.sampled {
            found.add(text);
            return found;
        }
        for stretch in 0..STRETCHES {
            let start = text.floor_char_boundary(text.len() / STRETCHES * stretch);
            let end = text.floor_char_boundary(start + STRETCH);
            let before = found.all.len();
            found.add(&text[start..end]);
            // The first and the last are most likely parts of sentences.
            if stretch > 0 && found.all.len() > before {
                found.all.remove(before);
            }
            if found.all.len() > before {
                found.all.pop();
            }
        }
        found
    }

    fn add(&mut self, text: &'a str) {
        let mut from = 0;
        for start in sentence_starts(text).into_iter().chain([text.len()]) {
            for paragraph in text[from..start].split("\n\n").flat_map(|part| part.split("\n\r\n")) {
                self.push(paragraph);
            }
            from = start;
        }
    }

    /// Adds a sentence, in pieces if it is a long one.
    pub(super) fn push(&mut self, sentence: &'a str) {
        let mut rest = sentence.trim();
        while rest.len() > LONGEST {
            let (piece, more) = rest.split_at(cut(rest));
            self.all.push(Sentence { text: piece.trim_end(), name: 0 });
            rest = more.trim_start();
        }
        if !rest.is_empty() {
            self.all.push(Sentence { text: rest, name: 0 });
        }
    }
}

/// Where a long stretch is cut: at its last space, or where there is none near, anywhere.
fn cut(rest: &str) -> usize {
    let near = &rest[..rest.floor_char_boundary(LONGEST)];
    near.rfind(char::is_whitespace).filter(|space| *space > LONGEST / 2).unwrap_or(near.len())
}
