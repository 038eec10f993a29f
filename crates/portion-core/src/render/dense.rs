//! A page of like records as a table, where that is wanted and costs less.

use super::page::{Filled, Page, is_hopeless};
use super::room::Room;
use super::table::{Record, Table};
use crate::projection::LeftOut;
use crate::scan::Kind;
use crate::snapshot::Layout;
use crate::stage::How;

/// A table is served where it costs at most this share of what the records cost, in percent.
const WORTH: usize = 95;
/// Tokens that a notice takes to tell of a table.
const TOLD: usize = 8;
/// Bytes of records looked at, as a multiple of what a reply may have: more would not fit as a table either.
const LOOKED_AT: usize = 8;

impl Page<'_> {
    /// The page as a table; `None` where that is not wanted, cannot be undone, or saves too little.
    pub(super) fn as_table(&self, room: &Room<'_>) -> Option<(Filled, How)> {
        let is_table = matches!(self.rows.list.layout, Layout::Table { .. });
        let first = self.rows.iter_from(self.from).next()?;
        let is_record = Kind::of(first.value.of(self.rows.text)) == Kind::Object;
        if !self.spot.dense || self.is_ranked() || is_table || self.wanted < 2 || !is_record {
            return None;
        }
        let asked = self.as_asked();
        let stages = [vec!["dense"], asked.stages.clone()].concat();
        let how = How { dense: true, minified: true, stages, ..asked };
        let (filled, how) = self.laddered(how, room);
        if filled.served < 2 {
            return None;
        }
        let records = self.records(&how, room, filled.served).records;
        let mut plain = String::new();
        for record in &records {
            let key = record.key.iter().flat_map(|key| [key.as_str(), ":"]);
            key.chain([record.json.as_str(), ","]).for_each(|text| plain.push_str(text));
        }
        let most = room.counter.count(&plain) * WORTH / 100;
        (room.counter.count(&filled.items) + TOLD <= most).then_some((filled, how))
    }

    /// Writes as many records as fit into a table; without `fewer`, all or none.
    pub(super) fn fill_table(&self, how: &How, room: &Room<'_>) -> Filled {
        let shell = self.shell(how, room).opened(&self.rows.list.layout);
        let mut left = *room;
        let filled = Filled::nothing(shell);
        if !left.take(&filled.shell.before) || !left.take(&filled.shell.after) {
            return filled;
        }
        let written = self.records(how, &left, self.wanted);
        let complete = written.records.len() == self.wanted;
        if !complete && !how.fewer {
            return filled;
        }
        let Some(table) = Table::of(&written.records, true) else { return filled };
        // Objects that few records have are dear as columns.
        let flat = if table.has_gaps() { Table::of(&written.records, false) } else { None };
        let fitting = |count: usize| {
            let nested = table.write(count);
            let flat = flat.as_ref().map(|flat| flat.write(count)).filter(|flat| flat.len() < nested.len());
            Some(flat.unwrap_or(nested)).filter(|text| left.fits(text))
        };
        let mut best = fitting(written.records.len()).map(|text| (written.records.len(), text));
        if best.is_none() && how.fewer {
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
        let shown = if served == written.records.len() { written } else { self.records(how, &left, served) };
        let (left_out, elided) = (shown.left_out, shown.elided);
        Filled { items, served, complete: served == self.wanted, left_out, elided, ..filled }
    }

    /// The records of the page as they would stand in the list, up to so many.
    fn records(&self, how: &How, left: &Room<'_>, count: usize) -> Written {
        let mut written = Written { records: Vec::new(), left_out: LeftOut::new(), elided: 0 };
        let mut bytes = 0;
        for item in self.rows.iter_from(self.from).take(count) {
            if is_hopeless(&item, how, left) || bytes > left.bytes.saturating_mul(LOOKED_AT) {
                break;
            }
            let mut json = String::new();
            written.elided += self.write_value(&item, how, None, &mut json, &mut written.left_out);
            bytes += json.len();
            let key = item.key.map(|key| key.of(self.rows.text).to_owned());
            written.records.push(Record { key, json });
        }
        written
    }
}

/// Records, written one way.
struct Written {
    records: Vec<Record>,
    left_out: LeftOut,
    elided: usize,
}
