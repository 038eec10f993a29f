//! The scores that retrieval gave its records.

use crate::path::value_at;
use crate::policy::Strategy;
use crate::scan::Kind;
use crate::snapshot::{Layout, List, Rank};

/// Names of scores, without case and separators, the latest word of a pipeline first. The higher the better.
const SCORES: [&str; 9] = [
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
/// The lower the better.
const DISTANCES: [&str; 1] = ["distance"];
/// Names of what was retrieved.
const TEXTS: [&str; 11] = [
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

/// The scores of a list's records.
#[derive(Debug)]
pub(crate) struct Scores {
    /// The field they stand in.
    pub field: String,
    /// Whether that is a distance, so that the nearest come first.
    pub distance: bool,
    /// What each record is worth, in the order of the list: the higher, the better.
    pub values: Vec<f64>,
}

impl Scores {
    /// The scores to rank by, where there are any in every record.
    ///
    /// Under [`Strategy::Auto`] also only where the records are what retrieval brings: they hold a long text, and their
    /// scores differ and are no mere counts, such as votes.
    pub(crate) fn of(text: &str, list: &List, strategy: Strategy) -> Option<Self> {
        let is_table = matches!(list.layout, Layout::Table { .. });
        if strategy == Strategy::Plain || is_table || list.len() < 2 {
            return None;
        }
        let auto = strategy == Strategy::Auto;
        if auto && !holds_passages(list) {
            return None;
        }
        candidates(list).into_iter().find_map(|(field, distance)| {
            let (values, fraction) = values(text, list, &field)?;
            let differ = values.iter().any(|value| Some(value) != values.first());
            let sign = if distance { -1.0 } else { 1.0 };
            let values = values.into_iter().map(|value| sign * value).collect();
            (!auto || fraction && differ).then_some(Self { field, distance, values })
        })
    }
}

fn holds_passages(list: &List) -> bool {
    let named = |path: &str| TEXTS.contains(&plain(path.rsplit('.').next().unwrap_or(path)).as_str());
    list.profile.fields.iter().any(|field| field.rank == Rank::Long && named(&field.path))
}

/// The fields that are called like scores, the best first, and whether they are distances.
fn candidates(list: &List) -> Vec<(String, bool)> {
    let place = |path: &str| {
        let name = plain(path);
        let last = path.rsplit_once('.').map_or(name.clone(), |(_, last)| plain(last));
        let of = |own: &&str| **own == name || **own == last;
        let score = SCORES.iter().position(|own| of(&own)).map(|at| (at, false));
        score.or_else(|| DISTANCES.iter().position(|own| of(&own)).map(|at| (SCORES.len() + at, true)))
    };
    let fields = list.profile.fields.iter().filter(|field| field.path.matches('.').count() <= 1);
    let mut found: Vec<_> =
        fields.filter_map(|field| place(&field.path).map(|place| (place, field.path.clone()))).collect();
    found.sort_by_key(|((at, _), path)| (*at, path.matches('.').count()));
    found.into_iter().map(|((_, distance), path)| (path, distance)).collect()
}

/// A name without case and separators: `_relevanceScore` is `relevancescore`.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase()).collect()
}

/// The numbers of a field that every record has, and whether any of them is written as a fraction.
fn values(text: &str, list: &List, field: &str) -> Option<(Vec<f64>, bool)> {
    let mut values = Vec::with_capacity(list.len());
    let mut fraction = false;
    for item in list.iter_from(text, 0) {
        let number = value_at(text, item.value, field)?.of(text);
        if Kind::of(number) != Kind::Number {
            return None;
        }
        fraction |= number.contains(['.', 'e', 'E']);
        values.push(number.parse().ok()?);
    }
    (values.len() == list.len()).then_some((values, fraction))
}
