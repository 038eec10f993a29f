//! Costs of the fields of the records of a page. Each record is counted once, however many formats are compared.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::ops::AddAssign;
use std::rc::Rc;

use foldhash::fast::FixedState;
use portion_json::scan::{JsonKind, escaped_len, minify};
use portion_json::span::Span;
use portion_tokens::TokenCounter;

use crate::elide::elide;
use crate::noise::NoiseFields;
use crate::render::budget::RemainingBudget;
use crate::snapshot::{Layout, ListItem, OrderedList, cell_spans, visit_fields};

/// Bytes of a value that are counted. What a longer one costs is estimated from them.
const MAX_COUNTED_BYTES: usize = 2048;
/// Percent that are added to an estimate.
const ESTIMATE_MARGIN: u64 = 10;
/// Largest cost of the preview of a record: one short member, in a few objects.
const MAX_PREVIEW: Cost = Cost { tokens: 80_000, bytes: 400 };
/// Values of a record that are told apart. Further ones are always written.
const MAX_CELLS: usize = 4096;
const HASHER: FixedState = FixedState::with_seed(5);

/// A cost in thousandths of a token, and in bytes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::render) struct Cost {
    pub tokens: u64,
    pub bytes: u64,
}

/// A field of the records.
#[derive(Clone, Debug)]
pub(super) struct CostedField {
    /// Its dotted path.
    pub path: String,
    /// Column that it is in if records are written as a table: a list is one column.
    pub column: usize,
    /// The same if objects in the records are values, too.
    pub flat_column: usize,
    /// Index of the object or list that contains it.
    container: usize,
}

/// One value of one record.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    /// Index of its field; `None` if it is always written.
    pub field: Option<usize>,
    /// Cost with its name.
    pub named: Cost,
    /// Cost without its name, with a comma.
    pub bare: Cost,
    /// Cost of the start of its container, if it is the first value there.
    pub opening: Cost,
    /// Hash of the value.
    pub hash: u64,
    pub is_null: bool,
    is_string: bool,
    /// True if it ends in a space, which may share a token with what follows.
    ends_in_space: bool,
    /// Its place in the record.
    span: Span,
}

/// Costs of one record.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordCost {
    /// Cost around the values, with its key and a comma.
    pub base: Cost,
    /// Cost of its key in a map.
    pub key: Cost,
    pub cells: Rc<Vec<Cell>>,
    /// The record, minified and without noise.
    value: Rc<String>,
}

/// Costs of records, by field.
pub(super) struct RecordCosts {
    pub fields: Vec<CostedField>,
    pub records: Vec<RecordCost>,
    /// Names of the columns of tables.
    pub columns: Vec<String>,
    /// Costs of these names.
    pub name_costs: Vec<Cost>,
    /// Cost of what is between two strings, and between two other values.
    pub separator: Cost,
    pub comma: Cost,
    field_index: HashMap<String, usize, FixedState>,
    column_index: HashMap<String, usize, FixedState>,
    /// Field of the value after the last one, in records of the same fields.
    next_field: usize,
    /// Paths of objects and lists with fields, and the path of the outermost list that contains each.
    containers: Vec<(String, Option<String>)>,
}

impl Cost {
    /// The cost of what cannot be written.
    pub(super) const IMPOSSIBLE: Self = Self { tokens: u64::MAX / 4, bytes: u64::MAX / 4 };

    /// Returns the cost of a text.
    pub(super) fn of(text: &str, counter: &dyn TokenCounter) -> Self {
        let tokens = counter.part_costs(text, &[text.len()]).iter().map(|cost| u64::from(*cost)).sum();
        Self { tokens, bytes: escaped_len(text) as u64 }
    }

    pub(super) fn plus(mut self, more: Self) -> Self {
        self += more;
        self
    }

    fn minus(self, less: Self) -> Self {
        let (tokens, bytes) =
            (self.tokens.saturating_sub(less.tokens), self.bytes.saturating_sub(less.bytes));
        Self { tokens, bytes }
    }

    fn at_most(self, max: Self) -> Self {
        Self { tokens: self.tokens.min(max.tokens), bytes: self.bytes.min(max.bytes) }
    }

