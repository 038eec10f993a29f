//! Estimates the reply to one recorded request under other limits.

use portion_core::event::{Outcome, PayloadForm};
use portion_core::policy::Policy;

use crate::read::Record;

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
