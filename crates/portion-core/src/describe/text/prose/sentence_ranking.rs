//! Ranks sentences by relevance.

use super::sentences::Sentence;
use super::terms::{TERM_COUNT, for_each_term};

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
