//! What happened, told to whoever listens: who serves and who records do not know each other.
//!
//! Nothing here carries content: sizes, names of endpoints and fields, and codes. Times are given, never read.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// Hears what happens. It must neither wait nor fail: it is called on the way of a request.
pub trait Observer: Send + Sync {
    /// Takes note of an event.
    fn observe(&self, event: Event);
}

/// Something that happened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A content-bearing request was answered.
    RequestServed(Arc<RequestServed>),
    /// The configuration was replaced.
    ConfigApplied(Arc<ConfigApplied>),
    /// A configuration was refused; the last good one stays.
    ConfigRejected(Arc<ConfigRejected>),
    /// An alert was raised, or is over.
    AlertChanged(Arc<AlertChanged>),
}

/// One content-bearing request and its reply.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestServed {
    /// Unique for the requests of a user's processes.
    pub request: u128,
    /// Microseconds since 1970, when it came.
    pub at: u64,
    /// The name of the server, where there are several.
    pub upstream: Option<Arc<str>>,
    /// A tool's or prompt's name, a resource's URI, a route; for follow-ups, what their snapshot came from.
    pub endpoint: Arc<str>,
    /// What the endpoint is: `tool`, `resource`, `prompt`, `route`.
    pub kind: &'static str,
    /// What became of it.
    pub outcome: Outcome,
    /// The code of the error that was served: one of ours, or `upstream` for one that came from there.
    pub error: Option<&'static str>,
    /// Whether it was answered from a snapshot, without the upstream.
    pub follow_up: bool,
    /// The names of the arguments and controls that it came with.
    pub arguments: Vec<String>,
    /// What all that goes back to one payload has in common, the reply that it first came with included: a random number.
    /// `None` where nothing was kept.
    pub origin: Option<u64>,
    /// Where it belongs in a trace that the caller told of.
    pub trace: Option<TraceContext>,
    /// The name of the configured counter.
    pub counter: &'static str,
    /// What the reply costs by the configured counter; `None` where nobody counted.
    pub estimated_tokens: Option<u64>,
    /// What it costs by an exact counter, where that was sampled.
    pub actual_tokens: Option<u64>,
    /// What the payload would have cost, estimated; `None` of a follow-up, whose payload came before.
    pub original_tokens: Option<u64>,
    /// What a reply that nobody asked to be larger could cost then: a payload above it was oversized.
    pub budget: Option<u64>,
    /// Bytes of the reply.
    pub response_bytes: u64,
    /// Bytes of the payload.
    pub original_bytes: u64,
    /// What the payload is: `list`, `object`, `text`; `None` where nobody looked.
    pub form: Option<&'static str>,
    /// Items served, of a list.
    pub items: Option<u64>,
    /// Items that there are, of a list.
    pub total_items: Option<u64>,
    /// From the request to the reply.
    pub latency: Duration,
    /// What of that was ours.
    pub overhead: Duration,
    /// Which steps made the reply smaller, and what the byte limit left where that decided.
    pub stages: Vec<&'static str>,
    /// The arm of an experiment, where the endpoint has one.
    pub arm: Option<ExperimentArm>,
    /// What shaping would have served, where it was tried beside a reply that is not shaped.
    pub shadow: Option<ShadowResult>,
    /// Whose request it was: a hash that says nothing else.
    pub session: u64,
    /// The version of the configuration that it was served by.
    pub config: u64,
}

/// What became of a request. Paging and chunking exclude each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The reply is the payload: it is small.
    #[default]
    Untouched,
    /// The reply is the payload, however large: shaping is off for it.
    Unshaped,
    /// A page of a list.
    Paginated,
    /// A summary.
    Summarized,
    /// A chunk or a range of text.
    Chunked,
    /// The answer to a question.
    Queried,
    /// Named fields, a section or a path.
    Projected,
    /// Bytes as the upstream wrote them.
    Raw,
    /// The byte limit decided, for counting failed or was badly wrong.
    Capped,
    /// Its snapshot is no longer kept.
    Expired,
    /// Another error of ours.
    Refused,
}

/// An arm of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExperimentArm {
    /// Replies are shaped.
    Shaped,
    /// Replies are relayed as they come.
    Unshaped,
}

/// A place in a trace, as <https://www.w3.org/TR/trace-context/> has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// The trace.
    pub id: u128,
    /// The caller's span in it.
    pub parent: u64,
    /// The span of the request here.
    pub span: u64,
    /// Whether the caller keeps it.
    pub sampled: bool,
}

/// What shaping would have served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShadowResult {
    /// What would have become of the request.
    pub outcome: Outcome,
    /// What the reply would have cost, in tokens.
    pub tokens: u64,
    /// Its bytes.
    pub bytes: u64,
    /// What making it took.
    pub overhead: Duration,
}

/// A configuration that is in force from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigApplied {
    /// Microseconds since 1970.
    pub at: u64,
    /// Its number, rising for each file.
    pub version: u64,
    /// Where it came from: a path, or what else.
    pub source: String,
    /// What is different from the one before.
    pub changes: Vec<ConfigChange>,
}

