//! Finds the scores that retrieval gave to records.

use portion_json::path::value_at;
use portion_json::scan::JsonKind;

use crate::policy::OrderStrategy;
use crate::snapshot::{FieldRank, Layout, List};

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
