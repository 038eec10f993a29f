//! The scores that retrieval gave its records.

use crate::path::value_at;
use crate::policy::OrderStrategy;
use crate::scan::JsonKind;
use crate::snapshot::{FieldRank, Layout, List};

/// Names of scores, without case and separators, the latest word of a pipeline first. The higher the better.
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
/// The lower the better.
const DISTANCE_NAMES: [&str; 1] = ["distance"];
/// Names of what was retrieved.
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

/// The scores of a list's records.
#[derive(Debug)]
pub(crate) struct RecordScores {
    /// The field they stand in.
    pub field: String,
    /// Whether that is a distance, so that the nearest come first.
    pub is_distance: bool,
    /// The field that holds the text, where there is one.
    pub text_field: Option<String>,
    /// The score of each record, in the order of the list: the higher, the better.
    pub values: Vec<f64>,
}

impl RecordScores {
    /// The scores to rank by, where there are any in every record.
    ///
    /// Under [`OrderStrategy::Auto`] also only where the records are what retrieval brings: they hold a long text, and their
    /// scores differ and are no mere counts, such as votes.
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

/// The field that holds what was retrieved.
fn passage_field(list: &List) -> Option<String> {
    let named =
        |path: &str| TEXT_NAMES.contains(&normalize_name(path.rsplit('.').next().unwrap_or(path)).as_str());
    let mut long = list.profile.fields.iter().filter(|field| field.rank == FieldRank::LongText);
    long.find(|field| named(&field.path)).map(|field| field.path.clone())
}

/// The fields that are called like scores, the best first, and whether they are distances.
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

/// A name without case and separators: `_relevanceScore` is `relevancescore`.
fn normalize_name(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase()).collect()
}

/// The numbers of a field that every record has, and whether any of them is written as a fraction.
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