    /// Returns the whole tokens.
    pub(in crate::render) fn whole_tokens(self) -> usize {
        self.tokens.div_ceil(1000) as usize
    }

    /// Returns true if it is within a budget.
    pub(super) fn is_within(self, room: &RemainingBudget<'_>) -> bool {
        self.whole_tokens() <= room.tokens && self.bytes <= room.bytes as u64
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, more: Self) {
        self.tokens += more.tokens;
        self.bytes += more.bytes;
    }
}

impl RecordCosts {
    /// Creates the costs of no records.
    pub(super) fn new(counter: &dyn TokenCounter) -> Self {
        Self {
            fields: Vec::new(),
            records: Vec::new(),
            columns: Vec::new(),
            name_costs: Vec::new(),
            separator: Cost::of("\",\"", counter),
            comma: Cost::of(",", counter),
            field_index: HashMap::with_hasher(HASHER),
            column_index: HashMap::with_hasher(HASHER),
            next_field: 0,
            containers: vec![(String::new(), None)],
        }
    }

    /// Measures further records.
    pub(super) fn measure(
        &mut self,
        rows: OrderedList<'_>,
        items: &[ListItem],
        noise: &NoiseFields,
        counter: &dyn TokenCounter,
    ) {
        let (mut measured, first) = (MeasuredText::default(), self.records.len());
        items.iter().for_each(|item| self.add(rows, item, noise, &mut measured));
        self.set_costs(first, &measured, counter);
        let new = self.columns.iter().skip(self.name_costs.len()).map(|name| Cost::of(name, counter));
        self.name_costs.extend(new.collect::<Vec<_>>());
    }

    /// Adds what a record costs with the fields of no place, of the first place, and so on. `places`: the place of each field.
    pub(super) fn add_record(&self, record: &RecordCost, places: &[usize], totals: &mut [Cost]) {
        let mut steps = vec![Cost::default(); totals.len()];
        let mut add = |place: usize, cost| {
            if let Some(step) = steps.get_mut(place.saturating_add(1)) {
                *step += cost;
            }
        };
        // The start of a container is written with the first value in it that is kept.
        let (mut opening, mut opened, mut first) = (Cost::default(), 0, usize::MAX);
        let (mut sum, mut left_out, mut least) = (record.base, Cost::default(), usize::MAX);
        for cell in record.cells.iter() {
            let Some(field) = cell.field else {
                (sum, least) = (sum.plus(cell.named), 0);
                continue;
            };
            let container = self.fields.get(field).map_or(0, |field| field.container);
            if container != opened || cell.opening != Cost::default() {
                add(first, opening);
                (opening, opened, first) = (cell.opening, container, usize::MAX);
            }
            let place = places.get(field).copied().unwrap_or(usize::MAX);
            add(place, cell.named);
            (first, least) = (first.min(place), least.min(place.saturating_add(1)));
            left_out += cell.named.plus(cell.opening);
        }
        add(first, opening);
        // Without a field that is kept, a preview of the record is written.
        let preview = left_out.at_most(MAX_PREVIEW);
        for (count, (total, step)) in totals.iter_mut().zip(steps).enumerate() {
            sum += step;
            *total += if count < least { sum.plus(preview) } else { sum };
        }
    }

    /// Returns the costs of a measured record with strings above `above` characters shortened. `pointer`: the pointer to it.
    pub(super) fn elided(
        &self,
        record: &RecordCost,
        above: usize,
        pointer: impl Fn() -> String,
        counter: &dyn TokenCounter,
    ) -> RecordCost {
        let mut record = record.clone();
        let is_long = |cell: &Cell| cell.span.len() > above + 2;
        if !record.cells.iter().any(is_long) {
            return record;
        }
        let pointer = pointer();
        for cell in Rc::make_mut(&mut record.cells).iter_mut().filter(|cell| is_long(cell)) {
            let path = cell.field.map_or("", |field| &self.fields[field].path);
            let (mut short, pointer) = (String::new(), format!("{pointer}/{}", path.replace('.', "/")));
            if elide(cell.span.slice(&record.value), above, &pointer, &mut short) > 0 {
                let bare = Cost::of(&short, counter).plus(self.separator);
                cell.named = cell.named.minus(cell.bare).plus(bare);
                cell.bare = bare;
            }
        }
        record
    }

