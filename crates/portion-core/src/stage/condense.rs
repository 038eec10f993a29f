//! Items are projected to the fields that tell most: as many as leave room for every item.
//!
//! Identities, names and the primary status always stay. Beyond them fields are taken in the order of
//! their rank while the page has room for them in every item; a field too dear is passed over, not the end.

use std::collections::HashMap;

use super::{Case, How, Stage};
use crate::projection::Fields;
use crate::snapshot::{Layout, Rank, Rows, leaves};
use crate::tokens::TokenCounter;

pub(super) struct Condense;

impl Stage for Condense {
    fn name(&self) -> &'static str {
        "condense"
    }

    fn tighten(&self, how: &mut How, case: &Case<'_>) -> bool {
        if !case.may_condense || case.rows.list.profile.fields.is_empty() && columns(case.rows).is_none() {
            return false;
        }
        let before = how.keep.as_ref().filter(|_| how.condensed);
        // Each further step has less to spend, down to what always stays.
        let spend = match before {
            None => case.tokens,
            Some(kept) if kept.paths().len() > core_len(case.rows) => {
                cost_of(kept, case).min(case.tokens) * 2 / 3
            }
            Some(_) => return false,
        };
        let keep = choose(case, spend);
        if before.is_some_and(|kept| *kept == keep) {
            return false;
        }
        how.keep = Some(keep);
        how.condensed = true;
        true
    }
}

/// The fields that can be had for so many tokens a page.
fn choose(case: &Case<'_>, tokens: usize) -> Fields {
    let costs = costs(case);
    let of = |path: &str| costs.get(path).map_or(0.0, |cost| cost.of(case.items));
    let ranked = ranked(case.rows);
    let always = |rank: Rank| rank <= Rank::Status;
    let around = if case.dense { 2.0 } else { 3.0 };
    let mut left = tokens as f64 - around * case.items as f64;
    left -= ranked.iter().filter(|(_, rank)| always(*rank)).map(|(path, _)| of(path)).sum::<f64>();
    let mut kept = Vec::new();
    for (path, rank) in ranked {
        let cost = of(&path);
        if always(rank) {
            kept.push(path);
        } else if rank != Rank::Noise && cost <= left {
            left -= cost;
            kept.push(path);
        }
    }
    kept.into_iter().collect()
}

fn cost_of(kept: &Fields, case: &Case<'_>) -> usize {
    let costs = costs(case);
    kept.paths().iter().filter_map(|path| costs.get(path)).map(|cost| cost.of(case.items)).sum::<f64>()
        as usize
}

/// The fields in the order in which they are taken.
fn ranked(rows: Rows<'_>) -> Vec<(String, Rank)> {
    match columns(rows) {
        // Columns are named in the header once; all are alike but the first, by which rows are told apart.
        Some(columns) => {
            let rank = |i| if i == 0 { Rank::Identity } else { Rank::Plain };
            columns.iter().enumerate().map(|(i, name)| (name.clone(), rank(i))).collect()
        }
        None => rows.list.profile.fields.iter().map(|field| (field.path.clone(), field.rank)).collect(),
    }
}

fn core_len(rows: Rows<'_>) -> usize {
    ranked(rows).iter().filter(|(_, rank)| *rank <= Rank::Status).count()
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
