//! Events that the gateway emits and observers record. Emitters and observers do not depend on each
//! other.
//!
//! Events carry no content: only sizes, names of endpoints and fields, and codes. Times are passed in,
//! never read from a clock.
//!
//! ```
//! use std::sync::{Arc, Mutex};
//!
//! use portion_core::event::{Event, Observer, Outcome, RequestServed};
//!
//! #[derive(Default)]
//! struct Outcomes(Mutex<Vec<Outcome>>);
//!
//! impl Observer for Outcomes {
//!     fn observe(&self, event: Event) {
//!         if let Event::RequestServed(served) = event {
//!             self.0.lock().unwrap().push(served.outcome);
//!         }
//!     }
//! }
//!
//! let outcomes = Outcomes::default();
//! let served = RequestServed { outcome: Outcome::Paginated, ..RequestServed::default() };
//! outcomes.observe(Event::RequestServed(Arc::new(served)));
//! assert_eq!(*outcomes.0.lock().unwrap(), [Outcome::Paginated]);
//! ```

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use crate::error_code::ErrorCode;
use crate::named_choices::named_choices;
use crate::render::StageName;

/// Receives events. It must neither block nor fail, because it is called while a request is being served.
pub trait Observer: Send + Sync {
    /// Receives one event.
    fn observe(&self, event: Event);
}

/// An event.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A request with content was answered.
    RequestServed(Arc<RequestServed>),
    /// The configuration was replaced.
    ConfigApplied(Arc<ConfigApplied>),
    /// A configuration was refused; the last good one stays.
    ConfigRejected(Arc<ConfigRejected>),
    /// An alert was raised or cleared.
    AlertChanged(Arc<AlertChanged>),
}

/// One request with content, and its reply.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestServed {
    /// Id of the request, unique across the processes of a user.
    pub request: u128,
    /// Arrival time, in microseconds since 1970.
    pub at: u64,
    /// Name of the upstream, where there are several.
    pub upstream: Option<Arc<str>>,
    /// Name of a tool or prompt, URI of a resource, or a route; for follow-ups, the endpoint that their
    /// snapshot came from.
    pub endpoint: Arc<str>,
    /// Kind of the endpoint. Routes of REST APIs count as tools.
    pub kind: EndpointKind,
    /// Outcome of the request.
    pub outcome: Outcome,
    /// Error that was served.
    pub error: Option<ServedError>,
    /// True if it was answered from a snapshot, without an upstream request.
    pub follow_up: bool,
    /// Names of its arguments and controls.
    pub arguments: Vec<String>,
    /// Random number shared by all requests on the same payload, the first included. `None` where no
    /// snapshot was kept.
    pub origin: Option<u64>,
    /// Trace context, where the caller sent one.
    pub trace: Option<TraceContext>,
    /// Name of the configured token counter.
    pub counter: &'static str,
    /// Tokens of the reply by the configured counter; `None` where they were not counted.
    pub estimated_tokens: Option<u64>,
    /// Tokens of the reply by an exact counter, where the request was sampled for it.
    pub actual_tokens: Option<u64>,
    /// Estimated tokens of the payload; `None` for a follow-up, whose payload was counted earlier.
    pub original_tokens: Option<u64>,
    /// Token limit of a reply whose request asked for no larger one: a payload above it was oversized.
    pub budget: Option<u64>,
    /// Size of the reply in bytes.
    pub response_bytes: u64,
    /// Size of the payload in bytes.
    pub original_bytes: u64,
    /// Structure of the payload; `None` where it was not examined.
    pub form: Option<PayloadForm>,
    /// Number of list items served.
    pub items: Option<u64>,
    /// Number of items in the list.
    pub total_items: Option<u64>,
    /// Time from the request to the reply.
    pub latency: Duration,
    /// Part of the latency that Portion itself caused.
    pub overhead: Duration,
    /// Stages that made the reply smaller, in the order applied.
    pub stages: Vec<StageName>,
    /// Outcome that a [capped](Outcome::Capped) reply would else have, such as a page or a chunk.
    pub capped_outcome: Option<Outcome>,
    /// Arm of an experiment, where the endpoint has one.
    pub arm: Option<ExperimentArm>,
    /// Result of trial shaping, where a reply that is not shaped was shaped on the side.
    pub shadow: Option<ShadowResult>,
    /// Session of the request: a hash that reveals nothing else.
    pub session: u64,
    /// Name that the client gave itself, if it gave one.
    pub client: Option<Arc<str>>,
    /// Version of the configuration that was in force.
    pub config: u64,
}

