//! Estimates the reply to one recorded request under other limits.

use portion_core::event::{Outcome, PayloadForm};

use crate::read::Record;

/// Limits of an endpoint as plain numbers. The unit is tokens unless stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Replies are shaped at all.
    pub shaped: bool,
    /// Lists are paged.
    pub pagination: bool,
    /// Objects are summarized.
    pub summarization: bool,
    /// Text is chunked.
    pub chunking: bool,
    /// `tokenBudgetThreshold`.
    pub threshold: u64,
    /// `replyTarget`.
    pub target: u64,
    /// `fullBelow`.
    pub full_below: u64,
    /// `pageSize`, items.
    pub page_size: u64,
    /// `summarizeAbove`.
    pub summarize_above: u64,
    /// `chunkAbove`.
    pub chunk_above: u64,
    /// `chunkSize`.
    pub chunk_size: u64,
    /// `hardByteLimit`, bytes.
    pub hard_byte_limit: u64,
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
    let oversized = tokens > limits.threshold || record.original_bytes > limits.hard_byte_limit;
    let target = within_bytes(if oversized { limits.target } else { limits.threshold }, record, limits);
    if tokens <= limits.full_below && !oversized {
        return Some(whole(Outcome::Untouched));
    }
    Some(match Payload::of(record) {
        Payload::List if limits.pagination && (oversized || items(record) > Some(limits.page_size)) => {
            served(Outcome::Paginated, page(record, tokens, limits).min(target))
        }
        Payload::Object if limits.summarization && (oversized || tokens > limits.summarize_above) => {
            served(Outcome::Summarized, target)
        }
        Payload::Text if limits.chunking && (oversized || tokens > limits.chunk_above) => {
            served(Outcome::Chunked, limits.chunk_size.min(target))
        }
        // The pipeline always finds a form that fits.
        Payload::Unknown if oversized => served(Outcome::Capped, target),
        // The technique is off: the payload passes unchanged.
        _ => whole(Outcome::Untouched),
    })
}

/// Tokens that fit in the byte limit, at this payload's ratio of bytes to tokens.
fn within_bytes(tokens: u64, record: &Record, limits: &Limits) -> u64 {
    let Some(original) = record.payload_tokens().filter(|_| record.original_bytes > 0) else { return tokens };
    let fit = u128::from(limits.hard_byte_limit) * u128::from(original) / u128::from(record.original_bytes);
    tokens.min(u64::try_from(fit).unwrap_or(u64::MAX))
}

/// Items of the list: the total if known, else the number served.
fn items(record: &Record) -> Option<u64> {
    record.total_items.or(record.items)
}

/// Estimates the tokens of a page by the average cost of an item.
fn page(record: &Record, tokens: u64, limits: &Limits) -> u64 {
    match items(record) {
        Some(items) if items > limits.page_size => {
            u64::try_from(u128::from(tokens) * u128::from(limits.page_size) / u128::from(items))
                .unwrap_or(tokens)
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

    const LIMITS: Limits = Limits {
        shaped: true,
        pagination: true,
        summarization: true,
        chunking: true,
        threshold: 4_000,
        target: 4_000,
        full_below: 500,
        page_size: 50,
        summarize_above: 2_000,
        chunk_above: 2_000,
        chunk_size: 2_000,
        hard_byte_limit: 65_536,
    };

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
        check(&payload("list", 400, Some(300)), &LIMITS, Some((Untouched, 400)));
        check(&payload("list", 1_000, Some(50)), &LIMITS, Some((Untouched, 1_000)));
        check(&payload("list", 1_000, Some(100)), &LIMITS, Some((Paginated, 500)));
        check(&payload("list", 40_000, Some(10)), &LIMITS, Some((Paginated, 4_000)));
        check(&payload("object", 2_000, None), &LIMITS, Some((Untouched, 2_000)));
        check(&payload("object", 3_000, None), &LIMITS, Some((Summarized, 3_000)));
        check(
            &payload("object", 9_000, None),
            &Limits { target: 1_200, ..LIMITS },
            Some((Summarized, 1_200)),
        );
        check(&payload("text", 3_000, None), &LIMITS, Some((Chunked, 2_000)));
        check(&payload("", 3_000, None), &LIMITS, Some((Untouched, 3_000)));
        check(&payload("", 9_000, None), &LIMITS, Some((Capped, 4_000)));
    }

    #[test]
    fn what_is_off_leaves_payloads_as_they_came() {
        let list = payload("list", 40_000, Some(500));
        check(&list, &Limits { shaped: false, ..LIMITS }, Some((Outcome::Unshaped, 40_000)));
        check(&list, &Limits { pagination: false, ..LIMITS }, Some((Outcome::Untouched, 40_000)));
        check(&list, &Limits { chunking: false, ..LIMITS }, Some((Outcome::Paginated, 4_000)));
    }

    #[test]
    fn bytes_have_a_limit_of_their_own() {
        let wide = Record { original_bytes: 1_000_000, ..payload("text", 3_000, None) };
        check(&wide, &LIMITS, Some((Outcome::Chunked, 196)));
    }

    #[test]
    fn what_is_not_known_is_not_estimated() {
        let list = || payload("list", 40_000, Some(500));
        check(&Record { follow_up: true, ..list() }, &LIMITS, None);
        check(&Record { error: Some("upstream".to_owned()), ..list() }, &LIMITS, None);
        let page = Record { outcome: "paginated".to_owned(), ..list() };
        check(&Record { original_tokens: None, ..page }, &LIMITS, None);
        let asked = Record {
            outcome: "projected".to_owned(),
            estimated_tokens: Some(700),
            ..payload("", 9_000, None)
        };
        check(&asked, &LIMITS, Some((Outcome::Projected, 700)));
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
            threshold in 300..10_000_u64,
            share in 0.0..=1.0,
            other in 0..10_000_u64,
        ) {
            let target = (threshold as f64 * share) as u64;
            let (page_size, chunk_size, full_below) = (other, other, other.min(threshold));
            let limits = Limits { threshold, target, full_below, page_size, chunk_size, ..LIMITS };
            let record = Record { original_bytes: bytes, ..payload(form, tokens, items) };
            let estimated = estimate(&record, &limits).expect("its size is known");
            prop_assert!(estimated.tokens <= tokens);
            prop_assert!(estimated.tokens <= threshold, "{estimated:?}");
            let off = estimate(&record, &Limits { shaped: false, ..limits }).expect("its size is known");
            prop_assert_eq!(off, Estimated { outcome: Outcome::Unshaped, tokens });
        }
    }
}
