//! Groups recorded pages by the call that they belong to.

use std::collections::{BTreeMap, HashMap};

use portion_core::event::Outcome;

use super::size::{Advice, EndpointCalls, Limits};
use crate::read::{Endpoint, Record};

/// Calls answered by a page, each with the follow-up pages that callers read.
#[derive(Debug, Default)]
pub struct PageSequences(HashMap<u64, (Endpoint, PageSequence)>);

/// One call and its pages.
#[derive(Clone, Debug, Default)]
pub(super) struct PageSequence {
    /// Items of the first page. `None` if that page was not recorded or the caller set its size.
    pub(super) first: Option<u64>,
    /// Total items of the list.
    pub(super) total: Option<u64>,
    /// Pages after the first.
    pub(super) follow_ups: u64,
    /// Items of all pages.
    pub(super) items: u64,
    /// Tokens of all pages.
    pub(super) tokens: u64,
    /// Tokens per item, page by page.
    pub(super) item_costs: Vec<f64>,
}

impl PageSequences {
    /// Adds a record, in any order. Records that are not pages, or were written by a version without `origin`, are
    /// ignored.
    pub fn add(&mut self, record: &Record) {
        let (Some(origin), Some(items)) = (record.origin, record.items) else { return };
        if record.outcome != Outcome::Paginated.name() || record.error.is_some() {
            return;
        }
        let (_, sequence) =
            self.0.entry(origin).or_insert_with(|| (record.endpoint.clone(), PageSequence::default()));
        // A page size that the caller set says nothing about the default size.
        let has_limit = record.arguments.iter().any(|name| name == "limit");
        match record.follow_up {
            true => sequence.follow_ups += 1,
            false if !has_limit => (sequence.first, sequence.total) = (Some(items), record.total_items),
            false => {}
        }
        sequence.items += items;
        sequence.tokens += record.served_tokens().unwrap_or_default();
        sequence.item_costs.extend(record.tokens_per_item);
    }

    /// Returns advice for each endpoint that answers with pages, sorted by follow-ups in descending order.
    pub fn advise(self, limits: impl Fn(&Endpoint) -> Limits) -> Vec<Advice> {
        let mut endpoints: BTreeMap<Endpoint, EndpointCalls> = BTreeMap::new();
        for (endpoint, sequence) in self.0.into_values() {
            if sequence.first.is_some() {
                endpoints.entry(endpoint).or_default().add(sequence);
            }
        }
        let advice = |(endpoint, calls): (Endpoint, EndpointCalls)| {
            let limits = limits(&endpoint);
            calls.advise(endpoint, limits)
        };
        let mut found: Vec<Advice> = endpoints.into_iter().map(advice).collect();
        found.sort_by_key(|advice| std::cmp::Reverse(advice.follow_ups));
        found
    }
}
