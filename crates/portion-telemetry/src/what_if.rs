//! Estimates replies under other limits, from recorded sizes.
//!
//! The result is an **estimate**. Records hold sizes, not payloads. The cost of a page is taken from the average cost
//! of an item, a page size set by the caller is ignored, and callers are assumed to send the same requests.
//! [`Forecast::agreed`] counts how often the same estimate, made with the limits in force, matches the recorded reply.
//! It is the measure of how far to trust the result.
//!
//! ```
//! use portion_core::event::Outcome;
//! use portion_core::policy::Policy;
//! use portion_telemetry::read::Record;
//! use portion_telemetry::what_if::{Limits, estimate};
//!
//! let limits = Limits { shaped: true, policy: Policy::default() };
//! let list = Record {
//!     outcome: "untouched".to_owned(),
//!     form: Some("list".to_owned()),
//!     original_tokens: Some(6_000),
//!     original_bytes: 24_000,
//!     total_items: Some(100),
//!     ..Record::default()
//! };
//! let reply = estimate(&list, &limits).unwrap();
//! assert_eq!((reply.outcome, reply.tokens), (Outcome::Paginated, 3_000));
//! ```

use std::collections::BTreeMap;

use portion_core::event::{Outcome, PayloadForm};
use portion_core::policy::Policy;

use crate::read::{Endpoint, Record};

/// Estimated replies of one endpoint under two sets of limits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forecast {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// First calls with an estimate.
    pub requests: u64,
    /// First calls without an estimate: errors, and payloads of unknown size.
    pub unknown: u64,
    /// Requests whose estimate under the limits before matches the recorded reply: the same outcome, and tokens within
    /// 20 %.
    pub agreed: u64,
    /// Requests that would be answered differently, by outcome before and after, the most frequent first.
    pub outcome_changes: Vec<OutcomeChange>,
    /// Tokens of all replies under the limits before.
    pub tokens_before: u64,
    /// Tokens of all replies under the limits after.
    pub tokens_after: u64,
}

/// A number of requests whose reply would change in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutcomeChange {
    /// Outcome under the limits before.
    pub before: Outcome,
    /// Outcome under the limits after. Equal to `before` if only the size of the reply changes.
    pub after: Outcome,
    /// Number of requests.
    pub requests: u64,
}

impl Forecast {
    /// Returns the number of requests that would be answered differently.
    pub fn changed(&self) -> u64 {
        self.outcome_changes.iter().map(|change| change.requests).sum()
    }

    fn add(&mut self, record: &Record, before: &Limits, after: &Limits) {
        let (Some(old), Some(new)) = (estimate(record, before), estimate(record, after)) else {
            self.unknown += 1;
            return;
        };
        self.requests += 1;
        self.tokens_before = self.tokens_before.saturating_add(old.tokens);
        self.tokens_after = self.tokens_after.saturating_add(new.tokens);
        let near = |served: u64| served.abs_diff(old.tokens) <= served.max(old.tokens) / 5;
        let agrees = old.outcome.name() == record.outcome && record.served_tokens().is_some_and(near);
        self.agreed += u64::from(agrees);
        if old != new {
            let same =
                |change: &&mut OutcomeChange| (change.before, change.after) == (old.outcome, new.outcome);
            match self.outcome_changes.iter_mut().find(same) {
                Some(change) => change.requests += 1,
                None => {
                    self.outcome_changes.push(OutcomeChange {
                        before: old.outcome,
                        after: new.outcome,
                        requests: 1,
                    });
                }
            }
        }
    }

    fn sorted(mut self) -> Self {
        self.outcome_changes.sort_by_key(|change| std::cmp::Reverse(change.requests));
        self
    }
}

/// Estimates each endpoint under the limits before and after, sorted by the number of changed requests in descending
/// order. Follow-ups are left out, because they depend on first replies.
pub fn forecast<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    before: impl Fn(&Endpoint) -> Limits,
    after: impl Fn(&Endpoint) -> Limits,
) -> Vec<Forecast> {
    let mut found: BTreeMap<&Endpoint, (Limits, Limits, Forecast)> = BTreeMap::new();
    for record in records.into_iter().filter(|record| !record.follow_up) {
        let (before, after, forecast) = found.entry(&record.endpoint).or_insert_with_key(|endpoint| {
            let forecast = Forecast { endpoint: (*endpoint).clone(), ..Forecast::default() };
            (before(endpoint), after(endpoint), forecast)
        });
        forecast.add(record, before, after);
    }
    let mut found: Vec<Forecast> = found.into_values().map(|(_, _, forecast)| forecast.sorted()).collect();
    found.sort_by(|one, other| {
        other.changed().cmp(&one.changed()).then_with(|| one.endpoint.cmp(&other.endpoint))
    });
    found
}

/// Limits of an endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Replies are shaped at all.
    pub shaped: bool,
    /// Limits of shaped replies.
    pub policy: Policy,
}

