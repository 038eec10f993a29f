//! Tests of `Gateway::answer`: fresh payloads, cursors, reuse, and failures that make replies smaller or
//! simpler.

use std::sync::Arc;
use std::time::Duration;

use portion_core::cursor::{CursorToken, Scope, SnapshotId, ViewId};
use portion_core::error_code::ErrorCode;
use portion_core::policy::Policy;
use portion_core::view::{Request, ViewError};
use portion_gateway::call::{Caller, Fault, Reply, ReuseKey};
use portion_gateway::effective_policy::EffectivePolicy;
use portion_gateway::store::{
    CachedStore, FieldName, MemoryStore, SnapshotKey, SnapshotStore, StoreFuture, StoreLimits,
    StoreReadError, StoreWriteError,
};
use portion_policy::endpoint::Endpoint;
use portion_tokens::{Factor, TokenCounter, Tokenizer};
use proptest::prelude::*;

use crate::samples::trial::{Broken, Quarters, Trial, ada, fault, next_cursor, notice, portion, shown};
use crate::samples::{bookings, create_order, follow_up, list_bookings, text};

/// Counts a hundredth of the actual tokens.
struct Blind;

impl TokenCounter for Blind {
    fn name(&self) -> &'static str {
        "blind"
    }

    fn count(&self, text: &str) -> usize {
        text.len().div_ceil(400)
    }

    fn prefix_within(&self, text: &str, limit: usize) -> usize {
        text.floor_char_boundary(limit * 400)
    }
}

/// A store that never answers.
struct Unreachable;

const WHY: &str = "connection refused";

impl SnapshotStore for Unreachable {
    fn put(
        &self,
        _: SnapshotKey,
        _: Vec<(FieldName, Vec<u8>)>,
    ) -> StoreFuture<'_, Result<(), StoreWriteError>> {
        Box::pin(async { Err(StoreWriteError::Unreachable(WHY.into())) })
    }

    fn put_view(
        &self,
        _: SnapshotKey,
        _: ViewId,
        _: Vec<u8>,
    ) -> StoreFuture<'_, Result<(), StoreWriteError>> {
        Box::pin(async { Err(StoreWriteError::Unreachable(WHY.into())) })
    }

    fn get<'a>(
        &'a self,
        _: SnapshotKey,
        _: &'a [FieldName],
    ) -> StoreFuture<'a, Result<Vec<Option<Vec<u8>>>, StoreReadError>> {
        Box::pin(async { Err(StoreReadError::Unreachable(WHY.into())) })
    }

    fn touch(&self, _: SnapshotKey) -> StoreFuture<'_, Result<(), StoreReadError>> {
        Box::pin(async { Err(StoreReadError::Unreachable(WHY.into())) })
    }

    fn set_reusable(
        &self,
        _: Scope,
        _: ReuseKey,
        _: Option<SnapshotId>,
    ) -> StoreFuture<'_, Result<(), StoreWriteError>> {
        Box::pin(async { Err(StoreWriteError::Unreachable(WHY.into())) })
    }

    fn reusable(&self, _: Scope, _: ReuseKey) -> StoreFuture<'_, Result<Option<SnapshotId>, StoreReadError>> {
        Box::pin(async { Err(StoreReadError::Unreachable(WHY.into())) })
    }
}

/// A store that never answers, behind this many bytes of memory.
fn unreachable(memory_bytes: usize) -> CachedStore {
    let limits = StoreLimits { memory_bytes, ..StoreLimits::default() };
    CachedStore::new(MemoryStore::new(limits), Arc::new(Unreachable))
}

fn page(page: u32) -> Request {
    Request { page: Some(page), ..Request::default() }
}

#[tokio::test]
async fn small_payloads_pass_and_are_not_stored() {
    let trial = Trial::new();
    let reply = trial.fresh(list_bookings(), bookings(3), Request::default()).await;
    assert!(matches!(reply, Reply::Untouched), "{reply:?}");
    assert_eq!(trial.stats().snapshots, 0);
}

#[tokio::test]
async fn large_payloads_are_served_in_portions_to_the_end() {
    let trial = Trial::new();
    let first = portion(trial.fresh(list_bookings(), bookings(2_000), Request::default()).await);
    assert_eq!(trial.stats().snapshots, 1);
    let (mut seen, mut cursor) = (shown(&first).len(), next_cursor(&first));
    for _ in 0..1_000 {
        let Some(next) = cursor else {
            assert!(seen >= 2_000 * 40, "only {seen} bytes were shown");
            return;
        };
        let portion = portion(trial.follow(next).await);
        assert!(!shown(&portion).is_empty());
        seen += shown(&portion).len();
        cursor = next_cursor(&portion);
    }
    panic!("it does not end");
}

