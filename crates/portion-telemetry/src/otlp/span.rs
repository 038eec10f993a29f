//! Builds the span of a request: <https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/#server>.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::names::{self as conventions, ERROR, METHOD, PROMPT, TOOL};
use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanContext, SpanKind, Status, TraceContextExt as _, TraceFlags, TraceState,
    Tracer as _,
};
use opentelemetry::{Array, Context, KeyValue, SpanId, StringValue, TraceId, Value};
use opentelemetry_sdk::trace::SdkTracer;
use portion_core::event::{EndpointKind, RequestServed, TraceContext};

use crate::otlp::ids::SpanIds;
use crate::otlp::names;

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
        KeyValue::new(names::REQUEST, format!("{:032x}", served.request)),
        KeyValue::new(names::OUTCOME, served.outcome.name()),
        KeyValue::new(names::FOLLOW_UP, served.follow_up),
        KeyValue::new(names::BYTES_ORIGINAL, int_value(served.original_bytes)),
        KeyValue::new(names::BYTES_SERVED, int_value(served.response_bytes)),
        KeyValue::new(names::OVERHEAD, served.overhead.as_secs_f64()),
        KeyValue::new(names::CONFIG_VERSION, int_value(served.config)),
    ];
    let mut maybe = |name: &'static str, value: Option<Value>| {
        all.extend(value.map(|value| KeyValue::new(name, value)));
    };
    let endpoint = |kind| {
        let named = served.kind == kind && !served.endpoint.is_empty();
        named.then(|| Value::from(Arc::clone(&served.endpoint)))
    };
    maybe(TOOL, endpoint(EndpointKind::Tool));
    maybe(names::OPERATION, (served.kind == EndpointKind::Tool).then(|| "execute_tool".into()));
    maybe(names::RESOURCE_URI, endpoint(EndpointKind::Resource));
    maybe(PROMPT, endpoint(EndpointKind::Prompt));
    maybe(names::UPSTREAM, served.upstream.clone().map(Into::into));
    maybe(ERROR, error(served).map(Into::into));
    maybe(names::TOKENS_ORIGINAL, served.original_tokens.map(int_value));
    maybe(names::TOKENS_SERVED, served.estimated_tokens.map(int_value));
    maybe(names::ITEMS, served.items.map(int_value));
    maybe(names::ITEMS_TOTAL, served.total_items.map(int_value));
    maybe(names::ARM, served.arm.map(|arm| arm.name().into()));
    let stages: Vec<StringValue> = served.stage_names().into_iter().map(Into::into).collect();
    maybe(names::STAGES, (!stages.is_empty()).then_some(Value::Array(Array::String(stages))));
    all
}

fn int_value(number: u64) -> Value {
    Value::I64(i64::try_from(number).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests;
