//! Ids of spans: the one that the server was told already, else a random one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use opentelemetry::{SpanId, TraceId};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator};

/// Hands out ids to the SDK, which takes them from nobody else.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ids {
    /// The id of the next span, where it has one.
    given: Arc<AtomicU64>,
    random: RandomIdGenerator,
}

impl Ids {
    /// The next span has this id.
    pub(crate) fn give(&self, span: u64) {
        self.given.store(span, Relaxed);
    }
}

impl IdGenerator for Ids {
    fn new_trace_id(&self) -> TraceId {
        self.random.new_trace_id()
    }

    fn new_span_id(&self) -> SpanId {
        match self.given.swap(0, Relaxed) {
            0 => self.random.new_span_id(),
            given => SpanId::from(given),
        }
    }
}
