//! Exports requests to an OpenTelemetry collector, by OTLP over HTTP: a span and some measurements each.
//!
//! An [`Exporter`] observes events of the core and builds spans. A [`portion_net::worker::Worker`] sends them in
//! batches, and a thread of the SDK sends the metrics of the program. If the collector is away, slow or broken, spans
//! are dropped and counted, and the log says so once.
//!
//! Spans and metrics follow the MCP conventions, <https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/>. They carry
//! sizes, names and codes, never content.
//!
//! ```
//! use portion_telemetry::otlp::Settings;
//!
//! let settings = Settings::of(Some("http://127.0.0.1:4318"), |_variable| None).unwrap();
//! assert_eq!(settings.traces.unwrap().endpoint, "http://127.0.0.1:4318/v1/traces");
//! ```
//!
//! # Modules
//!
//! | module | subject |
//! | --- | --- |
//! | `settings` | destinations |
//! | `providers` | the pipelines of the OpenTelemetry SDK, attributes of the service, and the histograms of each request |
//! | `span` | the span of a request, its id and the names of its attributes |
//! | `send` | the queue of spans, and exporters with counters; the HTTP client of their threads, and one log line per failure |
mod providers;
mod send;
mod settings;
mod span;

use std::sync::Arc;

use parking_lot::Mutex;
use portion_core::event::{Event, Observer};
use portion_net::worker::{Deadline, Handler, Items, Worker, WorkerOptions};

use crate::meter::{Family, Meter};
use providers::{MetricsPipeline, Providers, TracesPipeline};
pub use settings::{Batches, Settings, Signal};

/// Exports events to an OpenTelemetry collector. Building a span takes some microseconds under a lock, so events must
/// arrive from a thread that no request waits for.
pub struct Exporter {
    /// `None` once it is closed.
    providers: Mutex<Option<Providers>>,
    ending: Mutex<Option<Ending>>,
}

/// Pipelines that send what is queued.
struct Ending {
    traces: Option<TracesPipeline>,
    /// Ends the pipeline of metrics. The SDK blocks until the collector responds, whatever the deadline is.
    metrics: Option<Worker<MetricsPipeline>>,
}

/// Ends the pipeline of metrics, on the thread of the worker.
struct Closer;

impl Exporter {
    /// Starts exporting. This neither blocks nor fails; errors are logged. `meter` must observe each request before
    /// this exporter does.
    pub fn start(settings: &Settings, meter: &Arc<Meter>) -> Self {
        Self { providers: Mutex::new(Some(Providers::new(settings, meter))), ending: Mutex::default() }
    }

    /// Exports the families that `source` returns, too. `source` is called before each export.
    pub fn observe(&self, source: impl Fn() -> Vec<Family> + Send + Sync + 'static) {
        if let Some(providers) = &*self.providers.lock() {
            providers.observe(Box::new(source));
        }
    }

    /// Exports what is queued, without retries, on separate threads. Skips signals whose export fails. Later events are
    /// lost. Does not wait.
    pub fn close(&self) {
        let Some(Providers { traces, metrics }) = self.providers.lock().take() else { return };
        if let Some(traces) = &traces {
            traces.close();
        }
        let metrics = metrics.filter(|metrics| metrics.stats.close()).and_then(|metrics| {
            let worker = Worker::start(&WorkerOptions::new("otlp-end"), Closer).ok()?;
            drop(worker.submit(metrics));
            Some(worker)
        });
        *self.ending.lock() = Some(Ending { traces, metrics });
    }

    /// Waits up to `deadline` until what was queued is exported, and logs the number of spans that are lost.
    pub fn wait_for_end(&self, deadline: Deadline) {
        let Some(Ending { traces, metrics }) = self.ending.lock().take() else { return };
        if let Some(traces) = &traces {
            traces.wait_for_end(deadline);
        }
        if let Some(metrics) = &metrics {
            metrics.flush(deadline.remaining());
        }
    }
}

impl Handler<MetricsPipeline> for Closer {
    fn poll(&mut self, pipelines: &Items<MetricsPipeline>) {
        while let Some(metrics) = pipelines.take() {
            metrics.shut_down();
            pipelines.finish(1);
        }
    }
}

impl Observer for Exporter {
    fn observe(&self, event: Event) {
        if let Event::RequestServed(served) = event
            && let Some(providers) = &*self.providers.lock()
        {
            providers.record(&served);
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.close();
    }
}