/// The position of a request in a trace, as defined by <https://www.w3.org/TR/trace-context/>.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// Id of the trace.
    pub id: u128,
    /// Id of the caller's span.
    pub parent: u64,
    /// Id of Portion's span for the request.
    pub span: u64,
    /// True if the caller records the trace.
    pub sampled: bool,
}

/// The result of trial shaping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShadowResult {
    /// Outcome that the request would have had.
    pub outcome: Outcome,
    /// Tokens that the reply would have had.
    pub tokens: u64,
    /// Bytes that the reply would have had.
    pub bytes: u64,
    /// Time spent on shaping.
    pub overhead: Duration,
}

/// A configuration that has come into force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigApplied {
    /// Time in microseconds since 1970.
    pub at: u64,
    /// Version number, increasing for each file.
    pub version: u64,
    /// Source of the configuration: a path or another name.
    pub source: String,
    /// Differences from the previous configuration.
    pub changes: Vec<ConfigChange>,
}

/// A key whose value has changed. The values of secrets are not given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigChange {
    /// The key, with the endpoint that it applies to: `hardCap`, `endpoints.list_*.pageSize`.
    pub key: String,
    /// Previous value, JSON; `None` where there was none.
    pub old: Option<String>,
    /// New value, JSON; `None` where there is none.
    pub new: Option<String>,
}

/// A configuration that was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigRejected {
    /// Time in microseconds since 1970.
    pub at: u64,
    /// Source of the configuration.
    pub source: String,
    /// All errors, each with its place and a remedy.
    pub errors: Vec<String>,
}

/// An alert that was raised, because a share rose above its threshold, or cleared.
#[derive(Clone, Debug, PartialEq)]
pub struct AlertChanged {
    /// Time in microseconds since 1970.
    pub at: u64,
    /// Name of the alert: `oversized`.
    pub alert_name: Cow<'static, str>,
    /// True if it was raised, false if it was cleared.
    pub is_raised: bool,
    /// Share of the requests that match, from 0 to 1.
    pub share: f64,
    /// Largest share allowed.
    pub threshold: f64,
    /// Number of requests in the window.
    pub requests: u64,
    /// Number of those that match.
    pub matching_requests: u64,
    /// Length of the window.
    pub window: Duration,
    /// Identifies the process: the upper half of its request ids.
    pub process: u64,
}

impl RequestServed {
    /// Returns the names of the stages, and that of the outcome of a capped reply.
    pub fn stage_names(&self) -> Vec<&'static str> {
        self.stages.iter().map(|stage| stage.name()).chain(self.capped_outcome.map(Outcome::name)).collect()
    }

    /// Returns true if the payload was above the token limit of a reply; `None` where that is unknown,
    /// and for follow-ups.
    pub fn is_oversized(&self) -> Option<bool> {
        let (original, budget) = (self.original_tokens?, self.budget?);
        (!self.follow_up).then_some(original > budget)
    }

    /// Returns the tokens that this request adds to the total of payloads, and to the total served. The
    /// payload of a follow-up was counted with the first request.
    pub fn original_and_served_tokens(&self) -> (u64, u64) {
        match (self.follow_up, self.original_tokens, self.estimated_tokens) {
            (true, _, served) => (0, served.unwrap_or_default()),
            (false, Some(original), Some(served)) => (original, served),
            (false, ..) => (0, 0),
        }
    }
}

/// Ignores all events.
impl Observer for () {
    fn observe(&self, _: Event) {}
}

/// Passes each event to all observers, in order.
impl Observer for Vec<Arc<dyn Observer>> {
    fn observe(&self, event: Event) {
        self.iter().for_each(|observer| observer.observe(event.clone()));
    }
}

/// The outcome of a request. Paging and chunking exclude each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The reply is the whole payload, because it is small.
    #[default]
    Untouched,
    /// The reply is the whole payload, however large: shaping is off for it.
    Unshaped,
    /// A page of a list.
    Paginated,
    /// A summary.
    Summarized,
    /// A chunk or a range of text.
    Chunked,
    /// The answer to a query.
    Queried,
    /// Named fields, a section or a path.
    Projected,
    /// Bytes as the upstream wrote them.
    Raw,
    /// The byte limit decided, because counting failed or was badly wrong.
    Capped,
    /// The snapshot is no longer kept.
    Expired,
    /// Another error of Portion's own.
    Refused,
}

/// An arm of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExperimentArm {
    /// Replies are shaped.
    Shaped,
    /// Replies are relayed unchanged.
    Unshaped,
}

