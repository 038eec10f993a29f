//! Sets up the SDK: pipelines for traces and metrics. The metrics of the program that `/metrics` shows are read whenever the SDK
//! exports.

use std::borrow::Cow;
use std::collections::HashSet;
use std::error::Error;
use std::sync::Arc;

use opentelemetry::metrics::{Histogram, Meter, MeterProvider as _};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{MetricExporter, Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{
    IdGenerator as _, RandomIdGenerator, SdkTracer, SdkTracerProvider, TracerProviderBuilder,
};
use parking_lot::Mutex;
use percent_encoding::percent_decode_str;
use portion_core::event::RequestServed;
use portion_net::worker::Deadline;
use portion_tokens::accuracy;

use super::send::{Client, MetricSender, QueueStats, SpanQueue};
use super::{Settings, Signal, span};
use crate::meter::{self, Family, Point, Value};
use crate::names::{self, Kind, Metric};
use crate::otlp::span::SpanIds;

/// Pipelines for traces and metrics.
pub(crate) struct Providers {
    pub(crate) traces: Option<TracesPipeline>,
    pub(crate) metrics: Option<MetricsPipeline>,
}

/// Exports spans.
pub(crate) struct TracesPipeline {
    tracer: SdkTracer,
    ids: SpanIds,
    spans: SpanQueue,
    stats: Arc<QueueStats>,
    // Dropped last; it shuts the span processor down.
    _provider: SdkTracerProvider,
}

/// Exports measurements.
pub(crate) struct MetricsPipeline {
    provider: SdkMeterProvider,
    meters: Meters,
    pub(crate) stats: Arc<QueueStats>,
}

impl Providers {
    /// Starts the pipelines. A signal that cannot be sent is logged and left out.
    pub(crate) fn new(settings: &Settings, meter: &Arc<meter::Meter>) -> Self {
        let resource = resource();
        let traces = settings.traces.as_ref().map(|signal| TracesPipeline::new(signal, resource.clone()));
        let metrics = settings.metrics.as_ref().map(|signal| MetricsPipeline::new(signal, resource, meter));
        Self { traces: or_log("traces", traces), metrics: or_log("metrics", metrics) }
    }

    /// Records a request.
    pub(crate) fn record(&self, served: &RequestServed) {
        if let Some(TracesPipeline { tracer, ids, .. }) = &self.traces {
            span::record(tracer, ids, served);
        }
        if let Some(MetricsPipeline { meters, .. }) = &self.metrics {
            meters.measure(served);
        }
    }

    /// Exports the families of `source`.
    pub(crate) fn observe(&self, source: FamilySource) {
        if let Some(MetricsPipeline { provider, .. }) = &self.metrics {
            observe(&provider.meter_with_scope(scope()), source);
        }
    }
}

impl TracesPipeline {
    fn new(signal: &Signal, resource: Resource) -> Result<Self, Box<dyn Error>> {
        let stats = Arc::new(QueueStats::new("traces"));
        let client = Client::new(&signal.endpoint, signal.timeout, Arc::clone(&stats))?;
        let exporter = configured(SpanExporter::builder().with_http(), signal, client).build()?;
        let spans = SpanQueue::start(exporter, &resource, signal.batches, Arc::clone(&stats))?;
        let ids = SpanIds::default();
        let provider = TracerProviderBuilder::default()
            .with_id_generator(ids.clone())
            .with_resource(resource)
            .with_span_processor(spans.clone())
            .build();
        let tracer = provider.tracer_with_scope(scope());
        Ok(Self { tracer, ids, spans, stats, _provider: provider })
    }

    /// Closes the queue, so that its spans are exported without retries. Does not wait.
    pub(crate) fn close(&self) {
        self.stats.close();
        self.spans.worker.close();
    }

    /// Waits up to `deadline` for the last export, if export did not fail until now, and logs the number of spans lost.
    pub(crate) fn wait_for_end(&self, deadline: Deadline) {
        if !self.stats.is_failing() {
            self.spans.worker.wait_for_end(deadline);
        }
        self.stats.log_lost(self.spans.worker.pending());
    }
}

impl MetricsPipeline {
    fn new(signal: &Signal, resource: Resource, meter: &Arc<meter::Meter>) -> Result<Self, Box<dyn Error>> {
        let stats = Arc::new(QueueStats::new("metrics"));
        let client = Client::new(&signal.endpoint, signal.timeout, Arc::clone(&stats))?;
        let inner = configured(MetricExporter::builder().with_http(), signal, client).build()?;
        let reader = PeriodicReader::builder(MetricSender { inner, stats: Arc::clone(&stats) }).build();
        let provider = SdkMeterProvider::builder().with_resource(resource).with_reader(reader).build();
        let meters = Meters::new(&provider.meter_with_scope(scope()), Arc::clone(meter));
        Ok(Self { provider, meters, stats })
    }

    /// Exports the last measurements. Blocks until the collector responds.
    pub(crate) fn shut_down(&self) {
        // Errors of the shutdown are logged already.
        let _ = self.provider.shutdown();
    }
}

/// Configures an exporter builder for a signal.
fn configured<B: WithExportConfig + WithHttpConfig>(builder: B, signal: &Signal, client: Client) -> B {
    let builder = builder.with_protocol(Protocol::HttpBinary).with_http_client(client);
    builder.with_endpoint(&signal.endpoint).with_timeout(signal.timeout)
}

fn or_log<T>(signal: &'static str, started: Option<Result<T, Box<dyn Error>>>) -> Option<T> {
    match started? {
        Ok(started) => Some(started),
        Err(error) => {
            tracing::warn!(signal, %error, "export to the collector could not start");
            None
        }
    }
}

fn scope() -> InstrumentationScope {
    InstrumentationScope::builder("portion").with_version(env!("CARGO_PKG_VERSION")).build()
}

/// Instruments of a request.
#[derive(Debug)]
pub(crate) struct Meters {
    duration: Histogram<f64>,
    overhead: Histogram<f64>,
    estimate_error: Histogram<f64>,
    /// Provides the attributes of endpoints.
    meter: Arc<meter::Meter>,
}

impl Meters {
    pub(crate) fn new(to: &Meter, meter: Arc<meter::Meter>) -> Self {
        let histogram = |of: &Metric| {
            let bounds = if let Kind::Histogram(bounds) = of.kind { bounds } else { &[] };
            let named = to.f64_histogram(of.name).with_unit(of.unit).with_description(of.help);
            named.with_boundaries(bounds.to_vec()).build()
        };
        Self {
            duration: histogram(&names::OPERATION_DURATION),
            overhead: histogram(&names::OVERHEAD),
            estimate_error: histogram(&names::ESTIMATE_ERROR),
            meter,
        }
    }

    /// Records the measurements of a request.
    pub(crate) fn measure(&self, served: &RequestServed) {
        self.duration.record(served.latency.as_secs_f64(), &pairs(self.meter.operation(served)));
        self.overhead.record(served.overhead.as_secs_f64(), &[]);
        if let (Some(estimated), Some(actual)) = (served.estimated_tokens, served.actual_tokens) {
            let error = accuracy::relative_error(estimated, actual).abs();
            self.estimate_error.record(error, &[KeyValue::new(names::COUNTER, served.counter)]);
        }
    }
}

/// Returns the resource of this process.
fn resource() -> Resource {
    let instance = RandomIdGenerator::default().new_trace_id().to_bytes();
    let defaults = [
        ("service.name", "portion".to_owned()),
        ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("service.instance.id", uuid(u128::from_be_bytes(instance))),
    ];
    let defaults = defaults.map(|(name, value)| (name.to_owned(), value));
    let all = defaults.into_iter().chain(environment_attributes(|name| std::env::var(name).ok()));
    // The SDK does not decode values, and lets its own service name win over the resource attributes.
    Resource::builder().with_attributes(all.map(|(name, value)| KeyValue::new(name, value))).build()
}

/// Returns the attributes from environment variables; later entries win:
/// <https://opentelemetry.io/docs/specs/otel/resource/sdk/#specifying-resource-information-via-an-environment-variable>.
fn environment_attributes(variable: impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let attributes = variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    let pairs = attributes.split(',').filter_map(|pair| pair.split_once('='));
    let mut found: Vec<_> =
        pairs.map(|(name, value)| (name.trim().to_owned(), percent_decode(value.trim()))).collect();
    let name = variable("OTEL_SERVICE_NAME").filter(|name| !name.is_empty());
    found.extend(name.map(|name| ("service.name".to_owned(), name)));
    found
}

/// Decodes percent escapes such as `%2C`. Returns the text unchanged if the result is not UTF-8.
fn percent_decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8().map_or_else(|_| text.to_owned(), Cow::into_owned)
}

