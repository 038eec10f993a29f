//! A page of a list.

use serde_json::{Map, Value};

use super::drawn::{Drawn, Left, Listed, Spot, characters_for_names, names};
use super::raw;
use super::room::Room;
use super::shell::{self, Shell};
use super::summary::{self, Record};
use super::upstream;
use crate::cursor::Place;
use crate::noise::Noise;
use crate::projection::LeftOut;
use crate::scan::minify;
use crate::snapshot::{Item, Layout, List, Rows, cells};
use crate::stage::{Case, How, STAGES, elide};
use crate::view::{Pace, Wanted, list_field_names};

/// Draws the page that begins at the spot.
pub(super) fn draw(spot: &Spot<'_>, list: &List, room: &Room<'_>) -> Drawn {
    let rows = rows(spot, list);
    let from = match spot.place {
        Place::Item(at) => at as usize,
        Place::Byte(byte) => return inside_item(spot, rows, byte as usize, room),
    };
    let Sizes { size, wanted, there } = sizes(spot, list, from);
    let noise = spot.strip().map(|strip| Noise::of_list(strip, rows.text, list)).unwrap_or_default();
    let (must_hold, of) = held(spot, size, there);
    let page = Page { spot, rows, from, wanted, size, must_hold, of, noise };
    if let Some((filled, how)) = page.as_table(room) {
        return page.finish(filled, &how, room);
    }
    let (mut filled, how) = page.laddered(page.as_asked(), room);
    if wanted == 0 && !filled.complete {
        // Past the end, what stands around the list is not worth a reply that does not fit.
        let slim = Shell::slim(rows);
        let fits = room.fits(&slim.before);
        filled.shell = if fits { slim } else { Shell::bare(&list.layout) };
    }
    if filled.served == 0 && wanted > 0 {
        return page.single(room).unwrap_or_else(|| {
            let mut drawn = inside_item(spot, rows, page.first_byte(), room);
            let fixed = page.pace(1, &How::default(), list.len() > 1);
            drawn.say("pageSize", fixed.size);
            Drawn { of: page.of, pace: Some(fixed), ..drawn }
        });
    }
    page.finish(filled, &how, room)
}

/// Draws the page of whole records that begins at the spot, with everything that stands around the list.
///
/// No field is left out and no string is shortened: fewer records are served. Only other lists around it are shortened.
/// `None` where not one record fits.
pub(super) fn records(spot: &Spot<'_>, list: &List, room: &Room<'_>) -> Option<Drawn> {
    let Place::Item(from) = spot.place else { return None };
    let (rows, from) = (rows(spot, list), from as usize);
    let Sizes { size, wanted, there } = sizes(spot, list, from);
    let (must_hold, of) = held(spot, size, there);
    let page = Page { spot, rows, from, wanted, size, must_hold, of, noise: Noise::default() };
    let mut how = How { minified: true, fewer: true, ..How::default() };
    let filled = page.fill_in(shell::whole(rows, room)?, &how, room);
    if filled.served == 0 && wanted > 0 {
        return None;
    }
    if !filled.complete {
        how.stages.push("fewer");
    }
    Some(page.finish(filled, &how, room))
}

fn rows<'a>(spot: &'a Spot<'_>, list: &'a List) -> Rows<'a> {
    let order = spot.order.map(|order| &order.ranks);
    Rows { text: &spot.subject.text, list, order }
}

/// How large a page is.
struct Sizes {
    /// Items of every page.
    size: usize,
    /// Items wanted in this one.
    wanted: usize,
    /// Items that there are from its first one on.
    there: usize,
}

/// The size of a page that begins at an item.
fn sizes(spot: &Spot<'_>, list: &List, from: usize) -> Sizes {
    let ranked = spot.view.ranked().map(|first| first as usize);
    let policy = spot.policy;
    let usual = if ranked.is_some() { policy.max_page_size } else { policy.default_page_size };
    let size = spot.view.limit.or(spot.pace.map(|pace| pace.size)).map_or(usual, |size| size as usize);
    let chosen = ranked.filter(|first| from < *first).map_or(list.len(), |first| first.min(list.len()));
    let there = chosen.saturating_sub(from);
    Sizes { size, wanted: spot.count.map_or(size, |count| count as usize).min(there), there }
}

/// Whether a page has to hold all of its items, and how many it should hold, where that is fixed.
fn held(spot: &Spot<'_>, size: usize, there: usize) -> (bool, Option<usize>) {
    let ranked = spot.view.ranked().is_some();
    let set = spot.view.limit.is_some() || spot.policy.manner.fixed_pages && !spot.answers;
    let must_hold = spot.of.is_some() || set && !ranked;
    let fixed = must_hold || spot.pace.is_some() && !ranked;
    (must_hold, fixed.then(|| spot.of.map_or(size, |of| of as usize).min(there)))
}

