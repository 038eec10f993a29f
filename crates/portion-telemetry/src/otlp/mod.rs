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
//! | `providers` | the pipelines of the OpenTelemetry SDK, attributes of the service, and the histograms of each request |
//! | `span` | the span of a request, its id and the names of its attributes |
//! | `send` | the queue of spans, and exporters with counters; the HTTP client of their threads, and one log line per failure |

mod providers;
mod send;
mod span;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use portion_core::event::{Event, Observer};
use portion_net::worker::{Deadline, Handler, Items, Worker, WorkerOptions};

use crate::meter::{Family, Meter};
use providers::{MetricsPipeline, Providers, TracesPipeline};

/// Default time for the collector to respond, from the specification.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Default size and interval of batches of spans, from the specification.
const BATCH_SIZE: usize = 512;

const BATCH_DELAY: Duration = Duration::from_secs(5);

/// Supported protocol, as the variables name it.
const PROTOCOL: &str = "http/protobuf";

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

impl Handler<MetricsPipeline> for Closer {
    fn poll(&mut self, pipelines: &Items<MetricsPipeline>) {
        while let Some(metrics) = pipelines.take() {
            metrics.shut_down();
            pipelines.finish(1);
        }
    }
}

/// Export settings of both signals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Destination of spans; `None` if they are not exported.
    pub traces: Option<Signal>,
    /// Destination of metrics; `None` if they are not exported.
    pub metrics: Option<Signal>,
}

/// Destination of one signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Full URL.
    pub endpoint: String,
    /// Maximum time for the collector to respond.
    pub timeout: Duration,
    /// Sizes and intervals of the batches of spans.
    pub batches: Batches,
}

/// Batches of spans, by default those of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batches {
    /// Maximum number of spans per export.
    pub size: usize,
    /// Maximum time that a span waits for its batch.
    pub delay: Duration,
}

impl Settings {
    /// Reads the settings: `collector` is the configured base URL, else the variables apply. Returns `None` if nothing
    /// is to be exported.
    pub fn of(collector: Option<&str>, variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        // The specification treats an empty variable as unset.
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        if variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return None;
        }
        let number = |name: &str| variable(name)?.trim().parse().ok().filter(|number| *number > 0);
        let batches = Batches {
            size: number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE").map_or(BATCH_SIZE, |size: u64| size as usize),
            delay: number("OTEL_BSP_SCHEDULE_DELAY").map_or(BATCH_DELAY, Duration::from_millis),
        };
        let collector = collector.map(ToOwned::to_owned);
        let signal = |name: &str, path: &str| {
            if variable(&format!("OTEL_{name}_EXPORTER")).is_some_and(|exporter| exporter == "none") {
                return None;
            }
            let below = |base: String| url_below(&base, path);
            let own = |what: &str| variable(&format!("OTEL_EXPORTER_OTLP_{name}_{what}"));
            let either = |what: &str| own(what).or_else(|| variable(&format!("OTEL_EXPORTER_OTLP_{what}")));
            let named = || own("ENDPOINT").or_else(|| variable("OTEL_EXPORTER_OTLP_ENDPOINT").map(below));
            let endpoint = match collector.clone().map(below) {
                Some(ours) => ours,
                None => named().filter(|_| is_supported(name, either("PROTOCOL").as_deref()))?,
            };
            let timeout = either("TIMEOUT")
                .and_then(|millis| millis.trim().parse().ok())
                .map_or(TIMEOUT, Duration::from_millis);
            Some(Signal { endpoint, timeout, batches })
        };
        let settings =
            Self { traces: signal("TRACES", "v1/traces"), metrics: signal("METRICS", "v1/metrics") };
        (settings.traces.is_some() || settings.metrics.is_some()).then_some(settings)
    }
}

/// Returns the URL of a path below a base URL. The query of the base URL stays at the end.
fn url_below(base: &str, path: &str) -> String {
    let (base, query) = base.split_at(base.find(['?', '#']).unwrap_or(base.len()));
    format!("{}/{path}{query}", base.trim_end_matches('/'))
}

