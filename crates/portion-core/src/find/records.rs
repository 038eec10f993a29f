//! Matches in a list: the record of each, by what identifies it.

use std::cell::OnceCell;
use std::collections::HashMap;

use super::FindError;
use super::candidates::{Candidates, Nearest};
use super::excerpt;
use super::fuel::Fuel;
use super::hits::Hits;
use super::item::Item as Written;
use super::pattern::Matcher;
use super::value::{Hit, first_hit, said};
use super::within;
use crate::projection::{Fields, LeftOut};
use crate::scan::{Kind, decoded, escape, minify};
use crate::snapshot::{Item, Layout, List, Profile, Rank, cells, keyed};

/// Bytes of text between two candidates from which the items between are jumped over.
const JUMP: usize = 4 << 10;
/// Fields that stand for a record which has none that identify it.
const STAND_INS: usize = 3;
/// Bytes of a value that is shown among a record's fields.
const SHORT: usize = 160;

/// Which fields of a record are shown.
#[derive(Clone, Debug)]
pub(super) enum Show {
    /// What identifies it, and what matched.
    Identity,
    /// Every one.
    All,
    /// These.
    Some(Fields),
}

/// The records of one list.
pub(super) struct Records<'a> {
    text: &'a str,
    list: &'a List,
    /// What leads to the text the list is in.
    path: &'a str,
    show: &'a Show,
    identity: Vec<String>,
    /// Of a map, the first item under each key that there are several of.
    firsts: OnceCell<HashMap<String, usize>>,
}

impl<'a> Records<'a> {
    pub(super) fn of(text: &'a str, list: &'a List, path: &'a str, show: &'a Show) -> Self {
        Self { text, list, path, show, identity: identity(text, list), firsts: OnceCell::new() }
    }

    /// Looks through all records.
    pub(super) fn search(
        &self,
        matcher: &mut Matcher,
        nearest: Nearest,
        hits: &mut Hits,
        fuel: &mut Fuel<'_>,
    ) -> Result<(), FindError> {
        let mut candidates = Candidates::known(matcher, nearest);
        self.each_candidate(&mut candidates, fuel, &mut |item, candidates, fuel| {
            if let Some(hit) = first_hit(self.text, item.value, matcher, candidates, fuel)? {
                hits.add(hit.exact, || self.written(&item, &hit));
            }
            Ok(())
        })
    }