/// How a list is asked about.
const BY_SQL: &str = "sql: SELECT … FROM items";

/// A page to be drawn.
pub(super) struct Page<'a> {
    pub spot: &'a Spot<'a>,
    pub rows: Rows<'a>,
    pub from: usize,
    pub wanted: usize,
    /// Items of a page.
    pub size: usize,
    /// Whether all of those wanted have to be in it.
    pub must_hold: bool,
    /// How many it should hold, where that is fixed.
    pub of: Option<usize>,
    /// What is left out of every record.
    pub noise: Noise,
}

/// Items, written one way.
pub(super) struct Filled {
    pub shell: Shell,
    pub items: String,
    pub served: usize,
    pub complete: bool,
    pub left_out: LeftOut,
    pub elided: usize,
}

impl Filled {
    /// No items yet.
    pub(super) fn nothing(shell: Shell) -> Self {
        let (items, left_out) = (String::new(), LeftOut::new());
        Self { shell, items, served: 0, complete: false, left_out, elided: 0 }
    }
}

impl Page<'_> {
    pub(super) fn as_asked(&self) -> How {
        // What the first reply to a walk was condensed to, the others are too.
        let before = self.spot.pace.and_then(|pace| pace.keep.as_ref()).filter(|_| self.may_condense());
        let keep = match &self.spot.view.wanted {
            Wanted::Some(fields) => Some(fields.clone()),
            Wanted::Best => before.cloned(),
            Wanted::All => None,
        };
        let minified = keep.is_some() || self.spot.dense || self.is_ranked();
        let stages = if before.is_some() { vec!["condense"] } else { Vec::new() };
        How {
            minified,
            keep,
            condensed: before.is_some(),
            noise: self.noise.clone(),
            stages,
            ..How::default()
        }
    }

    /// Whether fields may be given up. What answers a question, or was ranked for one, is shown as it is, if less of it.
    fn may_condense(&self) -> bool {
        self.spot.view.wanted == Wanted::Best && !self.is_ranked() && !self.spot.answers
    }

    /// What this page fixes for the rest of its walk, as the first reply: the size of pages, and their columns.
    fn pace(&self, served: usize, how: &How, more: bool) -> Pace {
        let open = self.of.is_none() && !self.is_ranked();
        let size = match (open, more) {
            (true, true) => served.max(1),
            (true, false) => self.size.max(served),
            (false, _) => self.size,
        };
        Pace {
            part: self.spot.part as u16,
            size: size as u32,
            opened: (self.from == 0).then_some(served as u32),
            keep: how.keep.clone().filter(|_| how.condensed),
        }
    }

    /// Whether records are shown in the order of their scores, and whole.
    pub(super) fn is_ranked(&self) -> bool {
        self.spot.view.ranked().is_some()
    }

    /// The items with as little given up as makes all fit, by the steps of the ladder.
    pub(super) fn laddered(&self, mut how: How, room: &Room<'_>) -> (Filled, How) {
        let mut filled = self.fill(&how, room);
        let shell_cost = room.counter.count(&filled.shell.before) + room.counter.count(&filled.shell.after);
        // What answers a question, or was ranked for one, is shown as it is, if less of it.
        let whole = self.is_ranked() || self.spot.answers;
        let case = Case {
            rows: self.rows,
            first: &self.spot.policy.manner.summary_fields,
            items: self.wanted,
            tokens: (room.tokens * 9 / 10).saturating_sub(shell_cost),
            counter: room.counter,
            dense: how.dense,
            may_condense: self.may_condense(),
            may_elide: self.spot.view.wanted != Wanted::All && !whole,
            must_hold: self.must_hold,
        };
        for stage in STAGES {
            while !filled.complete && stage.tighten(&mut how, &case) {
                if how.stages.last() != Some(&stage.name()) {
                    how.stages.push(stage.name());
                }
                filled = self.fill(&how, room);
            }
        }
        (filled, how)
    }

    /// What stands around the items.
    pub(super) fn shell(&self, how: &How, room: &Room<'_>) -> Shell {
        shell::draw(self.rows, how, self.spot.strip(), room)
    }

    /// Writes items until one does not fit.
    fn fill(&self, how: &How, room: &Room<'_>) -> Filled {
        if how.dense {
            return self.fill_table(how, room);
        }
        self.fill_in(self.shell(how, room), how, room)
    }

    /// Writes items into what stands around them until one does not fit.
    fn fill_in(&self, shell: Shell, how: &How, room: &Room<'_>) -> Filled {
        let mut left = *room;
        let mut filled = Filled::nothing(shell);
        if !left.take(&filled.shell.before) || !left.take(&filled.shell.after) {
            return filled;
        }
        let columns = shell::header_columns(self.rows, how);
        let mut text = String::new();
        for item in self.rows.iter_from(self.from).take(self.wanted) {
            text.clear();
            if filled.served > 0 {
                text.push(if self.rows.list.layout == Layout::Lines { '\n' } else { ',' });
            }
            let hopeless = is_hopeless(&item, how, &left);
            let elided = if hopeless {
                0
            } else {
                self.write(&item, how, columns.as_deref(), &mut text, &mut filled.left_out)
            };
            if hopeless || !left.take(&text) {
                return filled;
            }
            filled.items.push_str(&text);
            filled.served += 1;
            filled.elided += elided;
        }
        filled.complete = true;
        filled
    }

    /// Writes one item, and returns how many strings were shortened in it.
    fn write(
        &self,
        item: &Item,
        how: &How,
        columns: Option<&[usize]>,
        out: &mut String,
        left_out: &mut LeftOut,
    ) -> usize {
        if let Some(key) = item.key {
            out.push_str(key.of(self.rows.text));
            out.push(':');
        }
        self.write_value(item, how, columns, out, left_out)
    }

    /// Writes the value of one item, and returns how many strings were shortened in it.
    pub(super) fn write_value(
        &self,
        item: &Item,
        how: &How,
        columns: Option<&[usize]>,
        out: &mut String,
        left_out: &mut LeftOut,
    ) -> usize {
        let value = item.value.of(self.rows.text);
        let pointer = || format!("{}{}", self.spot.pointer, self.rows.list.pointer_to(self.rows.text, item));
        if let Some(columns) = columns.filter(|_| how.keep.is_some() || !how.noise.is_empty()) {
            return write_row(value, columns, how, &pointer(), out);
        }
        let (mut written, mut lean) = (String::new(), String::new());
        let value = if how.noise.is_empty() {
            value
        } else {
            how.noise.without(value, &mut lean);
            &lean
        };
        match &how.keep {
            Some(fields) => {
                fields.show(value, &mut written, left_out);
            }
            None if how.minified => minify(value, &mut written),
            None => written.push_str(value),
        }
        match how.elide_above {
            Some(above) if written.len() > above => elide(&written, above, &pointer(), out),
            _ => {
                out.push_str(&written);
                0
            }
        }
    }

    /// One item that is too large for a page of its own, summarized.
    fn single(&self, room: &Room<'_>) -> Option<Drawn> {
        if self.spot.view.wanted != Wanted::Best {
            return None;
        }
        let item = self.rows.iter_from(self.from).next()?;
        let mut lean = String::new();
        let value = item.value.of(self.rows.text);
        let value = if self.noise.is_empty() {
            value
        } else {
            self.noise.without(value, &mut lean);
            &lean
        };
        let shell = self.shell(&How::default(), &room.at_most(room.tokens / 2));
        let mut left = *room;
        if !left.take(&shell.before) || !left.take(&shell.after) {
            return None;
        }
        let pointer = format!("{}{}", self.spot.pointer, self.rows.list.pointer_to(self.rows.text, &item));
        // What answers a question keeps all it says, if shorter.
        let whole = if self.spot.answers { summary::shortened(value, &pointer, &left) } else { None };
        let first = &self.spot.policy.manner.summary_fields;
        let record = whole.or_else(|| summary::record(value, &pointer, left.tokens, &left, first));
        let Record { body, left_out, elided } = record?;
        let key = item.key.map_or_else(String::new, |key| format!("{}:", key.of(self.rows.text)));
        let items = format!("{key}{body}");
        if !left.fits(&items) {
            return None;
        }
        let how = How { condensed: !left_out.is_empty() || !self.spot.answers, ..How::default() };
        let filled = Filled { shell, items, served: 1, complete: false, left_out, elided };
        Some(self.finish(filled, &how, room))
    }

    fn first_byte(&self) -> usize {
        self.rows.iter_from(self.from).next().map_or(0, |item| item.value.start as usize)
    }

    fn finish(&self, filled: Filled, how: &How, room: &Room<'_>) -> Drawn {
        let Filled { shell, items, served, left_out, elided, .. } = filled;
        let total = self.rows.list.len();
        let next = self.from.saturating_add(served);
        let mut drawn = Drawn::new("page", format!("{}{items}{}", shell.before, shell.after));
        drawn.json = how.dense || self.rows.list.layout != Layout::Lines;
        drawn.listed = self.spot.is_wrapped().then(|| Listed {
            items: match &self.rows.list.layout {
                _ if how.dense => items,
                // Between values in lines of their own there is no other line break.
                Layout::Lines => format!("[{}]", items.replace('\n', ",")),
                layout => {
                    let Shell { before, after, .. } = Shell::bare(layout);
                    format!("{before}{items}{after}")
                }
            },
            beside: shell.beside,
        });
        drawn.total = Some(total);
        drawn.stages.clone_from(&how.stages);
        drawn.next = (next < total).then_some(Place::Item(next as u32));
        drawn.query = (self.spot.is_first() && drawn.next.is_some()).then_some(BY_SQL);
        let pace = self.pace(served, how, next < total);
        drawn.say("pageSize", pace.size);
        drawn.pace = (self.from < total || total == 0).then_some(pace);
        drawn.of = self.of;
        drawn.say("served", served);
        drawn.say("hasMore", next < total);
        drawn.say("offset", self.from);
        upstream::say(self.spot, self.rows.list, &mut drawn);
        if self.is_ranked() {
            drawn.say("strategy", "ranked");
            drawn.say("truncated", next < total);
            drawn.say("dropped", total.saturating_sub(next));
        }
        // Who asked for an order knows it.
        if let Some(order) = self.spot.order.filter(|order| order.ranked.is_none() && !order.asked) {
            drawn.say("sort", order.told());
        }
        if self.from >= total && total > 0 {
            drawn.say("pastEnd", true);
        }
        if how.dense {
            drawn.say("rows", "dense");
        }
        if elided > 0 {
            drawn.say("elided", elided);
        }
        if !shell.omitted.is_empty() {
            let sizes: Map<String, Value> = shell
                .omitted
                .iter()
                .take(12)
                .map(|(path, bytes)| (path.clone(), format!("{bytes} bytes").into()))
                .collect();
            drawn.say("omitted", sizes);
        }
        let characters = characters_for_names(room);
        let mut available = list_field_names(self.rows.list);
        available.retain(|path| !self.noise.takes(path));
        if how.condensed {
            let out = condensed(self.rows, how, left_out);
            let shown =
                if self.spot.is_first() && !available.is_empty() { characters / 3 } else { characters };
            drawn.say("condensed", names(out, shown));
        }
        let named = self.spot.view.wanted != Wanted::All && !self.is_ranked();
        if self.spot.is_first() && !available.is_empty() && named {
            drawn.fields = Some((available, characters));
        }
        let Noise { named, nulls, .. } = self.noise.clone();
        drawn.noise = Left { named: named.into_iter().chain(shell.stripped).collect(), nulls };
        drawn
    }
}

