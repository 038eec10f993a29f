//! The SDK, put together: what takes spans and measurements and sends them.

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
use portion_core::event::Served;
use portion_telemetry::meter::Meter;

use crate::client::Client;
use crate::desk::Desk;
use crate::figures::{Figures, observe};
use crate::ids::Ids;
use crate::meters::Meters;
use crate::send::{Bounded, Metrics, ROOM, Spans};
use crate::settings::{Settings, Signal};
use crate::{resource, span};

/// What takes spans and measurements.
pub(crate) struct Providers {
    traces: Option<Traces>,
    metrics: Option<Measured>,
}

struct Traces {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    ids: Ids,
    desk: Arc<Desk>,
}

struct Measured {
    provider: SdkMeterProvider,
    meters: Meters,
    desk: Arc<Desk>,
}

impl Providers {
    /// Begins to send. What cannot be sent at all is told, and left out.
    pub(crate) fn new(settings: &Settings, meter: &Arc<Meter>) -> Self {
        let resource = resource::resource();
        let traces = settings.traces.as_ref().map(|signal| Traces::new(signal, resource.clone()));
        let metrics = settings.metrics.as_ref().map(|signal| Measured::new(signal, resource, meter));
        Self { traces: told("traces", traces), metrics: told("metrics", metrics) }
    }

    /// Takes note of a request.
    pub(crate) fn take(&self, served: &Served) {
        if let Some(Traces { tracer, ids, .. }) = &self.traces {
            span::tell(tracer, ids, served);
        }
        if let Some(Measured { meters, .. }) = &self.metrics {
            meters.measure(served);
        }
    }

    /// Has these sent.
    pub(crate) fn tell(&self, figures: Figures) {
        if let Some(Measured { provider, .. }) = &self.metrics {
            observe(&provider.meter_with_scope(scope()), figures);
        }
    }

    /// Sends what is left, where somebody takes it, and trying nothing twice.
    pub(crate) fn close(&self, within: Duration) {
        // What goes wrong here has been told by then.
        if let Some(Traces { provider, desk, .. }) = &self.traces {
            if desk.close() {
                let _ = provider.shutdown_with_timeout(within);
            }
            desk.end();
        }
        if let Some(Measured { provider, desk, .. }) = &self.metrics
            && desk.close()
        {
            let _ = provider.shutdown_with_timeout(within);
        }
    }
}

impl Traces {
    fn new(signal: &Signal, resource: Resource) -> Result<Self, Box<dyn Error>> {
        let desk = Arc::new(Desk::new("traces"));
        let client = Client::new(&signal.endpoint, signal.timeout, Arc::clone(&desk))?;
        let inner = to(SpanExporter::builder().with_http(), signal, client).build()?;
        let batches = BatchConfigBuilder::default().with_max_queue_size(ROOM).build();
        let exporter = Spans { inner, desk: Arc::clone(&desk) };
        let inner = BatchSpanProcessor::builder(exporter).with_batch_config(batches).build();
        let ids = Ids::default();
        let provider = TracerProviderBuilder::default()
            .with_id_generator(ids.clone())
            .with_resource(resource)
            .with_span_processor(Bounded { inner, desk: Arc::clone(&desk) })
            .build();
        let tracer = provider.tracer_with_scope(scope());
        Ok(Self { provider, tracer, ids, desk })
    }
}

impl Measured {
    fn new(signal: &Signal, resource: Resource, meter: &Arc<Meter>) -> Result<Self, Box<dyn Error>> {
        let desk = Arc::new(Desk::new("metrics"));
        let client = Client::new(&signal.endpoint, signal.timeout, Arc::clone(&desk))?;
        let inner = to(MetricExporter::builder().with_http(), signal, client).build()?;
        let reader = PeriodicReader::builder(Metrics { inner, desk: Arc::clone(&desk) }).build();
        let provider = SdkMeterProvider::builder().with_resource(resource).with_reader(reader).build();
        let meters = Meters::new(&provider.meter_with_scope(scope()), Arc::clone(meter));
        Ok(Self { provider, meters, desk })
    }
}

/// What sends by that client to where a signal goes.
fn to<B: WithExportConfig + WithHttpConfig>(builder: B, signal: &Signal, client: Client) -> B {
    let builder = builder.with_protocol(Protocol::HttpBinary).with_http_client(client);
    builder.with_endpoint(&signal.endpoint).with_timeout(signal.timeout)
}

fn told<T>(signal: &'static str, made: Option<Result<T, Box<dyn Error>>>) -> Option<T> {
    match made? {
        Ok(made) => Some(made),
        Err(error) => {
            tracing::warn!(signal, %error, "nothing of it is sent to the collector");
            None
        }
    }
}

fn scope() -> InstrumentationScope {
    InstrumentationScope::builder("portion").with_version(env!("CARGO_PKG_VERSION")).build()
}
