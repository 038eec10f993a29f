//! The page size that an endpoint should have had.

use super::LEAST_CALLS;
use super::walk::Walk;
use crate::read::Endpoint;

/// Share of the calls that are to need one reply.
const SERVED: f64 = 0.8;
/// Share of the calls that must have been read on for anything to be said.
pub(crate) const READ_ON: f64 = 0.5;
/// Share of the items that are to cost no more than what is reckoned with.
const PRICE: f64 = 0.95;
/// Tokens of a page without its items: what one past the end of a list costs (`docs/controls.md`).
const BARE_PAGE: f64 = 160.0;

/// What it is worth to spare a follow-up besides, in tokens: the model writes a call and waits for it. A judgement, not a
/// measurement: it decides between sizes that save tokens, not whether one does.
const TURN: i64 = 500;

/// What bounds a page of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `pageSize`, items.
    pub page_size: u64,
    /// `maxPageSize`, items.
    pub max_page_size: u64,
    /// What a reply aims at, tokens: `replyTarget`, or `tokenBudgetThreshold` where that is less.
    pub target: u64,
    /// `hardCap`, tokens.
    pub hard_cap: u64,
}

/// What is to be said of an endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// Calls that were answered by a page whose size nobody asked for.
    pub calls: u64,
    /// Pages that were read after the first ones.
    pub follow_ups: u64,
    /// Share of the calls that were read on.
    pub read_on: f64,
    /// Items that four calls in five did not read beyond.
    pub needed: u64,
    /// Tokens that 95 % of the pages did not exceed for each item.
    pub tokens_per_item: f64,
    /// Its page size.
    pub page_size: u64,
    /// What is to be done.
    pub verdict: Verdict,
    /// Follow-ups that a better page size would have saved.
    pub saved_follow_ups: u64,
    /// Tokens that it would have saved, items that nobody had asked for counted against it: negative where it costs some.
    pub saved_tokens: i64,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing can be said yet.
    TooFew,
    /// Nothing: few read on, one reply is enough for most, or a larger page would cost more than it saves.
    Fits,
    /// A larger page size.
    Larger {
        /// That one.
        page_size: u64,
        /// Whether `maxPageSize` keeps it below what is needed.
        bounded: bool,
    },
    /// The budget keeps pages below what is needed.
    Bounded {
        /// As large as the budget holds, where that is larger than now.
        page_size: Option<u64>,
        /// The budget that would hold what is needed, in tokens; `None` where it were above the `hardCap`: then only
        /// smaller items help.
        budget: Option<u64>,
    },
}

impl Verdict {
    /// The page size that is advised.
    pub fn page_size(self) -> Option<u64> {
        match self {
            Self::Larger { page_size, .. } => Some(page_size),
            Self::Bounded { page_size, .. } => page_size,
            Self::TooFew | Self::Fits => None,
        }
    }

    /// Its name, for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::TooFew => "tooFew",
            Self::Fits => "fits",
            Self::Larger { .. } => "largerPage",
            Self::Bounded { .. } => "boundedByBudget",
        }
    }
}

/// The calls of an endpoint.
#[derive(Debug, Default)]
pub(super) struct Seen {
    walks: Vec<Walk>,
}

impl Seen {
    pub(super) fn add(&mut self, walk: Walk) {
        self.walks.push(walk);
    }

    pub(super) fn advise(self, endpoint: Endpoint, limits: Limits) -> Advice {
        let calls = self.walks.len() as u64;
        let read_on =
            self.walks.iter().filter(|walk| walk.follow_ups > 0).count() as f64 / calls.max(1) as f64;
        let needed = quantile(self.walks.iter().map(|walk| walk.items as f64).collect(), SERVED);
        let price = quantile(self.walks.iter().flat_map(|walk| walk.prices.clone()).collect(), PRICE);
        let mut advice = Advice {
            endpoint,
            calls,
            follow_ups: self.walks.iter().map(|walk| walk.follow_ups).sum(),
            read_on,
            needed: needed as u64,
            tokens_per_item: price,
            page_size: limits.page_size,
            verdict: Verdict::TooFew,
            saved_follow_ups: 0,
            saved_tokens: 0,
        };
        if calls >= LEAST_CALLS {
            advice.verdict = self.verdict(&advice, limits);
        }
        if let Some(size) = advice.verdict.page_size() {
            (advice.saved_follow_ups, advice.saved_tokens) = self.saved(size);
        }
        advice
    }

    fn verdict(&self, advice: &Advice, limits: Limits) -> Verdict {
        if advice.read_on < READ_ON {
            return Verdict::Fits;
        }
        let holds = (limits.target as f64 / advice.tokens_per_item.max(1.0)) as u64;
        let largest = rounded(advice.needed).min(limits.max_page_size).min(holds);
        let page_size = self.best(limits.page_size, largest);
        if holds >= advice.needed {
            let larger = |page_size| Verdict::Larger { page_size, bounded: largest < advice.needed };
            return page_size.map_or(Verdict::Fits, larger);
        }
        let budget = (advice.needed as f64 * advice.tokens_per_item / 100.0).ceil() as u64 * 100;
        Verdict::Bounded { page_size, budget: (budget <= limits.hard_cap).then_some(budget) }
    }

