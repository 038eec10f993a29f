//! Orders the fields of a list: what identifies a record, what it is about, other fields. Constants and duplicates come last.

use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;
use portion_json::projection::is_path_within;
use portion_json::scan::JsonKind;

use crate::noise::NoiseFields;
use crate::snapshot::{Field, FieldRank, Layout, OrderedList, cell_spans, field_names, visit_fields};

/// Samples needed to conclude that a field is constant, or a duplicate of another.
const MIN_SAMPLES: usize = 3;
/// Number of dates, of amounts and of contents that come before other fields.
const MAX_LEADING_DATES: usize = 2;
const MAX_LEADING_AMOUNTS: usize = 1;
const MAX_LEADING_CONTENTS: usize = 1;
/// Importance of a name from which a number counts as an amount.
const MIN_AMOUNT_WEIGHT: usize = 60;
/// Parts of date names. The first list is for dates of events, the second for dates of records.
const EVENT_DATE_STEMS: [&str; 8] = ["arriv", "depart", "check", "start", "end", "begin", "due", "from"];
const AUDIT_DATE_STEMS: [&str; 8] =
    ["creat", "updat", "modif", "insert", "activity", "sync", "deleted", "reservationdate"];
/// Names of the fields that name a value beside them.
const VALUE_NAMES: [&str; 4] = ["field", "key", "label", "name"];
/// Names of fields that hold what a record says, the most specific first.
const CONTENT_NAMES: [&str; 8] = ["message", "msg", "text", "line", "body", "content", "log", "value"];

/// The fields of a list in the order in which a page shows them. It depends on the list only, so that each page of a walk, and
/// each equal call, has the same.
pub(super) struct FieldOrder {
    /// Dotted paths. Metadata of the API is not among them.
    pub paths: Vec<String>,
    /// Number of main fields at the front: they identify a record and say what it is about.
    pub main_count: usize,
    /// Number of fields that add something to those before them.
    pub useful_count: usize,
}

impl FieldOrder {
    /// Orders the fields of a list. `preferred`: those that an operator named, which are main fields.
    pub(super) fn new(rows: OrderedList<'_>, noise: &NoiseFields, preferred: &[String]) -> Self {
        let fields = rows.list.profile.fields.iter().filter(|field| !noise.contains(&field.path)).collect();
        let tiers = ranked(rows, fields);
        let preference = |field: &Field| preferred.iter().position(|name| is_path_within(&field.path, name));
        let (mut main, mut others) = (Vec::new(), Vec::new());
        for (field, tier) in tiers {
            if tier <= Tier::Leading || preference(field).is_some() {
                main.push((tier, field));
            } else if field.rank != FieldRank::Noise {
                others.push((tier, field));
            }
        }
        // What an operator named comes after identities and names, in the operator's order.
        main.sort_by_key(|(tier, field)| {
            if *tier == Tier::Core { None } else { Some(preference(field).unwrap_or(usize::MAX)) }
        });
        with_names_of_values(&mut main, &mut others);
        let main_count = main.len();
        let useful_count = main_count + others.iter().filter(|(tier, _)| *tier < Tier::Redundant).count();
        let paths = main.into_iter().chain(others).map(|(_, field)| field.path.clone()).collect();
        Self { paths, main_count, useful_count }
    }

    /// Keeps the fields for which a condition holds.
    pub(super) fn retain(&mut self, is_kept: impl Fn(&str) -> bool) {
        let kept = |count: usize| self.paths.iter().take(count).filter(|path| is_kept(path)).count();
        (self.main_count, self.useful_count) = (kept(self.main_count), kept(self.useful_count));
        self.paths.retain(|path| is_kept(path));
    }
}

/// Moves the name of each value before it: of `headers.name` and `headers.value`, the value alone says nothing.
fn with_names_of_values<'a>(main: &mut Vec<(Tier, &'a Field)>, others: &mut Vec<(Tier, &'a Field)>) {
    let step =
        |path: &str| path.rsplit_once('.').map(|(object, last)| (object.to_owned(), last.to_lowercase()));
    let mut at = 0;
    while let Some((tier, value)) = main.get(at).copied() {
        let object = step(&value.path).filter(|(_, last)| last == "value").map(|(object, _)| object);
        let is_name = |(_, field): &(Tier, &Field)| {
            step(&field.path).is_some_and(|(own, last)| Some(own) == object && VALUE_NAMES.contains(&&*last))
        };
        if object.is_some() && !main[..at].iter().any(is_name) {
            let of_main = main.iter().position(is_name).map(|from| main.remove(from));
            let found = of_main.or_else(|| others.iter().position(is_name).map(|from| others.remove(from)));
            if let Some((_, name)) = found {
                main.insert(at, (tier, name));
                at += 1;
            }
        }
        at += 1;
    }
}

