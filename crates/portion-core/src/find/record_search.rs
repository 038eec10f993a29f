//! Searches the records of a list. Each matching record is shown by its identity fields.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use portion_json::projection::{FieldSelection, OmittedFields};
use portion_json::scan::{JsonKind, JsonReader, escape_into, minify, string_end, unescape};
use portion_json::span::Span;

use super::candidates::{Candidates, NextPositions};
use super::error::Fuel;
use super::hits::{Hits, JsonObjectWriter as Written};
use super::leaf_tokens::{RecordMatch, record_matches, value_text};
use super::pattern::Matcher;
use super::{FindError, context};
use crate::snapshot::{FieldRank, Layout, List, ListItem, ListProfile, cell_spans, with_key_field};

/// Distance in bytes between two candidates from which the items between them are skipped.
const MIN_SKIP_BYTES: usize = 4 << 10;
/// Number of fields shown of a record without identity fields.
const MAX_FALLBACK_FIELDS: usize = 3;
/// Longest value shown among a record's fields, in bytes.
const MAX_SHORT_BYTES: usize = 160;
/// Longest record that is shown whole, in bytes.
const MAX_WHOLE_RECORD_BYTES: usize = 256;

/// Fields of a record to show.
#[derive(Clone, Debug)]
pub(super) enum ShownFields {
    /// Identity fields, and the field that matches.
    Identity,
    /// All fields.
    All,
    /// These fields.
    Selected(FieldSelection),
}

/// Search over the records of a list.
pub(super) struct RecordSearch<'a> {
    text: &'a str,
    list: &'a List,
    /// Path of the text that contains the list.
    base_path: &'a str,
    shown_fields: &'a ShownFields,
    identity_fields: Vec<String>,
    /// In a map, the index of the first item for each duplicate key.
    duplicate_keys: OnceCell<HashMap<String, usize>>,
    /// In a table, the names of the columns, each once.
    column_names: OnceCell<Vec<String>>,
}

impl<'a> RecordSearch<'a> {
    pub(super) fn new(text: &'a str, list: &'a List, path: &'a str, show: &'a ShownFields) -> Self {
        Self {
            text,
            list,
            base_path: path,
            shown_fields: show,
            identity_fields: identity_fields(text, list),
            duplicate_keys: OnceCell::new(),
            column_names: OnceCell::new(),
        }
    }

    /// Searches all records.
    pub(super) fn search(
        &self,
        matcher: &mut Matcher,
        nearest: NextPositions,
        hits: &mut Hits,
        fuel: &mut Fuel<'_>,
    ) -> Result<(), FindError> {
        let mut candidates = Candidates::with_positions(matcher, nearest);
        self.for_each_candidate(&mut candidates, fuel, &mut |item, candidates, fuel| {
            let max = hits.remaining_capacity().max(1);
            let in_record = record_matches(self.text, item.value, matcher, (candidates, max), fuel)?;
            let has_several = in_record.found.len() + in_record.further_count > 1;
            for hit in &in_record.found {
                let element = has_several.then_some(&*hit.container_pointer);
                hits.add_record(hit.is_exact, |is_whole| self.match_item(&item, hit, is_whole, element));
            }
            hits.add_all(in_record.further_count, Vec::new());
            Ok(())
        })
    }

