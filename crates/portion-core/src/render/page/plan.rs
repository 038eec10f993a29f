//! Chooses what a page shows, by arithmetic: its fields, how far strings are shortened, and how many records.
//!
//! A page keeps its size while the main fields fit: what identifies a record and what it is about. More fields follow. Where they
//! do not fit, a page whose size nobody named shows at least [`MIN_RECORDS`] records, then more fields of these, then more records.

use std::borrow::Cow;
use std::cell::{OnceCell, Ref};
use std::ops::Range;
use std::rc::Rc;

use portion_json::projection::{FieldSelection, is_path_within};
use portion_json::scan::JsonKind;

use super::costs::{Cost, CostedField};
use super::field_order::FieldOrder;
use super::measured::{ListStart, MeasuredList, MeasuredRecords};
use super::table::TableCosts;
use super::{PageBuilder, WrittenItems};
use crate::elide::ELISION_LIMITS;
use crate::render::budget::RemainingBudget;
use crate::render::context::FollowUpCall;
use crate::render::portion::{Plan, StageName};
use crate::render::rendering::RowFormat;
use crate::snapshot::Layout;
use crate::view::RequestedFields;

/// Records that a page shows before it shows more fields of them, if its own number does not fit.
const MIN_RECORDS: usize = 10;
/// A table may cost this much of what the records cost, in percent.
const MAX_TABLE_COST_PERCENT: u64 = 95;
/// Tokens, in thousandths, in a notice that reports a table.
const TABLE_NOTICE_COST: u64 = 8_000;
/// Records that are measured at once.
const BATCH: usize = 10;

/// The content of a page, chosen before it is written.
#[derive(Clone, Debug)]
pub(super) struct PagePlan {
    pub format: RowFormat,
    pub item_count: usize,
    /// Cost of the records and their wrapper.
    pub cost: Cost,
    /// Fields of these records that are left out.
    pub omitted_fields: Vec<String>,
    main_count: usize,
}

impl PagePlan {
    /// Returns the plan as others see it.
    pub(super) fn described(&self, wanted_count: usize, budget: usize) -> Plan {
        let kept = self.format.kept_fields.as_ref().filter(|_| self.format.is_condensed);
        Plan {
            is_table: self.format.as_table,
            columns: kept.map(|kept| kept.paths().to_vec()),
            main_count: self.main_count,
            elide_above: self.format.elide_above,
            item_count: self.item_count,
            wanted_count,
            tokens: self.cost.whole_tokens(),
            budget,
        }
    }
}

/// The fields, the elision and the number of records of a page.
#[derive(Clone, Copy, Debug)]
struct Choice {
    /// Number of ranked fields; `None` for all that were requested.
    field_count: Option<usize>,
    /// Index of the elision limit, from 1; 0 for none.
    elision: usize,
    item_count: usize,
}

/// A page to be planned.
struct Planner<'a> {
    page: &'a PageBuilder<'a>,
    room: RemainingBudget<'a>,
    requested: RowFormat,
    list: Rc<MeasuredList>,
    wrapper: OnceCell<Cost>,
}

impl PageBuilder<'_> {
    /// Plans and writes the page. Returns `None` if not one record fits.
    pub(super) fn planned(&self, room: &RemainingBudget<'_>) -> Option<(WrittenItems, RowFormat)> {
        let measured = Planner::new(self, room);
        let write = |plan: PagePlan| {
            let items = &measured.list.records.borrow().items;
            Some((self.write(&plan, items, room)?, plan.format))
        };
        measured.table().and_then(write).or_else(|| measured.records().and_then(write))
    }

    /// Returns the fields that pages after a sample keep, if they leave out some.
    pub(super) fn fields_after_sample(&self, room: &RemainingBudget<'_>) -> Option<FieldSelection> {
        let wanted_count = self.page_size.min(MIN_RECORDS).min(self.rows.list.len());
        let page = PageBuilder { wanted_count, is_sample: false, noise: self.noise.clone(), ..*self };
        let measured = Planner::new(&page, room);
        let plan = measured.table().or_else(|| measured.records())?;
        plan.format.kept_fields.filter(|_| plan.format.is_condensed)
    }
}

impl<'a> Planner<'a> {
    fn new(page: &'a PageBuilder<'a>, room: &RemainingBudget<'a>) -> Self {
        let requested = page.requested_format();
        let start = ListStart::new(page.rows, page.first_item, &page.noise);
        let list = page.target.measured.list_at(start, room.counter);
        Self { page, room: *room, requested, list, wrapper: OnceCell::new() }
    }