/// Whether an item cannot fit: nothing is made shorter than its bytes by minifying alone, so it is not even copied.
pub(super) fn is_hopeless(item: &Item, how: &How, left: &Room<'_>) -> bool {
    how.keep.is_none()
        && how.noise.is_empty()
        && how.elide_above.is_none()
        && item.value.len() / 4 > left.bytes
}

/// The names of what condensing left out.
fn condensed(rows: Rows<'_>, how: &How, left_out: LeftOut) -> Vec<String> {
    match (&rows.list.layout, &how.keep) {
        (Layout::Table { columns, .. }, Some(keep)) => {
            columns.iter().filter(|name| !keep.wants(name) && !how.noise.takes(name)).cloned().collect()
        }
        _ => left_out.into_iter().collect(),
    }
}

/// Some cells of a row.
fn write_row(row: &str, columns: &[usize], how: &How, pointer: &str, out: &mut String) -> usize {
    let all = cells(row);
    let mut elided = 0;
    out.push('[');
    for (i, column) in columns.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        let Some(cell) = all.get(*column) else { continue };
        let mut written = String::new();
        minify(cell.of(row), &mut written);
        match how.elide_above {
            Some(above) => elided += elide(&written, above, &format!("{pointer}/{column}"), out),
            None => out.push_str(&written),
        }
    }
    out.push(']');
    elided
}

/// An item that no page can hold, as raw chunks; after its last the list goes on.
fn inside_item(spot: &Spot<'_>, rows: Rows<'_>, byte: usize, room: &Room<'_>) -> Drawn {
    let Some(item) = rows.list.item_at(rows.text, byte) else {
        return raw::draw(rows.text, spot.subject.span(), byte, room);
    };
    let mut drawn = raw::draw(rows.text, item.value, byte.max(item.value.start as usize), room);
    if drawn.next.is_none() {
        let next = rows.rank(&item) + 1;
        drawn.next = (next < rows.list.len()).then_some(Place::Item(next as u32));
    }
    drawn.total = Some(rows.list.len());
    drawn.say("path", format!("{}{}", spot.pointer, rows.list.pointer_to(rows.text, &item)));
    drawn.say("offset", rows.rank(&item));
    drawn
}
