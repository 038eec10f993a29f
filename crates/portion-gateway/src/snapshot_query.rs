//! Queries on stored snapshots. The answer is a payload of its own, captured and shaped like any other.
//!
//! Panics are caught as in rendering: every query gets a reply, and its snapshot stays.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use portion_core::cursor::Position;
use portion_core::error_code::ErrorCode;
use portion_core::find::{self, FindError};
use portion_core::payload::{Block, Content, Payload, QueryAnswer, Redact};
use portion_core::policy::Policy;
use portion_core::redact::{REDACTED, RedactionRules};
use portion_core::render::FollowUpCall;
use portion_core::snapshot::{Part, Snapshot, Structure, header_row};
use portion_core::view::{self, Query, Request, View, ViewError};
use portion_policy::endpoint::READ_TOOL;
use portion_sql::QueryError;
use serde_json::{Map, Value};

use crate::fault::Fault;
use crate::query_limiter::CancelFlag;

/// Largest number of redacted field names that an answer reports, and characters of each.
const MAX_REDACTED_NAMES: usize = 4;
const MAX_REDACTED_NAME_CHARS: usize = 60;

/// Longest list of left out columns that an answer shows, in bytes.
const MAX_NULL_COLUMN_BYTES: usize = 120;

/// A query on the content of a cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotQuery {
    /// A SELECT over its records.
    Sql {
        /// SQL statement.
        sql: String,
        /// Values of `:name` parameters, as JSON.
        params: Vec<(String, String)>,
        /// Other results that are joined: the name and the cursor of each.
        with: Vec<(String, String)>,
    },
    /// A search.
    Find {
        /// Text, or a regex between slashes.
        pattern: String,
        /// Lines around each match; chosen automatically if `None`.
        context: Option<u32>,
        /// Fields to show of matching records; the identifying ones if `None`.
        fields: Option<String>,
        /// True to search the names of members, and not their values.
        keys: bool,
    },
}

/// Another result that a query joins.
#[derive(Clone, Debug)]
pub struct JoinedSnapshot {
    /// Name of its schema.
    pub name: String,
    /// Content of the result.
    pub snapshot: Arc<Snapshot>,
    /// View of its cursor.
    pub view: View,
}

impl SnapshotQuery {
    /// Takes the query out of a request, with the fields that a search shows.
    pub(crate) fn take_from(request: &mut Request) -> Option<Self> {
        let Query { sql, find, params, with, context, keys } = std::mem::take(&mut request.query);
        let search = |pattern| Self::Find { pattern, context, fields: request.fields.take(), keys };
        sql.map(|sql| Self::Sql { sql, params, with }).or_else(|| find.map(search))
    }

    /// Returns the query that answers a request for fields or an order of a text, or of rows below their names: only queries know
    /// the columns. `error`: the reason why the view of the request cannot be resolved.
    ///
    /// # Errors
    /// The given error if the text has no rows with columns, or that of an unknown column.
    pub fn for_text(
        snapshot: &Snapshot,
        base: Option<(&View, Position)>,
        request: &Request,
        policy: &Policy,
        error: ViewError,
    ) -> Result<Self, ViewError> {
        let needs_columns = match error {
            ViewError::TextHasNoFields | ViewError::SortOfText(_) => true,
            // A list whose first row has the names of its columns.
            ViewError::Field { .. } | ViewError::Sort { .. } => has_header_row(snapshot),
            _ => false,
        };
        if !needs_columns {
            return Err(error);
        }
        let Request { path, section, fields, sort, .. } = request.clone();
        let place = Request { path, section, ..Request::default() };
        let view = view::resolve(snapshot, base, &place, policy)?.view;
        match portion_sql::select_rows(snapshot, &view, fields.as_deref(), sort.as_deref())? {
            Some(sql) => Ok(Self::Sql { sql, params: Vec::new(), with: Vec::new() }),
            None => Err(error),
        }
    }

    /// Returns the names of the arguments, the kind of the query first.
    pub(crate) fn argument_names(&self) -> Vec<&'static str> {
        let arguments = match self {
            Self::Sql { params, with, .. } => {
                [("sql", true), ("params", !params.is_empty()), ("with", !with.is_empty())]
            }
            Self::Find { context, fields, .. } => {
                [("find", true), ("context", context.is_some()), ("fields", fields.is_some())]
            }
        };
        arguments.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect()
    }

    /// Returns the names and cursors of the other results.
    pub(crate) fn joined_cursors(&self) -> &[(String, String)] {
        match self {
            Self::Sql { with, .. } => with,
            Self::Find { .. } => &[],
        }
    }

    /// Runs the query.
    ///
    /// # Errors
    /// An invalid query.
    pub fn run(&self, snapshot: &Snapshot, view: &View) -> Result<Payload, Fault> {
        let read_call = FollowUpCall::Tool(READ_TOOL);
        self.run_until_cancelled(snapshot, view, &[], &CancelFlag::default(), read_call)
    }

    /// Runs the query, with the results that it joins, until it is cancelled. `read_call`: the request for a follow-up.
    ///
    /// # Errors
    /// An invalid query.
    pub fn run_until_cancelled(
        &self,
        snapshot: &Snapshot,
        view: &View,
        joined: &[JoinedSnapshot],
        stop: &CancelFlag,
        read_call: FollowUpCall<'_>,
    ) -> Result<Payload, Fault> {
        let answered = catch_unwind(AssertUnwindSafe(|| match self {
            Self::Sql { sql, params, .. } => run_sql(snapshot, view, joined, (sql, params), stop),
            Self::Find { pattern, context, fields, keys } => {
                let fields = fields.as_deref();
                let stop = Some(&*stop.0);
                let query = find::SearchQuery {
                    context_lines: *context,
                    fields,
                    keys_only: *keys,
                    stop_flag: stop,
                    read_call,
                    ..find::SearchQuery::new(pattern)
                };
                let find::SearchResult {
                    items_json: json,
                    match_count: matches,
                    word_match_count: word_matches,
                    extra_meta,
                } = find::find(snapshot, view, &query)?;
                // The search did not see hidden values, and shows the marks of hidden texts.
                let is_affected = matches == 0 || json.contains(REDACTED);
                let redacted = if is_affected { snapshot.redacted() } else { &[] };
                Ok(result_payload(
                    redacted,
                    json,
                    QueryAnswer {
                        match_count: matches,
                        word_match_count: word_matches,
                        extra_meta,
                        ..QueryAnswer::default()
                    },
                ))
            }
        }));
        answered.unwrap_or_else(|_| {
            tracing::error!("answering a query panicked");
            Err(Fault::new(
                ErrorCode::Internal,
                "the query failed internally".into(),
                "rephrase the query".into(),
            ))
        })
    }
}