    /// The size up to the largest by which most would have been spared, of those that save tokens; `None` where none does.
    fn best(&self, now: u64, largest: u64) -> Option<u64> {
        let larger = |size: &u64| Some(rounded(size + 1));
        let sizes = std::iter::successors(Some(now), larger).skip(1).take_while(|size| *size < largest);
        let worth = |size: u64| {
            let (follow_ups, tokens) = self.saved(size);
            (tokens > 0).then_some((tokens + follow_ups as i64 * TURN, size))
        };
        let sizes = sizes.chain((largest > now).then_some(largest)).filter_map(worth);
        sizes.max().map(|(_, size)| size)
    }

    /// Follow-ups and tokens that pages of that size would have saved.
    fn saved(&self, size: u64) -> (u64, i64) {
        let sum = |of: fn(&Walk) -> u64| self.walks.iter().map(of).sum::<u64>() as f64;
        let pages = sum(|walk| 1 + walk.follow_ups);
        let price =
            ((sum(|walk| walk.tokens) - pages * BARE_PAGE) / sum(|walk| walk.items).max(1.0)).max(0.0);
        let (mut follow_ups, mut tokens) = (0, 0.0);
        for walk in &self.walks {
            let pages = walk.items.div_ceil(size).max(1);
            let saved = walk.follow_ups.saturating_sub(pages - 1);
            let there = walk.total.unwrap_or(u64::MAX).max(walk.items);
            let unread = (pages * size).min(there) - walk.items;
            follow_ups += saved;
            tokens += saved as f64 * BARE_PAGE - unread as f64 * price;
        }
        (follow_ups, tokens as i64)
    }
}

/// Up to a number that one would write: tens, above a hundred fifties.
fn rounded(items: u64) -> u64 {
    items.next_multiple_of(if items > 100 { 50 } else { 10 })
}

/// The nearest rank; 0 of nothing.
fn quantile(mut numbers: Vec<f64>, share: f64) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let rank = (numbers.len() as f64 * share).ceil() as usize;
    numbers.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { page_size: 50, max_page_size: 200, target: 4_000, hard_cap: 12_000 };

    /// So many calls, each read to that many items by pages of that size, of 1,000 that there are.
    fn calls(count: usize, items: u64, size: u64, price: u64) -> Vec<Walk> {
        let walk = Walk {
            first: Some(size),
            total: Some(1_000),
            follow_ups: items.div_ceil(size) - 1,
            items,
            tokens: items * price,
            prices: vec![price as f64; items.div_ceil(size) as usize],
        };
        vec![walk; count]
    }

    fn advice(walks: Vec<Walk>) -> Advice {
        Seen { walks }.advise(Endpoint::default(), LIMITS)
    }

    #[test]
    fn a_page_is_what_most_calls_read_where_the_budget_holds_it() {
        let check = |walks: Vec<Walk>, expect| assert_eq!(advice(walks).verdict, expect);
        let larger = |page_size, bounded| Verdict::Larger { page_size, bounded };
        check(calls(19, 150, 50, 20), Verdict::TooFew);
        check(calls(20, 150, 50, 20), larger(150, false));
        check(calls(20, 50, 50, 20), Verdict::Fits);
        check(calls(20, 72, 50, 20), larger(80, false));
        check(calls(20, 390, 50, 10), larger(200, true));
        // Few read on: all would pay for them.
        check([calls(70, 50, 50, 20), calls(30, 150, 50, 20)].concat(), Verdict::Fits);
        // So they do where only half of them do.
        check([calls(50, 50, 50, 20), calls(50, 150, 50, 20)].concat(), Verdict::Fits);
        // One in five reads on without end.
        check([calls(80, 100, 50, 20), calls(20, 900, 50, 20)].concat(), larger(100, false));
    }

    #[test]
    fn what_the_budget_bounds_is_not_a_matter_of_page_sizes() {
        let check = |walks: Vec<Walk>, page_size, budget| {
            assert_eq!(advice(walks).verdict, Verdict::Bounded { page_size, budget });
        };
        check(calls(20, 100, 50, 80), None, Some(8_000));
        check(calls(20, 100, 20, 200), None, None);
        check(calls(20, 180, 50, 40), Some(90), Some(7_200));
        // Two of that size are all that is read.
        check(calls(20, 200, 50, 22), Some(100), Some(4_400));
    }

    #[test]
    fn items_that_nobody_reads_count_against_what_is_saved() {
        let all = advice(calls(20, 150, 50, 20));
        assert_eq!((all.saved_follow_ups, all.saved_tokens), (40, 40 * 160));
        // Ten calls pay for a hundred items each that ninety others read.
        let most = advice([calls(90, 150, 50, 5), calls(10, 50, 50, 5)].concat());
        assert_eq!((most.verdict.page_size(), most.saved_follow_ups), (Some(150), 180));
        assert!(0 < most.saved_tokens && most.saved_tokens < 180 * 160, "{most:?}");
        let dear = advice([calls(80, 150, 50, 20), calls(20, 50, 50, 20)].concat());
        assert_eq!((dear.verdict, dear.saved_tokens), (Verdict::Fits, 0), "it would cost more than it saves");
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn what_is_advised_saves_tokens(
            reads in proptest::collection::vec((1..400_u64, 1..60_u64), 20..60),
            price in 1..60_u64,
        ) {
            let walks = reads.iter().flat_map(|(items, size)| calls(1, *items, *size, price)).collect();
            let advice = advice(walks);
            proptest::prop_assert!(advice.verdict.page_size().is_none() || advice.saved_tokens > 0, "{:?}", advice);
        }
    }
}