    /// Plans the page as a table. Returns `None` if that is not allowed, or saves too little.
    fn table(&self) -> Option<PagePlan> {
        let first = self.page.rows.iter_from(self.page.first_item).next()?;
        let is_record = JsonKind::of_value(self.page.rows.slice(first.value)) == JsonKind::Object;
        let is_allowed = self.page.target.allows_table && !self.page.is_ranked() && !self.page.is_unabridged;
        if !is_allowed || !is_record || self.page.wanted_count < 2 {
            return None;
        }
        let choice = self.choose(true).filter(|choice| choice.item_count > 1)?;
        let (table, records) = (self.cost(choice, true), self.records_cost(choice, false));
        let saves = (table.tokens + TABLE_NOTICE_COST) * 100 <= records.tokens * MAX_TABLE_COST_PERCENT;
        saves.then(|| self.plan(choice, true))
    }

    /// Plans the page as records.
    fn records(&self) -> Option<PagePlan> {
        self.choose(false).map(|choice| self.plan(choice, false))
    }

    /// Chooses what fits. `as_table`: how records are written.
    fn choose(&self, as_table: bool) -> Option<Choice> {
        let page = self.page;
        let wanted = page.wanted_count;
        let is_asked_for = page.target.is_answer && !page.target.selects_all_columns;
        let is_whole = page.is_ranked() || is_asked_for || page.is_unabridged;
        let may_elide = page.target.view.field_selection != RequestedFields::All && !is_whole;
        let elisions = if may_elide { 0..=ELISION_LIMITS.len() } else { 0..=0 };
        let all = |elision, item_count| Choice { field_count: None, elision, item_count };
        let fits = |choice: Choice| self.fits(choice, as_table);
        // Everything that was requested.
        if fits(all(0, wanted)) {
            return Some(all(0, wanted));
        }
        // Later pages of a walk have the fields of its first page.
        let is_chosen = page.target.pagination.is_some();
        if self.list.records.borrow().lacks_items {
            return None;
        }
        let as_requested = || {
            // Unshortened, they do not fit.
            let shorter = elisions.clone().skip(1);
            let shortened = shorter.map(|elision| all(elision, wanted)).find(|choice| fits(*choice));
            let fewer = || {
                let mut counted =
                    elisions.clone().map(|elision| self.most_items(all(elision, wanted), 0, as_table));
                counted.find(|choice| choice.item_count > 0)
            };
            shortened.or_else(fewer)
        };
        if !page.may_condense() {
            return as_requested();
        }
        // A record that does not fit with the fields of the walk has fewer.
        if let Some(choice) = is_chosen.then(as_requested).flatten() {
            return Some(choice);
        }
        if self.order().paths.is_empty() {
            return as_requested();
        }
        let is_fixed = page.fixed_count.is_some() || page.target.view.limit.is_some();
        let main = self.order().main_count.max(1);
        let fields = |count, elision, item_count| Choice { field_count: Some(count), elision, item_count };
        let min_count =
            if is_fixed || fits(fields(main, 0, wanted)) { wanted } else { wanted.min(MIN_RECORDS) };
        // The main fields of the least number of records, then more fields, then more records.
        if let Some(elision) = elisions.clone().find(|elision| fits(fields(main, *elision, min_count))) {
            let useful = if elision > 1 { main } else { self.order().useful_count.max(main) };
            let most = |elision| self.most_fields(fields(main, elision, min_count), useful, as_table);
            let whole = most(elision);
            // Long strings are shortened for further fields, too, so that a larger budget never shows fewer. Main fields are
            // only shortened to the first limit for that.
            let main_cost = |elision| self.records_cost(fields(main, elision, min_count), false);
            let may_shorten = |at: &usize| *at == 1 || main_cost(*at) == main_cost(0);
            let may_gain = elision == 0 && whole.field_count < Some(useful);
            let limits = elisions.skip(1).take_while(|at| may_gain && may_shorten(at)).map(most);
            let choice = limits
                .fold(whole, |best, next| if next.field_count > best.field_count { next } else { best });
            return Some(self.most_items(choice, min_count, as_table));
        }
        let shortest = *elisions.end();
        if page.must_hold_all {
            // As many of the main fields as fit for all records. Identities alone are the last resort, but where a program
            // counts on a number of records: in a loop by page number.
            let is_counted = page.target.required_count.is_some()
                || matches!(page.target.read_call, FollowUpCall::Http(_));
            let min_fields = if is_counted { 1 } else { 2 };
            let mut all = (min_fields..main).rev().map(|count| fields(count, shortest, wanted));
            if let Some(choice) = all.find(|choice| fits(*choice)) {
                return Some(choice);
            }
        }
        let fewer = elisions.map(|elision| self.most_items(fields(main, elision, min_count), 0, as_table));
        let less = (1..main).rev().map(|count| self.most_items(fields(count, shortest, wanted), 0, as_table));
        let mut choices = fewer.chain(less);
        choices.find(|choice| choice.item_count > 0)
    }