/// Groups of fields, in order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    /// Identities, names and the primary status.
    Core,
    /// Dates, an amount and a content, which say what a record is about.
    Leading,
    Other,
    /// Fields that add nothing to the others.
    Redundant,
}

/// Values of sampled items, by field.
type FieldValues<'a> = HashMap<String, Vec<&'a str>, FixedState>;

/// Returns the fields of a list with their groups, in order.
fn ranked<'a>(rows: OrderedList<'_>, mut fields: Vec<&'a Field>) -> Vec<(&'a Field, Tier)> {
    let (values, records) = sample_values(rows);
    let own = |field: &Field| values.get(&field.path).filter(|own| own.len() == records);
    let mut spare: HashSet<&str> = HashSet::new();
    let mut kept: Vec<(&Field, &Vec<&str>)> = Vec::new();
    for field in fields.iter().copied().filter(|_| records >= MIN_SAMPLES) {
        let Some(values) = own(field) else { continue };
        let constant = values.windows(2).all(|pair| pair[0] == pair[1]);
        let repeats = |(other, others): &(&Field, &Vec<&str>)| {
            let names = other.rank == FieldRank::Name && field.rank == FieldRank::Name;
            others
                .iter()
                .zip(values)
                .all(|(other, value)| value == other || names && is_name_prefix(value, other))
        };
        let tells = matches!(field.rank, FieldRank::Identity | FieldRank::Status);
        let twice = !constant && kept.iter().any(repeats);
        if !tells && (twice || constant) {
            spare.insert(&field.path);
        } else {
            kept.push((field, values));
        }
    }
    let mut dates: Vec<(usize, &Field)> = Vec::new();
    let mut amounts: Vec<&Field> = Vec::new();
    for field in fields.iter().copied().filter(|field| !spare.contains(field.path.as_str())) {
        let Some(values) = values.get(&field.path) else { continue };
        let is_gap = |value: &&str| matches!(*value, "null" | "\"\"");
        let all = |fits: &dyn Fn(&str) -> bool| {
            values.iter().all(|value| is_gap(value) || fits(value)) && !values.iter().all(is_gap)
        };
        if all(&is_date) || field_names::is_timestamp(&field.path) && all(&is_epoch) {
            dates.push((date_order(&field.path), field));
        } else if all(&|value| JsonKind::of_value(value) == JsonKind::Number)
            && field_names::importance(&field.path) >= MIN_AMOUNT_WEIGHT
            && !field_names::is_code(&field.path)
            && !field_names::is_timestamp(&field.path)
        {
            amounts.push(field);
        }
    }
    dates.sort_by_key(|(order, _)| *order);
    // Money before counts.
    amounts.sort_by_cached_key(|field| std::cmp::Reverse(field_names::importance(&field.path)));
    let mut leading: HashSet<&str> = dates
        .into_iter()
        .map(|(_, field)| field)
        .take(MAX_LEADING_DATES)
        .chain(amounts.into_iter().take(MAX_LEADING_AMOUNTS))
        .chain(fields.iter().copied().filter(|field| field_names::is_id_of_element(&field.path)))
        .chain(contents(&fields, &values, records).into_iter().take(MAX_LEADING_CONTENTS))
        .map(|field| field.path.as_str())
        .collect();
    let bytes = |field: &Field| {
        values.get(&field.path).map_or(0, |own| own.iter().map(|value| value.len()).sum::<usize>())
    };
    let others = || fields.iter().copied().filter(|field| !spare.contains(field.path.as_str()));
    if leading.is_empty() && !others().any(|field| field.rank == FieldRank::Name) {
        // Identities alone say nothing: the longest text does.
        let texts = others().filter(|field| may_be_text(field, &values));
        leading.extend(texts.max_by_key(|field| bytes(field)).map(|field| field.path.as_str()));
    }
    let tier = |field: &&Field| match field.path.as_str() {
        path if spare.contains(path) => Tier::Redundant,
        _ if field.rank <= FieldRank::Status => Tier::Core,
        path if leading.contains(path) => Tier::Leading,
        _ => Tier::Other,
    };
    // A prefix of the fields is shown, so expensive ones come after cheap ones.
    let long = |field: &Field| match field.rank {
        FieldRank::LongText | FieldRank::Container => bytes(field),
        _ => 0,
    };
    fields.sort_by_key(|field| (tier(field), long(field)));
    fields.into_iter().map(|field| (field, tier(&field))).collect()
}

