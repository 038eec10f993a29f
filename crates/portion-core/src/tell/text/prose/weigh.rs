//! Which sentences say most.

use super::sentences::Sentence;
use super::terms::{TERMS, each};

/// What being telling weighs against being new.
const LAMBDA: f32 = 0.7;
/// Sentences among which the choice is made, the most telling ones.
const CANDIDATES: usize = 160;
/// Sentences that are chosen; more than are told, for some are too long for the room.
const CHOSEN: usize = 40;
/// From this cosine on a sentence says the same as another.
const SAME: f32 = 0.9;
/// Different terms without which nothing much is said.
const FEWEST: usize = 8;

/// A sentence's terms with their weights, the squares of which add up to 1.
type Vector = Vec<(u16, f32)>;

/// The sentences that say most, the one to be told first at the front.
pub(super) fn best_first(sentences: &[Sentence]) -> Vec<usize> {
    let vectors = vectors(sentences);
    let mut centroid = vec![0_f32; TERMS];
    // What is said in passing would weigh as much as what is said at length.
    for (term, weight) in vectors.iter().filter(|vector| vector.len() >= FEWEST).flatten() {
        centroid[usize::from(*term)] += weight;
    }
    let norm = centroid.iter().map(|weight| weight * weight).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    let mut candidates: Vec<Candidate> = vectors
        .iter()
        .zip(sentences)
        .enumerate()
        .filter(|(_, (vector, sentence))| vector.len() >= FEWEST && is_said(&sentence.text[sentence.name..]))
        .map(|(at, (vector, _))| {
            let telling =
                vector.iter().map(|(term, weight)| weight * centroid[usize::from(*term)]).sum::<f32>() / norm;
            Candidate { at, vector, telling, repeats: 0.0 }
        })
        .collect();
    candidates.sort_by(|a, b| b.telling.total_cmp(&a.telling).then(a.at.cmp(&b.at)));
    candidates.truncate(CANDIDATES);
    choose(candidates)
}

struct Candidate<'a> {
    at: usize,
    vector: &'a Vector,
    telling: f32,
    /// How much of it the nearest of those chosen says.
    repeats: f32,
}

impl Candidate<'_> {
    fn worth(&self) -> f32 {
        LAMBDA * self.telling - (1.0 - LAMBDA) * self.repeats
    }
}

/// One after the other, by maximal marginal relevance.
fn choose(mut candidates: Vec<Candidate>) -> Vec<usize> {
    let mut chosen = Vec::new();
    while chosen.len() < CHOSEN {
        let worths = candidates.iter().enumerate().map(|(place, candidate)| (place, candidate.worth()));
        // The first of equals, which is the more telling one.
        let Some((place, _)) = worths.rev().max_by(|a, b| a.1.total_cmp(&b.1)) else { break };
        let best = candidates.remove(place);
        for candidate in &mut candidates {
            candidate.repeats = candidate.repeats.max(cosine(best.vector, candidate.vector));
        }
        candidates.retain(|candidate| candidate.repeats < SAME);
        chosen.push(best.at);
    }
    chosen
}

/// Of vectors of length 1, their terms in order.
fn cosine(a: &Vector, b: &Vector) -> f32 {
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

/// Term frequency times the logarithm of the share of sentences without the term.
fn vectors(sentences: &[Sentence]) -> Vec<Vector> {
    let mut spread = vec![0_u32; TERMS];
    let mut vectors: Vec<Vector> = Vec::with_capacity(sentences.len());
    let mut terms = Vec::new();
    let mut all = 0.0_f32;
    for sentence in sentences {
        terms.clear();
        each(&sentence.text[sentence.name..], |term| terms.push(term));
        terms.sort_unstable();
        let counted = terms.chunk_by(PartialEq::eq).map(|alike| (alike[0], alike.len() as f32));
        let vector: Vector = counted.collect();
        if vector.len() >= FEWEST {
            vector.iter().for_each(|(term, _)| spread[usize::from(*term)] += 1);
            all += 1.0;
        }
        vectors.push(vector);
    }
    for vector in &mut vectors {
        for (term, weight) in vector.iter_mut() {
            // One more, lest what says nothing new be nothing at all.
            *weight *= ((all + 1.0) / spread[usize::from(*term)].max(1) as f32).ln();
        }
        let norm =
            vector.iter().map(|(_, weight)| weight * weight).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
        vector.iter_mut().for_each(|(_, weight)| *weight /= norm);
    }
    vectors
}

/// Whether it is made of words: most of it letters, and no leaders of a table of contents in it.
fn is_said(sentence: &str) -> bool {
    let (mut letters, mut others) = (0, 0);
    for c in sentence.chars().filter(|c| !c.is_whitespace()) {
        if c.is_alphabetic() { letters += 1 } else { others += 1 }
    }
    letters > 3 * others && !sentence.contains("....") && !sentence.contains(". . .")
}
