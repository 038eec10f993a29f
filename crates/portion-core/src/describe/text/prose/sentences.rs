//! Splits prose into sentences, and ranks them by relevance.

use portion_text::chunk::sentence_starts;

/// Weight of relevance; the rest is the weight of novelty.
const LAMBDA: f32 = 0.7;
/// Number of candidates, the most relevant sentences.
const MAX_CANDIDATES: usize = 160;
/// Number of sentences selected. More than are shown, because some are too long for the budget.
const MAX_SELECTED: usize = 40;
/// Cosine from which a sentence duplicates another.
const DUPLICATE_COSINE: f32 = 0.9;
/// Smallest number of distinct terms of a candidate.
const MIN_TERMS: usize = 8;

/// Terms of a sentence with their weights, normalized to length 1.
type TermVector = Vec<(u16, f32)>;

/// Returns the indices of sentences, the most relevant first.
pub(super) fn rank_sentences(sentences: &[Sentence]) -> Vec<usize> {
    let vectors = term_vectors(sentences);
    let mut centroid = vec![0_f32; TERM_COUNT];
    // Short sentences would weigh as much as long ones.
    for (term, weight) in vectors.iter().filter(|vector| vector.len() >= MIN_TERMS).flatten() {
        centroid[usize::from(*term)] += weight;
    }
    let norm = centroid.iter().map(|weight| weight * weight).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    let mut candidates: Vec<Candidate> = vectors
        .iter()
        .zip(sentences)
        .enumerate()
        .filter(|(_, (vector, sentence))| {
            vector.len() >= MIN_TERMS && is_prose(&sentence.text[sentence.speaker_bytes..])
        })
        .map(|(at, (vector, _))| {
            let relevance =
                vector.iter().map(|(term, weight)| weight * centroid[usize::from(*term)]).sum::<f32>() / norm;
            Candidate { sentence_index: at, vector, relevance, redundancy: 0.0 }
        })
        .collect();
    candidates
        .sort_by(|a, b| b.relevance.total_cmp(&a.relevance).then(a.sentence_index.cmp(&b.sentence_index)));
    candidates.truncate(MAX_CANDIDATES);
    select_sentences(candidates)
}

struct Candidate<'a> {
    sentence_index: usize,
    vector: &'a TermVector,
    relevance: f32,
    /// Cosine to the most similar selected sentence.
    redundancy: f32,
}

impl Candidate<'_> {
    fn marginal_relevance(&self) -> f32 {
        LAMBDA * self.relevance - (1.0 - LAMBDA) * self.redundancy
    }
}

/// Selects sentences one by one, by maximal marginal relevance.
fn select_sentences(mut candidates: Vec<Candidate>) -> Vec<usize> {
    let mut chosen = Vec::new();
    while chosen.len() < MAX_SELECTED {
        let worths =
            candidates.iter().enumerate().map(|(place, candidate)| (place, candidate.marginal_relevance()));
        // The first of equals, which has the higher relevance.
        let Some((place, _)) = worths.rev().max_by(|a, b| a.1.total_cmp(&b.1)) else { break };
        let best = candidates.remove(place);
        for candidate in &mut candidates {
            candidate.redundancy = candidate.redundancy.max(cosine(best.vector, candidate.vector));
        }
        candidates.retain(|candidate| candidate.redundancy < DUPLICATE_COSINE);
        chosen.push(best.sentence_index);
    }
    chosen
}

/// Returns the cosine of two vectors of length 1, with their terms in order.
fn cosine(a: &TermVector, b: &TermVector) -> f32 {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let mut sum = 0.0;
    while let (Some((left, x)), Some((right, y))) = (a.peek(), b.peek()) {
        if left == right {
            sum += x * y;
        }
        if left <= right {
            a.next();
        }
        if right <= left {
            b.next();
        }
    }
    sum
}

/// Returns tf-idf vectors: term frequency times the logarithm of the inverse share of sentences with the
/// term.
fn term_vectors(sentences: &[Sentence]) -> Vec<TermVector> {
    let mut spread = vec![0_u32; TERM_COUNT];
    let mut vectors: Vec<TermVector> = Vec::with_capacity(sentences.len());
    let mut terms = Vec::new();
    let mut all = 0.0_f32;
    for sentence in sentences {
        terms.clear();
        for_each_term(&sentence.text[sentence.speaker_bytes..], |term| terms.push(term));
        terms.sort_unstable();
        let counted = terms.chunk_by(PartialEq::eq).map(|alike| (alike[0], alike.len() as f32));
        let vector: TermVector = counted.collect();
        if vector.len() >= MIN_TERMS {
            vector.iter().for_each(|(term, _)| spread[usize::from(*term)] += 1);
            all += 1.0;
        }
        vectors.push(vector);
    }
    for vector in &mut vectors {
        for (term, weight) in vector.iter_mut() {
            // Plus one, so that a term in all sentences keeps a weight.
            *weight *= ((all + 1.0) / spread[usize::from(*term)].max(1) as f32).ln();
        }
        let norm =
            vector.iter().map(|(_, weight)| weight * weight).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
        vector.iter_mut().for_each(|(_, weight)| *weight /= norm);
    }
    vectors
}

/// Returns true if a sentence consists mostly of letters and has no dot leaders of a table of contents.
fn is_prose(sentence: &str) -> bool {
    let (mut letters, mut others) = (0, 0);
    for c in sentence.chars().filter(|c| !c.is_whitespace()) {
        if c.is_alphabetic() { letters += 1 } else { others += 1 }
    }
    letters > 3 * others && !sentence.contains("....") && !sentence.contains(". . .")
}

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
