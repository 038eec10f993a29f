//! Helpers that run one query on one payload.
use std::sync::Arc;

use portion_core::payload::{Block, Content, Payload, Redact};
use portion_core::redact::RedactionRules;
use portion_core::snapshot::{Snapshot, capture};
use portion_core::view::View;
use portion_sql::{JoinedResult, QueryError, QueryLimits, QueryResult, SqlQuery, query, query_joined};

/// Creates a snapshot of one text.
pub(crate) fn snapshot(text: &str) -> Snapshot {
    let block = Block::new("/content/0/text", Content::Text(text.into()));
    capture(Payload { blocks: vec![block], ..Payload::default() })
}

/// Creates a snapshot of one text with redacted secrets.
pub(crate) fn redacted(text: &str) -> Snapshot {
    let block = Block::new("/content/0/text", Content::Text(text.into()));
    let redact: Option<Arc<dyn Redact>> = Some(Arc::new(RedactionRules::default_secrets()));
    capture(Payload { blocks: vec![block], redaction_rules: redact, ..Payload::default() })
}

/// Runs a query on a text.
pub(crate) fn answer(text: &str, sql: &str, params: &[(&str, &str)]) -> Result<QueryResult, QueryError> {
    asked(&snapshot(text), sql, params, &QueryLimits::default())
}

/// Runs a query on a snapshot, within limits.
pub(crate) fn asked(
    snapshot: &Snapshot,
    sql: &str,
    params: &[(&str, &str)],
    limits: &QueryLimits,
) -> Result<QueryResult, QueryError> {
    let params: Vec<(String, String)> =
        params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    query(snapshot, &View::root(), &SqlQuery { sql, params: &params }, limits)
}

/// Runs a query on a text and on other texts with names.
pub(crate) fn answer_joined(
    text: &str,
    others: &[(&str, &str)],
    sql: &str,
) -> Result<QueryResult, QueryError> {
    let view = View::root();
    let snapshots: Vec<(&str, Snapshot)> =
        others.iter().map(|(name, text)| (*name, redacted(text))).collect();
    let joined: Vec<JoinedResult<'_>> =
        snapshots.iter().map(|(name, snapshot)| JoinedResult { name, snapshot, view: &view }).collect();
    query_joined(&redacted(text), &view, &joined, &SqlQuery { sql, params: &[] }, &QueryLimits::default())
}

/// Asserts the result of a query on a text.
pub(crate) fn check(text: &str, sql: &str, expect: &str) {
    match answer(text, sql, &[]) {
        Ok(answer) => {
            assert_eq!(answer.json, expect, "{sql}");
            assert!(!answer.is_truncated, "{sql}");
        }
        Err(error) => panic!("{sql}: {error}"),
    }
}

/// Asserts the error of a query on a text.
pub(crate) fn refused(text: &str, sql: &str, expect: &str) {
    match answer(text, sql, &[]) {
        Ok(answer) => panic!("{sql}: {}", answer.json),
        Err(error) => assert_eq!(error.to_string(), expect, "{sql}"),
    }
}
