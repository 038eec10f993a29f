//! Sorts the items of a list by one of their fields, for `sort`.

use std::cmp::Ordering;

use portion_json::path::value_at;
use portion_json::scan::{JsonKind, JsonReader, ParsedNumber, unescape};
use portion_json::span::Span;
use portion_text::column_form::{ColumnForm, FormLearner, is_missing, plain_number, read_time};
use portion_text::names::{closest_name, equivalent_name};

use super::field_names::list_field_names;
use super::{SortOrder, Target, View, ViewError};
use crate::redact::is_redacted_field;
use crate::snapshot::{IndexedText, Layout, List, ListItem, Snapshot, Structure};

/// Sort key of an item.
enum SortKey {
    Number(ParsedNumber),
    Text(String),
    Missing,
}

/// Returns the order that `spec` describes: a field, followed by `desc` for the largest first. In both directions, numbers
/// come before text, and items without the field come last. Equal items keep their order. Texts that are numbers or times
/// are sorted as such.
///
/// `redacted_paths`: the redacted fields.
pub(super) fn sort_order(
    part: u16,
    subject: &IndexedText,
    spec: &str,
    redacted_paths: &[String],
) -> Result<SortOrder, ViewError> {
    let fail = |why: String| ViewError::Sort { given: spec.to_owned(), why };
    let list = match &subject.structure {
        Structure::List(list) => list,
        Structure::Text(_) => return Err(ViewError::SortOfText(spec.to_owned())),
        Structure::Object(_) => return Err(ViewError::SortOfNoList(spec.to_owned())),
    };
    let (field, descending) = parse_sort(spec).ok_or_else(|| fail(format!("it must be {SORT_SYNTAX}")))?;
    let names = list_field_names(list);
    let is_known = names.contains(&field);
    let meant = equivalent_name(&field, names.iter().map(String::as_str)).filter(|_| !is_known);
    let field = meant.map_or(field, str::to_owned);
    let text: &str = &subject.text;
    let column = match &list.layout {
        Layout::Table { columns, .. } => columns.iter().position(|name| *name == field),
        _ => None,
    };
    let mut keys: Vec<(SortKey, u32)> = list
        .iter_from(text, 0)
        .map(|item| (sort_key(text, list, &item, &field, column), item.index as u32))
        .collect();
    if keys.iter().all(|(key, _)| matches!(key, SortKey::Missing)) {
        if is_redacted_field(redacted_paths, &field) {
            return Err(fail("that field is redacted".to_owned()));
        }
        let others = list.profile.fields.iter().map(|field| field.path.as_str());
        let near = closest_name(&field, others.filter(|name| *name != field));
        let hint = near.map_or_else(String::new, |name| format!("; did you mean {name}?"));
        return Err(fail(format!("no item has a plain value in that field{hint}")));
    }
    order_by_form(&mut keys);
    keys.sort_by(|(a, _), (b, _)| compare_keys(a, b, descending));
    let ranks = keys.into_iter().map(|(_, index)| index).collect();
    let spec = format!("{field} {}", if descending { "desc" } else { "asc" });
    Ok(SortOrder { spec, part, is_requested: true, item_indices: ranks, top_count: None })
}

/// Fails if a value is a list that is fetched page by page and of which some is missing: its order is unknown.
pub(super) fn check_complete(
    snapshot: &Snapshot,
    subject: &IndexedText,
    spec: &str,
) -> Result<(), ViewError> {
    let Some(extent) = snapshot.upstream_list().filter(|extent| extent.is_incomplete()) else {
        return Ok(());
    };
    match &subject.structure {
        Structure::List(list) if list.len() == extent.fetched => {
            let gap =
                extent.describe_gap().unwrap_or_else(|| format!("{} items were fetched so far", list.len()));
            Err(ViewError::SortOfPart { given: spec.to_owned(), gap })
        }
        _ => Ok(()),
    }
}

/// Returns the operator's default order for a list without a requested one, or `None` if the list does not
/// have the field.
///
/// Of several parts, it applies to the main part, if that is a list.
pub(crate) fn default_order(snapshot: &Snapshot, view: &View, spec: &str) -> Option<SortOrder> {
    let (part, subject) = match &view.target {
        Target::Value(value) => (value.part, &value.subject),
        Target::Everything => {
            let part = snapshot.main_part()?;
            (part as u16, snapshot.parts().get(part)?.indexed_text()?)
        }
    };
    let free = view.order.is_none() && view.range.is_none() && !view.raw && snapshot.answer().is_none();
    let is_list = matches!(subject.structure, Structure::List(_));
    let order = if free && is_list { sort_order(part, subject, spec, &[]).ok() } else { None };
    order.map(|order| SortOrder { is_requested: false, ..order })
}