/// Returns true if the protocol is supported, and logs a warning otherwise.
fn is_supported(signal: &str, protocol: Option<&str>) -> bool {
    let other = protocol.map(str::trim).filter(|protocol| *protocol != PROTOCOL);
    if let Some(protocol) = other {
        let signal = signal.to_ascii_lowercase();
        tracing::warn!(
            signal,
            protocol,
            "not exported: Portion sends {PROTOCOL}, not the protocol in OTEL_EXPORTER_OTLP_PROTOCOL; name the \
             collector's port for that, usually 4318, with --otlp"
        );
    }
    other.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Endpoint and timeout in milliseconds of traces and of metrics.
    fn check(collector: Option<&str>, variables: &[(&str, &str)], expect: [Option<(&str, u64)>; 2]) {
        let of = |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let [traces, metrics] = expect.map(|signal| {
            signal.map(|(endpoint, millis)| Signal {
                endpoint: endpoint.into(),
                timeout: Duration::from_millis(millis),
                batches: Batches { size: BATCH_SIZE, delay: BATCH_DELAY },
            })
        });
        let expect = (traces.is_some() || metrics.is_some()).then_some(Settings { traces, metrics });
        assert_eq!(Settings::of(collector, of), expect, "{variables:?}");
    }

    #[test]
    fn batches_of_spans_follow_the_variables() {
        let check = |size: &str, delay: &str, expect: (usize, u64)| {
            let variable = |name: &str| match name {
                "OTEL_BSP_MAX_EXPORT_BATCH_SIZE" => Some(size.to_owned()),
                "OTEL_BSP_SCHEDULE_DELAY" => Some(delay.to_owned()),
                _ => None,
            };
            let settings = Settings::of(Some("http://c:4318"), variable).expect("a collector");
            let Batches { size, delay } = settings.traces.expect("spans are exported").batches;
            assert_eq!((size, delay.as_millis() as u64), expect);
        };
        check("", "", (512, 5_000));
        check("100", "250", (100, 250));
        check("0", "-1", (512, 5_000));
        check("many", " 70 ", (512, 70));
    }

    #[test]
    fn where_things_go() {
        let (traces, metrics) = ("http://c:4318/v1/traces", "http://c:4318/v1/metrics");
        let both = [Some((traces, 10_000)), Some((metrics, 10_000))];
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/");
        check(None, &[], [None, None]);
        check(None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", "")], [None, None]);
        check(Some("http://c:4318"), &[], both);
        check(None, &[endpoint], both);
        check(Some("http://c:4318"), &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://other")], both);
        let with_query = ["http://c/otlp/v1/traces?k=a/b", "http://c/otlp/v1/metrics?k=a/b"];
        let with_query = with_query.map(|url| Some((url, 10_000)));
        check(Some("http://c/otlp?k=a/b"), &[], with_query);
        check(Some("http://c/otlp/?k=a/b"), &[], with_query);
        check(None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c/otlp?k=a/b")], with_query);
        check(Some("http://c:4318"), &[("OTEL_SDK_DISABLED", "TRUE")], [None, None]);
        check(None, &[endpoint, ("OTEL_METRICS_EXPORTER", "none")], [both[0], None]);
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t/own");
        check(None, &[own], [Some(("http://t/own", 10_000)), None]);
        let times = [("OTEL_EXPORTER_OTLP_TIMEOUT", "500"), ("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "70")];
        check(Some("http://c:4318"), &times, [Some((traces, 500)), Some((metrics, 70))]);
        check(Some("http://c:4318"), &[("OTEL_EXPORTER_OTLP_TIMEOUT", "soon")], both);
        let protocol = |protocol| ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol);
        check(None, &[endpoint, protocol("http/protobuf")], both);
        check(None, &[endpoint, protocol("grpc")], [None, None]);
        check(None, &[endpoint, ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json")], [None, both[1]]);
        check(Some("http://c:4318"), &[protocol("grpc")], both);
    }
}
