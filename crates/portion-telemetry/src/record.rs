//! A recorded request.

use std::fmt;
use std::time::Duration;

use portion_core::event::Outcome;
use rusqlite::Row;

/// A recorded request. Names are kept as text, because a later version may have written values that this one does not
/// know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Request number, unique among the processes of a user.
    pub request: u128,
    /// Time of arrival, in microseconds since 1970.
    pub at: u64,
    /// Endpoint of the request.
    pub endpoint: Endpoint,
    /// Name of an [`Outcome`](portion_core::event::Outcome).
    pub outcome: String,
    /// Code of the error served.
    pub error: Option<String>,
    /// Answered from a snapshot, without an upstream request.
    pub follow_up: bool,
    /// Names of the arguments and controls of the request.
    pub arguments: Vec<String>,
    /// Tokens of the reply by the configured counter.
    pub estimated_tokens: Option<u64>,
    /// Tokens of the reply by an exact counter, if sampled.
    pub actual_tokens: Option<u64>,
    /// Estimated tokens of the payload.
    pub original_tokens: Option<u64>,
    /// Token budget of a default reply at that time.
    pub budget: Option<u64>,
    /// Bytes of the reply.
    pub response_bytes: u64,
    /// Bytes of the payload.
    pub original_bytes: u64,
    /// Form of the payload: `list`, `object`, `text`.
    pub form: Option<String>,
    /// Items served, for lists.
    pub items: Option<u64>,
    /// Total items, for lists.
    pub total_items: Option<u64>,
    /// Time from request to reply.
    pub latency: Duration,
    /// Time added by Portion.
    pub overhead: Duration,
    /// Stages that made the reply smaller.
    pub stages: Vec<String>,
    /// Arm of an experiment: the name of an [`ExperimentArm`](portion_core::event::ExperimentArm).
    pub arm: Option<String>,
    /// Reply that shaping would have produced.
    pub shadow: Option<ShadowResult>,
    /// Session hash.
    pub session: u64,
    /// Name that the client gave itself.
    pub client: Option<String>,
    /// Version of the configuration in force.
    pub config: u64,
    /// Tokens of the reply for each item served.
    pub tokens_per_item: Option<f64>,
    /// Identifier shared by all requests that read from the same payload.
    pub origin: Option<u64>,
    /// Name of the configured counter. Empty in records of earlier versions.
    pub counter: String,
    /// Trace context of the request.
    pub trace: Option<TraceContext>,
}

/// Position of a request in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// Trace identifier.
    pub id: u128,
    /// Span of the caller.
    pub parent: u64,
    /// Span of the request.
    pub span: u64,
}

/// A tool, resource, prompt or route.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// Name of the upstream server, if there are several.
    pub upstream: Option<String>,
    /// Kind: `tool`, `resource`, `prompt`, `route`.
    pub kind: String,
    /// Name, URI or route.
    pub name: String,
}

/// Reply that shaping would have produced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShadowResult {
    /// Outcome.
    pub outcome: String,
    /// Tokens of the reply.
    pub tokens: u64,
    /// Bytes of the reply.
    pub bytes: u64,
    /// Time to produce the reply.
    pub overhead: Duration,
}

/// Token cost of a request, as far as known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Tokens of the reply.
    pub(crate) served: Option<u64>,
    /// Tokens of the payload.
    pub(crate) payload: Option<u64>,
}

/// Assumed bytes per token of uncounted payloads.
const BYTES_A_TOKEN: u64 = 4;

/// Columns that [`Record::of`] reads, in order.
pub(crate) const COLUMNS: &str = "request, at, upstream, kind, name, outcome, error, follow_up, arguments,
    estimated_tokens, actual_tokens, original_tokens, budget, response_bytes, original_bytes, form, items, total_items,
    latency, overhead, stages, arm, shadow_outcome, shadow_tokens, shadow_bytes, shadow_overhead, session, config,
    tokens_per_item, origin, counter, trace, client";

impl Record {
    /// Tokens of the reply: the estimate, or the cost of the payload if the payload is the reply. A small payload that
    /// was not counted is taken as four bytes per token.
    pub fn served_tokens(&self) -> Option<u64> {
        self.cost().served
    }

