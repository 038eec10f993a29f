//! How far callers read on, call by call.

use std::collections::{BTreeMap, HashMap};

use portion_core::event::Outcome;

use super::size::{Advice, Limits, Seen};
use crate::read::{Endpoint, Record};

/// Calls that were answered by a page, and the pages that callers read after it.
#[derive(Debug, Default)]
pub struct Walks(HashMap<u64, (Endpoint, Walk)>);

/// One of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Walk {
    /// Items of the first page; `None` where it was not seen, or somebody asked for its size.
    pub(super) first: Option<u64>,
    /// Items that there are.
    pub(super) total: Option<u64>,
    /// Pages after the first.
    pub(super) follow_ups: u64,
    /// Items of all pages.
    pub(super) items: u64,
    /// Tokens of all pages.
    pub(super) tokens: u64,
    /// What an item cost, page by page.
    pub(super) prices: Vec<f64>,
}

impl Walks {
    /// Adds a record, in any order. What is no page, or comes from an earlier version, tells nothing.
    pub fn add(&mut self, record: &Record) {
        let (Some(origin), Some(items)) = (record.origin, record.items) else { return };
        if record.outcome != Outcome::Paginated.name() || record.error.is_some() {
            return;
        }
        let (_, walk) = self.0.entry(origin).or_insert_with(|| (record.endpoint.clone(), Walk::default()));
        // A size that somebody asked for says nothing of the one that nobody asked for.
        let asked = record.arguments.iter().any(|name| name == "limit");
        match record.follow_up {
            true => walk.follow_ups += 1,
            false if !asked => (walk.first, walk.total) = (Some(items), record.total_items),
            false => {}
        }
        walk.items += items;
        walk.tokens += record.served_tokens().unwrap_or_default();
        walk.prices.extend(record.tokens_per_item);
    }

    /// What is to be said of each endpoint that answers by pages, those with the most follow-ups first.
    pub fn advise(self, limits: impl Fn(&Endpoint) -> Limits) -> Vec<Advice> {
        let mut endpoints: BTreeMap<Endpoint, Seen> = BTreeMap::new();
        for (endpoint, walk) in self.0.into_values() {
            if walk.first.is_some() {
                endpoints.entry(endpoint).or_default().add(walk);
            }
        }
        let advice = |(endpoint, seen): (Endpoint, Seen)| {
            let limits = limits(&endpoint);
            seen.advise(endpoint, limits)
        };
        let mut found: Vec<Advice> = endpoints.into_iter().map(advice).collect();
        found.sort_by_key(|advice| std::cmp::Reverse(advice.follow_ups));
        found
    }
}
