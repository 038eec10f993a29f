//! Observers of served requests: counters, records, an OpenTelemetry collector, alerts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use portion_config::{Config, OtlpTarget, user_dirs};
use portion_core::event::Observer;
use portion_otlp::Exporter;
use portion_telemetry::async_observer::AsyncObserver;
use portion_telemetry::meter::{Family, Meter};
use portion_telemetry::recorder::{self, Recorder};

use crate::alerts::AlertServices;

/// Times that the end of the program waits for queued events, for the last records, and for the collector.
const DELIVERY_TIMEOUT: Duration = Duration::from_millis(500);
const RECORDING_TIMEOUT: Duration = Duration::from_secs(2);
const EXPORT_TIMEOUT: Duration = Duration::from_secs(2);

/// All observers.
pub(crate) struct Observers {
    pub(crate) meter: Arc<Meter>,
    pub(crate) recorder: Option<Arc<Recorder>>,
    pub(crate) alerts: AlertServices,
    /// All observers, behind the queue: a reply does not wait for them.
    pub(crate) async_observer: Arc<AsyncObserver>,
    exporter: Option<Arc<Exporter>>,
    /// True if spans are exported.
    pub(crate) exports_traces: bool,
}

impl Observers {
    /// Starts the observers of the configuration.
    pub(crate) fn start(config: &Config) -> Self {
        let meter = Arc::new(Meter::default());
        let recorder = config.telemetry(user_dirs::telemetry_file).map(recorder::Settings::new);
        let recorder = recorder.map(|settings| Arc::new(Recorder::start(settings)));
        let otlp = otlp_settings(config);
        let traces = otlp.as_ref().is_some_and(|otlp| otlp.traces.is_some());
        let exporter = otlp.map(|otlp| Arc::new(Exporter::start(&otlp, &meter)));
        let mut all: Vec<Arc<dyn Observer>> = vec![Arc::clone(&meter) as _];
        all.extend(recorder.clone().map(|recorder| recorder as _));
        all.extend(exporter.clone().map(|exporter| exporter as _));
        let alerts = AlertServices::start(&config.alerts(), all.clone());
        all.push(Arc::clone(&alerts.alarm) as _);
        Self {
            async_observer: Arc::new(AsyncObserver::start(Arc::new(all))),
            alerts,
            meter,
            recorder,
            exporter,
            exports_traces: traces,
        }
    }

    /// Exports these metrics too, if there is a collector.
    pub(crate) fn export_metrics(&self, figures: impl Fn() -> Vec<Family> + Send + Sync + 'static) {
        if let Some(exporter) = &self.exporter {
            exporter.observe(figures);
        }
    }

    /// Flushes events, records and exports at the end of the program, before `until`.
    pub(crate) fn shutdown(&self, until: Instant) {
        let within = |usual: Duration| until.saturating_duration_since(Instant::now()).min(usual);
        self.async_observer.flush(within(DELIVERY_TIMEOUT));
        self.alerts.shutdown();
        if let Some(recorder) = &self.recorder {
            recorder.end(within(RECORDING_TIMEOUT));
        }
        if let Some(exporter) = &self.exporter {
            exporter.close(within(EXPORT_TIMEOUT));
        }
    }
}

/// Returns the destinations of metrics and traces, if there are any.
fn otlp_settings(config: &Config) -> Option<portion_otlp::Settings> {
    let collector = match config.otlp() {
        OtlpTarget::Off => return None,
        OtlpTarget::Auto => None,
        OtlpTarget::Collector(url) => Some(url),
    };
    portion_otlp::Settings::of(collector, |name| std::env::var(name).ok())
}