    /// Adds a record. Its costs are set when all texts are counted.
    fn add(&mut self, rows: OrderedList<'_>, item: &ListItem, noise: &NoiseFields, text: &mut MeasuredText) {
        text.text.push(',');
        if let Some(key) = item.key {
            text.text.push_str(rows.slice(key));
            text.end_part(0, 0);
            text.text.push(':');
        }
        let value = lean_value(rows, item, noise);
        self.next_field = 0;
        let expected = self.records.last().map_or(0, |record| record.cells.len());
        // The end of the last value, and of what was added to the text.
        let (mut cells, mut before) = (Vec::with_capacity(expected), 0);
        let (mut written, mut added) = (0, 0);
        visit_values(rows, &value, &mut |path, key_start, span| {
            if cells.len() >= MAX_CELLS {
                return;
            }
            let is_string = value.as_bytes().get(span.start as usize) == Some(&b'"');
            let quote = usize::from(is_string);
            let (start, end) = (span.start as usize + quote, (span.end as usize).saturating_sub(quote));
            let gap = value.get(written..key_start).unwrap_or_default();
            let field = (!path.is_empty()).then(|| self.field(rows, path, gap));
            let container = field.map_or(0, |field| self.fields[field].container);
            text.end_part(key_start - added, 0);
            text.end_part(start - added, 0);
            if end - start > MAX_COUNTED_BYTES {
                text.text.push_str(value.get(added..start).unwrap_or_default());
                text.push_value(value.get(start..end).unwrap_or_default());
                added = end;
            } else {
                text.end_part(end - added, 0);
            }
            let last = value.as_bytes().get(end.wrapping_sub(1)).copied();
            written = end;
            let opens = container != before && container != 0;
            before = container;
            let name = value.get(key_start..span.start as usize).unwrap_or_default();
            let opening = Cost { tokens: 0, bytes: if opens { 2 * gap.len() as u64 } else { 0 } };
            let value = span.slice(&value);
            let bare = Cost { tokens: 0, bytes: escaped_len(value) as u64 + 1 };
            // A name has two quotes. One with other escapes is rare, and costs a little more.
            let named = Cost { tokens: 0, bytes: bare.bytes + name.len() as u64 + 2 };
            let (hash, is_null) = (HASHER.hash_one(value), value == "null");
            let ends_in_space = is_string && last == Some(b' ');
            cells.push(Cell { field, named, bare, opening, hash, is_null, is_string, ends_in_space, span });
        });
        text.text.push_str(value.get(added..written).unwrap_or_default());
        text.push_value(value.get(written..).unwrap_or_default());
        let key = item.key.map_or(0, |key| escaped_len(rows.slice(key)) as u64 + 2);
        let around = if cells.is_empty() { escaped_len(&value) as u64 } else { 2 };
        let (base, key) = (Cost { tokens: 0, bytes: around + key + 1 }, Cost { tokens: 0, bytes: key });
        self.records.push(RecordCost { base, key, cells: Rc::new(cells), value: Rc::new(value) });
    }

    /// Counts what was measured, and sets the costs of the records from the one at `first`.
    fn set_costs(&mut self, first: usize, text: &MeasuredText, counter: &dyn TokenCounter) {
        let costs = counter.part_costs(&text.text, &text.ends);
        let mut parts = costs.iter().zip(&text.uncounted).map(|(cost, uncounted)| {
            let estimated = u64::from(*cost) * *uncounted as u64 / MAX_COUNTED_BYTES as u64;
            u64::from(*cost) + estimated * (100 + ESTIMATE_MARGIN) / 100
        });
        let mut next = || parts.next().unwrap_or_default();
        let has_keys = self.records.iter().any(|record| record.key.bytes > 0);
        for record in self.records.iter_mut().skip(first) {
            if has_keys {
                record.key.tokens = next();
                record.base.tokens = record.key.tokens;
            }
            for cell in Rc::make_mut(&mut record.cells) {
                let (gap, name, value) = (next(), next(), next());
                let value = value + if cell.ends_in_space { self.comma.tokens } else { 0 };
                // The gap before the first value in a container opens it. Other gaps belong to the value.
                let opens = cell.opening.bytes > 0;
                cell.opening.tokens = if opens { gap } else { 0 };
                cell.named.tokens = name + value + if opens { 0 } else { gap };
                cell.bare.tokens =
                    value + if cell.is_string { self.separator.tokens } else { self.comma.tokens };
            }
            record.base.tokens += next();
        }
    }

