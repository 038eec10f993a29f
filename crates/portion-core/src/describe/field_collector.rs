//! Collects field statistics in one pass over all records of a list.

use portion_json::scan::{JsonKind, JsonReader, ScanError};
use portion_text::column_form::ColumnForm;

use super::field_stats::FieldStats;
use super::record_layout::{ITEMS_FIELD, KEY_FIELD, KeyTarget, ROOT_OBJECT, RecordLayout};
use crate::missing_codes::MissingCodes;
use crate::snapshot::{FieldRank, Layout, List};

/// Largest number of fields collected, the highest-ranked first.
const MAX_FIELDS: usize = 96;
/// Bytes of text per hash that may be held.
const TEXT_PER_HASH: usize = 48;
/// Hashes that may be held for any text.
const MIN_HASHES: usize = 4_096;

/// Collects the fields of all records, by rank.
pub(super) fn collect_fields(text: &str, list: &List, missing: &MissingCodes) -> Vec<FieldStats> {
    let mut shapes = RecordLayout::learn_from(text, list);
    // Items that are not records get a name of their own, unless a field has it.
    let items =
        (!shapes.paths.iter().any(|path| path == ITEMS_FIELD)).then(|| shapes.path_index(ITEMS_FIELD));
    let key = (list.layout == Layout::Map).then(|| shapes.path_index(KEY_FIELD));
    let (mut fields, numbers) = select_fields(list, &shapes.paths, key);
    fields.iter_mut().for_each(|field| field.set_missing_codes(missing));
    shapes.retain_paths(&numbers);
    if let Some(field) = items.and_then(|items| numbers.get(items).copied().flatten()) {
        fields[field].count_all_distinct();
    }
    let number = |path: Option<usize>| path.and_then(|path| numbers.get(path).copied().flatten());
    let collect = |fields: Vec<FieldStats>| {
        let mut walk = FieldCollector {
            text,
            fields,
            last_visited: vec![0; shapes.len()],
            layout: &shapes,
            item: KeyTarget { path: number(items), nested_object: None },
            key_field: number(key),
            hash_budget: (text.len() / TEXT_PER_HASH).max(MIN_HASHES),
            record: 0,
        };
        // The text was validated at capture.
        let _ = walk.collect_list(list);
        walk.fields
    };
    let mut found = collect(fields.clone());
    // Texts that are numbers or times of other forms are read as such, as in queries, once their form is known.
    let forms: Vec<ColumnForm> = found.iter().map(FieldStats::learnt_form).collect();
    if forms.iter().any(|form| *form != ColumnForm::Text) {
        fields.iter_mut().zip(forms).for_each(|(field, form)| field.read_texts_as(form));
        found = collect(fields);
    }
    found.retain(|field| field.present_count() + field.null_count + field.missing_count() > 0);
    found
}

/// Returns the fields to collect, and for each path its index among them.
fn select_fields(list: &List, paths: &[String], key: Option<usize>) -> (Vec<FieldStats>, Vec<Option<usize>>) {
    let ranked = &list.profile.fields;
    let rank = |path: usize| {
        let place = ranked.iter().position(|field| field.path == paths[path]);
        match place {
            Some(place) => (place, ranked[place].rank),
            None if key == Some(path) => (0, FieldRank::Name),
            None => (ranked.len(), FieldRank::Container),
        }
    };
    let mut order: Vec<(usize, FieldRank, usize)> =
        (0..paths.len()).map(|path| (rank(path).0, rank(path).1, path)).collect();
    order.sort_by_key(|(place, rank, path)| (*rank, *place, *path));
    let mut numbers = vec![None; paths.len()];
    let mut fields = Vec::new();
    for (_, rank, path) in order.into_iter().take(MAX_FIELDS) {
        numbers[path] = Some(fields.len());
        fields.push(FieldStats::new(paths[path].clone(), rank));
    }
    (fields, numbers)
}

struct FieldCollector<'s> {
    text: &'s str,
    layout: &'s RecordLayout,
    fields: Vec<FieldStats>,
    /// For each object, the number of the last record in which it was visited, from 1.
    last_visited: Vec<usize>,
    /// Target of an item that is not a record.
    item: KeyTarget,
    /// Index of the field for the keys of a map.
    key_field: Option<usize>,
    /// Hashes that may still be held.
    hash_budget: usize,
    record: usize,
}

