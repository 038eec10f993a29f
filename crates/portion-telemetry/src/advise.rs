//! Advises page sizes that would have saved follow-ups, from how many pages callers read.
//!
//! The result is an **estimate**. It assumes that further items cost as much as the items served, and that callers read
//! as far as they did. A page never holds more items than four calls in five read, nor more than the token budget
//! allows. Within these bounds the advised size saves the most tokens: items that nobody reads count against the
//! follow-ups saved.

use std::collections::{BTreeMap, HashMap};

use portion_core::event::Outcome;
use portion_core::policy::Policy;

use crate::read::{Endpoint, Record};

/// Minimum number of calls for advice.
pub const MIN_CALLS: u64 = 20;

/// Share of the calls that should need a single reply.
const COVERED_SHARE: f64 = 0.8;
/// Minimum share of the calls that were read on (at least one follow-up); below it, no change is advised.
pub(crate) const MIN_READ_ON_SHARE: f64 = 0.5;
/// Quantile of the cost per item, in tokens, that a page is budgeted with.
const ITEM_COST_QUANTILE: f64 = 0.95;
/// Tokens of a page without items, measured as a page past the end of a list (`docs/controls.md`).
const PAGE_OVERHEAD: f64 = 160.0;

/// Value of an avoided follow-up, in tokens: the model writes a call and waits for it. This is a judgement, not a
/// measurement. It only ranks sizes that save tokens; it does not make a size count as saving.
const FOLLOW_UP_COST: i64 = 500;

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
    item_costs: Vec<f64>,
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
    pub fn advise(self, policy: impl Fn(&Endpoint) -> Policy) -> Vec<Advice> {
        let mut endpoints: BTreeMap<Endpoint, EndpointCalls> = BTreeMap::new();
        for (endpoint, sequence) in self.0.into_values() {
            if sequence.first.is_some() {
                endpoints.entry(endpoint).or_default().sequences.push(sequence);
            }
        }
        let advice = |(endpoint, calls): (Endpoint, EndpointCalls)| {
            let policy = policy(&endpoint);
            calls.advise(endpoint, &policy)
        };
        let mut found: Vec<Advice> = endpoints.into_iter().map(advice).collect();
        found.sort_by_key(|advice| std::cmp::Reverse(advice.follow_ups));
        found
    }
}

/// Advice for one endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// Calls answered by a page whose size the caller did not set.
    pub calls: u64,
    /// Pages read after the first ones.
    pub follow_ups: u64,
    /// Share of the calls with at least one follow-up, 0 to 1.
    pub read_on: f64,
    /// Number of items that covers four calls in five.
    pub needed: u64,
    /// Tokens per item that 95 % of the pages do not exceed.
    pub tokens_per_item: f64,
    /// Page size configured now.
    pub page_size: u64,
    /// Recommended change.
    pub verdict: Verdict,
    /// Follow-ups that the advised page size would have saved.
    pub saved_follow_ups: u64,
    /// Tokens that the advised page size would have saved, less the cost of items that callers did not read. Negative
    /// if it costs more.
    pub saved_tokens: i64,
}

/// Recommended change of a page size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There are fewer than [`MIN_CALLS`] calls.
    TooFew,
    /// No change: few calls are read on, one reply is enough for most, or a larger page would cost more than it saves.
    Fits,
    /// A larger page size saves tokens.
    Larger {
        /// The advised page size.
        page_size: u64,
        /// `maxPageSize` keeps it below the number of items needed.
        bounded: bool,
    },
    /// The token budget keeps pages below the number of items needed.
    Bounded {
        /// The largest page that the budget holds, if it is larger than the current one.
        page_size: Option<u64>,
        /// Budget that would hold the items needed, in tokens. `None` if it exceeds `hardCap`; then only smaller items
        /// help.
        budget: Option<u64>,
    },
}

impl Verdict {
    /// Returns the advised page size, if there is one.
    pub fn page_size(self) -> Option<u64> {
        match self {
            Self::Larger { page_size, .. } => Some(page_size),
            Self::Bounded { page_size, .. } => page_size,
            Self::TooFew | Self::Fits => None,
        }
    }

    /// Returns the name used in JSON and CSV.
    pub fn name(self) -> &'static str {
        match self {
            Self::TooFew => "tooFew",
            Self::Fits => "fits",
            Self::Larger { .. } => "largerPage",
            Self::Bounded { .. } => "boundedByBudget",
        }
    }
}