    /// Returns the index of a field. `gap`: the text before its name, which opens its container if that is new.
    fn field(&mut self, rows: OrderedList<'_>, path: &str, gap: &str) -> usize {
        let guess = self.next_field;
        let known = if self.fields.get(guess).is_some_and(|field| field.path == path) {
            Some(guess)
        } else {
            self.field_index.get(path).copied()
        };
        if let Some(field) = known {
            self.next_field = field + 1;
            return field;
        }
        let is_row = matches!(rows.list.layout, Layout::Table { .. });
        let around = path.rfind('.').filter(|_| !is_row).map_or("", |dot| &path[..dot]);
        let container = self.containers.iter().position(|(known, _)| known == around).unwrap_or_else(|| {
            let mut outer = self.containers.iter().filter(|(known, _)| is_inside(around, known));
            let listed = outer.find_map(|(_, list)| list.clone());
            let listed = listed.or_else(|| gap.ends_with("[{").then(|| around.to_owned()));
            self.containers.push((around.to_owned(), listed));
            self.containers.len() - 1
        });
        let column = self.containers[container].1.clone().unwrap_or_else(|| path.to_owned());
        let top = path.find('.').filter(|_| !is_row).map_or(path, |dot| &path[..dot]);
        let (column, flat_column) = (self.column(&column), self.column(top));
        self.field_index.insert(path.to_owned(), self.fields.len());
        self.fields.push(CostedField { path: path.to_owned(), column, flat_column, container });
        self.fields.len() - 1
    }

    fn column(&mut self, name: &str) -> usize {
        if let Some(column) = self.column_index.get(name) {
            return *column;
        }
        self.column_index.insert(name.to_owned(), self.columns.len());
        self.columns.push(name.to_owned());
        self.columns.len() - 1
    }
}

/// The text of records in parts, of which long values are cut short.
#[derive(Default)]
struct MeasuredText {
    text: String,
    ends: Vec<usize>,
    /// Bytes that were cut from each part.
    uncounted: Vec<usize>,
}

impl MeasuredText {
    /// Ends a part. `ahead`: bytes of it and of the parts before it that are added later.
    fn end_part(&mut self, ahead: usize, uncounted: usize) {
        self.ends.push(self.text.len() + ahead);
        self.uncounted.push(uncounted);
    }

    fn push_value(&mut self, value: &str) {
        let counted = &value[..value.floor_char_boundary(MAX_COUNTED_BYTES)];
        self.text.push_str(counted);
        self.end_part(0, value.len() - counted.len());
    }
}

/// Returns true if a dotted path is inside the container at another one.
fn is_inside(path: &str, container: &str) -> bool {
    !container.is_empty()
        && path.strip_prefix(container).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns the value of an item, minified and without noise.
fn lean_value(rows: OrderedList<'_>, item: &ListItem, noise: &NoiseFields) -> String {
    let value = rows.slice(item.value);
    let mut lean = String::with_capacity(value.len());
    if noise.is_empty() {
        minify(value, &mut lean);
    } else {
        noise.write_without(value, &mut lean);
    }
    lean
}

/// Calls `visit` with the path, the start of the key and the span of each value of a record. A value that has no fields is one
/// with an empty path.
fn visit_values(rows: OrderedList<'_>, value: &str, visit: &mut dyn FnMut(&str, usize, Span)) {
    match (&rows.list.layout, JsonKind::of_value(value)) {
        (Layout::Table { columns, .. }, JsonKind::Array) => {
            columns.iter().zip(cell_spans(value)).for_each(|(name, cell)| {
                visit(name, cell.start as usize, cell);
            });
        }
        (_, JsonKind::Object) => {
            visit_fields(value, &mut |path, key, span| visit(path, key.start as usize, span));
        }
        _ => visit("", 0, Span::new(0, value.len())),
    }
}
