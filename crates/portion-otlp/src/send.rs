//! Exporters of the SDK, wrapped to count in [`QueueStats`].

use std::sync::Arc;
use std::time::Duration;

use opentelemetry::Context;
use opentelemetry_otlp::{MetricExporter, SpanExporter as OtlpSpanExporter};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::trace::{BatchSpanProcessor, Span, SpanData, SpanExporter, SpanProcessor};

use crate::stats::QueueStats;

/// Maximum number of queued spans.
pub(crate) const SPAN_QUEUE_CAPACITY: usize = 4_096;

/// Exports spans and counts them.
#[derive(Debug)]
pub(crate) struct SpanSender {
    pub(crate) inner: OtlpSpanExporter,
    pub(crate) stats: Arc<QueueStats>,
}

/// Queues spans up to [`SPAN_QUEUE_CAPACITY`].
#[derive(Debug)]
pub(crate) struct BoundedSpanProcessor {
    pub(crate) inner: BatchSpanProcessor,
    pub(crate) stats: Arc<QueueStats>,
}

/// Exports metrics and logs failures.
pub(crate) struct MetricSender {
    pub(crate) inner: MetricExporter,
    pub(crate) stats: Arc<QueueStats>,
}

impl SpanExporter for SpanSender {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let sent = self.inner.export(batch).await;
        self.stats.dequeued(spans);
        self.stats.record_export(spans, &sent);
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

impl SpanProcessor for BoundedSpanProcessor {
    fn on_start(&self, span: &mut Span, context: &Context) {
        self.inner.on_start(span, context);
    }

    fn on_end(&self, span: SpanData) {
        if span.span_context.is_sampled() && self.stats.try_admit(SPAN_QUEUE_CAPACITY) {
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

impl PushMetricExporter for MetricSender {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        let sent = self.inner.export(metrics).await;
        // Cumulative sums are sent again with the next export, so nothing is lost.
        self.stats.record_export(0, &sent);
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
