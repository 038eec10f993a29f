//! Observers of served requests: counters, records, an OpenTelemetry collector, alerts.

use std::sync::Arc;
use std::time::Duration;

use portion_config::{AlertSettings as Written, Config, OtlpTarget, find};
use portion_core::event::{Event, Observer};
use portion_net::worker::Deadline;
use portion_telemetry::async_observer::AsyncObserver;
use portion_telemetry::meter::{Family, Meter};
use portion_telemetry::otlp::Exporter;
use portion_telemetry::recorder::{self, Recorder};

use portion_telemetry::alert::{Alarm, CountedCalls, Rule};

use crate::run::webhook::Webhook;

/// Longest time for the steps that come before all others at the end: the delivery of the last events, and the alerts
/// that follow from them.
const DELIVERY_TIMEOUT: Duration = Duration::from_millis(500);

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
        let recorder = config.telemetry(find::telemetry_file).map(recorder::Settings::new);
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

    /// Delivers, writes and sends what is queued, up to `deadline`. The recorder, the webhook and the exporter end at the
    /// same time, so that one that hangs takes no time from the others.
    pub(crate) fn shutdown(&self, deadline: Deadline) {
        let first = deadline.at_most(DELIVERY_TIMEOUT);
        self.async_observer.flush(first.remaining());
        self.alerts.close(first);
        if let Some(recorder) = &self.recorder {
            recorder.close();
        }
        if let Some(exporter) = &self.exporter {
            exporter.close();
        }
        self.alerts.wait_for_end(deadline);
        if let Some(recorder) = &self.recorder {
            recorder.end(deadline);
        }
        if let Some(exporter) = &self.exporter {
            exporter.wait_for_end(deadline);
        }
    }
}

/// The alert watcher and its webhook.
pub(crate) struct AlertServices {
    pub(crate) alarm: Arc<Alarm>,
    pub(crate) webhook: Option<Arc<Webhook>>,
}

impl AlertServices {
    /// Starts the watcher. Alerts are also sent to `observers`.
    pub(crate) fn start(written: &Written, observers: Vec<Arc<dyn Observer>>) -> Self {
        let webhook = written.webhook_url.as_deref().and_then(Webhook::start).map(Arc::new);
        let posting = webhook.clone();
        let alarm = Alarm::start(alert_rule(written), move |change| {
            observers.observe(Event::AlertChanged(Arc::new(change.alerted.clone())));
            if let Some(webhook) = &posting {
                webhook.post(change);
            }
        });
        Self { alarm: Arc::new(alarm), webhook }
    }

    /// Sends the changes found so far, and has the webhook post what waits. Does not wait for the webhook.
    pub(crate) fn close(&self, deadline: Deadline) {
        self.alarm.end(deadline);
        if let Some(webhook) = &self.webhook {
            webhook.close();
        }
    }

    /// Waits up to `deadline` for the webhook.
    pub(crate) fn wait_for_end(&self, deadline: Deadline) {
        if let Some(webhook) = &self.webhook {
            webhook.wait_for_end(deadline);
        }
    }
}

/// Returns the rule of the watcher.
pub(crate) fn alert_rule(written: &Written) -> Option<Rule> {
    let counts = if written.counts_every_call { CountedCalls::Every } else { CountedCalls::Repeated };
    written.oversized_percent.map(|percent| Rule { counts, percent, window: written.window })
}

/// Returns the destinations of metrics and traces, if there are any.
fn otlp_settings(config: &Config) -> Option<portion_telemetry::otlp::Settings> {
    let collector = match config.otlp() {
        OtlpTarget::Off => return None,
        OtlpTarget::Auto => None,
        OtlpTarget::Collector(url) => Some(url),
    };
    portion_telemetry::otlp::Settings::of(collector, |name| std::env::var(name).ok())
}