/// Kind of an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndpointKind {
    /// Called; may have side effects.
    #[default]
    Tool,
    /// Read.
    Resource,
    /// Fetched as a prompt.
    Prompt,
}

/// Structure of a payload, by its first readable part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadForm {
    /// A list of items.
    List,
    /// A single object.
    Object,
    /// Lines of text.
    Text,
}

/// Error in place of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServedError {
    /// An error of Portion's own.
    Own(ErrorCode),
    /// An error of the upstream, passed on.
    Upstream,
}

impl Outcome {
    /// Returns true if the reply is the whole payload.
    pub fn is_payload(self) -> bool {
        matches!(self, Self::Untouched | Self::Unshaped)
    }
}

named_choices!(Outcome {
    Untouched = "untouched",
    Unshaped = "unshaped",
    Paginated = "paginated",
    Summarized = "summarized",
    Chunked = "chunked",
    Queried = "queried",
    Projected = "projected",
    Raw = "raw",
    Capped = "capped",
    Expired = "expired",
    Refused = "refused"
});

named_choices!(ExperimentArm { Shaped = "shaped", Unshaped = "unshaped" });

named_choices!(EndpointKind { Tool = "tool", Resource = "resource", Prompt = "prompt" });

named_choices!(PayloadForm { List = "list", Object = "object", Text = "text" });

impl ServedError {
    /// All errors.
    pub fn all() -> impl Iterator<Item = Self> {
        std::iter::once(Self::Upstream).chain(ErrorCode::all().map(Self::Own))
    }

    /// Returns the error of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|error| error.name() == name)
    }

    /// Returns the name used in logs, records and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Own(code) => code.name(),
            Self::Upstream => "upstream",
        }
    }
}

/// Byte range of the caller's span id in a `traceparent`, `00-{32 digits}-{16 digits}-{2 digits}`.
pub const PARENT_ID_RANGE: Range<usize> = 36..52;

/// The caller's span, as given in a `traceparent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent {
    /// Id of the trace.
    pub id: u128,
    /// Id of the span in the trace.
    pub span: u64,
    /// True if the caller records the trace.
    pub is_sampled: bool,
}

impl TraceParent {
    /// Parses a `traceparent`. Versions after 00 begin with the same fields; the rest of them is ignored.
    pub fn parse(traceparent: &str) -> Option<Self> {
        let (version, rest) = traceparent.split_once('-')?;
        let (id, rest) = rest.split_once('-')?;
        let (span, rest) = rest.split_once('-')?;
        let (flags, more) = rest.split_once('-').map_or((rest, None), |(flags, more)| (flags, Some(more)));
        let is_known = match parse_hex(version, 2)? {
            0 => more.is_none(),
            version => version != 0xff,
        };
        let id = parse_hex(id, 32)?;
        let span = u64::try_from(parse_hex(span, 16)?).ok()?;
        let flags = parse_hex(flags, 2)?;
        (is_known && id != 0 && span != 0).then_some(Self { id, span, is_sampled: flags & 1 == 1 })
    }

    /// Returns the trace context of a span of ours, as a child of this one.
    pub fn child(self, span: u64) -> TraceContext {
        TraceContext { id: self.id, parent: self.span, span, sampled: self.is_sampled }
    }
}

/// Formats the id of a span as in a `traceparent`.
pub fn format_span_id(span: u64) -> String {
    format!("{span:016x}")
}

/// Parses a number of exactly `count` lower-case hexadecimal digits.
fn parse_hex(text: &str, count: usize) -> Option<u128> {
    let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let whole = text.len() == count && text.bytes().all(hex);
    whole.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::{RequestServed, *};

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
        // The saving is a difference: without one of the two, neither is counted.
        check(false, None, Some(100), (0, 0));
        check(false, Some(900), None, (0, 0));
    }

    #[test]
    fn every_outcome_has_a_distinct_name() {
        for (at, outcome) in Outcome::ALL.into_iter().enumerate() {
            // Counters of outcomes are in this order.
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

    #[test]
    fn facts_are_found_by_their_names() {
        assert_eq!(
            EndpointKind::ALL.map(|kind| EndpointKind::from_name(kind.name())),
            EndpointKind::ALL.map(Some)
        );
        for form in [PayloadForm::List, PayloadForm::Object, PayloadForm::Text] {
            assert_eq!(PayloadForm::from_name(form.name()), Some(form));
        }
        for error in ServedError::all() {
            assert_eq!(ServedError::from_name(error.name()), Some(error));
        }
        assert_eq!(
            (EndpointKind::from_name("route"), PayloadForm::from_name(""), ServedError::from_name("down")),
            (None, None, None)
        );
    }
}