    /// Returns the fields to choose from. They are found in records of the whole list, which are read only if they are needed.
    fn order(&self) -> &FieldOrder {
        self.list.order.get_or_init(|| {
            let (page, kept) = (self.page, self.requested.kept_fields.as_ref());
            let preferred = &page.target.policy.render_options.summary_fields;
            let mut order = FieldOrder::new(page.rows, &page.noise, preferred);
            if let Some(kept) = kept.filter(|_| self.requested.is_condensed) {
                order.retain(|path| selects(kept, path));
            }
            order
        })
    }

    /// Returns the choice with as many more fields as fit, at most `max`.
    fn most_fields(&self, choice: Choice, max: usize, as_table: bool) -> Choice {
        let with = |count| Choice { field_count: Some(count), ..choice };
        with(largest(choice.field_count.unwrap_or(0)..max + 1, |count| self.fits(with(count), as_table)))
    }

    /// Returns the choice with as many records as fit, of which `min` are known to.
    fn most_items(&self, choice: Choice, min: usize, as_table: bool) -> Choice {
        let with = |item_count| Choice { item_count, ..choice };
        with(largest(min..self.page.wanted_count + 1, |count| self.fits(with(count), as_table)))
    }

    fn fits(&self, choice: Choice, as_table: bool) -> bool {
        self.cost(choice, as_table).is_within(&self.room)
    }

    /// Returns what a choice costs, or as soon as it exceeds the budget, a part of that.
    fn cost(&self, choice: Choice, as_table: bool) -> Cost {
        if as_table {
            let measured = self.measured(choice);
            let keeps = self.keeps(choice, &measured);
            let records = measured.records(choice.elision, choice.item_count);
            if records.len() < choice.item_count {
                return Cost::IMPOSSIBLE;
            }
            let (costs, counter) = (&measured.costs, self.room.counter);
            let table = TableCosts { costs, records, keeps: &keeps, counter };
            return self.wrapper_cost(choice).plus(table.total());
        }
        self.records_cost(choice, true)
    }

    /// Returns what the records of a choice cost with their wrapper. `stops`: true to end as soon as that exceeds the budget.
    fn records_cost(&self, choice: Choice, stops: bool) -> Cost {
        let wrapper = self.wrapper_cost(choice);
        let (count, max) = choice.field_count.map_or((1, 1), |count| (count, self.order().paths.len()));
        let mut sums = self.list.sums.borrow_mut();
        let requested = choice.field_count.is_none().then(|| self.requested.kept_fields.clone());
        let key = (requested, choice.elision);
        let totals = sums.entry(key).or_insert_with(|| vec![vec![Cost::default(); max + 1]]);
        loop {
            let known = choice.item_count.min(totals.len() - 1);
            let sum = wrapper.plus(totals[known][count]);
            if known == choice.item_count || stops && !sum.is_within(&self.room) {
                return sum;
            }
            let next = ((known / BATCH + 1) * BATCH).min(choice.item_count);
            let measured = self.measured(Choice { item_count: next, ..choice });
            let records = measured.records(choice.elision, next);
            if records.len() < next {
                return Cost::IMPOSSIBLE;
            }
            let places = self.places(choice, &measured);
            for record in &records[known..] {
                let mut total = totals[totals.len() - 1].clone();
                measured.costs.add_record(record, &places, &mut total);
                totals.push(total);
            }
        }
    }

