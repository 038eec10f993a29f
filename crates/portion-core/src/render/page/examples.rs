//! Chooses further records for a sample: those that differ most from the ones that its page shows.
//!
//! A sample is a page, so the walk begins at the first record and skips none. The further records are a description beside it.

use std::collections::HashSet;
use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::quality::FixedState;
use portion_json::scan::is_equivalent_json;
use serde_json::{Map, Value};

use super::PageBuilder;
use crate::render::budget::RemainingBudget;
use crate::render::rendering::{RenderTarget, RowFormat};
use crate::snapshot::{Layout, OrderedList, cell_spans, visit_fields};
use crate::view::Pagination;

/// Records that are shown beside the page.
const MAX_EXAMPLES: usize = 2;
/// Records to choose from, spread over the list, and their bytes.
const MAX_CANDIDATES: usize = 48;
const MAX_CANDIDATE_BYTES: usize = 256 << 10;
/// Longest value that is compared whole, in bytes. Of a longer one, only the length is.
const MAX_COMPARED_BYTES: usize = 100;
const HASHER: FixedState = FixedState::with_seed(3);

/// Hashes of the fields of a record with their values.
type Features = HashSet<u64>;

impl PageBuilder<'_> {
    /// Returns records that differ most from the first `shown` ones, with their positions: `{"at":[17,412],"items":[…]}`.
    /// They have the fields of the page, which has the format `how`, or fewer. Returns `None` if none fits.
    pub(super) fn examples(
        &self,
        shown: usize,
        format: &RowFormat,
        room: &RemainingBudget<'_>,
    ) -> Option<Map<String, Value>> {
        let pagination =
            Pagination { kept_fields: format.kept_fields.clone(), ..self.pagination(shown, format, true) };
        let pagination = format.is_condensed.then_some(&pagination);
        let target = RenderTarget { pagination, ..*self.target };
        let positions = differing_positions(self.rows, shown);
        let item = |position: &usize| match self.rows.order {
            Some(order) => order.get(*position).copied(),
            None => Some(*position as u32),
        };
        let order: Arc<[u32]> = positions.iter().filter_map(item).collect();
        let rows = OrderedList { order: Some(&order), ..self.rows };
        let page = PageBuilder {
            target: &target,
            rows,
            first_item: 0,
            wanted_count: order.len(),
            page_size: order.len(),
            must_hold_all: false,
            fixed_count: None,
            is_sample: true,
            has_wrapper: false,
            noise: self.noise.clone(),
            is_unabridged: false,
        };
        let (written, own) = page.planned(room)?;
        // The page names the columns of the rows of a table.
        let is_table = matches!(self.rows.list.layout, Layout::Table { .. });
        if is_table && own.kept_fields != format.kept_fields {
            return None;
        }
        let json = match (own.as_table, &self.rows.list.layout) {
            _ if written.served_count == 0 => return None,
            (true, _) => written.items,
            (false, Layout::Map) => format!("{{{}}}", written.items),
            (false, Layout::Lines) => format!("[{}]", written.items.replace('\n', ",")),
            (false, Layout::Array | Layout::Table { .. }) => format!("[{}]", written.items),
        };
        // A number that a notice cannot express is not shown.
        let items: Value = serde_json::from_str(&json).ok()?;
        if !is_equivalent_json(&items.to_string(), &json) {
            return None;
        }
        let mut examples = Map::new();
        examples.insert("at".to_owned(), positions[..written.served_count].into());
        examples.insert("items".to_owned(), items);
        Some(examples)
    }
}

/// Returns the positions of the records that differ most from the first `shown` ones and from each other, in order. Each is
/// the one whose most similar chosen record has the fewest values in common with it; of equal ones, the first.
fn differing_positions(rows: OrderedList<'_>, shown: usize) -> Vec<usize> {
    let left = rows.list.len().saturating_sub(shown);
    let count = left.min(MAX_CANDIDATES);
    let mut bytes = 0;
    let mut candidates: Vec<(usize, Features)> = Vec::new();
    // The last record is always among them.
    for position in (1..=count).map(|nth| shown + (nth * left).div_ceil(count) - 1) {
        let Some(item) = rows.iter_from(position).next() else { continue };
        bytes += item.value.len();
        if bytes > MAX_CANDIDATE_BYTES {
            break;
        }
        candidates.push((position, features(rows, rows.slice(item.value))));
    }
    let mut chosen: Vec<Features> =
        rows.iter_from(0).take(shown).map(|item| features(rows, rows.slice(item.value))).collect();
    let mut positions = Vec::new();
    while positions.len() < MAX_EXAMPLES && !candidates.is_empty() {
        let distance = |of: &Features| {
            chosen.iter().map(|other| of.symmetric_difference(other).count()).min().unwrap_or(0)
        };
        let farthest = (0..candidates.len()).rev().max_by_key(|at| distance(&candidates[*at].1));
        let (position, own) = candidates.remove(farthest.unwrap_or(0));
        positions.push(position);
        chosen.push(own);
    }
    positions.sort_unstable();
    positions
}

/// Returns the features of a record.
fn features(rows: OrderedList<'_>, record: &str) -> Features {
    let feature = |name: &str, value: &str| {
        if value.len() > MAX_COMPARED_BYTES {
            HASHER.hash_one((name, value.len().ilog2()))
        } else {
            HASHER.hash_one((name, value))
        }
    };
    let mut found = Features::new();
    if let Layout::Table { columns, .. } = &rows.list.layout {
        let cells = cell_spans(record);
        found.extend(columns.iter().zip(cells).map(|(name, cell)| feature(name, cell.slice(record))));
    } else {
        visit_fields(record, &mut |path, _, value| {
            found.insert(feature(path, value.slice(record)));
        });
    }
    found
}
