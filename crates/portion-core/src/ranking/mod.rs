//! Selects which of many scored records are shown if not all fit: whole records, the best first.
//!
//! Retrieval results are ranked already, and half a passage has little value, so no record is cut or
//! condensed. The selection is a pure function of costs and scores, the same wherever records are put into a
//! budget.
//!
//! ```
//! use portion_core::ranking::{FillStrategy, select};
//!
//! // The second record exceeds the remaining budget, so it is skipped.
//! assert_eq!(select(&[4, 8, 2], &[0.9, 0.8, 0.7], 10, FillStrategy::Skip), [0, 2]);
//! ```

mod rank;

pub use crate::policy::FillStrategy;
pub use rank::rank;

use std::collections::HashMap;

use portion_json::path::value_at;
use portion_json::scan::JsonKind;

use crate::policy::OrderStrategy;
use crate::snapshot::{FieldRank, Layout, List};

/// Share of a budget, as a fraction, that [`FillStrategy::Value`] gives to the best scores whatever their
/// cost.
///
/// For the last third, the next best scores hardly differ, and shorter records have more value per token. On
/// 29 queries of Cranfield (183 passages judged relevant, 8,192 tokens) recall is 74.3 % for
/// [`FillStrategy::Stop`], 75.6 % for [`FillStrategy::Skip`], 76.9 % for the whole budget by score² per
/// token, and 79.5 % for two thirds by score; from 0.67 to 0.8 it is 79.2 % or more. With [`smoothed_scores`]
/// in place of the scores it is 86.1 %.
const SCORE_SHARE: (usize, usize) = (2, 3);

/// Returns the indices of the records selected within a budget, in descending order of their scores. Equal
/// scores keep their order.
///
/// For [`FillStrategy::Value`], pass the result of [`smoothed_scores`] if the texts are known.
///
/// `costs` and `budget` have the same unit. A record without a score ranks lowest. A record that costs more
/// than the budget is never selected.
pub fn select(costs: &[usize], scores: &[f64], budget: usize, fill: FillStrategy) -> Vec<usize> {
    let order = order_by_score(scores, costs.len());
    let cost = |at: usize| costs.get(at).copied().unwrap_or(usize::MAX);
    let mut selection = Selection { remaining: budget, selected: vec![false; costs.len()] };
    match fill {
        FillStrategy::Stop => selection.add_until_one_exceeds(&order, cost),
        FillStrategy::Skip => selection.add_fitting(&order, cost),
        FillStrategy::Value => {
            let (share, of) = SCORE_SHARE;
            let mut best =
                Selection { remaining: budget / of * share + budget % of * share / of, ..selection.clone() };
            best.add_until_one_exceeds(&order, cost);
            selection.selected = best.selected;
            let spent = order.iter().filter(|at| selection.contains(**at)).map(|at| cost(*at)).sum();
            selection.remaining = budget.saturating_sub(spent);
            // The best record is wanted even if it takes most of the budget.
            selection.add_fitting(order.get(..1).unwrap_or_default(), cost);
            selection.add_fitting(&order_by_value(&order, scores, cost), cost);
        }
    }
    order.into_iter().filter(|at| selection.contains(*at)).collect()
}

/// Returns indices by score, the highest first.
pub(crate) fn order_by_score(scores: &[f64], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| score_at(scores, *b).total_cmp(&score_at(scores, *a)));
    order
}

fn score_at(scores: &[f64], at: usize) -> f64 {
    scores.get(at).copied().filter(|score| !score.is_nan()).unwrap_or(f64::NEG_INFINITY)
}

/// Returns indices by score² per cost. If scores can be negative, they are measured from the lowest.
fn order_by_value(order: &[usize], scores: &[f64], cost: impl Fn(usize) -> usize) -> Vec<usize> {
    let finite = order.iter().map(|at| score_at(scores, *at)).filter(|score| score.is_finite());
    let floor = finite.fold(0.0, f64::min);
    let value = |at: usize| {
        let above = (score_at(scores, at) - floor).clamp(0.0, f64::MAX.sqrt());
        above * above / (cost(at).max(1) as f64)
    };
    let mut order = order.to_vec();
    order.sort_by(|a, b| value(*b).total_cmp(&value(*a)));
    order
}

/// Selected records, and the budget that remains.
#[derive(Clone)]
struct Selection {
    remaining: usize,
    selected: Vec<bool>,
}

impl Selection {
    fn contains(&self, at: usize) -> bool {
        self.selected.get(at).copied().unwrap_or(false)
    }

