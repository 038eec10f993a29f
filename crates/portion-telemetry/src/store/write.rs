//! Writes events as rows, one batch per transaction.

use std::collections::HashMap;
use std::time::Duration;

use portion_core::event::{
    AlertChanged, ConfigApplied, ConfigRejected, Event, ExperimentArm, PayloadForm, RequestServed,
    ServedError, TraceContext,
};
use rusqlite::{OptionalExtension, Result, Statement, Transaction, TransactionBehavior, params};

use super::Store;

/// Maximum characters of a stored name. Resource URIs have no limit of their own.
const MAX_NAME: usize = 512;
/// Maximum number of stored argument names, and characters of each. Callers choose both.
const MAX_ARGUMENTS: usize = 32;
const MAX_ARGUMENT_NAME: usize = 64;
/// Time within which several processes report the same configuration change.
const DUPLICATE_WINDOW: Duration = Duration::from_mins(1);

const REQUEST: &str = "INSERT INTO requests (request, at, endpoint, outcome, error, follow_up, arguments,
    estimated_tokens, actual_tokens, original_tokens, budget, response_bytes, original_bytes, form, items, total_items,
    latency, overhead, stages, arm, shadow_outcome, shadow_tokens, shadow_bytes, shadow_overhead, session, config, origin, counter, trace, client)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

impl Store {
    /// Writes a batch of events: all of them or none.
    pub(crate) fn write(&mut self, events: &[Event]) -> Result<()> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut requests = Requests::of(&transaction)?;
        for event in events {
            match event {
                Event::RequestServed(served) => requests.add(served)?,
                Event::ConfigApplied(configured) => configuration(&transaction, configured)?,
                Event::ConfigRejected(misconfigured) => misconfiguration(&transaction, misconfigured)?,
                Event::AlertChanged(alerted) => alert(&transaction, alerted)?,
                // Event kinds of later versions have no table yet.
                _ => {}
            }
        }
        drop(requests);
        transaction.commit()
    }
}

/// Statements that insert the requests of a transaction.
struct Requests<'a> {
    insert: Statement<'a>,
    find: Statement<'a>,
    make: Statement<'a>,
    /// Endpoint rows, valid within this transaction: another process may delete them after it.
    endpoints: HashMap<(&'a str, &'a str, &'a str), i64>,
}

impl<'a> Requests<'a> {
    fn of(transaction: &'a Transaction<'_>) -> Result<Self> {
        Ok(Self {
            insert: transaction.prepare(REQUEST)?,
            find: transaction
                .prepare("SELECT id FROM endpoints WHERE upstream = ? AND kind = ? AND name = ?")?,
            make: transaction.prepare("INSERT INTO endpoints (upstream, kind, name) VALUES (?, ?, ?)")?,
            endpoints: HashMap::new(),
        })
    }

    fn add(&mut self, served: &'a RequestServed) -> Result<()> {
        let endpoint = self.endpoint(served)?;
        let arguments =
            served.arguments.iter().take(MAX_ARGUMENTS).map(|name| clipped(name, MAX_ARGUMENT_NAME));
        let shadow = served.shadow.as_ref();
        self.insert.execute(params![
            served.request.to_be_bytes(),
            stored(served.at),
            endpoint,
            served.outcome.name(),
            served.error.map(ServedError::name),
            served.follow_up,
            list(arguments),
            served.estimated_tokens.map(stored),
            served.actual_tokens.map(stored),
            served.original_tokens.map(stored),
            served.budget.map(stored),
            stored(served.response_bytes),
            stored(served.original_bytes),
            served.form.map(PayloadForm::name),
            served.items.map(stored),
            served.total_items.map(stored),
            micros(served.latency),
            micros(served.overhead),
            list(served.stage_names().into_iter()),
            served.arm.map(ExperimentArm::name),
            shadow.map(|shadow| shadow.outcome.name()),
            shadow.map(|shadow| stored(shadow.tokens)),
            shadow.map(|shadow| stored(shadow.bytes)),
            shadow.map(|shadow| micros(shadow.overhead)),
            // A session is a 64-bit hash, stored bit by bit.
            served.session as i64,
            stored(served.config),
            served.origin.map(|origin| origin as i64),
            served.counter,
            served.trace.map(traced),
            served.client.as_deref(),
        ])?;
        Ok(())
    }

    /// Returns the row of an endpoint and inserts it if missing.
    fn endpoint(&mut self, served: &'a RequestServed) -> Result<i64> {
        let upstream = clipped(served.upstream.as_deref().unwrap_or_default(), MAX_NAME);
        let key = (upstream, served.kind.name(), clipped(&served.endpoint, MAX_NAME));
        if let Some(id) = self.endpoints.get(&key) {
            return Ok(*id);
        }
        let found = self.find.query_row(key, |row| row.get(0)).optional()?;
        let id = match found {
            Some(id) => id,
            None => self.make.insert(key)?,
        };
        self.endpoints.insert(key, id);
        Ok(id)
    }
}

/// Records a configuration change once, although every process that uses the file reports it.
fn configuration(transaction: &Transaction<'_>, configured: &ConfigApplied) -> Result<()> {
    let sql = "INSERT INTO configurations (at, version, source) SELECT ?1, ?2, ?3 WHERE ?2 IS NOT
               (SELECT version FROM configurations WHERE source = ?3 AND at > ?1 - ?4 ORDER BY at DESC LIMIT 1)";
    let (at, version) = (stored(configured.at), stored(configured.version));
    if transaction.execute(sql, params![at, version, configured.source, micros(DUPLICATE_WINDOW)])? == 0 {
        return Ok(());
    }
    let id = transaction.last_insert_rowid();
    let mut change =
        transaction.prepare("INSERT INTO changes (configuration, key, old, new) VALUES (?, ?, ?, ?)")?;
    for changed in &configured.changes {
        change.execute(params![id, changed.key, changed.old, changed.new])?;
    }
    Ok(())
}

fn misconfiguration(transaction: &Transaction<'_>, misconfigured: &ConfigRejected) -> Result<()> {
    let errors = list(misconfigured.errors.iter().map(String::as_str));
    let sql = "INSERT INTO misconfigurations (at, source, errors) VALUES (?, ?, ?)";
    transaction.execute(sql, params![stored(misconfigured.at), misconfigured.source, errors])?;
    Ok(())
}

fn alert(transaction: &Transaction<'_>, alerted: &AlertChanged) -> Result<()> {
    let AlertChanged { alert_name, is_raised, share, threshold, .. } = alerted;
    let sql = "INSERT INTO alerts (at, process, alert, raised, share, threshold, requests, counted, span)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
    // Stored bit by bit, like a session.
    let (at, process, window) = (stored(alerted.at), alerted.process as i64, micros(alerted.window));
    let (requests, counted) = (stored(alerted.requests), stored(alerted.matching_requests));
    let values = params![at, process, alert_name, is_raised, share, threshold, requests, counted, window];
    transaction.execute(sql, values)?;
    Ok(())
}

/// Encodes the trace id, the caller's span and the request's span, 32 bytes.
fn traced(trace: TraceContext) -> Vec<u8> {
    [&trace.id.to_be_bytes()[..], &trace.parent.to_be_bytes(), &trace.span.to_be_bytes()].concat()
}

/// Clamps to the integer range of the file.
pub(super) fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

/// Formats strings as a JSON array.
fn list<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    texts.collect::<serde_json::Value>().to_string()
}

/// Returns at most `max` characters of a text.
fn clipped(text: &str, max: usize) -> &str {
    text.char_indices().nth(max).map_or(text, |(end, _)| text.get(..end).unwrap_or(text))
}
