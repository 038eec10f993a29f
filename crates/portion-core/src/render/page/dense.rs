//! Renders a page of similar records as a table, if that is allowed and costs less.

use portion_json::projection::{OmittedFields, Projector};
use portion_json::scan::JsonKind;

use super::builder::{PageBuilder, WrittenItems};
use super::fill::cannot_fit;
use super::table::{RecordTable, TableRecord};
use crate::render::budget::RemainingBudget;
use crate::snapshot::Layout;
use crate::stage::RowFormat;
use crate::stage_name::StageName;

/// Highest cost of a table, in percent of the cost of the records.
const MAX_TABLE_COST_PERCENT: usize = 95;
/// Tokens in a notice that report a table.
const TABLE_NOTICE_TOKENS: usize = 8;
/// Bytes of records read, as a multiple of the byte budget. More would not fit as a table either.
const MAX_SCANNED_FACTOR: usize = 8;

impl PageBuilder<'_> {
    /// Returns the page as a table, or `None` if a table is not allowed, cannot be converted back, or saves
    /// too little.
    pub(super) fn try_table(&self, room: &RemainingBudget<'_>) -> Option<(WrittenItems, RowFormat)> {
        let is_table = matches!(self.rows.list.layout, Layout::Table { .. });
        let first = self.rows.iter_from(self.first_item).next()?;
        let is_record = JsonKind::of_value(self.rows.slice(first.value)) == JsonKind::Object;
        if !self.target.allows_table || self.is_ranked() || is_table || self.wanted_count < 2 || !is_record {
            return None;
        }
        let asked = self.requested_format();
        let stages = [vec![StageName::Dense], asked.stages.clone()].concat();
        let how = RowFormat { as_table: true, is_minified: true, stages, ..asked };
        let (filled, how) = self.fit_with_stages(how, room);
        if filled.served_count < 2 {
            return None;
        }
        let records = self.collect_records(&how, room, filled.served_count).records;
        let mut plain = String::new();
        for record in &records {
            let key = record.key.iter().flat_map(|key| [key.as_str(), ":"]);
            key.chain([record.json.as_str(), ","]).for_each(|text| plain.push_str(text));
        }
        let most = room.counter.count(&plain) * MAX_TABLE_COST_PERCENT / 100;
        (room.counter.count(&filled.items) + TABLE_NOTICE_TOKENS <= most).then_some((filled, how))
    }

    /// Writes as many records as fit into a table. Without `allows_fewer`, writes all or none.
    pub(super) fn fill_table(&self, how: &RowFormat, room: &RemainingBudget<'_>) -> WrittenItems {
        let wrap = |served| self.wrapper(how, served, room).without_brackets(&self.rows.list.layout);
        let mut left = *room;
        let filled = WrittenItems::empty(wrap(None));
        if !left.spend(&filled.wrapper.before) || !left.spend(&filled.wrapper.after) {
            return filled;
        }
        let written = self.collect_records(how, &left, self.wanted_count);
        let complete = written.records.len() == self.wanted_count;
        if !complete && !how.allows_fewer {
            return filled;
        }
        let Some(table) = RecordTable::from_records(&written.records, true) else { return filled };
        // A column for a field of a nested object is expensive if few records have it.
        let flat = if table.has_gaps() { RecordTable::from_records(&written.records, false) } else { None };
        let fitting = |count: usize| {
            let nested = table.write(count);
            let flat = flat.as_ref().map(|flat| flat.write(count)).filter(|flat| flat.len() < nested.len());
            Some(flat.unwrap_or(nested)).filter(|text| left.fits(text))
        };
        let mut best = fitting(written.records.len()).map(|text| (written.records.len(), text));
        if best.is_none() && how.allows_fewer {
            let (mut fits, mut exceeds) = (0, written.records.len());
            while exceeds - fits > 1 {
                let middle = fits.midpoint(exceeds);
                match fitting(middle) {
                    Some(text) => {
                        fits = middle;
                        best = Some((middle, text));
                    }
                    None => exceeds = middle,
                }
            }
        }
        let Some((served, items)) = best else { return filled };
        let shown =
            if served == written.records.len() { written } else { self.collect_records(how, &left, served) };
        let (left_out, elided) = (shown.omitted_fields, shown.elided_count);
        WrittenItems {
            items,
            served_count: served,
            is_complete: served == self.wanted_count,
            omitted_fields: left_out,
            elided_count: elided,
            wrapper: filled.wrapper.of_page(|| Some(wrap(Some(served)))),
        }
    }

    /// Collects up to `count` records of the page as the list would show them.
    fn collect_records(&self, how: &RowFormat, left: &RemainingBudget<'_>, count: usize) -> WrittenRecords {
        let mut written =
            WrittenRecords { records: Vec::new(), omitted_fields: OmittedFields::new(), elided_count: 0 };
        let mut projector = how.kept_fields.as_ref().map(Projector::new);
        let mut bytes = 0;
        for item in self.rows.iter_from(self.first_item).take(count) {
            if cannot_fit(&item, how, left) || bytes > left.bytes.saturating_mul(MAX_SCANNED_FACTOR) {
                break;
            }
            let mut json = String::new();
            written.elided_count += self.write_value(&item, how, None, &mut json, projector.as_mut());
            bytes += json.len();
            let key = item.key.map(|key| self.rows.slice(key).to_owned());
            written.records.push(TableRecord { key, json });
        }
        written.omitted_fields = projector.map(Projector::into_omitted).unwrap_or_default();
        written
    }
}

/// Records in one row format.
struct WrittenRecords {
    records: Vec<TableRecord>,
    omitted_fields: OmittedFields,
    elided_count: usize,
}