    /// Calls `visit` with each record in which there may be a match, keys included.
    pub(super) fn each_candidate(
        &self,
        candidates: &mut Candidates,
        fuel: &mut Fuel<'_>,
        visit: &mut dyn FnMut(Item, &mut Candidates, &mut Fuel<'_>) -> Result<(), FindError>,
    ) -> Result<(), FindError> {
        let mut items = self.list.iter_from(self.text, 0);
        let mut from = self.list.span.start as usize;
        while let Some(at) =
            candidates.from(self.text, from, fuel)?.filter(|at| *at < self.list.span.end as usize)
        {
            if at - from > JUMP
                && let Some((near, start)) = self.list.items.at_byte(at)
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

    /// The path of a record.
    pub(super) fn path_to(&self, item: &Item) -> String {
        let firsts = self.firsts.get_or_init(|| firsts(self.text, self.list));
        let first = item.key.and_then(|key| firsts.get(&decoded(key.of(self.text))));
        let hidden = first.is_some_and(|first| *first != item.index);
        let pointer = if hidden { self.list.pointer.clone() } else { self.list.pointer_to(self.text, item) };
        format!("{}{pointer}", self.path)
    }

    /// The name of the field that a match is in.
    fn field(&self, hit: &Hit) -> String {
        match (&self.list.layout, hit.column) {
            (Layout::Table { columns, .. }, Some(column)) => {
                let column = columns.get(column as usize).map_or("", String::as_str);
                let dot = if hit.field.is_empty() { "" } else { "." };
                format!("{column}{dot}{}", hit.field)
            }
            _ => hit.field.clone(),
        }
    }

    /// An item for a match in a record.
    pub(super) fn written(&self, item: &Item, hit: &Hit) -> String {
        let (field, value) = (self.field(hit), hit.value.of(self.text));
        let mut written = Written::default();
        written.text("path", &self.path_to(item));
        if !field.is_empty() {
            written.text("in", &field);
        }
        let table = matches!(self.list.layout, Layout::Table { .. });
        let alone = if table { hit.field.is_empty() } else { !hit.in_array };
        let record = self.record(item, &field, alone && value.len() <= SHORT);
        let shown = alone
            && record.as_ref().is_some_and(|(_, fields)| fields.as_ref().is_none_or(|f| f.wants(&field)));
        if !shown || value.len() > 2 * SHORT {
            written.text("text", &excerpt::of_value(&said(value), hit.found.start));
        }
        if let Some((record, _)) = record {
            written.json("item", &record);
        }
        if hit.in_array
            && let Some(within) = within::shown(self.text, item.value, hit.value, self.show)
        {
            written.json("within", &within);
        }
        written.finish()
    }

    /// A record with the fields that are shown, and which ones these are where not all are.
    pub(super) fn record(
        &self,
        item: &Item,
        field: &str,
        with_field: bool,
    ) -> Option<(String, Option<Fields>)> {
        let value = item.value.of(self.text);
        let row;
        let record = match &self.list.layout {
            Layout::Table { columns, .. } => {
                row = named_cells(value, columns);
                row.as_str()
            }
            Layout::Map if matches!(self.show, Show::Some(_)) => {
                let key = item.key.map_or("", |key| key.of(self.text));
                row = keyed(key, value).unwrap_or_else(|| value.to_owned());
                row.as_str()
            }
            _ => value,
        };
        if Kind::of(record) != Kind::Object {
            return None;
        }
        let mut out = String::new();
        let fields = match self.show {
            Show::All => {
                minify(record, &mut out);
                return Some((out, None));
            }
            Show::Some(fields) => fields.clone(),
            Show::Identity => {
                let matched = with_field && !field.is_empty();
                self.identity.iter().cloned().chain(matched.then(|| field.to_owned())).collect()
            }
        };
        fields.project(record, &mut out, &mut LeftOut::new());
        Some((out, Some(fields)))
    }
}

/// The fields that identify a list's records, or stand for those.
fn identity(text: &str, list: &List) -> Vec<String> {
    let of_row;
    let fields = match &list.layout {
        Layout::Table { columns, .. } => {
            let row = list.iter_from(text, 0).next().map_or("", |item| item.value.of(text));
            of_row = Profile::of_record(&named_cells(row, columns));
            &of_row
        }
        _ => &list.profile.fields,
    };
    let upto =
        |rank: Rank| fields.iter().filter(move |field| field.rank <= rank).map(|field| field.path.clone());
    let identity: Vec<String> = upto(Rank::Status).collect();
    if identity.is_empty() { upto(Rank::Plain).take(STAND_INS).collect() } else { identity }
}

/// A row of a table as an object.
fn named_cells(row: &str, columns: &[String]) -> String {
    let mut record = String::from("{");
    for (cell, column) in cells(row).iter().zip(columns) {
        record.push_str(if record.len() > 1 { ",\"" } else { "\"" });
        escape(column, &mut record);
        record.push_str("\":");
        record.push_str(cell.of(row));
    }
    record.push('}');
    record
}

/// Of a map, the first item under each key that stands there more than once: a path leads to no other.
fn firsts(text: &str, list: &List) -> HashMap<String, usize> {
    let mut first: HashMap<String, (usize, bool)> = HashMap::new();
    if list.layout == Layout::Map {
        for item in list.iter_from(text, 0) {
            let key = item.key.map_or_else(String::new, |key| decoded(key.of(text)));
            first.entry(key).and_modify(|(_, again)| *again = true).or_insert((item.index, false));
        }
    }
    first.into_iter().filter(|(_, (_, again))| *again).map(|(key, (index, _))| (key, index)).collect()
}
