//! A question about what is kept, and its answer: a payload of its own, captured and portioned like any other.
//!
//! Behind a net like rendering: whatever becomes of a question, a reply comes out, and what was asked about stays.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use portion_core::find::{self, FindError};
use portion_core::payload::{Block, Content, Payload, QueryAnswer};
use portion_core::redact::RedactionRules;
use portion_core::snapshot::Snapshot;
use portion_core::view::View;
use portion_sql::QueryError;
use serde_json::{Map, Value};

use crate::fault::Fault;
use crate::query_limiter::CancelFlag;

/// Fields of which something is hidden that are told beside an answer, and characters of each.
const MAX_REDACTED_NAMES: usize = 4;
const MAX_REDACTED_NAME_CHARS: usize = 60;

/// A question about what a cursor looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotQuery {
    /// A SELECT over its records.
    Sql {
        /// The statement.
        sql: String,
        /// What `:name` stands for in it, each a JSON value.
        params: Vec<(String, String)>,
    },
    /// Where something is said in it.
    Find {
        /// A text, or a regex between slashes.
        pattern: String,
        /// Lines around each match; as fits where not given.
        context: Option<u32>,
        /// The fields to show of matching records; what identifies them where not given.
        fields: Option<String>,
    },
}

impl SnapshotQuery {
    /// The names of what is asked with, its kind first.
    pub(crate) fn argument_names(&self) -> Vec<&'static str> {
        let given = match self {
            Self::Sql { params, .. } => [("sql", true), ("params", !params.is_empty()), ("", false)],
            Self::Find { context, fields, .. } => {
                [("find", true), ("context", context.is_some()), ("fields", fields.is_some())]
            }
        };
        given.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect()
    }

    /// The answer.
    ///
    /// # Errors
    /// What is wrong with the question.
    pub fn run(&self, snapshot: &Snapshot, view: &View) -> Result<Payload, Fault> {
        self.run_until_cancelled(snapshot, view, &CancelFlag::default())
    }

    /// The answer, unless nobody waits for it any more before it is found.
    ///
    /// # Errors
    /// What is wrong with the question.
    pub fn run_until_cancelled(
        &self,
        snapshot: &Snapshot,
        view: &View,
        stop: &CancelFlag,
    ) -> Result<Payload, Fault> {
        let answered = catch_unwind(AssertUnwindSafe(|| match self {
            Self::Sql { sql, params } => run_sql(snapshot, view, (sql, params), stop),
            Self::Find { pattern, context, fields } => {
                let fields = fields.as_deref();
                let stop = Some(&**stop.as_atomic());
                let ask = find::SearchQuery {
                    context_lines: *context,
                    fields,
                    stop_flag: stop,
                    ..find::SearchQuery::new(pattern)
                };
                let find::SearchResult {
                    items_json: json,
                    match_count: matches,
                    word_match_count: word_matches,
                    extra_meta: also,
                } = find::find(snapshot, view, &ask)?;
                Ok(result_payload(
                    snapshot,
                    json,
                    QueryAnswer {
                        match_count: matches,
                        word_match_count: word_matches,
                        extra_meta: also,
                        ..QueryAnswer::default()
                    },
                ))
            }
        }));
        answered.unwrap_or_else(|_| {
            tracing::error!("answering a question panicked");
            Err(Fault::new(
                "internal",
                "this question could not be answered".into(),
                "ask it another way".into(),
            ))
        })
    }
}

fn run_sql(
    snapshot: &Snapshot,
    view: &View,
    (sql, params): (&str, &[(String, String)]),
    stop: &CancelFlag,
) -> Result<Payload, Fault> {
    let limits =
        portion_sql::QueryLimits { cancel_flag: Some(Arc::clone(stop.as_atomic())), ..Default::default() };
    let question = portion_sql::SqlQuery { sql, params };
    let answer = portion_sql::query(snapshot, view, &question, &limits)?;
    let mut also = Map::new();
    if answer.is_truncated {
        also.insert("cut".into(), Value::from("more rows than are kept: add a condition or a LIMIT"));
    }
    if !answer.rounded_columns.is_empty() {
        also.insert("rounded".into(), answer.rounded_columns.into());
    }
    Ok(result_payload(
        snapshot,
        answer.json,
        QueryAnswer { match_count: answer.row_count, extra_meta: also, ..QueryAnswer::default() },
    ))
}

/// An answer with what is told of it; `snapshot` is what was asked about.
fn result_payload(snapshot: &Snapshot, json: String, mut answer: QueryAnswer) -> Payload {
    answer.extra_meta.extend(redacted_field_names(snapshot).map(|fields| ("redacted".to_owned(), fields)));
    let block = Block::new("/content/0/text", Content::Text(json));
    // What was asked about has nothing to hide any more, and a column may be called what it likes.
    let redact = Some(Arc::new(RedactionRules::none()));
    Payload { blocks: vec![block], query_answer: Some(answer), redaction_rules: redact, ..Payload::default() }
}

/// Fields of what was asked about of which something is hidden, a few of them: the answer may lack it.
fn redacted_field_names(snapshot: &Snapshot) -> Option<Value> {
    let fields = snapshot.redacted();
    let named = |field: &String| Value::from(field.chars().take(MAX_REDACTED_NAME_CHARS).collect::<String>());
    let mut told: Vec<Value> = fields.iter().take(MAX_REDACTED_NAMES).map(named).collect();
    if fields.len() > MAX_REDACTED_NAMES {
        told.push(format!("+{} more", fields.len() - MAX_REDACTED_NAMES).into());
    }
    (!fields.is_empty()).then(|| told.into())
}

impl From<QueryError> for Fault {
    fn from(error: QueryError) -> Self {
        Self::new(error.code(), error.to_string(), error.advice())
    }
}

impl From<FindError> for Fault {
    fn from(error: FindError) -> Self {
        Self::new(error.code(), error.to_string(), error.advice())
    }
}