/// Kind of a payload, as far as its record shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Payload {
    /// A list.
    List,
    /// An object.
    Object,
    /// Text.
    Text,
    /// Not known: the payload was relayed without being parsed.
    Unknown,
}

/// An estimated reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimated {
    /// Estimated outcome of the request.
    pub outcome: Outcome,
    /// Estimated cost of the reply, in tokens.
    pub tokens: u64,
}

impl Payload {
    /// Returns the recorded form, or else the form that the outcome implies.
    pub fn of(record: &Record) -> Self {
        let tried = record.shadow.as_ref().map(|shadow| shadow.outcome.as_str());
        let outcome = Outcome::from_name(tried.unwrap_or(&record.outcome));
        match (record.form.as_deref().and_then(PayloadForm::from_name), outcome) {
            (Some(PayloadForm::List), _) | (None, Some(Outcome::Paginated)) => Self::List,
            (Some(PayloadForm::Object), _) | (None, Some(Outcome::Summarized)) => Self::Object,
            (Some(PayloadForm::Text), _) | (None, Some(Outcome::Chunked)) => Self::Text,
            _ if items(record).is_some() => Self::List,
            _ => Self::Unknown,
        }
    }
}

/// Estimates the reply to a first call under `limits`. Returns `None` for follow-ups (they depend on earlier replies),
/// for errors, and for payloads of unknown size.
pub fn estimate(record: &Record, limits: &Limits) -> Option<Estimated> {
    let tokens = record.payload_tokens()?;
    if record.follow_up || record.error.is_some() {
        return None;
    }
    let served = |outcome, max: u64| Estimated { outcome, tokens: max.min(tokens) };
    let whole = |outcome| served(outcome, tokens);
    if !limits.shaped {
        return Some(whole(Outcome::Unshaped));
    }
    // Replies that the caller selected explicitly stay selected.
    if let Some(outcome @ (Outcome::Queried | Outcome::Projected | Outcome::Raw)) =
        Outcome::from_name(&record.outcome)
    {
        return Some(served(outcome, record.served_tokens().unwrap_or(tokens)));
    }
    let (policy, techniques) = (&limits.policy, limits.policy.render_options.techniques);
    let threshold = policy.token_budget_threshold as u64;
    let oversized = tokens > threshold || record.original_bytes > policy.hard_byte_limit as u64;
    let target = if oversized { policy.reply_target as u64 } else { threshold };
    let target = within_bytes(target, record, policy);
    if tokens <= policy.full_below as u64 && !oversized {
        return Some(whole(Outcome::Untouched));
    }
    Some(match Payload::of(record) {
        Payload::List
            if techniques.pagination
                && (oversized || items(record) > Some(policy.default_page_size as u64)) =>
        {
            served(Outcome::Paginated, page(record, tokens, policy).min(target))
        }
        Payload::Object
            if techniques.summarization && (oversized || tokens > policy.summarize_above as u64) =>
        {
            served(Outcome::Summarized, target)
        }
        Payload::Text if techniques.chunking && (oversized || tokens > policy.chunk_above as u64) => {
            served(Outcome::Chunked, (policy.chunk_size as u64).min(target))
        }
        // The pipeline always finds a form that fits.
        Payload::Unknown if oversized => served(Outcome::Capped, target),
        // The technique is off: the payload passes unchanged.
        _ => whole(Outcome::Untouched),
    })
}

/// Tokens that fit in the byte limit, at this payload's ratio of bytes to tokens.
fn within_bytes(tokens: u64, record: &Record, policy: &Policy) -> u64 {
    let Some(original) = record.payload_tokens().filter(|_| record.original_bytes > 0) else { return tokens };
    let fit = policy.hard_byte_limit as u128 * u128::from(original) / u128::from(record.original_bytes);
    tokens.min(u64::try_from(fit).unwrap_or(u64::MAX))
}

/// Items of the list: the total if known, else the number served.
fn items(record: &Record) -> Option<u64> {
    record.total_items.or(record.items)
}