/// Returns true for a field that may say what a record is about. A list of numbers, such as a geometry, says nothing.
fn may_be_text(field: &Field, values: &FieldValues<'_>) -> bool {
    let first = || values.get(&field.path).and_then(|own| own.first()).copied().unwrap_or_default();
    (FieldRank::Important..FieldRank::Container).contains(&field.rank)
        || field.rank == FieldRank::Container && first().trim_start_matches('[').starts_with(['"', '{'])
}

/// Returns the fields that hold what a record says. If records have names of their own, long texts and lists in them do not.
fn contents<'a>(fields: &[&'a Field], values: &FieldValues<'_>, records: usize) -> Vec<&'a Field> {
    let distinct = |field: &Field| {
        values.get(&field.path).map_or(0, |values| values.iter().collect::<HashSet<_>>().len())
    };
    let is_named = fields.iter().any(|field| {
        field.rank == FieldRank::Name && !field.path.contains('.') && distinct(field) * 10 > records * 9
    });
    let place = |field: &Field| {
        let name = field_names::last_step(&field.path).to_lowercase();
        CONTENT_NAMES.iter().position(|content| name == *content)
    };
    // Lists in the records have several values a record.
    let is_listed = |field: &Field| values.get(&field.path).is_some_and(|values| values.len() > records);
    let may_be = |(_, field): &(usize, &Field)| {
        let is_plain = field.rank < FieldRank::Container && field.rank > FieldRank::Status;
        let is_aside = is_named && (field.rank == FieldRank::LongText || is_listed(field));
        is_plain && distinct(field) > 1 && !is_aside
    };
    let named = fields.iter().copied().filter_map(|field| Some((place(field)?, field)));
    let mut found: Vec<(usize, &Field)> = named.filter(may_be).collect();
    found.sort_by_key(|(place, field)| (field.path.matches('.').count(), *place));
    found.into_iter().map(|(_, field)| field).collect()
}

/// Returns the values of the sampled items by field, and the number of items.
fn sample_values(rows: OrderedList<'_>) -> (FieldValues<'_>, usize) {
    let samples = &rows.list.profile.samples;
    let (mut all, records) = (FieldValues::default(), samples.len());
    for span in samples {
        let item = rows.slice(*span);
        let mut add = |path: &str, value| match all.get_mut(path) {
            Some(values) => values.push(value),
            None => drop(all.insert(path.to_owned(), vec![value])),
        };
        match &rows.list.layout {
            Layout::Table { columns, .. } => {
                columns.iter().zip(cell_spans(item)).for_each(|(name, cell)| add(name, cell.slice(item)));
            }
            _ => visit_fields(item, &mut |path, _, value| add(path, value.slice(item))),
        }
    }
    (all, records)
}

/// Returns true if a string begins another one, followed by a space, as a first name begins a full name.
fn is_name_prefix(value: &str, whole: &str) -> bool {
    let inside =
        |json: &str| json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).map(str::to_owned);
    let (Some(value), Some(whole)) = (inside(value), inside(whole)) else { return false };
    !value.is_empty() && whole.strip_prefix(value.as_str()).is_some_and(|rest| rest.starts_with(' '))
}

/// Returns true for a string that begins with a date such as `2026-07-04`.
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

/// Returns true for a number of seconds or smaller units since 1970, in quotes or not.
fn is_epoch(value: &str) -> bool {
    let number = value.trim_matches('"');
    let whole = number.split('.').next().unwrap_or(number);
    (10..=19).contains(&whole.len()) && number.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

fn date_order(path: &str) -> usize {
    let lower = path.to_lowercase();
    let is = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if is(&AUDIT_DATE_STEMS) { 2 } else { usize::from(!is(&EVENT_DATE_STEMS)) }
}
