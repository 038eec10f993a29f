//! Queue and exporters of the SDK, with counts in [`QueueStats`].

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use opentelemetry::Context;
use opentelemetry_otlp::{MetricExporter, SpanExporter as OtlpSpanExporter};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::trace::{Span, SpanData, SpanExporter, SpanProcessor};
use portion_net::worker::{Handler, Items, Worker, WorkerOptions};

use super::client::QueueStats;
use crate::otlp::settings::Batches;

/// Maximum number of queued spans.
const SPAN_QUEUE_CAPACITY: usize = 4_096;

/// Queues spans for export. Clones share the queue.
#[derive(Clone, Debug)]
pub(crate) struct SpanQueue {
    pub(crate) worker: Arc<Worker<SpanData>>,
    stats: Arc<QueueStats>,
}

/// Exports queued spans in batches, on the thread of the worker.
struct SpanSender {
    exporter: OtlpSpanExporter,
    batch_size: usize,
    stats: Arc<QueueStats>,
}

/// Exports metrics and logs failures.
pub(crate) struct MetricSender {
    pub(crate) inner: MetricExporter,
    pub(crate) stats: Arc<QueueStats>,
}

impl SpanQueue {
    /// Starts the thread that exports the spans.
    pub(crate) fn start(
        mut exporter: OtlpSpanExporter,
        resource: &Resource,
        batches: Batches,
        stats: Arc<QueueStats>,
    ) -> io::Result<Self> {
        exporter.set_resource(resource);
        let options = WorkerOptions {
            capacity: SPAN_QUEUE_CAPACITY,
            wake_at: batches.size,
            poll_interval: (batches.delay, batches.delay),
            ..WorkerOptions::new("otlp-spans")
        };
        let sender = SpanSender { exporter, batch_size: batches.size, stats: Arc::clone(&stats) };
        Ok(Self { worker: Arc::new(Worker::start(&options, sender)?), stats })
    }
}

impl SpanProcessor for SpanQueue {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if span.span_context.is_sampled() && self.worker.submit(span).is_err() {
            self.stats.rejected();
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    /// Closes the queue. `Providers::close` waits for the last export.
    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        self.worker.close();
        Ok(())
    }
}

impl Handler<SpanData> for SpanSender {
    fn poll(&mut self, spans: &Items<SpanData>) {
        loop {
            let batch: Vec<SpanData> = std::iter::from_fn(|| spans.take()).take(self.batch_size).collect();
            let size = batch.len();
            if size == 0 {
                return;
            }
            let sent = wait_for(self.exporter.export(batch));
            spans.finish(size);
            self.stats.record_export(size, &sent);
        }
    }
}

/// Waits for a future. The client blocks, so that an export is complete when it is first polled, but for a retry.
fn wait_for<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = std::task::Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return result;
        }
        thread::sleep(Duration::from_millis(1));
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