/// One key whose value is another one now. Of secrets it is only told that they changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigChange {
    /// The key, with the endpoint it is for: `hardCap`, `endpoints.list_*.pageSize`.
    pub key: String,
    /// The value before, JSON; `None` where there was none.
    pub old: Option<String>,
    /// The value now, JSON; `None` where there is none.
    pub new: Option<String>,
}

/// A configuration that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigRejected {
    /// Microseconds since 1970.
    pub at: u64,
    /// Where it came from.
    pub source: String,
    /// Every error, each with its place and the way on.
    pub errors: Vec<String>,
}

/// A share that is above what it may be, or is below it again.
#[derive(Clone, Debug, PartialEq)]
pub struct AlertChanged {
    /// Microseconds since 1970.
    pub at: u64,
    /// Which alert: `oversized`.
    pub alert_name: Cow<'static, str>,
    /// Whether it is raised, or over.
    pub is_raised: bool,
    /// How much of the traffic it is about, from 0 to 1.
    pub share: f64,
    /// What the share may be.
    pub threshold: f64,
    /// Requests that were looked at.
    pub requests: u64,
    /// Those of them that it is about.
    pub matching_requests: u64,
    /// How far back was looked.
    pub window: Duration,
    /// Tells the processes of a user apart: the upper half of their requests' numbers.
    pub process: u64,
}

impl RequestServed {
    /// Whether its payload was above what a reply could cost then; `None` where it is not known, or came before.
    pub fn is_oversized(&self) -> Option<bool> {
        let (original, budget) = (self.original_tokens?, self.budget?);
        (!self.follow_up).then_some(original > budget)
    }

    /// Tokens that it adds to what payloads would have cost, and to what was served of them: the payload of a follow-up was
    /// counted when it came.
    pub fn original_and_served_tokens(&self) -> (u64, u64) {
        match (self.follow_up, self.original_tokens, self.estimated_tokens) {
            (true, _, served) => (0, served.unwrap_or_default()),
            (false, Some(original), Some(served)) => (original, served),
            (false, ..) => (0, 0),
        }
    }
}

impl Outcome {
    /// Every one.
    pub const ALL: [Self; 11] = [
        Self::Untouched,
        Self::Unshaped,
        Self::Paginated,
        Self::Summarized,
        Self::Chunked,
        Self::Queried,
        Self::Projected,
        Self::Raw,
        Self::Capped,
        Self::Expired,
        Self::Refused,
    ];

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.name() == name)
    }

    /// Whether the reply is the payload.
    pub fn is_payload(self) -> bool {
        matches!(self, Self::Untouched | Self::Unshaped)
    }

    /// Its name in logs, records and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Untouched => "untouched",
            Self::Unshaped => "unshaped",
            Self::Paginated => "paginated",
            Self::Summarized => "summarized",
            Self::Chunked => "chunked",
            Self::Queried => "queried",
            Self::Projected => "projected",
            Self::Raw => "raw",
            Self::Capped => "capped",
            Self::Expired => "expired",
            Self::Refused => "refused",
        }
    }
}

impl ExperimentArm {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Shaped, Self::Unshaped];

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|arm| arm.name() == name)
    }

    /// Its name in logs, records and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Shaped => "shaped",
            Self::Unshaped => "unshaped",
        }
    }
}

/// Hears nothing.
impl Observer for () {
    fn observe(&self, _: Event) {}
}

/// Each hears it, in order.
impl Observer for Vec<Arc<dyn Observer>> {
    fn observe(&self, event: Event) {
        self.iter().for_each(|observer| observer.observe(event.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::{ExperimentArm, Outcome, RequestServed};

    #[test]
    fn tokens_of_a_payload_are_counted_once() {
        let check = |follow_up, original_tokens, estimated_tokens, expect| {
            let served =
                RequestServed { follow_up, estimated_tokens, original_tokens, ..RequestServed::default() };
            assert_eq!(served.original_and_served_tokens(), expect);
        };
        check(false, Some(900), Some(100), (900, 100));
        check(true, Some(900), Some(100), (0, 100));
        check(true, None, None, (0, 0));
        // What is kept out is the difference: neither is known without the other.
        check(false, None, Some(100), (0, 0));
        check(false, Some(900), None, (0, 0));
    }

    #[test]
    fn every_name_is_its_own() {
        for (at, outcome) in Outcome::ALL.into_iter().enumerate() {
            // One that is added to the type is to be added to the list.
            assert_eq!(outcome as usize, at);
            assert_eq!(Outcome::from_name(outcome.name()), Some(outcome));
        }
        assert_eq!(Outcome::ALL.len(), Outcome::Refused as usize + 1);
        assert_eq!(
            ExperimentArm::ALL.map(|arm| ExperimentArm::from_name(arm.name())),
            ExperimentArm::ALL.map(Some)
        );
        assert_eq!((Outcome::from_name("Paginated"), ExperimentArm::from_name("")), (None, None));
    }
}
