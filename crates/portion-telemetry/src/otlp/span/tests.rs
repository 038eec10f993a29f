//! Tests of the spans that the SDK builds.

use parking_lot::Mutex;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider, Span, SpanData, SpanProcessor};
use portion_core::error_code::ErrorCode;
use portion_core::event::{Outcome, ServedError};
use portion_core::render::StageName;

use super::*;

/// Span processor that keeps finished spans.
#[derive(Clone, Debug, Default)]
struct FinishedSpans(Arc<Mutex<Vec<SpanData>>>);

impl SpanProcessor for FinishedSpans {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        self.0.lock().push(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// Returns the finished spans of the requests.
fn spans(served: &[RequestServed]) -> Vec<SpanData> {
    let (kept, ids) = (FinishedSpans::default(), SpanIds::default());
    let sampler = Sampler::ParentBased(Box::new(Sampler::AlwaysOn));
    let provider = SdkTracerProvider::builder()
        .with_sampler(sampler)
        .with_id_generator(ids.clone())
        .with_span_processor(kept.clone())
        .build();
    let tracer = provider.tracer("test");
    served.iter().for_each(|served| record(&tracer, &ids, served));
    let spans = kept.0.lock().clone();
    assert!(spans.iter().all(|span| span.span_context.is_valid() && span.span_kind == SpanKind::Server));
    spans
}

fn served(kind: EndpointKind, endpoint: &str) -> RequestServed {
    let latency = Duration::from_micros(250);
    RequestServed { kind, endpoint: endpoint.into(), at: 1_000_000, latency, ..RequestServed::default() }
}

/// Checks the name of the span and some of its attributes.
fn check(served: RequestServed, expect: &str, attributes: &[(&str, Option<&str>)]) {
    let error = error(&served).is_some();
    let [span] = &spans(&[served])[..] else { panic!("one span") };
    assert_eq!(span.name, expect);
    assert_eq!(matches!(span.status, Status::Error { .. }), error);
    for (name, expect) in attributes {
        let found = span.attributes.iter().find(|pair| pair.key.as_str() == *name);
        let found = found.map(|pair| pair.value.to_string());
        assert_eq!(found.as_deref(), *expect, "{name}");
    }
}

#[test]
fn names_are_few_and_attributes_say_the_rest() {
    let tool = [("gen_ai.tool.name", Some("list")), ("gen_ai.operation.name", Some("execute_tool"))];
    check(served(EndpointKind::Tool, "list"), "tools/call list", &tool);
    let uri = "file:///a/b?c";
    let resource = [("mcp.resource.uri", Some(uri)), ("gen_ai.operation.name", None), ("error.type", None)];
    check(served(EndpointKind::Resource, uri), "resources/read", &resource);
    check(
        served(EndpointKind::Prompt, "greet"),
        "prompts/get greet",
        &[("gen_ai.prompt.name", Some("greet"))],
    );
    // An unresolved cursor has no endpoint.
    check(served(EndpointKind::Tool, ""), "tools/call", &[("gen_ai.tool.name", None)]);
}

#[test]
fn errors_are_told_by_their_codes() {
    let failed = |kind, error| RequestServed { error: Some(error), ..served(kind, "a") };
    let check = |kind, error, expect| {
        check(failed(kind, error), &name(&served(kind, "a")), &[("error.type", Some(expect))]);
    };
    check(EndpointKind::Tool, ServedError::Upstream, "tool_error");
    check(EndpointKind::Resource, ServedError::Upstream, "tool_error");
    check(EndpointKind::Tool, ServedError::Own(ErrorCode::CursorExpired), "cursor_expired");
}

#[test]
fn sizes_are_numbers_and_what_nobody_counted_is_left_out() {
    let counted = RequestServed {
        outcome: Outcome::Paginated,
        original_tokens: Some(9_000),
        estimated_tokens: Some(800),
        original_bytes: u64::MAX,
        response_bytes: 3_000,
        items: Some(50),
        stages: vec![StageName::Dense, StageName::Elide],
        follow_up: true,
        request: 0xab,
        ..served(EndpointKind::Tool, "list")
    };
    check(
        counted,
        "tools/call list",
        &[
            ("portion.outcome", Some("paginated")),
            ("portion.tokens.original", Some("9000")),
            ("portion.tokens.served", Some("800")),
            ("portion.bytes.original", Some("9223372036854775807")),
            ("portion.items", Some("50")),
            ("portion.items.total", None),
            ("portion.stages", Some("[\"dense\",\"elide\"]")),
            ("portion.follow_up", Some("true")),
            ("portion.request", Some("000000000000000000000000000000ab")),
        ],
    );
    check(
        served(EndpointKind::Tool, "list"),
        "tools/call list",
        &[("portion.tokens.served", None), ("portion.stages", None)],
    );
}

#[test]
fn a_span_hangs_below_its_caller_under_the_id_that_was_handed_on() {
    let trace = TraceContext { id: 7, parent: 8, span: 9, sampled: true };
    let unkept = TraceContext { sampled: false, span: 10, ..trace };
    let within = |trace| RequestServed { trace, ..served(EndpointKind::Tool, "list") };
    let all = spans(&[within(Some(trace)), within(Some(unkept)), within(None)]);
    let [below, alone] = &all[..] else { panic!("what the caller does not keep is not kept: {all:?}") };
    let context = &below.span_context;
    assert_eq!((context.trace_id(), context.span_id()), (TraceId::from(7), SpanId::from(9)));
    assert_eq!((below.parent_span_id, below.parent_span_is_remote), (SpanId::from(8), true));
    assert_eq!(below.start_time, UNIX_EPOCH + Duration::from_secs(1));
    assert_eq!(below.end_time, UNIX_EPOCH + Duration::from_micros(1_000_250));
    // The id given to the previous span is used up.
    assert_ne!(alone.span_context.span_id(), SpanId::from(10));
    assert_ne!(alone.span_context.trace_id(), TraceId::from(7));
    assert_eq!(alone.parent_span_id, SpanId::INVALID);
}