    /// Calls `visit` with each record that may match, keys included.
    pub(super) fn for_each_candidate(
        &self,
        candidates: &mut Candidates,
        fuel: &mut Fuel<'_>,
        visit: &mut dyn FnMut(ListItem, &mut Candidates, &mut Fuel<'_>) -> Result<(), FindError>,
    ) -> Result<(), FindError> {
        let mut items = self.list.iter_from(self.text, 0);
        let mut from = self.list.span.start as usize;
        while let Some(at) =
            candidates.next_from(self.text, from, fuel)?.filter(|at| *at < self.list.span.end as usize)
        {
            if at - from > MIN_SKIP_BYTES
                && let Some((near, start)) = self.list.item_offsets.at_or_before_byte(at)
                && start > from
            {
                items = self.list.iter_from(self.text, near);
            }
            let Some(item) = items.find(|item| item.value.end as usize > at) else { break };
            from = item.value.end as usize;
            visit(item, candidates, fuel)?;
        }
        Ok(())
    }

    /// Returns the path of a record.
    pub(super) fn path_to(&self, item: &ListItem) -> String {
        let firsts = self.duplicate_keys.get_or_init(|| duplicate_keys(self.text, self.list));
        let first = item.key.and_then(|key| firsts.get(&unescape(key.slice(self.text))));
        let hidden = first.is_some_and(|first| *first != item.index);
        let pointer = if hidden { self.list.pointer.clone() } else { self.list.pointer_to(self.text, item) };
        format!("{}{pointer}", self.base_path)
    }

    fn column_names(&self, columns: &[String]) -> &[String] {
        self.column_names.get_or_init(|| unique_names(columns))
    }

    /// Returns the name of the field with the match.
    fn field_path(&self, hit: &RecordMatch) -> String {
        match (&self.list.layout, hit.column) {
            (Layout::Table { columns, .. }, Some(column)) => {
                let column = self.column_names(columns).get(column as usize).map_or("", String::as_str);
                let dot = if hit.field_path.is_empty() { "" } else { "." };
                format!("{column}{dot}{}", hit.field_path)
            }
            _ => hit.field_path.clone(),
        }
    }

    /// Returns the result item of a match in a record. `is_whole`: a short record is shown with all of its fields, if the caller
    /// names none. `element`: pointer to the part of the record that is shown instead, if it has several matches.
    pub(super) fn match_item(
        &self,
        item: &ListItem,
        hit: &RecordMatch,
        is_whole: bool,
        element: Option<&str>,
    ) -> String {
        let (field, value) = (self.field_path(hit), hit.value.slice(self.text));
        let mut written = Written::default();
        written.add_text("path", &format!("{}{}", self.path_to(item), element.unwrap_or_default()));
        if !field.is_empty() {
            written.add_text("in", &field);
        }
        let table = matches!(self.list.layout, Layout::Table { .. });
        let alone = if table { hit.field_path.is_empty() } else { !hit.in_array };
        let is_whole = is_whole && element.is_none() && item.value.len() <= MAX_WHOLE_RECORD_BYTES;
        let shown_fields = match self.shown_fields {
            ShownFields::Identity if is_whole => &ShownFields::All,
            other => other,
        };
        let with_field = alone && value.len() <= MAX_SHORT_BYTES;
        let record = self.project_record(item, shown_fields, (&field, with_field));
        let shown = alone
            && record.as_ref().is_some_and(|(_, fields)| fields.as_ref().is_none_or(|f| f.selects(&field)));
        if !shown || value.len() > 2 * MAX_SHORT_BYTES {
            written.add_text("text", &context::value_excerpt(&value_text(value), hit.match_range.start));
        }
        if let Some((record, _)) = record {
            written.add_json("item", &record);
        }
        if hit.in_array
            && let Some(within) = project_enclosing_object(self.text, item.value, hit.value, shown_fields)
        {
            written.add_json("within", &within);
        }
        written.finish()
    }

    /// Returns a record reduced to the shown fields, and these fields unless all are shown. The identity of a record may be shown
    /// with one more field.
    fn project_record(
        &self,
        item: &ListItem,
        shown_fields: &ShownFields,
        (field, with_field): (&str, bool),
    ) -> Option<(String, Option<FieldSelection>)> {
        let value = item.value.slice(self.text);
        let row;
        let record = match &self.list.layout {
            Layout::Table { columns, .. } => {
                row = row_to_object(value, self.column_names(columns));
                row.as_str()
            }
            Layout::Map if matches!(shown_fields, ShownFields::Selected(_)) => {
                let key = item.key.map_or("", |key| key.slice(self.text));
                row = with_key_field(key, value).unwrap_or_else(|| value.to_owned());
                row.as_str()
            }
            _ => value,
        };
        if JsonKind::of_value(record) != JsonKind::Object {
            return None;
        }
        let mut out = String::new();
        let fields = match shown_fields {
            ShownFields::All => {
                minify(record, &mut out);
                return Some((out, None));
            }
            ShownFields::Selected(fields) => fields.clone(),
            ShownFields::Identity => {
                let matched = with_field && !field.is_empty();
                self.identity_fields.iter().cloned().chain(matched.then(|| field.to_owned())).collect()
            }
        };
        fields.project(record, &mut out, &mut OmittedFields::new());
        Some((out, Some(fields)))
    }
}

/// Returns the identity fields of a list's records, or their first fields if there are none.
fn identity_fields(text: &str, list: &List) -> Vec<String> {
    let of_row;
    let fields = match &list.layout {
        Layout::Table { columns, .. } => {
            let row = list.iter_from(text, 0).next().map_or("", |item| item.value.slice(text));
            of_row = ListProfile::record_fields(&row_to_object(row, &unique_names(columns)));
            &of_row
        }
        _ => &list.profile.fields,
    };
    let upto = |rank: FieldRank| {
        fields.iter().filter(move |field| field.rank <= rank).map(|field| field.path.clone())
    };
    let identity: Vec<String> = upto(FieldRank::Status).collect();
    if identity.is_empty() { upto(FieldRank::Plain).take(MAX_FALLBACK_FIELDS).collect() } else { identity }
}

/// Converts a row of a table into an object.
fn row_to_object(row: &str, columns: &[String]) -> String {
    let mut record = String::from("{");
    for (cell, column) in cell_spans(row).iter().zip(columns) {
        record.push_str(if record.len() > 1 { ",\"" } else { "\"" });
        escape_into(column, &mut record);
        record.push_str("\":");
        record.push_str(cell.slice(row));
    }
    record.push('}');
    record
}

/// Returns the names with numbers appended to those that occur again, as in SQL: an object has each key once.
fn unique_names(columns: &[String]) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::with_capacity(columns.len());
    let mut next: HashMap<&str, usize> = HashMap::new();
    let mut names = Vec::with_capacity(columns.len());
    for column in columns {
        let mut name = column.clone();
        while !taken.insert(name.clone()) {
            let number = next.entry(column).or_insert(2);
            name = format!("{column}_{number}");
            *number += 1;
        }
        names.push(name);
    }
    names
}

