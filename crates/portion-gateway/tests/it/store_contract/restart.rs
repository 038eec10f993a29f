//! A walk goes on after a restart: cursors of an earlier process lead to the same replies.

use std::sync::Arc;
use std::time::Duration;

use portion_core::policy::Policy;
use portion_core::redact::RedactionRules;
use portion_core::view::Request;
use portion_gateway::effective_policy::EffectivePolicy;
use portion_tokens::{Factor, Tokenizer};

use super::files::store;
use crate::samples::trial::{Trial, ada, fault, next_cursor, portion, shown};
use crate::samples::{bookings, list_bookings};

fn terms() -> EffectivePolicy {
    EffectivePolicy::with_tokenizer(Policy::default(), Tokenizer::Chars4, Factor::ONE)
}

#[tokio::test]
async fn a_walk_goes_on_after_a_restart() {
    let root = tempfile::tempdir().expect("a directory");
    let before = Trial::on(terms(), store(root.path(), 64 << 20));
    let first = portion(before.fresh(list_bookings(), bookings(2_000), Request::default()).await);
    let mut cursor = next_cursor(&first).expect("there is more");
    assert!(before.gateway.flush_store(Duration::from_mins(1)));
    for _ in 0..3 {
        let after = Trial::on(terms(), store(root.path(), 64 << 20));
        let expected = portion(before.follow(cursor.clone()).await);
        let page = portion(after.follow(cursor).await);
        assert_eq!(shown(&page), shown(&expected));
        assert_eq!(page.notice(), expected.notice());
        cursor = next_cursor(&page).expect("there is more");
    }
}

/// A snapshot is only served under the redaction of its capture.
#[tokio::test]
async fn other_redaction_ends_a_walk() {
    let root = tempfile::tempdir().expect("a directory");
    let before = Trial::on(terms(), store(root.path(), 64 << 20));
    let first = portion(before.fresh(list_bookings(), bookings(2_000), Request::default()).await);
    let cursor = next_cursor(&first).expect("there is more");
    assert!(before.gateway.flush_store(Duration::from_mins(1)));
    let mut redacted = terms();
    redacted.redact = Some(Arc::new(RedactionRules::default_secrets()));
    let after = Trial::on(redacted, store(root.path(), 64 << 20));
    assert_eq!(fault(after.follow(cursor).await).code.name(), "cursor_expired");
}

/// A cursor is looked up once: its target may go before the reply is made.
#[tokio::test]
async fn a_follow_up_looks_its_cursor_up_once() {
    let root = tempfile::tempdir().expect("a directory");
    let trial = Trial::on(terms(), store(root.path(), 0));
    let first = portion(trial.fresh(list_bookings(), bookings(2_000), Request::default()).await);
    let cursor = next_cursor(&first).expect("there is more");
    let opened = trial.gateway.open_cursor(trial.caller(ada()), None, Some(cursor.clone())).await;
    assert!(trial.gateway.flush_store(Duration::from_mins(1)));
    std::fs::remove_dir_all(root.path()).expect("it is there");
    let request = Request { cursor: Some(cursor), ..Request::default() };
    let page = portion(opened.answer(request).await);
    assert!(!shown(&page).is_empty());
}
