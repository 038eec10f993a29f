//! A question about what is kept, and its answer: a payload of its own, captured and portioned like any other.
//!
//! Behind a net like rendering: whatever becomes of a question, a reply comes out, and what was asked about stays.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use portion_core::find::{self, FindError};
use portion_core::payload::{Answered, Block, Content, Payload};
use portion_core::redact::Redact;
use portion_core::snapshot::Snapshot;
use portion_core::view::View;
use portion_sql::QueryError;
use serde_json::{Map, Value};

use crate::fault::Fault;
use crate::questions::Stop;

/// Fields of which something is hidden that are told beside an answer, and characters of each.
const HIDDEN_TOLD: usize = 4;
const HIDDEN_NAME: usize = 60;

/// A question about what a cursor looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
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

impl Ask {
    /// The names of what is asked with, its kind first.
    pub(crate) fn arguments(&self) -> Vec<&'static str> {
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
    pub fn answer(&self, snapshot: &Snapshot, view: &View) -> Result<Payload, Fault> {
        self.answer_until(snapshot, view, &Stop::default())
    }

    /// The answer, unless nobody waits for it any more before it is found.
    ///
    /// # Errors
    /// What is wrong with the question.
    pub fn answer_until(&self, snapshot: &Snapshot, view: &View, stop: &Stop) -> Result<Payload, Fault> {
        let answered = catch_unwind(AssertUnwindSafe(|| match self {
            Self::Sql { sql, params } => by_sql(snapshot, view, (sql, params), stop),
            Self::Find { pattern, context, fields } => {
                let fields = fields.as_deref();
                let stop = Some(&**stop.flag());
                let ask = find::Ask { context: *context, fields, stop, ..find::Ask::new(pattern) };
                let find::Found { json, matches, word_matches, also } = find::find(snapshot, view, &ask)?;
                Ok(payload(snapshot, json, Answered { matches, word_matches, also, ..Answered::default() }))
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

fn by_sql(
    snapshot: &Snapshot,
    view: &View,
    (sql, params): (&str, &[(String, String)]),
    stop: &Stop,
) -> Result<Payload, Fault> {
    let limits = portion_sql::Limits { stop: Some(Arc::clone(stop.flag())), ..Default::default() };
    let question = portion_sql::Question { sql, params };
    let answer = portion_sql::query(snapshot, view, &question, &limits)?;
    let mut also = Map::new();
    if answer.cut {
        also.insert("cut".into(), Value::from("more rows than are kept: add a condition or a LIMIT"));
    }
    if !answer.rounded.is_empty() {
        also.insert("rounded".into(), answer.rounded.into());
    }
    Ok(payload(snapshot, answer.json, Answered { matches: answer.rows, also, ..Answered::default() }))
}

/// An answer with what is told of it; `snapshot` is what was asked about.
fn payload(snapshot: &Snapshot, json: String, mut answer: Answered) -> Payload {
    answer.also.extend(hidden(snapshot).map(|fields| ("redacted".to_owned(), fields)));
    let block = Block::new("/content/0/text", Content::Text(json));
    // What was asked about has nothing to hide any more, and a column may be called what it likes.
    let redact = Some(Arc::new(Redact::nothing()));
    Payload { blocks: vec![block], answer: Some(answer), redact, ..Payload::default() }
}

/// Fields of what was asked about of which something is hidden, a few of them: the answer may lack it.
fn hidden(snapshot: &Snapshot) -> Option<Value> {
    let fields = snapshot.redacted();
    let named = |field: &String| Value::from(field.chars().take(HIDDEN_NAME).collect::<String>());
    let mut told: Vec<Value> = fields.iter().take(HIDDEN_TOLD).map(named).collect();
    if fields.len() > HIDDEN_TOLD {
        told.push(format!("+{} more", fields.len() - HIDDEN_TOLD).into());
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