/// Estimates the tokens of a page by the average cost of an item.
fn page(record: &Record, tokens: u64, policy: &Policy) -> u64 {
    let page_size = policy.default_page_size as u64;
    match items(record) {
        Some(items) if items > page_size => {
            u64::try_from(u128::from(tokens) * u128::from(page_size) / u128::from(items)).unwrap_or(tokens)
        }
        _ => tokens,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the default limits with a change.
    fn limits(change: impl FnOnce(&mut Policy)) -> Limits {
        let mut limits = Limits { shaped: true, policy: Policy::default() };
        change(&mut limits.policy);
        limits
    }

    fn payload(form: &str, tokens: u64, items: Option<u64>) -> Record {
        Record {
            outcome: "untouched".to_owned(),
            form: Some(form.to_owned()),
            original_tokens: Some(tokens),
            original_bytes: tokens * 4,
            total_items: items,
            ..Record::default()
        }
    }

    #[track_caller]
    fn check(record: &Record, limits: &Limits, expect: Option<(Outcome, u64)>) {
        let expect = expect.map(|(outcome, tokens)| Estimated { outcome, tokens });
        assert_eq!(estimate(record, limits), expect);
    }

    #[test]
    fn each_kind_has_its_limits() {
        use Outcome::{Capped, Chunked, Paginated, Summarized, Untouched};
        check(&payload("list", 400, Some(300)), &limits(|_| {}), Some((Untouched, 400)));
        check(&payload("list", 1_000, Some(50)), &limits(|_| {}), Some((Untouched, 1_000)));
        check(&payload("list", 1_000, Some(100)), &limits(|_| {}), Some((Paginated, 500)));
        check(&payload("list", 40_000, Some(10)), &limits(|_| {}), Some((Paginated, 4_000)));
        check(&payload("object", 2_000, None), &limits(|_| {}), Some((Untouched, 2_000)));
        check(&payload("object", 3_000, None), &limits(|_| {}), Some((Summarized, 3_000)));
        check(
            &payload("object", 9_000, None),
            &limits(|policy| policy.reply_target = 1_200),
            Some((Summarized, 1_200)),
        );
        check(&payload("text", 3_000, None), &limits(|_| {}), Some((Chunked, 2_000)));
        check(&payload("", 3_000, None), &limits(|_| {}), Some((Untouched, 3_000)));
        check(&payload("", 9_000, None), &limits(|_| {}), Some((Capped, 4_000)));
    }

    #[test]
    fn what_is_off_leaves_payloads_as_they_came() {
        let list = payload("list", 40_000, Some(500));
        check(&list, &Limits { shaped: false, ..limits(|_| {}) }, Some((Outcome::Unshaped, 40_000)));
        check(
            &list,
            &limits(|policy| policy.render_options.techniques.pagination = false),
            Some((Outcome::Untouched, 40_000)),
        );
        check(
            &list,
            &limits(|policy| policy.render_options.techniques.chunking = false),
            Some((Outcome::Paginated, 4_000)),
        );
    }

    #[test]
    fn bytes_have_a_limit_of_their_own() {
        let wide = Record { original_bytes: 1_000_000, ..payload("text", 3_000, None) };
        check(&wide, &limits(|_| {}), Some((Outcome::Chunked, 196)));
    }

    #[test]
    fn what_is_not_known_is_not_estimated() {
        let list = || payload("list", 40_000, Some(500));
        check(&Record { follow_up: true, ..list() }, &limits(|_| {}), None);
        check(&Record { error: Some("upstream".to_owned()), ..list() }, &limits(|_| {}), None);
        let page = Record { outcome: "paginated".to_owned(), ..list() };
        check(&Record { original_tokens: None, ..page }, &limits(|_| {}), None);
        let asked = Record {
            outcome: "projected".to_owned(),
            estimated_tokens: Some(700),
            ..payload("", 9_000, None)
        };
        check(&asked, &limits(|_| {}), Some((Outcome::Projected, 700)));
    }

    #[test]
    fn payloads_are_what_was_recorded_or_what_became_of_them() {
        let check = |record: Record, expect| assert_eq!(Payload::of(&record), expect);
        let became = |outcome: &str| Record { outcome: outcome.to_owned(), ..Record::default() };
        check(payload("object", 1, Some(3)), Payload::Object);
        check(became("paginated"), Payload::List);
        check(became("chunked"), Payload::Text);
        check(became("untouched"), Payload::Unknown);
        check(Record { items: Some(3), ..became("untouched") }, Payload::List);
        let tried = crate::read::ShadowResult { outcome: "summarized".to_owned(), ..Default::default() };
        check(Record { shadow: Some(tried), ..became("unshaped") }, Payload::Object);
    }

    proptest! {
        #[test]
        fn replies_fit_and_are_no_more_than_their_payload(
            form in prop::sample::select(vec!["list", "object", "text", ""]),
            tokens in 0..1_000_000_u64,
            bytes in 0..10_000_000_u64,
            items in prop::option::of(0..10_000_u64),
            threshold in 300..10_000_usize,
            share in 0.0..=1.0,
            other in 0..10_000_usize,
        ) {
            let limits = limits(|policy| {
                policy.token_budget_threshold = threshold;
                policy.reply_target = (threshold as f64 * share) as usize;
                policy.full_below = other.min(threshold);
                (policy.default_page_size, policy.chunk_size) = (other, other);
            });
            let record = Record { original_bytes: bytes, ..payload(form, tokens, items) };
            let estimated = estimate(&record, &limits).expect("its size is known");
            prop_assert!(estimated.tokens <= tokens);
            prop_assert!(estimated.tokens <= threshold as u64, "{estimated:?}");
            let off = estimate(&record, &Limits { shaped: false, ..limits }).expect("its size is known");
            prop_assert_eq!(off, Estimated { outcome: Outcome::Unshaped, tokens });
        }
    }
}
