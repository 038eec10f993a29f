//! Items are projected to the fields that tell most: as many as leave room for every item.
//!
//! Identities, names and the primary status always stay, and so does what an operator named, but for lists and objects
//! that a page has no room for. Beyond them come dates and amounts, then the other fields in the order of their rank,
//! while the page has room for them in every item; a field too dear is passed over, not the end.

use std::collections::HashMap;

use super::favour::{Favoured, favoured};
use super::{Case, How, Stage};
use crate::noise::Noise;
use crate::projection::{Fields, is_within};
use crate::snapshot::{Field, Layout, Rank, Rows, leaves};
use crate::tokens::TokenCounter;

pub(super) struct Condense;

impl Stage for Condense {
    fn name(&self) -> &'static str {
        "condense"
    }

    fn tighten(&self, how: &mut How, case: &Case<'_>) -> bool {
        if !case.may_condense || case.rows.list.profile.fields.is_empty() {
            return false;
        }
        let before = how.keep.as_ref().filter(|_| how.condensed);
        let menu = Menu::of(case, &how.noise);
        // Each further step has less to spend, down to what always stays.
        let spend = match before {
            None => case.tokens,
            Some(kept) if kept.paths().len() > menu.always.len() => {
                menu.cost_of(kept).min(case.tokens) * 17 / 20
            }
            Some(_) => return false,
        };
        let keep = menu.choose(spend);
        // Each step is a cheaper one, so that they end.
        if before.is_some_and(|kept| menu.cost_of(&keep) >= menu.cost_of(kept)) {
            return false;
        }
        how.keep = Some(keep);
        how.condensed = true;
        true
    }
}

/// Fields to choose from.
struct Menu<'a> {
    case: &'a Case<'a>,
    /// Those that are no noise, the most telling first.
    fields: Vec<&'a Field>,
    /// What each costs.
    costs: HashMap<String, Cost>,
    /// Those that stay whatever there is to spend.
    always: Vec<&'a str>,
}

/// Tokens up to which a field of an item stays that an operator named, and what a long string is reckoned at, for it can
/// be shortened.
const ELIDED: f64 = 80.0;

impl<'a> Menu<'a> {
    fn of(case: &'a Case<'a>, noise: &Noise) -> Self {
        let fields = case.rows.list.profile.fields.iter().filter(|field| !noise.takes(&field.path)).collect();
        let Favoured { fields, spare } = favoured(case, fields);
        let mut menu = Self { case, fields, costs: costs(case), always: Vec::new() };
        let is_core = |field: &&&Field| field.rank <= Rank::Status && !spare.contains(field.path.as_str());
        let core = menu.fields.iter().filter(is_core);
        let mut always: Vec<&str> = core.map(|field| field.path.as_str()).collect();
        let mut left = menu.room(case.tokens) - always.iter().map(|path| menu.cost(path)).sum::<f64>();
        for name in case.first {
            for field in menu.fields.iter().filter(|field| is_within(&field.path, name)) {
                let short = ELIDED * case.items as f64;
                let most = if field.rank == Rank::Long { short } else { f64::MAX };
                let cost = menu.cost(&field.path).min(most);
                if (cost <= short || cost <= left) && !always.contains(&field.path.as_str()) {
                    left -= cost;
                    always.push(&field.path);
                }
            }
        }
        menu.always = always;
        menu
    }

    /// The fields that can be had for so many tokens a page.
    fn choose(&self, tokens: usize) -> Fields {
        let mut left = self.room(tokens) - self.always.iter().map(|path| self.cost(path)).sum::<f64>();
        let mut kept: Vec<String> = self.always.iter().map(|path| (*path).to_owned()).collect();
        for field in self.fields.iter().filter(|field| !self.always.contains(&field.path.as_str())) {
            let cost = self.cost(&field.path);
            if field.rank != Rank::Noise && cost <= left {
                left -= cost;
                kept.push(field.path.clone());
            }
        }
        // Without any, nothing would tell records apart.
        if let Some(first) = self.fields.first().filter(|_| kept.is_empty()) {
            kept.push(first.path.clone());
        }
        kept.into_iter().collect()
    }