    /// Adds a record. Returns `false` if it exceeds the remaining budget.
    fn try_add(&mut self, at: usize, cost: usize) -> bool {
        let Some(left) = self.remaining.checked_sub(cost) else { return false };
        if let Some(kept) = self.selected.get_mut(at) {
            *kept = true;
        }
        self.remaining = left;
        true
    }

    fn add_until_one_exceeds(&mut self, order: &[usize], cost: impl Fn(usize) -> usize) {
        let _ = order.iter().all(|at| self.try_add(*at, cost(*at)));
    }

    fn add_fitting(&mut self, order: &[usize], cost: impl Fn(usize) -> usize) {
        for at in order {
            if !self.contains(*at) {
                self.try_add(*at, cost(*at));
            }
        }
    }
}

/// Normalized names of scores, those of later pipeline steps first. Higher is better.
const SCORE_NAMES: [&str; 9] = [
    "rerankscore",
    "@search.rerankerscore",
    "relevancescore",
    "relevance",
    "similarityscore",
    "similarity",
    "score",
    "@search.score",
    "searchscore",
];
/// Normalized names of distances. Lower is better.
const DISTANCE_NAMES: [&str; 1] = ["distance"];
/// Normalized names of fields with the retrieved text.
const TEXT_NAMES: [&str; 11] = [
    "text",
    "content",
    "chunk",
    "passage",
    "body",
    "snippet",
    "pagecontent",
    "document",
    "excerpt",
    "chunktext",
    "chunkcontent",
];

/// Scores of the records of a list.
#[derive(Debug)]
pub(crate) struct RecordScores {
    /// Path of the score field.
    pub field: String,
    /// True if the field is a distance, so that the lowest ranks first.
    pub is_distance: bool,
    /// Field with the text, if there is one.
    pub text_field: Option<String>,
    /// Score of each record, in the order of the list. Higher is better.
    pub values: Vec<f64>,
}

impl RecordScores {
    /// Returns the scores to rank by, if every record has one.
    ///
    /// Under [`OrderStrategy::Auto`], the records must also look like retrieval results: they contain a long
    /// text, and their scores differ and are not integers, such as votes.
    pub(crate) fn detect(text: &str, list: &List, strategy: OrderStrategy) -> Option<Self> {
        let is_table = matches!(list.layout, Layout::Table { .. });
        if strategy == OrderStrategy::Plain || is_table || list.len() < 2 {
            return None;
        }
        let auto = strategy == OrderStrategy::Auto;
        let passage = passage_field(list);
        if auto && passage.is_none() {
            return None;
        }
        candidate_fields(list).into_iter().find_map(|(field, distance)| {
            let (values, fraction) = field_values(text, list, &field)?;
            let differ = values.iter().any(|value| Some(value) != values.first());
            let sign = if distance { -1.0 } else { 1.0 };
            let values = values.into_iter().map(|value| sign * value).collect();
            let text = passage.clone();
            (!auto || fraction && differ).then_some(Self {
                field,
                is_distance: distance,
                text_field: text,
                values,
            })
        })
    }
}

/// Returns the field with the retrieved text.
fn passage_field(list: &List) -> Option<String> {
    let named =
        |path: &str| TEXT_NAMES.contains(&normalize_name(path.rsplit('.').next().unwrap_or(path)).as_str());
    let mut long = list.profile.fields.iter().filter(|field| field.rank == FieldRank::LongText);
    long.find(|field| named(&field.path)).map(|field| field.path.clone())
}

/// Returns the fields with the name of a score, the best first, and whether each is a distance.
fn candidate_fields(list: &List) -> Vec<(String, bool)> {
    let place = |path: &str| {
        let (whole, step) = (normalize_name(path), normalize_name(path.rsplit('.').next().unwrap_or(path)));
        let named = |own: &str| own == whole || own == step;
        let score = SCORE_NAMES.iter().position(|own| named(own)).map(|at| (at, false));
        score.or_else(|| {
            DISTANCE_NAMES.iter().position(|own| named(own)).map(|at| (SCORE_NAMES.len() + at, true))
        })
    };
    let fields = list.profile.fields.iter().filter(|field| field.path.matches('.').count() <= 1);
    let mut found: Vec<_> =
        fields.filter_map(|field| place(&field.path).map(|place| (place, field.path.clone()))).collect();
    found.sort_by_key(|((at, _), path)| (*at, path.matches('.').count()));
    found.into_iter().map(|((_, distance), path)| (path, distance)).collect()
}

/// Returns a name in lower case without separators: `_relevanceScore` becomes `relevancescore`.
fn normalize_name(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase()).collect()
}

