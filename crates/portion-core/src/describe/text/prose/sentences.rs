//! Splits a text into sentences. Large texts are sampled.

use portion_text::chunk::sentence_starts;

/// Largest text that is read whole, in bytes. Of larger texts, evenly spaced samples of half that size in
/// total are read.
const MAX_WHOLE_BYTES: usize = 512 * 1024;
const SAMPLE_COUNT: usize = 64;
const SAMPLE_BYTES: usize = MAX_WHOLE_BYTES / 2 / SAMPLE_COUNT;
/// Length in bytes from which a sentence is cut at a space, for text without punctuation.
const MAX_SENTENCE_BYTES: usize = 480;

/// Sentences of a text, in order.
#[derive(Debug, Default)]
pub(super) struct Sentences<'a> {
    pub(super) all: Vec<Sentence<'a>>,
    /// True if they are from samples only.
    pub(super) is_sampled: bool,
}

/// A sentence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sentence<'a> {
    /// The sentence, without surrounding white space.
    pub(super) text: &'a str,
    /// Length of the speaker label at its beginning.
    pub(super) speaker_bytes: usize,
}

impl<'a> Sentences<'a> {
    pub(super) fn split(text: &'a str) -> Self {
        let mut found = Self { is_sampled: text.len() > MAX_WHOLE_BYTES, ..Self::default() };
        if !found.is_sampled {
            found.add(text);
            return found;
        }
        for sample in 0..SAMPLE_COUNT {
            let start = text.floor_char_boundary(text.len() / SAMPLE_COUNT * sample);
            let end = text.floor_char_boundary(start + SAMPLE_BYTES);
            let before = found.all.len();
            found.add(&text[start..end]);
            // The first and the last sentence of a sample are probably incomplete.
            if sample > 0 && found.all.len() > before {
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

    /// Adds a sentence, split into pieces if it is long.
    pub(super) fn push(&mut self, sentence: &'a str) {
        let mut rest = sentence.trim();
        while rest.len() > MAX_SENTENCE_BYTES {
            let (piece, more) = rest.split_at(split_offset(rest));
            self.all.push(Sentence { text: piece.trim_end(), speaker_bytes: 0 });
            rest = more.trim_start();
        }
        if !rest.is_empty() {
            self.all.push(Sentence { text: rest, speaker_bytes: 0 });
        }
    }
}

/// Returns the offset at which a long range is cut: after its last space, or anywhere if no space is near.
fn split_offset(rest: &str) -> usize {
    let near = &rest[..rest.floor_char_boundary(MAX_SENTENCE_BYTES)];
    near.rfind(char::is_whitespace).filter(|space| *space > MAX_SENTENCE_BYTES / 2).unwrap_or(near.len())
}