/// Returns the first item for each duplicate key of a map: no path leads to the others.
fn duplicate_keys(text: &str, list: &List) -> HashMap<String, usize> {
    let mut first: HashMap<String, (usize, bool)> = HashMap::new();
    if list.layout == Layout::Map {
        for item in list.iter_from(text, 0) {
            let key = item.key.map_or_else(String::new, |key| unescape(key.slice(text)));
            first.entry(key).and_modify(|(_, again)| *again = true).or_insert((item.index, false));
        }
    }
    first.into_iter().filter(|(_, (_, again))| *again).map(|(key, (index, _))| (key, index)).collect()
}

/// Returns the shown fields of the innermost object around a value, or `None` if it has none of them.
pub(super) fn project_enclosing_object(
    text: &str,
    record: Span,
    value: Span,
    show: &ShownFields,
) -> Option<String> {
    let object = innermost_object(text, record, value)?.slice(text);
    let fields: FieldSelection = match show {
        ShownFields::All => return None,
        ShownFields::Selected(fields) => fields.clone(),
        ShownFields::Identity => {
            let fields = ListProfile::record_fields(object).into_iter();
            fields.filter(|field| field.rank <= FieldRank::Status).map(|field| field.path).collect()
        }
    };
    let mut out = String::new();
    fields.project(object, &mut out, &mut OmittedFields::new());
    (out.len() > 2).then_some(out)
}

/// Returns the span of the innermost object around a value in a record.
fn innermost_object(text: &str, record: Span, value: Span) -> Option<Span> {
    let bytes = text.as_bytes();
    let (mut at, end) = (record.start as usize, value.start as usize);
    let mut open = Vec::new();
    while at < end {
        match bytes.get(at)? {
            b'"' => {
                at = string_end(bytes, at);
                continue;
            }
            b'{' => open.push(at),
            b'}' => {
                open.pop();
            }
            _ => {}
        }
        at += 1;
    }
    let mut reader = JsonReader::resume(text, open.pop()?);
    reader.skip().ok()
}