impl FieldCollector<'_> {
    fn collect_list(&mut self, list: &List) -> Result<(), ScanError> {
        let text = self.text;
        if list.layout == Layout::Lines {
            for item in list.iter_from(text, 0) {
                self.item(&mut JsonReader::resume(text, item.value.start as usize))?;
                self.record += 1;
            }
            return Ok(());
        }
        let Some((_, start)) = list.item_offsets.at_or_before_index(0) else { return Ok(()) };
        let mut reader = JsonReader::resume(text, start);
        while self.record < list.len() {
            if list.layout == Layout::Map {
                let Some(key) = reader.next_key()? else { break };
                if let Some(field) = self.key_field {
                    let field = &mut self.fields[field];
                    if field.is_first_in_record(self.record) {
                        field.add_string(text, key, self.record, &mut self.hash_budget);
                    }
                }
            } else if !reader.next_item()? {
                break;
            }
            if matches!(list.layout, Layout::Table { .. }) {
                self.collect_row(&mut reader)?;
            } else {
                self.item(&mut reader)?;
            }
            self.record += 1;
        }
        Ok(())
    }

    fn item(&mut self, reader: &mut JsonReader<'_>) -> Result<(), ScanError> {
        if reader.peek()? == JsonKind::Object {
            self.collect_object(reader, ROOT_OBJECT)
        } else {
            self.collect_value(reader, self.item)
        }
    }

    fn collect_row(&mut self, reader: &mut JsonReader<'_>) -> Result<(), ScanError> {
        reader.enter_array()?;
        let mut place = 0;
        while reader.next_item()? {
            let target = self.layout.cell_target(place);
            self.collect_value(reader, target)?;
            place += 1;
        }
        Ok(())
    }

    /// Collects the fields of an object. Recursion is bounded by the layout, not by the input.
    fn collect_object(&mut self, reader: &mut JsonReader<'_>, shape: usize) -> Result<(), ScanError> {
        if std::mem::replace(&mut self.last_visited[shape], self.record + 1) == self.record + 1 {
            return reader.skip().map(drop);
        }
        reader.enter_object()?;
        let shapes = self.layout;
        let slots = shapes.object_keys(shape);
        let mut next = 0;
        loop {
            let target = match slots.get(next) {
                Some(slot) if reader.try_skip_key(&slot.key) => {
                    next += 1;
                    slot.target
                }
                _ => match reader.next_key()? {
                    Some(key) => shapes.lookup_key(shape, reader.text(key), &mut next),
                    None => return Ok(()),
                },
            };
            // Fast path: most values of most records are short integers.
            let start = reader.at();
            if let Some(field) = target.path.and_then(|path| self.fields.get_mut(path))
                && let Some(number) = reader.try_read_integer()
            {
                if field.is_first_in_record(self.record) {
                    field.add_integer(number, start..reader.at(), self.record, &mut self.hash_budget);
                }
            } else {
                self.collect_value(reader, target)?;
            }
        }
    }

    fn collect_value(&mut self, reader: &mut JsonReader<'_>, target: KeyTarget) -> Result<(), ScanError> {
        let kind = reader.peek()?;
        let field = target.path.and_then(|path| self.fields.get_mut(path));
        let field = field.and_then(|field| field.is_first_in_record(self.record).then_some(field));
        match (kind, field, target.nested_object) {
            (JsonKind::Object, field, Some(inside)) => {
                if let Some(field) = field {
                    field.object_count += 1;
                }
                return self.collect_object(reader, inside);
            }
            (_, None, _) => {
                reader.skip()?;
            }
            (JsonKind::Array, Some(field), _) => {
                let mut items = 0;
                reader.enter_array()?;
                while reader.next_item()? {
                    reader.skip()?;
                    items += 1;
                }
                field.add_array(items);
            }
            (JsonKind::Number, Some(field), _) => {
                let at = reader.skip_number()?;
                field.add_number(reader.text(at), at, self.record, &mut self.hash_budget);
            }
            (JsonKind::String, Some(field), _) => {
                let at = reader.skip_string()?;
                field.add_string(self.text, at, self.record, &mut self.hash_budget);
            }
            (JsonKind::Null, Some(field), _) => {
                reader.skip_literal()?;
                field.null_count += 1;
            }
            (JsonKind::Bool, Some(field), _) => {
                let word = reader.skip_literal()?;
                let is_true = reader.text(word) == "true";
                field.true_count += usize::from(is_true);
                field.false_count += usize::from(!is_true);
            }
            (JsonKind::Object, Some(field), None) => {
                reader.skip()?;
                field.object_count += 1;
            }
        }
        Ok(())
    }
}