    fn cost_of(&self, kept: &Fields) -> usize {
        kept.paths().iter().map(|path| self.cost(path)).sum::<f64>() as usize
    }

    /// What is left of so many tokens for the fields of all items.
    fn room(&self, tokens: usize) -> f64 {
        let around = if self.case.dense { 2.0 } else { 3.0 };
        tokens as f64 - around * self.case.items as f64
    }

    fn cost(&self, path: &str) -> f64 {
        self.costs.get(path).map_or(0.0, |cost| cost.of(self.case.items))
    }
}

fn columns(rows: Rows<'_>) -> Option<&[String]> {
    match &rows.list.layout {
        Layout::Table { columns, .. } => Some(columns),
        _ => None,
    }
}

/// What a field costs in tokens.
#[derive(Default)]
struct Cost {
    /// In each item, on average.
    each: f64,
    /// In the page, beside that.
    once: f64,
}

impl Cost {
    fn of(&self, items: usize) -> f64 {
        self.each * items as f64 + self.once
    }
}

/// The cost of each field over the sampled items, by its path.
fn costs(case: &Case<'_>) -> HashMap<String, Cost> {
    const COUNTED: usize = 12;
    let Case { rows, counter, dense, .. } = *case;
    let samples = &rows.list.profile.samples;
    let step = samples.len().div_ceil(COUNTED).max(1);
    let mut sums: HashMap<String, Sum> = HashMap::new();
    let mut records = 0;
    for span in samples.iter().step_by(step) {
        records += 1;
        let item = span.of(rows.text);
        match columns(rows) {
            Some(columns) => {
                let cells = crate::snapshot::cells(item);
                for (name, cell) in columns.iter().zip(cells) {
                    sums.entry(name.clone()).or_default().add(cell.of(item), 0, counter);
                }
            }
            None => leaves(item, &mut |path, key, value| {
                let written = item.get(key.start as usize..value.end as usize).unwrap_or_default();
                let value = (value.start - key.start) as usize;
                sums.entry(path.to_owned()).or_default().add(written, if dense { value } else { 0 }, counter);
            }),
        }
    }
    sums.into_iter().map(|(path, sum)| (path, sum.over(records, dense))).collect()
}

/// What a field costs in all sampled items together.
#[derive(Default)]
struct Sum {
    times: usize,
    /// With its name.
    named: usize,
    /// Without.
    bare: usize,
    /// The first value, where all others are the same.
    constant: Option<String>,
}

impl Sum {
    /// Adds a field as written, its value being what begins at byte `value`.
    fn add(&mut self, written: &str, value: usize, counter: &dyn TokenCounter) {
        let cost = |text: &str| {
            let mut out = String::new();
            crate::scan::minify(text, &mut out);
            out.push(',');
            let cost = counter.count_within(&out, MOST).unwrap_or(MOST);
            (cost, out)
        };
        self.times += 1;
        self.named += cost(written).0;
        if let Some(bare) = written.get(value..).filter(|_| value > 0) {
            let (cost, value) = cost(bare);
            self.bare += cost;
            self.constant = match self.constant.take() {
                None if self.times == 1 => Some(value),
                same => same.filter(|constant| *constant == value),
            };
        }
    }

    fn over(&self, records: usize, dense: bool) -> Cost {
        let (named, bare) = (self.named as f64, self.bare as f64);
        let records = f64::max(records as f64, 1.0);
        let times = self.times as f64;
        // What an item has several of stands in a list, names and all.
        if !dense || times > records {
            return Cost { each: named / records, once: 0.0 };
        }
        let name = (named - bare) / times.max(1.0);
        if self.constant.is_some() && times >= records {
            return Cost { each: 0.0, once: named / times.max(1.0) };
        }
        Cost { each: (bare + (records - times)) / records, once: name }
    }
}

/// What a field counts as at most: beyond, it is too dear for any page.
const MOST: usize = 20_000;