    /// Returns the measured records, at least those of a choice that exist.
    fn measured(&self, choice: Choice) -> Ref<'_, MeasuredRecords> {
        {
            let (page, counter) = (self.page, self.room.counter);
            let MeasuredRecords { items, costs, elided, places, lacks_items } =
                &mut *self.list.records.borrow_mut();
            let from = items.len();
            if from < choice.item_count {
                let wanted = choice.item_count.next_multiple_of(BATCH).min(page.wanted_count) - from;
                items.extend(page.rows.iter_from(page.first_item + from).take(wanted));
                *lacks_items |= items.len() < from + wanted;
                costs.measure(page.rows, &items[from..], &page.noise, counter);
            }
            if choice.field_count.is_some() {
                let order = &self.order().paths;
                // A list of lists is written whole for the fields in it.
                let holds = |path: &str, own: &str| is_path_within(path, own) || is_path_within(own, path);
                let place = |path: &str| order.iter().position(|own| holds(path, own));
                let new = costs.fields.iter().skip(places.len());
                let new: Vec<usize> = new.map(|field| place(&field.path).unwrap_or(usize::MAX)).collect();
                places.extend(new);
            }
            if let Some(at) = choice.elision.checked_sub(1) {
                let known = elided[at].len();
                for (record, item) in costs.records.iter().zip(items.iter()).skip(known) {
                    let pointer = || format!("{}{}", page.target.pointer, page.rows.pointer_to(item));
                    elided[at].push(costs.elided(record, ELISION_LIMITS[at], pointer, counter));
                }
            }
        }
        self.list.records.borrow()
    }

    /// Returns the cost of the wrapper, which names the columns of rows.
    fn wrapper_cost(&self, choice: Choice) -> Cost {
        let render = |format: &RowFormat| {
            let wrapper = self.page.wrapper(format, None, &self.room);
            wrapper.map_or(Cost::IMPOSSIBLE, |wrapper| {
                let counter = self.room.counter;
                Cost::of(&wrapper.before, counter).plus(Cost::of(&wrapper.after, counter))
            })
        };
        match (&self.page.rows.list.layout, choice.field_count) {
            (Layout::Table { .. }, Some(count)) => {
                let kept_fields = Some(self.selection(count));
                render(&RowFormat { kept_fields, is_condensed: true, ..self.requested.clone() })
            }
            _ => *self.wrapper.get_or_init(|| render(&self.requested)),
        }
    }

    /// Returns, for each field that occurs, true if a choice keeps it.
    fn keeps(&self, choice: Choice, measured: &MeasuredRecords) -> Vec<bool> {
        let count = choice.field_count.unwrap_or(1);
        self.places(choice, measured).iter().map(|place| *place < count).collect()
    }

    /// Returns the place of each field that occurs in the order of the fields. Requested fields have the first place.
    fn places<'m>(&self, choice: Choice, measured: &'m MeasuredRecords) -> Cow<'m, [usize]> {
        if choice.field_count.is_some() {
            return Cow::Borrowed(&measured.places);
        }
        let kept = self.requested.kept_fields.as_ref();
        let is_kept =
            |path: &str| !self.page.noise.contains(path) && kept.is_none_or(|kept| selects(kept, path));
        let place = |field: &CostedField| if is_kept(&field.path) { 0 } else { usize::MAX };
        measured.costs.fields.iter().map(place).collect()
    }

    fn selection(&self, count: usize) -> FieldSelection {
        self.order().paths.iter().take(count).cloned().collect()
    }

    fn plan(&self, choice: Choice, as_table: bool) -> PagePlan {
        let mut format = RowFormat { as_table, ..self.requested.clone() };
        if let Some(count) = choice.field_count {
            (format.kept_fields, format.is_condensed) = (Some(self.selection(count)), true);
        }
        format.elide_above = choice.elision.checked_sub(1).and_then(|at| ELISION_LIMITS.get(at)).copied();
        let steps = [
            (as_table, StageName::Dense),
            (format.is_condensed, StageName::Condense),
            (format.elide_above.is_some(), StageName::Elide),
            (choice.field_count == Some(1), StageName::Identify),
            (choice.item_count < self.page.wanted_count, StageName::Fewer),
        ];
        format.stages = steps.into_iter().filter(|(is_taken, _)| *is_taken).map(|(_, stage)| stage).collect();
        let cost = self.cost(choice, as_table);
        let records = self.list.records.borrow();
        let (fields, keeps) = (&records.costs.fields, self.keeps(choice, &records));
        let omitted = fields.iter().zip(keeps).filter(|(_, is_kept)| format.is_condensed && !is_kept);
        let omitted_fields = omitted.map(|(field, _)| field.path.clone()).collect();
        let main_count = choice.field_count.map_or(0, |count| self.order().main_count.min(count));
        PagePlan { format, item_count: choice.item_count, cost, omitted_fields, main_count }
    }
}

/// Returns the largest number of a range that fits. The first one is known to fit, and numbers above one that does not fit do
/// not either.
fn largest(range: Range<usize>, fits: impl Fn(usize) -> bool) -> usize {
    let (mut fitting, mut exceeding) = (range.start, range.end);
    while exceeding > fitting + 1 {
        let middle = fitting.midpoint(exceeding);
        if fits(middle) { fitting = middle } else { exceeding = middle }
    }
    fitting
}

/// Returns true if a selection has a field, alone, with an object that contains it, or for a field in it.
fn selects(kept: &FieldSelection, path: &str) -> bool {
    let is_around = path.match_indices('.').any(|(dot, _)| kept.selects(&path[..dot]));
    is_around || kept.selects(path) || kept.selects_below(path)
}