/// The recorded calls of one endpoint.
#[derive(Debug, Default)]
struct EndpointCalls {
    sequences: Vec<PageSequence>,
}

impl EndpointCalls {
    fn advise(self, endpoint: Endpoint, policy: &Policy) -> Advice {
        let calls = self.sequences.len() as u64;
        let read_on = self.sequences.iter().filter(|sequence| sequence.follow_ups > 0).count() as f64
            / calls.max(1) as f64;
        let needed =
            quantile(self.sequences.iter().map(|sequence| sequence.items as f64).collect(), COVERED_SHARE);
        let item_cost = quantile(
            self.sequences.iter().flat_map(|sequence| sequence.item_costs.clone()).collect(),
            ITEM_COST_QUANTILE,
        );
        let mut advice = Advice {
            endpoint,
            calls,
            follow_ups: self.sequences.iter().map(|sequence| sequence.follow_ups).sum(),
            read_on,
            needed: needed as u64,
            tokens_per_item: item_cost,
            page_size: policy.default_page_size as u64,
            verdict: Verdict::TooFew,
            saved_follow_ups: 0,
            saved_tokens: 0,
        };
        if calls >= MIN_CALLS {
            advice.verdict = self.verdict(&advice, policy);
        }
        if let Some(size) = advice.verdict.page_size() {
            (advice.saved_follow_ups, advice.saved_tokens) = self.saved(size);
        }
        advice
    }

    fn verdict(&self, advice: &Advice, policy: &Policy) -> Verdict {
        if advice.read_on < MIN_READ_ON_SHARE {
            return Verdict::Fits;
        }
        let target = policy.reply_target.min(policy.token_budget_threshold);
        let holds = (target as f64 / advice.tokens_per_item.max(1.0)) as u64;
        let largest = rounded(advice.needed).min(policy.max_page_size as u64).min(holds);
        let page_size = self.best(advice.page_size, largest);
        if holds >= advice.needed {
            let larger = |page_size| Verdict::Larger { page_size, bounded: largest < advice.needed };
            return page_size.map_or(Verdict::Fits, larger);
        }
        let budget = (advice.needed as f64 * advice.tokens_per_item / 100.0).ceil() as u64 * 100;
        Verdict::Bounded { page_size, budget: (budget <= policy.hard_cap as u64).then_some(budget) }
    }

    /// Finds the size up to `largest` that is worth most among the sizes that save tokens. `None` if no size saves
    /// tokens.
    fn best(&self, now: u64, largest: u64) -> Option<u64> {
        let larger = |size: &u64| Some(rounded(size + 1));
        let sizes = std::iter::successors(Some(now), larger).skip(1).take_while(|size| *size < largest);
        let worth = |size: u64| {
            let (follow_ups, tokens) = self.saved(size);
            (tokens > 0).then_some((tokens + follow_ups as i64 * FOLLOW_UP_COST, size))
        };
        let sizes = sizes.chain((largest > now).then_some(largest)).filter_map(worth);
        sizes.max().map(|(_, size)| size)
    }

    /// Returns the follow-ups and tokens that pages of `size` items would have saved.
    fn saved(&self, size: u64) -> (u64, i64) {
        let sum = |of: fn(&PageSequence) -> u64| self.sequences.iter().map(of).sum::<u64>() as f64;
        let pages = sum(|sequence| 1 + sequence.follow_ups);
        let item_cost = ((sum(|sequence| sequence.tokens) - pages * PAGE_OVERHEAD)
            / sum(|sequence| sequence.items).max(1.0))
        .max(0.0);
        let (mut follow_ups, mut tokens) = (0, 0.0);
        for sequence in &self.sequences {
            let pages = sequence.items.div_ceil(size).max(1);
            let saved = sequence.follow_ups.saturating_sub(pages - 1);
            let there = sequence.total.unwrap_or(u64::MAX).max(sequence.items);
            let unread = (pages * size).min(there) - sequence.items;
            follow_ups += saved;
            tokens += saved as f64 * PAGE_OVERHEAD - unread as f64 * item_cost;
        }
        (follow_ups, tokens as i64)
    }
}

