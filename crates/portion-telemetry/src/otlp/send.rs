//! Queue and exporters of the SDK, with counts in [`QueueStats`], and the HTTP client of their threads.
//!
//! The SDK's threads are not tokio tasks, so a client that needs a caller's runtime would never be polled there. This
//! client has its own runtime and uses the HTTP stack of the gateway instead of adding a second one.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::task::{Poll, Waker};
use std::time::Duration;
use std::{io, thread};

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{Request, Response, StatusCode, Uri};
use opentelemetry::Context;
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{MetricExporter, SpanExporter as OtlpSpanExporter};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::trace::{Span, SpanData, SpanExporter, SpanProcessor};
use parking_lot::Mutex;
use portion_net::client::{self, TlsError};
use portion_net::worker::{Handler, Items, Worker, WorkerOptions};
use thiserror::Error;
use tokio::runtime::{Builder, Runtime};

use super::Batches;

/// Maximum number of queued spans.
const SPAN_QUEUE_CAPACITY: usize = 4_096;

/// Maximum bytes of a response that are read. A success response is nearly empty.
const MAX_RESPONSE: usize = 1 << 20;

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

/// Client for one URL.
#[derive(Debug)]
pub(crate) struct Client {
    runtime: Runtime,
    inner: client::Client<Full<Bytes>>,
    timeout: Duration,
    stats: Arc<QueueStats>,
}

/// Error of creating a client.
#[derive(Debug, Error)]
pub(super) enum ClientError {
    /// The endpoint is not a URL. It is not shown, because it may contain a password.
    #[error("the endpoint is not a URL; write it as http://HOST:PORT")]
    Endpoint,
    /// The runtime could not be started.
    #[error("cannot start the HTTP client: {0}")]
    Runtime(#[from] io::Error),
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

#[derive(Debug, Error)]
#[error("no answer within {0:?}")]
struct Timeout(Duration);

/// Counters of one exported signal.
#[derive(Debug, Default)]
pub(crate) struct QueueStats {
    /// Name of the signal: `traces` or `metrics`.
    signal: &'static str,
    /// Export fails, and that is logged.
    failing: AtomicBool,
    /// The process is shutting down; exports are not retried.
    closing: AtomicBool,
    /// Items lost since export began to fail.
    lost: AtomicU64,
    /// Error of the last exchange without a response.
    last_error: Mutex<Option<String>>,
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

impl Client {
    /// Creates a client for `endpoint`. Certificates are loaded only for `https:`.
    ///
    /// The endpoint is checked here: the SDK would show it in its error, and drop this client, whose runtime must not be
    /// dropped by a task.
    pub(crate) fn new(
        endpoint: &str,
        timeout: Duration,
        stats: Arc<QueueStats>,
    ) -> Result<Self, ClientError> {
        let url: Uri = endpoint.parse().map_err(|_| ClientError::Endpoint)?;
        if !matches!(url.scheme_str(), Some("http" | "https")) {
            return Err(ClientError::Endpoint);
        }
        let tls = client::tls_config(endpoint.starts_with("https:"))?;
        // No task drives idle connections between two exchanges.
        let inner = client::unpooled(tls);
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { runtime, inner, timeout, stats })
    }

    async fn exchange(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let answer = self.inner.request(request.map(Full::new)).await?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, MAX_RESPONSE).collect().await?.to_bytes();
        Ok(Response::from_parts(head, body))
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let within = self.timeout;
        let exchange = async {
            let late = |_| Timeout(within);
            tokio::time::timeout(within, self.exchange(request)).await.map_err(late)?
        };
        let error = match self.runtime.block_on(exchange) {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let causes: Vec<String> = client::causes(&*error).map(ToString::to_string).collect();
        *self.stats.last_error.lock() = Some(causes.join(": "));
        if self.stats.closing.load(Relaxed) {
            // An error would make the SDK retry while the process waits to exit.
            let mut given_up = Response::new(Bytes::new());
            *given_up.status_mut() = StatusCode::BAD_REQUEST;
            return Ok(given_up);
        }
        Err(error)
    }
}

impl QueueStats {
    pub(crate) fn new(signal: &'static str) -> Self {
        Self { signal, ..Self::default() }
    }

    /// Counts an item that found the queue full.
    fn rejected(&self) {
        self.lost.fetch_add(1, Relaxed);
        self.log_failure("spans arrive faster than the collector accepts them");
    }

    /// Counts the result of exporting `items` items.
    fn record_export(&self, items: usize, result: &OTelSdkResult) {
        let last_error = self.last_error.lock().take();
        match result {
            Ok(()) => {
                let lost = self.lost.swap(0, Relaxed);
                if self.failing.swap(false, Relaxed) {
                    tracing::info!(signal = self.signal, lost, "the collector accepts data again");
                }
            }
            Err(error) => {
                self.lost.fetch_add(items as u64, Relaxed);
                self.log_failure(&last_error.unwrap_or_else(|| error.to_string()));
            }
        }
    }

    /// Marks the signal as closing. Returns true if export did not fail until now.
    pub(crate) fn close(&self) -> bool {
        self.closing.store(true, Relaxed);
        !self.failing.load(Relaxed)
    }

    /// Logs the number of items lost at the end, with those that are still pending.
    pub(crate) fn log_lost(&self, pending: usize) {
        let lost = self.lost.load(Relaxed) + pending as u64;
        if lost > 0 {
            let signal = self.signal;
            tracing::warn!(signal, lost, "data was not delivered to the collector before shutdown");
        }
    }

    pub(crate) fn is_failing(&self) -> bool {
        self.failing.load(Relaxed)
    }

    fn log_failure(&self, why: &str) {
        if !self.failing.swap(true, Relaxed) {
            let signal = self.signal;
            tracing::warn!(signal, why, "export to the collector fails; requests are served");
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use opentelemetry_sdk::error::OTelSdkError;

    use super::{Client, QueueStats, *};

    #[test]
    fn an_endpoint_that_is_no_url_is_refused_and_not_shown() {
        for endpoint in ["127.0.0.1:4318/v1/traces", "collector", "http:/me:s3cret@h/v1/traces", "ftp://h/"] {
            let stats = Arc::new(QueueStats::new("traces"));
            let error = Client::new(endpoint, Duration::from_secs(1), stats).expect_err(endpoint).to_string();
            assert!(error.contains("is not a URL") && !error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn what_finds_no_room_is_lost_and_counted_until_it_goes_well() {
        let stats = QueueStats::new("traces");
        (0..2).for_each(|_| stats.rejected());
        assert_eq!((stats.lost.load(Relaxed), stats.failing.load(Relaxed)), (2, true));
        stats.record_export(3, &Err(OTelSdkError::InternalFailure("status 500".into())));
        assert_eq!((stats.lost.load(Relaxed), stats.failing.load(Relaxed)), (5, true));
        stats.record_export(1, &Ok(()));
        assert_eq!((stats.lost.load(Relaxed), stats.failing.load(Relaxed)), (0, false));
    }
}
