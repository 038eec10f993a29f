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
        if !case.may_condense || case.rows.list.profile.fields.is_empty() {
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

/// What a field costs in one item, on average, by its path.
type Costs = HashMap<String, f64>;

/// The fields that can be had for so many tokens a page.
fn choose(case: &Case<'_>, tokens: usize) -> Fields {
    let costs = costs(case.rows, case.counter);
    let of = |path: &str| costs.get(path).copied().unwrap_or(0.0) * case.items as f64;
    let ranked = ranked(case.rows);
    let always = |rank: Rank| rank <= Rank::Status;
    let mut left = tokens as f64 - 3.0 * case.items as f64;
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
    let costs = costs(case.rows, case.counter);
    let one: f64 = kept.paths().iter().filter_map(|path| costs.get(path)).sum();
    (one * case.items as f64) as usize
}

/// The fields in the order in which they are taken.
fn ranked(rows: Rows<'_>) -> Vec<(String, Rank)> {
    rows.list.profile.fields.iter().map(|field| (field.path.clone(), field.rank)).collect()
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

/// Average cost of each field over the sampled items.
fn costs(rows: Rows<'_>, counter: &dyn TokenCounter) -> Costs {
    const COUNTED: usize = 12;
    let samples = &rows.list.profile.samples;
    let step = samples.len().div_ceil(COUNTED).max(1);
    let mut costs = Costs::new();
    let mut records = 0.0;
    let mut text = String::new();
    for span in samples.iter().step_by(step) {
        records += 1.0;
        let item = span.of(rows.text);
        let mut add = |path: &str, written: &str| {
            text.clear();
            crate::scan::minify(written, &mut text);
            text.push(',');
            let cost = counter.count_within(&text, MOST).unwrap_or(MOST) as f64;
            *costs.entry(path.to_owned()).or_default() += cost;
        };
        match columns(rows) {
            Some(columns) => {
                let cells = crate::snapshot::cells(item);
                columns.iter().zip(cells).for_each(|(name, cell)| add(name, cell.of(item)));
            }
            None => leaves(item, &mut |path, key, value| {
                add(path, item.get(key.start as usize..value.end as usize).unwrap_or_default());
            }),
        }
    }
    costs.values_mut().for_each(|cost| *cost /= f64::max(records, 1.0));
    costs
}

/// What a field counts as at most: beyond, it is too dear for any page.
const MOST: usize = 20_000;