#[tokio::test]
async fn forged_foreign_and_mangled_cursors_get_the_same_error() {
    let trial = Trial::new();
    let first = portion(trial.fresh(list_bookings(), bookings(2_000), Request::default()).await);
    let cursor = next_cursor(&first).expect("there is more");
    let mangled = [
        cursor.chars().rev().collect(),
        cursor[..cursor.len() - 3].to_owned(),
        format!("{cursor}xyz"),
        String::new(),
        "page2".to_owned(),
        "A".repeat(100_000),
    ];
    let mut faults = Vec::new();
    for forged in mangled {
        faults.push(fault(trial.follow(forged).await));
    }
    let request = Request { cursor: Some(cursor.clone()), ..Request::default() };
    faults.push(fault(trial.follow_as(Scope::from_principal("bob"), request).await));
    for fault in &faults {
        assert_eq!(fault, &faults[0]);
        assert_eq!(fault.code.name(), "cursor_invalid");
    }
    // An error close to a cursor of another caller tells nothing of it.
    let request = Request { cursor: Some(cursor[1..].to_owned()), ..Request::default() };
    assert_eq!(fault(trial.follow_as(Scope::from_principal("bob"), request).await), faults[0]);
    portion(trial.follow(cursor).await);
}

#[tokio::test]
async fn a_mistyped_cursor_is_named_to_its_owner_while_it_lives() {
    let trial = Trial::new();
    let first = portion(trial.fresh(list_bookings(), bookings(2_000), Request::default()).await);
    let cursor = next_cursor(&first).expect("there is more");
    let (head, tail) = cursor.split_at(5);
    let typos =
        [format!("{head}{}", &tail[2..]), format!("{head}xy{tail}"), format!("{head}{}x", &tail[1..])];
    for typo in &typos {
        let fault = fault(trial.follow(typo).await);
        let named = fault.cursor.as_ref().map(ToString::to_string);
        assert_eq!((fault.code.name(), named.as_ref()), ("cursor_invalid", Some(&cursor)));
        assert!(fault.message.ends_with(&format!("did you mean {cursor}?")), "{}", fault.message);
    }
    // Callers that cannot be distinguished share a scope: nothing is named to them.
    let caller = Caller { owns_scope: false, ..trial.caller(ada()) };
    let request = Request { cursor: Some(typos[0].clone()), ..Request::default() };
    let anonymous = fault(follow_up(&trial.gateway, caller, None, request).await);
    assert_eq!(anonymous, fault(trial.follow("page2").await));
    trial.pass(Duration::from_mins(11));
    assert_eq!(fault(trial.follow(&typos[0]).await), anonymous);
}

#[tokio::test]
async fn a_request_without_a_cursor_cannot_be_followed() {
    let trial = Trial::new();
    assert_eq!(fault(trial.follow_as(ada(), Request::default()).await).code.name(), "cursor_invalid");
}

#[tokio::test]
async fn cursors_live_ten_minutes_from_the_last_one_issued() {
    let trial = Trial::new();
    let first = portion(trial.fresh(list_bookings(), bookings(2_000), Request::default()).await);
    let cursor = next_cursor(&first).expect("there is more");
    for _ in 0..5 {
        trial.pass(Duration::from_mins(10) - Duration::from_secs(1));
        portion(trial.follow(&cursor).await);
    }
    trial.pass(Duration::from_mins(10));
    let fault = fault(trial.follow(&cursor).await);
    assert_eq!(fault.code.name(), "cursor_expired");
    assert_eq!(fault.advice, "call list_bookings again without a cursor");
    assert_eq!(fault.cursor, None);
    assert_eq!(trial.stats().bytes, 0);
}

#[tokio::test]
async fn repeating_calls_with_side_effects_is_never_advised() {
    let trial = Trial::new();
    let first = portion(trial.fresh(create_order(), bookings(2_000), Request::default()).await);
    trial.pass(Duration::from_mins(10));
    let fault = fault(trial.follow(next_cursor(&first).expect("there is more")).await);
    assert_eq!(fault.code.name(), "cursor_expired");
    assert!(fault.message.contains("create_order"), "{}", fault.message);
    assert!(!fault.advice.contains("call create_order again"), "{}", fault.advice);
}

