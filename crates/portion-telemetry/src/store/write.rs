//! Events become rows, a batch at a time.

use std::collections::HashMap;
use std::time::Duration;

use portion_core::event::{Alerted, Arm, Configured, Event, Misconfigured, Served, Trace};
use rusqlite::{OptionalExtension, Result, Statement, Transaction, TransactionBehavior, params};

use super::Store;

/// Characters of a name that are kept: a resource's URI may be as long as it likes.
const NAME: usize = 512;
/// Names of arguments that are kept, and characters of each: callers choose them.
const ARGUMENTS: usize = 32;
const ARGUMENT: usize = 64;
/// How long after the first all have told of a change of the configuration.
const TOLD: Duration = Duration::from_mins(1);

const REQUEST: &str = "INSERT INTO requests (request, at, endpoint, outcome, error, follow_up, arguments,
    estimated_tokens, actual_tokens, original_tokens, budget, response_bytes, original_bytes, form, items, total_items,
    latency, overhead, stages, arm, shadow_outcome, shadow_tokens, shadow_bytes, shadow_overhead, session, config, origin, counter, trace)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

impl Store {
    /// Keeps what happened: all of it, or nothing.
    pub(crate) fn write(&mut self, events: &[Event]) -> Result<()> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut requests = Requests::of(&transaction)?;
        for event in events {
            match event {
                Event::Served(served) => requests.add(served)?,
                Event::Configured(configured) => configuration(&transaction, configured)?,
                Event::Misconfigured(misconfigured) => misconfiguration(&transaction, misconfigured)?,
                Event::Alerted(alerted) => alert(&transaction, alerted)?,
                // What a later version of the events tells has no table yet.
                _ => {}
            }
        }
        drop(requests);
        transaction.commit()
    }
}

/// The requests of a transaction.
struct Requests<'a> {
    insert: Statement<'a>,
    find: Statement<'a>,
    make: Statement<'a>,
    /// Rows of endpoints, for this transaction alone: after it, another process may forget them.
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

    fn add(&mut self, served: &'a Served) -> Result<()> {
        let endpoint = self.endpoint(served)?;
        let arguments = served.arguments.iter().take(ARGUMENTS).map(|name| clipped(name, ARGUMENT));
        let shadow = served.shadow.as_ref();
        self.insert.execute(params![
            served.request.to_be_bytes(),
            stored(served.at),
            endpoint,
            served.outcome.name(),
            served.error,
            served.follow_up,
            list(arguments),
            served.estimated_tokens.map(stored),
            served.actual_tokens.map(stored),
            served.original_tokens.map(stored),
            served.budget.map(stored),
            stored(served.response_bytes),
            stored(served.original_bytes),
            served.form,
            served.items.map(stored),
            served.total_items.map(stored),
            micros(served.latency),
            micros(served.overhead),
            list(served.stages.iter().copied()),
            served.arm.map(Arm::name),
            shadow.map(|shadow| shadow.outcome.name()),
            shadow.map(|shadow| stored(shadow.tokens)),
            shadow.map(|shadow| stored(shadow.bytes)),
            shadow.map(|shadow| micros(shadow.overhead)),
            // Its bits: a session is a hash, all 64 of them.
            served.session as i64,
            stored(served.config),
            served.origin.map(|origin| origin as i64),
            served.counter,
            served.trace.map(traced),
        ])?;
        Ok(())
    }

    /// The row of an endpoint, made where there is none.
    fn endpoint(&mut self, served: &'a Served) -> Result<i64> {
        let upstream = clipped(served.upstream.as_deref().unwrap_or_default(), NAME);
        let key = (upstream, served.kind, clipped(&served.endpoint, NAME));
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

/// Every process that obeys a file tells of its change: it is noted once.
fn configuration(transaction: &Transaction<'_>, configured: &Configured) -> Result<()> {
    let sql = "INSERT INTO configurations (at, version, source) SELECT ?1, ?2, ?3 WHERE ?2 IS NOT
               (SELECT version FROM configurations WHERE source = ?3 AND at > ?1 - ?4 ORDER BY at DESC LIMIT 1)";
    let (at, version) = (stored(configured.at), stored(configured.version));
    if transaction.execute(sql, params![at, version, configured.source, micros(TOLD)])? == 0 {
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

fn misconfiguration(transaction: &Transaction<'_>, misconfigured: &Misconfigured) -> Result<()> {
    let errors = list(misconfigured.errors.iter().map(String::as_str));
    let sql = "INSERT INTO misconfigurations (at, source, errors) VALUES (?, ?, ?)";
    transaction.execute(sql, params![stored(misconfigured.at), misconfigured.source, errors])?;
    Ok(())
}

fn alert(transaction: &Transaction<'_>, alerted: &Alerted) -> Result<()> {
    let Alerted { at, alert, raised, share, threshold, requests, counted, window, process } = alerted;
    let sql = "INSERT INTO alerts (at, process, alert, raised, share, threshold, requests, counted, span)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
    // Its bits, as of a session.
    let (at, process, window) = (stored(*at), *process as i64, micros(*window));
    let (requests, counted) = (stored(*requests), stored(*counted));
    transaction
        .execute(sql, params![at, process, alert, raised, share, threshold, requests, counted, window])?;
    Ok(())
}

/// A trace's id, the caller's span, ours.
fn traced(trace: Trace) -> Vec<u8> {
    [&trace.id.to_be_bytes()[..], &trace.parent.to_be_bytes(), &trace.span.to_be_bytes()].concat()
}

/// A number as the file holds it, which knows none above i64's.
pub(super) fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

/// Texts as a JSON array.
fn list<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    texts.collect::<serde_json::Value>().to_string()
}

/// At most so many characters of a text.
fn clipped(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(end, _)| text.get(..end).unwrap_or(text))
}
