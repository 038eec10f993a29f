//! Builds the span of a request, with its id and the names of its attributes:
//! <https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/#server>.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::names::{self as conventions, ERROR, METHOD, PROMPT, TOOL};
use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanContext, SpanKind, Status, TraceContextExt as _, TraceFlags, TraceState,
    Tracer as _,
};
use opentelemetry::{Array, Context, KeyValue, SpanId, StringValue, TraceId, Value};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator, SdkTracer};
use portion_core::event::{EndpointKind, RequestServed, TraceContext};

/// Starts and ends the span of a request, as a child of the caller's span if the request has a trace context.
pub(crate) fn record(tracer: &SdkTracer, ids: &SpanIds, served: &RequestServed) {
    let parent = served.trace.map_or_else(Context::new, parent_context);
    ids.set_next(served.trace.map_or(0, |trace| trace.span));
    let start = UNIX_EPOCH + Duration::from_micros(served.at);
    let builder = SpanBuilder::from_name(name(served))
        .with_kind(SpanKind::Server)
        .with_start_time(start)
        .with_attributes(attributes(served));
    let mut span = tracer.build_with_context(builder, &parent);
    if error(served).is_some() {
        span.set_status(Status::error(""));
    }
    span.end_with_timestamp(start.checked_add(served.latency).unwrap_or_else(SystemTime::now));
}

/// Returns the error type, with the same values as in the metrics.
fn error(served: &RequestServed) -> Option<&'static str> {
    served.error.map(conventions::error_type)
}

/// Returns the span name: the method and its target. URIs are left out, because there are too many.
fn name(served: &RequestServed) -> String {
    let method = conventions::method(served.kind);
    if served.kind == EndpointKind::Resource || served.endpoint.is_empty() {
        return method.to_owned();
    }
    format!("{method} {}", served.endpoint)
}

fn parent_context(trace: TraceContext) -> Context {
    let flags = if trace.sampled { TraceFlags::SAMPLED } else { TraceFlags::default() };
    let (id, span) = (TraceId::from(trace.id), SpanId::from(trace.parent));
    Context::new().with_remote_span_context(SpanContext::new(id, span, flags, true, TraceState::default()))
}

fn attributes(served: &RequestServed) -> Vec<KeyValue> {
    let mut all = vec![
        KeyValue::new(METHOD, conventions::method(served.kind)),
        KeyValue::new(REQUEST, format!("{:032x}", served.request)),
        KeyValue::new(OUTCOME, served.outcome.name()),
        KeyValue::new(FOLLOW_UP, served.follow_up),
        KeyValue::new(BYTES_ORIGINAL, int_value(served.original_bytes)),
        KeyValue::new(BYTES_SERVED, int_value(served.response_bytes)),
        KeyValue::new(OVERHEAD, served.overhead.as_secs_f64()),
        KeyValue::new(CONFIG_VERSION, int_value(served.config)),
    ];
    let mut maybe = |name: &'static str, value: Option<Value>| {
        all.extend(value.map(|value| KeyValue::new(name, value)));
    };
    let endpoint = |kind| {
        let named = served.kind == kind && !served.endpoint.is_empty();
        named.then(|| Value::from(Arc::clone(&served.endpoint)))
    };
    maybe(TOOL, endpoint(EndpointKind::Tool));
    maybe(OPERATION, (served.kind == EndpointKind::Tool).then(|| "execute_tool".into()));
    maybe(RESOURCE_URI, endpoint(EndpointKind::Resource));
    maybe(PROMPT, endpoint(EndpointKind::Prompt));
    maybe(UPSTREAM, served.upstream.clone().map(Into::into));
    maybe(ERROR, error(served).map(Into::into));
    maybe(TOKENS_ORIGINAL, served.original_tokens.map(int_value));
    maybe(TOKENS_SERVED, served.estimated_tokens.map(int_value));
    maybe(ITEMS, served.items.map(int_value));
    maybe(ITEMS_TOTAL, served.total_items.map(int_value));
    maybe(ARM, served.arm.map(|arm| arm.name().into()));
    let stages: Vec<StringValue> = served.stage_names().into_iter().map(Into::into).collect();
    maybe(STAGES, (!stages.is_empty()).then_some(Value::Array(Array::String(stages))));
    all
}

fn int_value(number: u64) -> Value {
    Value::I64(i64::try_from(number).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests;

// <https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/>
const OPERATION: &str = "gen_ai.operation.name";
const RESOURCE_URI: &str = "mcp.resource.uri";

const REQUEST: &str = "portion.request";
const OUTCOME: &str = "portion.outcome";
const UPSTREAM: &str = "portion.upstream";
const TOKENS_ORIGINAL: &str = "portion.tokens.original";
const TOKENS_SERVED: &str = "portion.tokens.served";
const BYTES_ORIGINAL: &str = "portion.bytes.original";
const BYTES_SERVED: &str = "portion.bytes.served";
const ITEMS: &str = "portion.items";
const ITEMS_TOTAL: &str = "portion.items.total";
const STAGES: &str = "portion.stages";
const FOLLOW_UP: &str = "portion.follow_up";
/// In seconds.
const OVERHEAD: &str = "portion.overhead";
const ARM: &str = "portion.arm";
const CONFIG_VERSION: &str = "portion.config.version";

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