/// Formats a random UUID of version 4, <https://www.rfc-editor.org/rfc/rfc9562#section-5.4>.
fn uuid(random: u128) -> String {
    let versioned = random & !(0xf << 76) & !(0b11 << 62) | 4 << 76 | 0b10 << 62;
    let hex = format!("{versioned:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// Returns all families at once.
pub(crate) type FamilySource = Box<dyn Fn() -> Vec<Family> + Send + Sync>;

/// Registers an observable instrument for each metric except histograms, which [`Meters`](crate::otlp::providers::Meters) records.
pub(crate) fn observe(meter: &Meter, source: FamilySource) {
    let collector = Arc::new(Collector { source, collected: Mutex::default() });
    for metric in names::ALL {
        let (collector, Metric { name, unit, help, .. }) = (Arc::clone(&collector), metric);
        match metric.kind {
            Kind::Counter => {
                let counter = meter.u64_observable_counter(*name).with_unit(*unit).with_description(*help);
                let counter = counter.with_callback(move |counter| {
                    for Point { attributes, value } in collector.points(metric) {
                        if let Value::Count(count) = value {
                            counter.observe(count, &pairs(attributes));
                        }
                    }
                });
                counter.build();
            }
            Kind::Gauge => {
                let gauge = meter.f64_observable_gauge(*name).with_unit(*unit).with_description(*help);
                let gauge = gauge.with_callback(move |gauge| {
                    for Point { attributes, value } in collector.points(metric) {
                        match value {
                            Value::Count(count) => gauge.observe(count as f64, &pairs(attributes)),
                            Value::Number(number) => gauge.observe(number, &pairs(attributes)),
                            Value::Histogram(_) => {}
                        }
                    }
                });
                gauge.build();
            }
            Kind::Histogram(_) => {}
        }
    }
}

/// Converts attributes to those of the SDK.
pub(crate) fn pairs(attributes: Vec<(&'static str, String)>) -> Vec<KeyValue> {
    attributes.into_iter().map(|(name, value)| KeyValue::new(name, value)).collect()
}

/// Families of one export. The SDK asks for one metric after the other; all of an export must come from the same read.
struct Collector {
    source: FamilySource,
    collected: Mutex<Collected>,
}

#[derive(Default)]
struct Collected {
    families: Vec<Family>,
    /// Metrics delivered from these families.
    delivered: HashSet<&'static str>,
}

impl Collector {
    /// Returns the points of a metric. A second request for the same metric starts a new export and reads the families
    /// again.
    fn points(&self, metric: &Metric) -> Vec<Point> {
        let mut collected = self.collected.lock();
        if collected.families.is_empty() || collected.delivered.contains(metric.name) {
            *collected = Collected { families: (self.source)(), ..Collected::default() };
        }
        collected.delivered.insert(metric.name);
        let family = collected.families.iter().find(|family| family.metric == metric);
        family.map_or_else(Vec::new, |family| family.points.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;
    use std::sync::atomic::Ordering::Relaxed;

    use super::{environment_attributes, uuid, *};

    #[test]
    fn what_is_said_of_the_service_is_read_as_it_is_meant() {
        let check = |attributes: &str, name: &str, expect: &[(&str, &str)]| {
            let found = environment_attributes(|variable| match variable {
                "OTEL_RESOURCE_ATTRIBUTES" => Some(attributes.to_owned()),
                _ => Some(name.to_owned()),
            });
            let found: Vec<_> = found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            assert_eq!(found, expect);
        };
        check("", "", &[]);
        check(
            "service.name=there,x=1",
            "here",
            &[("service.name", "there"), ("x", "1"), ("service.name", "here")],
        );
        check(" a = 1%2C2%3d3 ,b", "", &[("a", "1,2=3")]);
        check("a=%C3%BC,b=%ff,c=5%,d=%zz%", "", &[("a", "ü"), ("b", "%ff"), ("c", "5%"), ("d", "%zz%")]);
    }

    #[test]
    fn a_uuid_says_its_version_and_variant() {
        assert_eq!(uuid(0), "00000000-0000-4000-8000-000000000000");
        assert_eq!(uuid(u128::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }

    #[test]
    fn what_is_sent_together_is_told_at_once() {
        let times = AtomicU64::new(0);
        let source = Box::new(move || {
            let time = times.fetch_add(1, Relaxed);
            vec![Family::of(&names::RECORDS_WRITTEN, time), Family::of(&names::RECORDS_QUEUED, time)]
        });
        let collector = Collector { source, collected: Mutex::default() };
        let check = |metric, expect: Option<u64>| {
            let collected = collector.points(metric).pop().map(|point| point.value);
            assert_eq!(collected, expect.map(Value::Count));
        };
        for time in 0..3 {
            check(&names::SNAPSHOTS, None);
            check(&names::RECORDS_WRITTEN, Some(time));
            check(&names::RECORDS_QUEUED, Some(time));
        }
    }
}