/// Rounds up to a multiple of 10, or of 50 above 100.
fn rounded(items: u64) -> u64 {
    items.next_multiple_of(if items > 100 { 50 } else { 10 })
}

/// Returns the nearest-rank quantile, or 0 for an empty list.
fn quantile(mut numbers: Vec<f64>, share: f64) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let rank = (numbers.len() as f64 * share).ceil() as usize;
    numbers.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds `calls` calls, each read up to that many of 1,000 items with pages of that size.
    fn calls(count: usize, items: u64, size: u64, item_cost: u64) -> Vec<PageSequence> {
        let sequence = PageSequence {
            first: Some(size),
            total: Some(1_000),
            follow_ups: items.div_ceil(size) - 1,
            items,
            tokens: items * item_cost,
            item_costs: vec![item_cost as f64; items.div_ceil(size) as usize],
        };
        vec![sequence; count]
    }

    fn advice(sequences: Vec<PageSequence>) -> Advice {
        let policy = Policy {
            default_page_size: 50,
            max_page_size: 200,
            reply_target: 4_000,
            token_budget_threshold: 4_000,
            hard_cap: 12_000,
            ..Policy::default()
        };
        EndpointCalls { sequences }.advise(Endpoint::default(), &policy)
    }

    #[test]
    fn a_page_is_what_most_calls_read_where_the_budget_holds_it() {
        let check = |sequences: Vec<PageSequence>, expect| assert_eq!(advice(sequences).verdict, expect);
        let larger = |page_size, bounded| Verdict::Larger { page_size, bounded };
        check(calls(19, 150, 50, 20), Verdict::TooFew);
        check(calls(20, 150, 50, 20), larger(150, false));
        check(calls(20, 50, 50, 20), Verdict::Fits);
        check(calls(20, 72, 50, 20), larger(80, false));
        check(calls(20, 390, 50, 10), larger(200, true));
        // Few calls are read on, and all would pay for larger pages.
        check([calls(70, 50, 50, 20), calls(30, 150, 50, 20)].concat(), Verdict::Fits);
        // The same holds if only half of the calls are read on.
        check([calls(50, 50, 50, 20), calls(50, 150, 50, 20)].concat(), Verdict::Fits);
        // One call in five is read to the end.
        check([calls(80, 100, 50, 20), calls(20, 900, 50, 20)].concat(), larger(100, false));
    }

    #[test]
    fn what_the_budget_bounds_is_not_a_matter_of_page_sizes() {
        let check = |sequences: Vec<PageSequence>, page_size, budget| {
            assert_eq!(advice(sequences).verdict, Verdict::Bounded { page_size, budget });
        };
        check(calls(20, 100, 50, 80), None, Some(8_000));
        check(calls(20, 100, 20, 200), None, None);
        check(calls(20, 180, 50, 40), Some(90), Some(7_200));
        // Callers read two pages of that size.
        check(calls(20, 200, 50, 22), Some(100), Some(4_400));
    }

    #[test]
    fn items_that_nobody_reads_count_against_what_is_saved() {
        let all = advice(calls(20, 150, 50, 20));
        assert_eq!((all.saved_follow_ups, all.saved_tokens), (40, 40 * 160));
        // Ten calls pay for a hundred items each that the other ninety read.
        let advised = advice([calls(90, 150, 50, 5), calls(10, 50, 50, 5)].concat());
        assert_eq!((advised.verdict.page_size(), advised.saved_follow_ups), (Some(150), 180));
        assert!(0 < advised.saved_tokens && advised.saved_tokens < 180 * 160, "{advised:?}");
        let dear = advice([calls(80, 150, 50, 20), calls(20, 50, 50, 20)].concat());
        assert_eq!((dear.verdict, dear.saved_tokens), (Verdict::Fits, 0), "it would cost more than it saves");
    }

    proptest::proptest! {
            #[test]
        fn what_is_advised_saves_tokens(
            reads in proptest::collection::vec((1..400_u64, 1..60_u64), 20..60),
            item_cost in 1..60_u64,
        ) {
            let sequences = reads.iter().flat_map(|(items, size)| calls(1, *items, *size, item_cost)).collect();
            let advice = advice(sequences);
            proptest::prop_assert!(advice.verdict.page_size().is_none() || advice.saved_tokens > 0, "{:?}", advice);
        }
    }
}