    /// Tokens of the payload: the estimate, or the cost of the reply if the reply is the payload.
    pub fn payload_tokens(&self) -> Option<u64> {
        self.cost().payload
    }

    fn cost(&self) -> Cost {
        Cost::of(&self.outcome, self.estimated_tokens, self.original_tokens, self.response_bytes)
    }

    /// Reads a record from [`COLUMNS`].
    pub(crate) fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        let shadow: Option<String> = row.get(22)?;
        let shadow = match shadow {
            Some(outcome) => Some(ShadowResult {
                outcome,
                tokens: count(row, 23)?,
                bytes: count(row, 24)?,
                overhead: time(row, 25)?,
            }),
            None => None,
        };
        Ok(Self {
            request: u128::from_be_bytes(row.get(0)?),
            at: count(row, 1)?,
            endpoint: Endpoint::of(row, 2)?,
            outcome: row.get(5)?,
            error: row.get(6)?,
            follow_up: row.get(7)?,
            arguments: list(row, 8)?,
            estimated_tokens: maybe(row, 9)?,
            actual_tokens: maybe(row, 10)?,
            original_tokens: maybe(row, 11)?,
            budget: maybe(row, 12)?,
            response_bytes: count(row, 13)?,
            original_bytes: count(row, 14)?,
            form: row.get(15)?,
            items: maybe(row, 16)?,
            total_items: maybe(row, 17)?,
            latency: time(row, 18)?,
            overhead: time(row, 19)?,
            stages: list(row, 20)?,
            arm: row.get(21)?,
            shadow,
            session: row.get::<_, i64>(26)? as u64,
            config: count(row, 27)?,
            tokens_per_item: row.get(28)?,
            origin: row.get::<_, Option<i64>>(29)?.map(|origin| origin as u64),
            counter: row.get(30)?,
            trace: row.get::<_, Option<[u8; 32]>>(31)?.map(TraceContext::of),
            client: row.get(32)?,
        })
    }
}

impl TraceContext {
    fn of(bytes: [u8; 32]) -> Self {
        let [id, spans] = [&bytes[..16], &bytes[16..]]
            .map(|half| half.iter().fold(0, |number: u128, byte| number << 8 | u128::from(*byte)));
        Self { id, parent: (spans >> 64) as u64, span: spans as u64 }
    }
}

impl Cost {
    /// Derives the cost from recorded values.
    pub(crate) fn of(outcome: &str, served: Option<u64>, payload: Option<u64>, bytes: u64) -> Self {
        if !Outcome::from_name(outcome).is_some_and(Outcome::is_payload) {
            return Self { served, payload };
        }
        let known = served.or(payload).unwrap_or(bytes / BYTES_A_TOKEN);
        Self { served: served.or(Some(known)), payload: payload.or(Some(known)) }
    }
}

impl Endpoint {
    /// Reads `upstream, kind, name`, starting at column `from`.
    pub(crate) fn of(row: &Row<'_>, from: usize) -> rusqlite::Result<Self> {
        let upstream: String = row.get(from)?;
        Ok(Self {
            upstream: (!upstream.is_empty()).then_some(upstream),
            kind: row.get(from + 1)?,
            name: row.get(from + 2)?,
        })
    }
}

/// Formats as `upstream/name`, or as the name alone.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.upstream {
            Some(upstream) => write!(f, "{upstream}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

pub(crate) fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(maybe(row, column)?.unwrap_or_default())
}

pub(crate) fn maybe(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<u64>> {
    let number: Option<i64> = row.get(column)?;
    Ok(number.map(|number| u64::try_from(number).unwrap_or_default()))
}

pub(crate) fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<Duration> {
    Ok(Duration::from_micros(count(row, column)?))
}

/// Reads a JSON array of strings. Anything else counts as empty.
pub(crate) fn list(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<String>> {
    let text = row.get_ref(column)?.as_str()?;
    Ok(serde_json::from_str(text).unwrap_or_default())
}