#[tokio::test]
async fn a_cursor_of_an_earlier_process_has_expired() {
    let (before, after) = (Trial::new(), Trial::new());
    let first = portion(before.fresh(list_bookings(), bookings(2_000), Request::default()).await);
    let fault = fault(after.follow(next_cursor(&first).expect("there is more")).await);
    assert_eq!(fault.code.name(), "cursor_expired");
}

#[tokio::test]
async fn payloads_that_do_not_fit_the_store_are_served_without_cursors() {
    for trial in [Trial::within(4_096), Trial::of(&Quarters, unreachable(0))] {
        let first = portion(trial.fresh(list_bookings(), bookings(2_000), Request::default()).await);
        assert!(shown(&first).len() > 1_000);
        assert_eq!(next_cursor(&first), None);
        assert!(first.notice().contains("store_unavailable"), "{}", first.notice());
        assert_eq!(trial.stats().snapshots, 0);
        let fields: Vec<String> = (0..9).map(|n| format!("\"f{n}\":\"{}\"", "word ".repeat(400))).collect();
        let one = text(format!("{{{}}}", fields.join(",")));
        let summary = portion(trial.fresh(list_bookings(), one, Request::default()).await);
        assert_eq!(summary.kind().name(), "summary");
        assert!(summary.notice().contains("store_unavailable"), "{}", summary.notice());
    }
}

/// The memory goes on alone.
#[tokio::test]
async fn replies_have_cursors_while_the_store_behind_the_memory_fails() {
    let trial = Trial::of(&Quarters, unreachable(64 << 20));
    let first = portion(trial.fresh(list_bookings(), bookings(2_000), Request::default()).await);
    let cursor = next_cursor(&first).expect("there is more");
    portion(trial.follow(cursor).await);
}

/// The copy in memory is the only one.
#[tokio::test]
async fn while_the_store_fails_no_result_is_evicted_for_a_later_one() {
    let measured = Trial::new();
    portion(measured.fresh(list_bookings(), bookings(2_000), Request::default()).await);
    let trial = Trial::of(&Quarters, unreachable(measured.stats().bytes * 3 / 2));
    let first = portion(trial.fresh(list_bookings(), bookings(2_000), Request::default()).await);
    let cursor = next_cursor(&first).expect("there is more");
    let later = portion(trial.fresh(list_bookings(), bookings(1_990), Request::default()).await);
    assert_eq!(next_cursor(&later), None);
    assert!(later.notice().contains("store_unavailable"), "{}", later.notice());
    portion(trial.follow(cursor).await);
}

#[tokio::test]
async fn an_unreachable_store_is_reported() {
    let (kept, lost) = (Trial::new(), Trial::of(&Quarters, unreachable(0)));
    let first = portion(kept.fresh(list_bookings(), bookings(2_000), Request::default()).await);
    let fault = fault(lost.follow(next_cursor(&first).expect("there is more")).await);
    assert_eq!(fault.code.name(), "store_unavailable");
}

#[tokio::test]
async fn a_badly_wrong_estimate_is_detected_and_the_byte_limit_applies() {
    for items in [100, 2_000] {
        let reference = Tokenizer::O200k.reference_counter(Factor::ONE);
        let mut terms = EffectivePolicy::new(Policy::default(), &Blind, Some(reference));
        terms.audits_counts = true;
        let trial = Trial::on(terms, Arc::new(MemoryStore::default()));
        let reply = portion(trial.fresh(list_bookings(), bookings(items), Request::default()).await);
        assert!(shown(&reply).len() + reply.notice().len() <= Policy::default().fallback_byte_limit);
        assert!(next_cursor(&reply).is_some(), "the rest is within reach");
    }
}

#[tokio::test]
async fn a_broken_counter_makes_replies_smaller() {
    let trial = Trial::of(&Broken, Arc::new(MemoryStore::default()));
    let first = portion(trial.fresh(list_bookings(), bookings(2_000), Request::default()).await);
    assert!(shown(&first).len() <= Policy::default().fallback_byte_limit);
    let second = portion(trial.follow(next_cursor(&first).expect("there is more")).await);
    assert!(shown(&second).len() <= Policy::default().fallback_byte_limit);
    let foreign = trial.follow_as(Scope::from_principal("bob"), Request::default()).await;
    assert_eq!(fault(foreign).code.name(), "cursor_invalid");
}