/// Syntax of `sort`, for errors.
pub(super) const SORT_SYNTAX: &str = "a field, then `asc` or `desc`";

/// Parses a `sort` into the field and true for descending, or returns `None` if it names no field.
pub fn parse_sort(spec: &str) -> Option<(String, bool)> {
    let spec = spec.trim();
    if let Some(field) = spec.strip_prefix('-') {
        return (!field.is_empty()).then(|| (field.to_owned(), true));
    }
    let (field, direction) = match spec.rsplit_once([' ', ':']) {
        Some((field, word)) if is_word_of(word, ["desc", "descending"]) => (field, true),
        Some((field, word)) if is_word_of(word, ["asc", "ascending"]) => (field, false),
        _ => (spec, false),
    };
    let field = field.trim();
    (!field.is_empty()).then(|| (field.to_owned(), direction))
}

fn is_word_of(word: &str, names: [&str; 2]) -> bool {
    names.iter().any(|name| word.eq_ignore_ascii_case(name))
}

/// Orders texts as SQL does: numbers and times by what they mean, where all texts have one form.
fn order_by_form(keys: &mut [(SortKey, u32)]) {
    let mut learner = FormLearner::default();
    let (mut has_numbers, mut has_texts, mut are_integers) = (false, false, true);
    for (key, _) in keys.iter() {
        match key {
            SortKey::Number(_) => has_numbers = true,
            SortKey::Text(text) => {
                learner.insert(text);
                has_texts = true;
                are_integers &= is_integer(text);
            }
            SortKey::Missing => {}
        }
    }
    let form = if has_texts { learner.form_among(has_numbers) } else { ColumnForm::Text };
    for (key, _) in keys.iter_mut() {
        let SortKey::Text(text) = key else { continue };
        let meant = match form {
            // Those that are too long for SQL.
            ColumnForm::Text if are_integers => Some(ParsedNumber::parse(text)),
            ColumnForm::Text => continue,
            ColumnForm::Number => Some(ParsedNumber::parse(text)).filter(|_| plain_number(text).is_some()),
            ColumnForm::Time(order) => read_time(text, order)
                .map(|time| ParsedNumber::parse(&format!("{}.{:09}", time.seconds, time.nanos))),
            _ => form.number(text).map(|number| ParsedNumber::parse(&number.to_string())),
        };
        match meant {
            Some(number) => *key = SortKey::Number(number),
            None if is_missing(text) => *key = SortKey::Missing,
            None => {}
        }
    }
}

fn is_integer(text: &str) -> bool {
    text == "0" || !text.starts_with('0') && !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn sort_key(text: &str, list: &List, item: &ListItem, field: &str, column: Option<usize>) -> SortKey {
    let value = match (&list.layout, column) {
        (Layout::Table { .. }, Some(column)) => cell(text, item.value, column),
        _ => value_at(text, item.value, field),
    };
    let Some(value) = value else { return SortKey::Missing };
    let json = value.slice(text);
    match JsonKind::of_value(json) {
        JsonKind::Number => SortKey::Number(ParsedNumber::parse(json)),
        JsonKind::String => SortKey::Text(unescape(json)),
        JsonKind::Bool => SortKey::Text(json.to_owned()),
        _ => SortKey::Missing,
    }
}

/// Returns one cell of a row.
fn cell(text: &str, row: Span, column: usize) -> Option<Span> {
    let mut reader = JsonReader::resume(text, row.start as usize);
    reader.enter_array().ok()?;
    for _ in 0..column {
        reader.next_item().ok().filter(|more| *more)?;
        reader.skip().ok()?;
    }
    reader.next_item().ok().filter(|more| *more)?;
    reader.skip().ok()
}

fn compare_keys(a: &SortKey, b: &SortKey, descending: bool) -> Ordering {
    let turned = |ordering: Ordering| if descending { ordering.reverse() } else { ordering };
    match (a, b) {
        (SortKey::Number(x), SortKey::Number(y)) => turned(x.compare(y)),
        (SortKey::Text(x), SortKey::Text(y)) => turned(x.cmp(y)),
        (SortKey::Missing, SortKey::Missing) => Ordering::Equal,
        (SortKey::Number(_), SortKey::Text(_)) | (_, SortKey::Missing) => Ordering::Less,
        (SortKey::Text(_), SortKey::Number(_)) | (SortKey::Missing, _) => Ordering::Greater,
    }
}