/// Returns true if a list of the result has the names of its columns in its first row.
fn has_header_row(snapshot: &Snapshot) -> bool {
    let mut subjects = snapshot.parts().iter().filter_map(Part::indexed_text);
    subjects.any(|subject| match &subject.structure {
        Structure::List(list) => header_row(&subject.text, list).is_some(),
        Structure::Object(_) | Structure::Text(_) => false,
    })
}

fn run_sql(
    snapshot: &Snapshot,
    view: &View,
    joined: &[JoinedSnapshot],
    (sql, params): (&str, &[(String, String)]),
    stop: &CancelFlag,
) -> Result<Payload, Fault> {
    let limits = portion_sql::QueryLimits { cancel_flag: Some(Arc::clone(&stop.0)), ..Default::default() };
    let question = portion_sql::SqlQuery { sql, params };
    let others: Vec<portion_sql::JoinedResult<'_>> = joined
        .iter()
        .map(|JoinedSnapshot { name, snapshot, view }| portion_sql::JoinedResult { name, snapshot, view })
        .collect();
    let answer = portion_sql::query_joined(snapshot, view, &others, &question, &limits)?;
    let mut extra_meta = Map::new();
    if answer.is_truncated {
        extra_meta.insert("cut".into(), Value::from("too many rows: add a condition or a LIMIT"));
    }
    if !answer.rounded_columns.is_empty() {
        extra_meta.insert("rounded".into(), answer.rounded_columns.into());
    }
    if let Some(codes) = answer.missing {
        extra_meta.insert("missing".into(), format!("{codes}: NULL in SQL; item has the codes").into());
    }
    if !answer.null_columns.is_empty() {
        let names = answer.null_columns.join(", ");
        let shown = &names[..names.floor_char_boundary(MAX_NULL_COLUMN_BYTES)];
        let cut = if shown.len() < names.len() { "…" } else { "" };
        let count = answer.null_columns.len();
        extra_meta.insert("nullColumns".into(), format!("{count} left out: {shown}{cut}").into());
    }
    let mut hints = answer.type_hints;
    if let Some(reason) = answer.empty_reason {
        let counts: Map<String, Value> =
            reason.counts.into_iter().map(|(condition, count)| (condition, count.into())).collect();
        if !counts.is_empty() {
            extra_meta.insert("matchedAlone".into(), counts.into());
        }
        hints.extend(reason.hints);
    }
    if !hints.is_empty() {
        extra_meta.insert("hint".into(), hints.join("; ").into());
    }
    let found = QueryAnswer {
        match_count: answer.row_count,
        extra_meta,
        selects_all_columns: answer.selects_all_columns,
        reads_other_lists: answer.reads_other_lists,
        ..QueryAnswer::default()
    };
    let payload = result_payload(&answer.redacted_fields, answer.json, found);
    Ok(Payload { invalid_utf8_count: answer.replacement_count, ..payload })
}

/// Builds the payload of an answer; `redacted`: the redacted fields whose values it may lack.
fn result_payload(redacted: &[String], json: String, mut answer: QueryAnswer) -> Payload {
    answer.extra_meta.extend(redacted_field_names(redacted).map(|fields| ("redacted".to_owned(), fields)));
    let block = Block::new("/content/0/text", Content::Text(json));
    // The queried snapshot is already redacted, and columns may have any name.
    let redaction_rules: Option<Arc<dyn Redact>> = Some(Arc::new(RedactionRules::none()));
    Payload { blocks: vec![block], query_answer: Some(answer), redaction_rules, ..Payload::default() }
}

/// Returns some names of redacted fields.
fn redacted_field_names(fields: &[String]) -> Option<Value> {
    let shortened =
        |field: &String| Value::from(field.chars().take(MAX_REDACTED_NAME_CHARS).collect::<String>());
    let mut names: Vec<Value> = fields.iter().take(MAX_REDACTED_NAMES).map(shortened).collect();
    if fields.len() > MAX_REDACTED_NAMES {
        names.push(format!("+{} more", fields.len() - MAX_REDACTED_NAMES).into());
    }
    (!fields.is_empty()).then(|| names.into())
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