#[tokio::test]
async fn an_invalid_request_keeps_the_payload() {
    let trial = Trial::new();
    let wrong = Request { path: Some("/missing/part".into()), ..Request::default() };
    let fault = fault(trial.fresh(create_order(), bookings(2_000), wrong.clone()).await);
    assert_eq!(fault.code.name(), "path_unknown");
    let cursor = fault.cursor.expect("the payload is kept");
    portion(trial.follow(&cursor).await);
    let again = trial.follow_as(ada(), Request { cursor: Some(cursor.to_string()), ..wrong }).await;
    match again {
        Reply::Fault(Fault { code: ErrorCode::PathUnknown, cursor: kept, .. }) => {
            assert_eq!(kept, Some(cursor));
        }
        other => panic!("{other:?}"),
    }
}

/// Without a `limit`, numbered pages have the size of the first reply, by the same call and by its cursor.
#[tokio::test]
async fn numbered_pages_continue_after_the_first_reply() {
    let trial = Trial::new();
    let wide = |count: usize| {
        let record = |id: usize| format!("{{\"id\":{id},\"notes\":[\"{}\"]}}", "word ".repeat(900));
        let records: Vec<String> = (0..count).map(record).collect();
        text(format!("[{}]", records.join(",")))
    };
    let fields = Request { fields: Some("all".into()), ..Request::default() };
    let first = portion(trial.fresh(list_bookings(), wide(120), fields.clone()).await);
    let served = notice(&first)["meta"]["served"].as_u64().expect("a count");
    assert!(served < 50, "the first reply is cut short: {served}");
    let second = Request { page: Some(2), ..fields };
    let recalled = portion(trial.recall(ada(), &list_bookings(), second).await.expect("it is kept"));
    assert_eq!(notice(&recalled)["meta"]["offset"], served);
    let cursor = Some(first.start_cursor().expect("it is kept").to_string());
    let read = Request { cursor, page: Some(2), ..Request::default() };
    let read = portion(trial.follow_as(ada(), read).await);
    assert_eq!(notice(&read)["meta"]["offset"], served);
    assert_eq!(notice(&read)["meta"]["pageSize"], served);
}

#[tokio::test]
async fn test_s6_a_call_gets_the_same_reply_before_and_after_other_calls() {
    let number = |value: u32| Some(value);
    let calls = [
        Request { offset: number(490), ..Request::default() },
        Request { page: number(2), ..Request::default() },
        Request { page: number(3), limit: number(40), ..Request::default() },
        Request { offset: number(100), limit: number(200), ..Request::default() },
        Request { page: number(2), fields: Some("all".into()), ..Request::default() },
        Request { page: number(2), fields: Some("id,status".into()), ..Request::default() },
    ];
    let others = [
        Request::default(),
        Request { limit: number(200), ..Request::default() },
        Request { limit: number(3), ..Request::default() },
        Request { fields: Some("id".into()), ..Request::default() },
        Request { sort: Some("id desc".into()), ..Request::default() },
        Request { page: number(3), ..Request::default() },
    ];
    for call in &calls {
        let fresh = portion(Trial::new().fresh(list_bookings(), bookings(500), call.clone()).await);
        for other in &others {
            let trial = Trial::new();
            portion(trial.fresh(list_bookings(), bookings(500), other.clone()).await);
            portion(trial.recall(ada(), &list_bookings(), page(5)).await.expect("it is kept"));
            let recalled =
                portion(trial.recall(ada(), &list_bookings(), call.clone()).await.expect("it is kept"));
            assert_eq!(shown(&recalled), shown(&fresh), "{call:?} after {other:?}");
        }
    }
}

#[tokio::test]
async fn an_earlier_payload_answers_later_requests() {
    let trial = Trial::new();
    let fields = || Request { fields: Some("id".into()), ..Request::default() };
    assert!(trial.recall(ada(), &list_bookings(), page(2)).await.is_none(), "nothing is there yet");
    for endpoint in [list_bookings(), create_order()] {
        trial.fresh(endpoint.clone(), bookings(2_000), Request::default()).await;
        assert!(
            trial.recall(ada(), &endpoint, Request::default()).await.is_none(),
            "a plain call goes upstream"
        );
        assert!(trial.recall(ada(), &endpoint, page(1)).await.is_none());
        portion(trial.recall(ada(), &endpoint, page(2)).await.expect("a place further on"));
        let selected = trial.recall(ada(), &endpoint, fields()).await;
        assert_eq!(selected.is_some(), endpoint.read_only);
        assert!(trial.recall(Scope::from_principal("bob"), &endpoint, page(2)).await.is_none());
    }
    trial.pass(Duration::from_mins(10));
    assert!(trial.recall(ada(), &list_bookings(), page(2)).await.is_none(), "it has expired");
}

