//! Span ids: the one already sent to the upstream server, or a random one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use opentelemetry::{SpanId, TraceId};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator};

/// Id generator of the SDK that can be given the next span id.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpanIds {
    /// Id of the next span; 0 means random.
    next: Arc<AtomicU64>,
    random: RandomIdGenerator,
}

impl SpanIds {
    /// Sets the id of the next span.
    pub(crate) fn set_next(&self, span: u64) {
        self.next.store(span, Relaxed);
    }
}

impl IdGenerator for SpanIds {
    fn new_trace_id(&self) -> TraceId {
        self.random.new_trace_id()
    }

    fn new_span_id(&self) -> SpanId {
        match self.next.swap(0, Relaxed) {
            0 => self.random.new_span_id(),
            given => SpanId::from(given),
        }
    }
}
