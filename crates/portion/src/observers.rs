//! Who hears what is served: figures, records, a collector, alerts.

use std::sync::Arc;
use std::time::Duration;

use portion_config::{Config, Otlp, places};
use portion_core::event::Observer;
use portion_otlp::Exporter;
use portion_telemetry::meter::Meter;
use portion_telemetry::recorder::{self, Recorder};

use crate::alerts::Alerts;

/// How long the end of the program waits for the last records, and for a collector to take the last of what it is sent.
const RECORDED: Duration = Duration::from_millis(500);
const EXPORTED: Duration = Duration::from_secs(2);

/// Everybody who hears what is served.
pub(crate) struct Observers {
    pub(crate) meter: Arc<Meter>,
    pub(crate) recorder: Option<Arc<Recorder>>,
    pub(crate) alerts: Alerts,
    exporter: Option<Arc<Exporter>>,
    /// Whether spans are exported.
    pub(crate) traces: bool,
}

impl Observers {
    /// Those that the configuration asks for.
    pub(crate) fn start(config: &Config) -> Self {
        let meter = Arc::new(Meter::default());
        let recorder = config.telemetry(places::telemetry).map(recorder::Settings::new);
        let recorder = recorder.map(|settings| Arc::new(Recorder::start(settings)));
        let otlp = otlp(config);
        let traces = otlp.as_ref().is_some_and(|otlp| otlp.traces.is_some());
        let exporter = otlp.map(|otlp| Arc::new(Exporter::start(otlp)));
        let told = hearers(&meter, recorder.as_ref(), exporter.as_ref());
        Self { alerts: Alerts::start(&config.alerts(), told), meter, recorder, exporter, traces }
    }

    /// All of them as one.
    pub(crate) fn all(&self) -> Arc<dyn Observer> {
        let mut all = hearers(&self.meter, self.recorder.as_ref(), self.exporter.as_ref());
        all.push(Arc::clone(&self.alerts.alarm) as _);
        Arc::new(all)
    }

    /// Nothing is served any more: what is still to be told, written and sent is, within moments.
    pub(crate) fn end(&self) {
        self.alerts.end();
        if let Some(recorder) = &self.recorder {
            recorder.flush(RECORDED);
        }
        if let Some(exporter) = &self.exporter {
            exporter.close(EXPORTED);
        }
    }
}

/// Those who hear of alerts, too.
fn hearers(
    meter: &Arc<Meter>,
    recorder: Option<&Arc<Recorder>>,
    exporter: Option<&Arc<Exporter>>,
) -> Vec<Arc<dyn Observer>> {
    let mut hearers: Vec<Arc<dyn Observer>> = vec![Arc::clone(meter) as _];
    hearers.extend(recorder.map(|recorder| Arc::clone(recorder) as _));
    hearers.extend(exporter.map(|exporter| Arc::clone(exporter) as _));
    hearers
}

/// Where metrics and traces are sent, if anywhere.
fn otlp(config: &Config) -> Option<portion_otlp::Settings> {
    let collector = match config.otlp() {
        Otlp::Off => return None,
        Otlp::Auto => None,
        Otlp::At(url) => Some(url),
    };
    portion_otlp::Settings::of(collector, |name| std::env::var(name).ok())
}