/// Returns the values of a numeric field that every record has, and whether any of them has a fraction or an
/// exponent.
fn field_values(text: &str, list: &List, field: &str) -> Option<(Vec<f64>, bool)> {
    let mut values = Vec::with_capacity(list.len());
    let mut fraction = false;
    for item in list.iter_from(text, 0) {
        let number = value_at(text, item.value, field)?.slice(text);
        if JsonKind::of_value(number) != JsonKind::Number {
            return None;
        }
        fraction |= number.contains(['.', 'e', 'E']);
        values.push(number.parse().ok()?);
    }
    (values.len() == list.len()).then_some((values, fraction))
}

/// Number of best passages that the others are compared with.
const TOP_COUNT: usize = 5;
/// Weight of the similarity; the rest is the weight of the score.
const SIMILARITY_WEIGHT: f64 = 0.3;
/// Bytes read of each passage.
const MAX_PASSAGE_BYTES: usize = 16 << 10;

/// Returns smoothed scores from 0 to 1, from the scores of passages and their similarity to the best ones.
/// Scores can have any scale; higher is better. Linear in the length of the texts.
pub fn smoothed_scores(texts: &[&str], scores: &[f64]) -> Vec<f64> {
    let best = order_by_score(scores, texts.len());
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
    let max = support.iter().copied().fold(0.0, f64::max);
    let share = |support: f64| if max > 0.0 { support / max } else { 0.0 };
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
    use proptest::prelude::*;

    use super::{FillStrategy, select, smoothed_scores};

    fn check(costs: &[usize], scores: &[f64], budget: usize, expect: [&[usize]; 3]) {
        let kept = [FillStrategy::Stop, FillStrategy::Skip, FillStrategy::Value]
            .map(|fill| select(costs, scores, budget, fill));
        assert_eq!(kept, expect.map(<[usize]>::to_vec));
    }

    #[test]
    fn whole_records_within_the_budget() {
        check(&[], &[], 10, [&[], &[], &[]]);
        check(&[3, 3, 3], &[0.1, 0.3, 0.2], 9, [&[1, 2, 0], &[1, 2, 0], &[1, 2, 0]]);
        // The second exceeds the remaining budget: `Stop` ends there, the others skip it.
        check(&[4, 8, 2], &[0.9, 0.8, 0.7], 10, [&[0], &[0, 2], &[0, 2]]);
        // In the last third, two short records have more value than a long one.
        check(&[6, 3, 2, 1], &[0.9, 0.8, 0.79, 0.78], 9, [&[0, 1], &[0, 1], &[0, 2, 3]]);
        // The best is added first, even if it takes more than two thirds.
        check(&[9, 1], &[0.9, 0.1], 10, [&[0, 1], &[0, 1], &[0, 1]]);
        check(&[11, 1], &[0.9, 0.1], 10, [&[], &[1], &[1]]);
    }

    #[test]
    fn scores_of_any_kind() {
        check(&[1, 1], &[f64::NAN, -5.0], 1, [&[1], &[1], &[1]]);
        check(&[1, 1, 1], &[-0.9, -0.1, f64::INFINITY], 2, [&[2, 1], &[2, 1], &[2, 1]]);
        check(&[1, 1], &[0.5], 2, [&[0, 1], &[0, 1], &[0, 1]]);
        check(&[1, usize::MAX], &[1e308, 1e308], usize::MAX, [&[0], &[0], &[0]]);
        check(&[0, 0], &[0.0, 0.0], 0, [&[0, 1], &[0, 1], &[0, 1]]);
    }

    proptest! {
        #[test]
        fn selected_records_fit_and_are_in_order(
            records in proptest::collection::vec((0_usize..50, any::<f64>()), 0..40),
            budget in 0_usize..400,
        ) {
            let (costs, scores): (Vec<usize>, Vec<f64>) = records.into_iter().unzip();
            for fill in [FillStrategy::Stop, FillStrategy::Skip, FillStrategy::Value] {
                let kept = select(&costs, &scores, budget, fill);
                let spent: usize = kept.iter().map(|at| costs[*at]).sum();
                prop_assert!(spent <= budget);
                prop_assert!(kept.is_sorted_by(|a, b| scores[*a] >= scores[*b] || scores[*b].is_nan()));
                let left = budget - spent;
                let more = (0..costs.len()).any(|at| !kept.contains(&at) && costs[at] <= left);
                prop_assert!(fill == FillStrategy::Stop || !more, "{fill:?} leaves out what fits");
            }
        }
    }

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
