//! A request as a span: <https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/#server>.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanContext, SpanKind, Status, TraceContextExt as _, TraceFlags, TraceState,
    Tracer as _,
};
use opentelemetry::{Array, Context, KeyValue, SpanId, StringValue, TraceId, Value};
use opentelemetry_sdk::trace::SdkTracer;
use portion_core::event::{Served, Trace};
use portion_telemetry::names::{self as conventions, ERROR, METHOD, PROMPT, TOOL};

use crate::ids::Ids;
use crate::names;

/// Begins and ends the span of a request, below the caller's where that told of one.
pub(crate) fn tell(tracer: &SdkTracer, ids: &Ids, served: &Served) {
    let parent = served.trace.map_or_else(Context::new, below);
    ids.give(served.trace.map_or(0, |trace| trace.span));
    let begun = UNIX_EPOCH + Duration::from_micros(served.at);
    let builder = SpanBuilder::from_name(name(served))
        .with_kind(SpanKind::Server)
        .with_start_time(begun)
        .with_attributes(attributes(served));
    let mut span = tracer.build_with_context(builder, &parent);
    if error(served).is_some() {
        span.set_status(Status::error(""));
    }
    span.end_with_timestamp(begun.checked_add(served.latency).unwrap_or_else(SystemTime::now));
}

/// What the method of a request is called, by the kind of its endpoint.
fn method(kind: &str) -> &'static str {
    conventions::method(kind).unwrap_or("_OTHER")
}

/// What went wrong: `tool_error` where the upstream said so itself, as figures have it, too.
fn error(served: &Served) -> Option<&'static str> {
    served.error.map(conventions::error_type)
}

/// The method and what it is about. URIs are too many to be part of it.
fn name(served: &Served) -> String {
    let method = method(served.kind);
    if served.kind == "resource" || served.endpoint.is_empty() {
        return method.to_owned();
    }
    format!("{method} {}", served.endpoint)
}

fn below(trace: Trace) -> Context {
    let flags = if trace.sampled { TraceFlags::SAMPLED } else { TraceFlags::default() };
    let (id, span) = (TraceId::from(trace.id), SpanId::from(trace.parent));
    Context::new().with_remote_span_context(SpanContext::new(id, span, flags, true, TraceState::default()))
}

fn attributes(served: &Served) -> Vec<KeyValue> {
    let mut all = vec![
        KeyValue::new(METHOD, method(served.kind)),
        KeyValue::new(names::REQUEST, format!("{:032x}", served.request)),
        KeyValue::new(names::OUTCOME, served.outcome.name()),
        KeyValue::new(names::FOLLOW_UP, served.follow_up),
        KeyValue::new(names::BYTES_ORIGINAL, whole(served.original_bytes)),
        KeyValue::new(names::BYTES_SERVED, whole(served.response_bytes)),
        KeyValue::new(names::OVERHEAD, served.overhead.as_secs_f64()),
        KeyValue::new(names::CONFIG_VERSION, whole(served.config)),
    ];
    let mut maybe = |name: &'static str, value: Option<Value>| {
        all.extend(value.map(|value| KeyValue::new(name, value)));
    };
    let endpoint = |kind| {
        let named = served.kind == kind && !served.endpoint.is_empty();
        named.then(|| Value::from(Arc::clone(&served.endpoint)))
    };
    maybe(TOOL, endpoint("tool"));
    maybe(names::OPERATION, (served.kind == "tool").then(|| "execute_tool".into()));
    maybe(names::RESOURCE_URI, endpoint("resource"));
    maybe(PROMPT, endpoint("prompt"));
    maybe(names::UPSTREAM, served.upstream.clone().map(Into::into));
    maybe(ERROR, error(served).map(Into::into));
    maybe(names::TOKENS_ORIGINAL, served.original_tokens.map(whole));
    maybe(names::TOKENS_SERVED, served.estimated_tokens.map(whole));
    maybe(names::ITEMS, served.items.map(whole));
    maybe(names::ITEMS_TOTAL, served.total_items.map(whole));
    maybe(names::ARM, served.arm.map(|arm| arm.name().into()));
    let stages: Vec<StringValue> = served.stages.iter().map(|stage| (*stage).into()).collect();
    maybe(names::STAGES, (!stages.is_empty()).then_some(Value::Array(Array::String(stages))));
    all
}

fn whole(number: u64) -> Value {
    Value::I64(i64::try_from(number).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests;
