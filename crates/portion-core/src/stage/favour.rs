//! Which fields a condensed page keeps first: what its items are about. Amounts and dates come before other fields,
//! constants and the second of two equal columns after them.

use std::collections::{HashMap, HashSet};

use super::Case;
use crate::scan::Kind;
use crate::snapshot::{Field, Layout, Rank, cells, leaves, salience};

/// Samples from which it is believed that a field is the same everywhere, or the same as another.
const BELIEVED: usize = 3;
/// Dates and amounts that come before other fields.
const DATES: usize = 2;
const AMOUNTS: usize = 1;
/// The weight of names from which a number is an amount that is asked for.
const ASKED: usize = 60;
/// Parts of names of dates that say when something takes place, rather than when it was written down.
const TAKES_PLACE: [&str; 8] = ["arriv", "depart", "check", "start", "end", "begin", "due", "from"];
const WRITTEN_DOWN: [&str; 8] =
    ["creat", "updat", "modif", "insert", "activity", "sync", "deleted", "reservationdate"];

/// Fields in the order in which they are kept.
pub(super) struct Favoured<'a> {
    pub fields: Vec<&'a Field>,
    /// Those that tell nothing beside the others.
    pub spare: HashSet<&'a str>,
}

/// The values of sampled items, by field.
type Values = HashMap<String, Vec<String>>;

/// The fields of a list in the order in which a condensed page keeps them.
pub(super) fn favoured<'a>(case: &Case<'_>, fields: Vec<&'a Field>) -> Favoured<'a> {
    let (values, records) = values(case);
    let own = |field: &Field| values.get(&field.path).filter(|own| own.len() == records);
    let mut spare: HashSet<&str> = HashSet::new();
    let mut kept: Vec<(&Field, &Vec<String>)> = Vec::new();
    for field in fields.iter().copied().filter(|_| records >= BELIEVED) {
        let Some(values) = own(field) else { continue };
        let constant = values.windows(2).all(|pair| pair[0] == pair[1]);
        let repeats = |(other, others): &(&Field, &Vec<String>)| {
            let names = other.rank == Rank::Name && field.rank == Rank::Name;
            others.iter().zip(values).all(|(other, value)| value == other || names && is_part(value, other))
        };
        let tells = matches!(field.rank, Rank::Identity | Rank::Status);
        let twice = !constant && kept.iter().any(repeats);
        if !tells && (twice || constant && !case.dense && field.rank > Rank::Name) {
            spare.insert(&field.path);
        } else {
            kept.push((field, values));
        }
    }
    let mut dates: Vec<(usize, &Field)> = Vec::new();
    let mut amounts: Vec<&Field> = Vec::new();
    for field in fields.iter().copied().filter(|field| !spare.contains(field.path.as_str())) {
        let Some(values) = values.get(&field.path) else { continue };
        let is_gap = |value: &String| matches!(value.as_str(), "null" | "\"\"");
        let all = |fits: &dyn Fn(&str) -> bool| {
            values.iter().all(|value| is_gap(value) || fits(value)) && !values.iter().all(is_gap)
        };
        if all(&is_date) {
            dates.push((order_of(&field.path), field));
        } else if all(&|value| Kind::of(value) == Kind::Number)
            && salience::weight(&field.path) >= ASKED
            && !salience::is_code(&field.path)
            && !salience::is_moment(&field.path)
        {
            amounts.push(field);
        }
    }
    dates.sort_by_key(|(order, _)| *order);
    let first: HashSet<&str> = dates
        .into_iter()
        .map(|(_, field)| field)
        .take(DATES)
        .chain(amounts.into_iter().take(AMOUNTS))
        .map(|field| field.path.as_str())
        .collect();
    let tier = |field: &&Field| match field.path.as_str() {
        path if spare.contains(path) => 3,
        _ if field.rank <= Rank::Status => 0,
        path if first.contains(path) => 1,
        _ => 2,
    };
    let mut fields = fields;
    fields.sort_by_key(tier);
    Favoured { fields, spare }
}

/// The values of the sampled items, and how many items there are. A field that an item has several times has none.
fn values(case: &Case<'_>) -> (Values, usize) {
    let rows = case.rows;
    let samples = &rows.list.profile.samples;
    let (mut all, records) = (Values::new(), samples.len());
    for span in samples {
        let item = span.of(rows.text);
        let mut add =
            |path: &str, value: &str| all.entry(path.to_owned()).or_default().push(value.to_owned());
        match &rows.list.layout {
            Layout::Table { columns, .. } => {
                columns.iter().zip(cells(item)).for_each(|(name, cell)| add(name, cell.of(item)));
            }
            _ => leaves(item, &mut |path, _, value| add(path, value.of(item))),
        }
    }
    (all, records)
}

/// Whether a string begins another one: the first name in the name.
fn is_part(value: &str, whole: &str) -> bool {
    let inside =
        |json: &str| json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).map(str::to_owned);
    let (Some(value), Some(whole)) = (inside(value), inside(whole)) else { return false };
    !value.is_empty() && whole.strip_prefix(value.as_str()).is_some_and(|rest| rest.starts_with(' '))
}

/// `"2026-07-04`, whatever follows.
fn is_date(value: &str) -> bool {
    let bytes = value.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    bytes.first() == Some(&b'"')
        && (1..5).all(digit)
        && bytes.get(5) == Some(&b'-')
        && digit(6)
        && digit(7)
        && bytes.get(8) == Some(&b'-')
}

fn order_of(path: &str) -> usize {
    let lower = path.to_lowercase();
    let is = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if is(&WRITTEN_DOWN) { 2 } else { usize::from(!is(&TAKES_PLACE)) }
}
