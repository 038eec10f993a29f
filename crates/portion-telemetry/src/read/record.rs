//! One request, as it was recorded.

use std::fmt;
use std::time::Duration;

use portion_core::event::Outcome;
use rusqlite::Row;

/// One request, as it was recorded. What has a name in the file has it here: a later version may know more of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Unique for the requests of a user's processes.
    pub request: u128,
    /// Microseconds since 1970, when it came.
    pub at: u64,
    /// What was asked.
    pub endpoint: Endpoint,
    /// What became of it: the name of an [`Outcome`](portion_core::event::Outcome).
    pub outcome: String,
    /// The code of the error that was served.
    pub error: Option<String>,
    /// Whether it was answered from a snapshot, without the upstream.
    pub follow_up: bool,
    /// The names of the arguments and controls that it came with.
    pub arguments: Vec<String>,
    /// What the reply costs by the configured counter, in tokens.
    pub estimated_tokens: Option<u64>,
    /// What it costs by an exact counter, where that was sampled.
    pub actual_tokens: Option<u64>,
    /// What the payload would have cost, estimated.
    pub original_tokens: Option<u64>,
    /// What a reply could cost then that nobody asked to be larger.
    pub budget: Option<u64>,
    /// Bytes of the reply.
    pub response_bytes: u64,
    /// Bytes of the payload.
    pub original_bytes: u64,
    /// What the payload is: `list`, `object`, `text`.
    pub form: Option<String>,
    /// Items served, of a list.
    pub items: Option<u64>,
    /// Items that there are, of a list.
    pub total_items: Option<u64>,
    /// From the request to the reply.
    pub latency: Duration,
    /// What of that was ours.
    pub overhead: Duration,
    /// Which steps made the reply smaller.
    pub stages: Vec<String>,
    /// The arm of an experiment: the name of an [`Arm`](portion_core::event::Arm).
    pub arm: Option<String>,
    /// What shaping would have served.
    pub shadow: Option<Tried>,
    /// Whose request it was: a hash that says nothing else.
    pub session: u64,
    /// The version of the configuration that it was served by.
    pub config: u64,
    /// Tokens of the reply for each item served.
    pub tokens_per_item: Option<f64>,
    /// What all that goes back to one payload has in common.
    pub origin: Option<u64>,
    /// The name of the configured counter; nothing where an earlier version recorded it.
    pub counter: String,
    /// Where it belongs in a trace.
    pub trace: Option<Traced>,
}

/// A place in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traced {
    /// The trace.
    pub id: u128,
    /// The caller's span in it.
    pub parent: u64,
    /// The span of the request.
    pub span: u64,
}

/// One thing that can answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// The name of the server, where there are several.
    pub upstream: Option<String>,
    /// What it is: `tool`, `resource`, `prompt`, `route`.
    pub kind: String,
    /// Its name, URI, or route.
    pub name: String,
}

/// What shaping would have served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// What would have become of the request.
    pub outcome: String,
    /// What the reply would have cost, in tokens.
    pub tokens: u64,
    /// Its bytes.
    pub bytes: u64,
    /// What making it took.
    pub overhead: Duration,
}

/// What a request costs in tokens, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Its reply.
    pub(crate) served: Option<u64>,
    /// Its payload.
    pub(crate) payload: Option<u64>,
}

/// Bytes of a token where nobody counted.
const BYTES_A_TOKEN: u64 = 4;

/// What [`Record::of`] reads, in its order.
pub(super) const COLUMNS: &str = "request, at, upstream, kind, name, outcome, error, follow_up, arguments,
    estimated_tokens, actual_tokens, original_tokens, budget, response_bytes, original_bytes, form, items, total_items,
    latency, overhead, stages, arm, shadow_outcome, shadow_tokens, shadow_bytes, shadow_overhead, session, config,
    tokens_per_item, origin, counter, trace";

impl Record {
    /// What the reply costs, in tokens: estimated, or what its payload costs where that is the reply. A payload that
    /// passed uncounted, for it is small, is taken for four bytes a token.
    pub fn served_tokens(&self) -> Option<u64> {
        self.cost().served
    }

    /// What the payload would have cost, in tokens: estimated, or what was served where that is the payload.
    pub fn payload_tokens(&self) -> Option<u64> {
        self.cost().payload
    }

    fn cost(&self) -> Cost {
        Cost::of(&self.outcome, self.estimated_tokens, self.original_tokens, self.response_bytes)
    }

    /// Reads one from the [`COLUMNS`].
    pub(super) fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        let shadow: Option<String> = row.get(22)?;
        let shadow = match shadow {
            Some(outcome) => Some(Tried {
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
            trace: row.get::<_, Option<[u8; 32]>>(31)?.map(Traced::of),
        })
    }
}

impl Traced {
    fn of(bytes: [u8; 32]) -> Self {
        let [id, spans] = [&bytes[..16], &bytes[16..]]
            .map(|half| half.iter().fold(0, |number: u128, byte| number << 8 | u128::from(*byte)));
        Self { id, parent: (spans >> 64) as u64, span: spans as u64 }
    }
}

impl Cost {
    /// Of what was recorded.
    pub(crate) fn of(outcome: &str, served: Option<u64>, payload: Option<u64>, bytes: u64) -> Self {
        if !Outcome::named(outcome).is_some_and(Outcome::is_payload) {
            return Self { served, payload };
        }
        let known = served.or(payload).unwrap_or(bytes / BYTES_A_TOKEN);
        Self { served: served.or(Some(known)), payload: payload.or(Some(known)) }
    }
}

impl Endpoint {
    /// Reads `upstream, kind, name` from that column on.
    pub(super) fn of(row: &Row<'_>, from: usize) -> rusqlite::Result<Self> {
        let upstream: String = row.get(from)?;
        Ok(Self {
            upstream: (!upstream.is_empty()).then_some(upstream),
            kind: row.get(from + 1)?,
            name: row.get(from + 2)?,
        })
    }
}

/// `upstream/name`, or the name alone.
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

pub(super) fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<Duration> {
    Ok(Duration::from_micros(count(row, column)?))
}

/// A JSON array of texts; what is none has none in it.
pub(super) fn list(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<String>> {
    let text = row.get_ref(column)?.as_str()?;
    Ok(serde_json::from_str(text).unwrap_or_default())
}