#[tokio::test]
async fn a_newer_response_that_was_not_stored_hides_the_older() {
    let trial = Trial::new();
    trial.fresh(list_bookings(), bookings(2_000), Request::default()).await;
    assert!(trial.recall(ada(), &list_bookings(), page(2)).await.is_some());
    trial.fresh(list_bookings(), bookings(1), Request::default()).await;
    assert!(trial.recall(ada(), &list_bookings(), page(2)).await.is_none());
}

#[tokio::test]
async fn an_expired_view_leads_back_to_the_whole() {
    let trial = Trial::new();
    let filler = "lorem ipsum dolor sit amet ".repeat(1_500);
    let keys: Vec<String> = (0..60).map(|n| format!("\"k{n}\":\"{filler}\"")).collect();
    let payload = text(format!("{{{}}}", keys.join(",")));
    let handle = notice(&portion(trial.fresh(create_order(), payload, Request::default()).await));
    let handle = handle["meta"]["cursor"].as_str().expect("a handle").to_owned();
    let mut first: Option<String> = None;
    for n in 0..60 {
        let request =
            Request { cursor: Some(handle.clone()), path: Some(format!("/k{n}")), ..Request::default() };
        let part = portion(trial.follow_as(ada(), request).await);
        first = first.or_else(|| next_cursor(&part));
    }
    let fault = fault(trial.follow(first.expect("a part is larger than a portion")).await);
    assert_eq!(fault.code.name(), "cursor_expired");
    portion(trial.follow(fault.cursor.expect("the whole is kept")).await);
}

#[tokio::test]
async fn serves_many_callers_concurrently() {
    let trial = Arc::new(Trial::new());
    let calls = (0..16).map(|_| {
        let trial = Arc::clone(&trial);
        tokio::spawn(async move {
            let first = portion(trial.fresh(list_bookings(), bookings(5_000), Request::default()).await);
            portion(trial.follow(next_cursor(&first).expect("there is more")).await);
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.expect("nobody panics");
    }
    assert_eq!(trial.stats().snapshots, 16);
}

#[test]
fn faults_follow_the_contract() {
    let cursor = |fault: &Fault| fault.cursor.as_ref().map(CursorToken::to_string);
    let fault = Fault::cursor_expired(Some(&list_bookings()), None);
    assert_eq!(cursor(&fault), None);
    assert_eq!(
        fault.to_json(),
        r#"{"error":{"code":"cursor_expired","message":"the result of list_bookings has expired","advice":"call list_bookings again without a cursor"}}"#
    );
    let too_large = Fault::message_too_large(256 << 20, Some(&create_order()));
    assert_eq!(too_large.code.name(), "message_too_large");
    assert!(!too_large.advice.contains("again"), "{}", too_large.advice);
}

proptest! {
    /// A fault fits the smallest budget, whatever the request contains.
    #[test]
    fn faults_fit_the_smallest_budget(given in "\\PC{0,2000}", names in proptest::collection::vec("\\PC{0,80}", 0..200)) {
        let error = ViewError::Path {
            given: given.clone(),
            reached: given.as_str().into(),
            missing: given.as_str().into(),
            nearest: names.first().cloned(),
            available: names,
            gap: None,
        };
        let trial = Trial::new();
        let (gateway, caller) = (&trial.gateway, trial.caller(Scope::from_principal("ada")));
        let request = Request { max_tokens: Some(300), ..Request::default() };
        let endpoint = Endpoint { name: given, ..list_bookings() };
        for fault in [error.into(), Fault::cursor_expired(Some(&endpoint), None)] {
            let json = gateway.report_fault(fault, &caller, &request, &endpoint).to_json();
            prop_assert!(Quarters.count(&json) <= 300, "{json}");
            serde_json::from_str::<serde_json::Value>(&json).expect("a fault is JSON");
        }
    }
}
