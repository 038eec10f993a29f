//! A question about what is kept, and its answer: a payload of its own, captured and portioned like any other.
//!
//! Behind a net like rendering: whatever becomes of a question, a reply comes out, and what was asked about stays.

use std::panic::{AssertUnwindSafe, catch_unwind};

use portion_core::find::{self, FindError};
use portion_core::payload::{Answered, Block, Content, Payload};
use portion_core::snapshot::Snapshot;
use portion_core::view::View;
use portion_sql::QueryError;
use serde_json::{Map, Value};

use crate::fault::Fault;

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
    /// The answer.
    ///
    /// # Errors
    /// What is wrong with the question.
    pub fn answer(&self, snapshot: &Snapshot, view: &View) -> Result<Payload, Fault> {
        let answered = catch_unwind(AssertUnwindSafe(|| match self {
            Self::Sql { sql, params } => by_sql(snapshot, view, sql, params),
            Self::Find { pattern, context, fields } => {
                let fields = fields.as_deref();
                let ask = find::Ask { pattern, context: *context, fields, ..find::Ask::default() };
                let find::Found { json, matches, also } = find::find(snapshot, view, &ask)?;
                Ok(payload(json, Answered { matches, also }))
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
    sql: &str,
    params: &[(String, String)],
) -> Result<Payload, Fault> {
    let question = portion_sql::Question { sql, params };
    let answer = portion_sql::query(snapshot, view, &question, &portion_sql::Limits::default())?;
    let mut also = Map::new();
    if answer.cut {
        also.insert("cut".into(), Value::from("more rows than are kept: add a condition or a LIMIT"));
    }
    Ok(payload(answer.json, Answered { matches: answer.rows, also }))
}

fn payload(json: String, answer: Answered) -> Payload {
    let block = Block::new("/content/0/text", Content::Text(json));
    Payload { blocks: vec![block], answer: Some(answer), ..Payload::default() }
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
