//! Sets up the SDK: pipelines for traces and metrics.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry::InstrumentationScope;
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{MetricExporter, Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, SdkTracer, SdkTracerProvider, TracerProviderBuilder,
};
use portion_core::event::RequestServed;
use portion_telemetry::meter::Meter;

use crate::client::Client;
use crate::ids::SpanIds;
use crate::meters::Meters;
use crate::observables::{FamilySource, observe};
use crate::send::{BoundedSpanProcessor, MetricSender, SPAN_QUEUE_CAPACITY, SpanSender};
use crate::settings::{Settings, Signal};
use crate::stats::QueueStats;
use crate::{resource, span};

/// Pipelines for traces and metrics.
pub(crate) struct Providers {
    traces: Option<TracesPipeline>,
    metrics: Option<MetricsPipeline>,
}

struct TracesPipeline {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    ids: SpanIds,
    stats: Arc<QueueStats>,
}

struct MetricsPipeline {
    provider: SdkMeterProvider,
    meters: Meters,
    stats: Arc<QueueStats>,
}

impl Providers {
    /// Starts the pipelines. A signal that cannot be sent is logged and left out.
    pub(crate) fn new(settings: &Settings, meter: &Arc<Meter>) -> Self {
        let resource = resource::resource();
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

    /// Exports what is queued, without retries. Skips signals whose export fails.
    pub(crate) fn close(&self, within: Duration) {
        // Errors of the shutdown are logged already.
        if let Some(TracesPipeline { provider, stats, .. }) = &self.traces {
            if stats.close() {
                let _ = provider.shutdown_with_timeout(within);
            }
            stats.log_lost();
        }
        if let Some(MetricsPipeline { provider, stats, .. }) = &self.metrics
            && stats.close()
        {
            let _ = provider.shutdown_with_timeout(within);
        }
    }
}

impl TracesPipeline {
    fn new(signal: &Signal, resource: Resource) -> Result<Self, Box<dyn Error>> {
        let stats = Arc::new(QueueStats::new("traces"));
        let client = Client::new(&signal.endpoint, signal.timeout, Arc::clone(&stats))?;
        let inner = configured(SpanExporter::builder().with_http(), signal, client).build()?;
        let batches = BatchConfigBuilder::default().with_max_queue_size(SPAN_QUEUE_CAPACITY).build();
        let exporter = SpanSender { inner, stats: Arc::clone(&stats) };
        let inner = BatchSpanProcessor::builder(exporter).with_batch_config(batches).build();
        let ids = SpanIds::default();
        let provider = TracerProviderBuilder::default()
            .with_id_generator(ids.clone())
            .with_resource(resource)
            .with_span_processor(BoundedSpanProcessor { inner, stats: Arc::clone(&stats) })
            .build();
        let tracer = provider.tracer_with_scope(scope());
        Ok(Self { provider, tracer, ids, stats })
    }
}

impl MetricsPipeline {
    fn new(signal: &Signal, resource: Resource, meter: &Arc<Meter>) -> Result<Self, Box<dyn Error>> {
        let stats = Arc::new(QueueStats::new("metrics"));
        let client = Client::new(&signal.endpoint, signal.timeout, Arc::clone(&stats))?;
        let inner = configured(MetricExporter::builder().with_http(), signal, client).build()?;
        let reader = PeriodicReader::builder(MetricSender { inner, stats: Arc::clone(&stats) }).build();
        let provider = SdkMeterProvider::builder().with_resource(resource).with_reader(reader).build();
        let meters = Meters::new(&provider.meter_with_scope(scope()), Arc::clone(meter));
        Ok(Self { provider, meters, stats })
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
