//! What the SDK sends by: its own senders, watched by a [`Desk`].

use std::sync::Arc;
use std::time::Duration;

use opentelemetry::Context;
use opentelemetry_otlp::{MetricExporter, SpanExporter as OtlpSpans};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::trace::{BatchSpanProcessor, Span, SpanData, SpanExporter, SpanProcessor};

use crate::desk::Desk;

/// Spans that wait at most.
pub(crate) const ROOM: usize = 4_096;

/// Sends spans.
#[derive(Debug)]
pub(crate) struct Spans {
    pub(crate) inner: OtlpSpans,
    pub(crate) desk: Arc<Desk>,
}

/// Keeps spans until they are sent, no more than there is room for.
#[derive(Debug)]
pub(crate) struct Bounded {
    pub(crate) inner: BatchSpanProcessor,
    pub(crate) desk: Arc<Desk>,
}

/// Sends measurements.
pub(crate) struct Metrics {
    pub(crate) inner: MetricExporter,
    pub(crate) desk: Arc<Desk>,
}

impl SpanExporter for Spans {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let sent = self.inner.export(batch).await;
        self.desk.leave(spans);
        self.desk.settle(spans, &sent);
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

impl SpanProcessor for Bounded {
    fn on_start(&self, span: &mut Span, context: &Context) {
        self.inner.on_start(span, context);
    }

    fn on_end(&self, span: SpanData) {
        if span.span_context.is_sampled() && self.desk.comes(ROOM) {
            self.inner.on_end(span);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

impl PushMetricExporter for Metrics {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        let sent = self.inner.export(metrics).await;
        // Sums are sent again the next time: nothing of them is lost.
        self.desk.settle(0, &sent);
        sent
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn temporality(&self) -> Temporality {
        self.inner.temporality()
    }
}
