//! Who is told of alerts: the log, whoever records, and the operator's webhook.

use std::sync::Arc;

use portion_config::AlertSettings as Written;
use portion_core::event::{Event, Observer};
use portion_telemetry::alert::{Alarm, AlertState, Rule};
use serde_json::{Value, json};

use crate::webhook::Webhook;

/// What watches, and who is told.
pub(crate) struct AlertServices {
    pub(crate) alarm: Arc<Alarm>,
    pub(crate) webhook: Option<Arc<Webhook>>,
}

impl AlertServices {
    /// Begins to watch. `observers` hear of alerts as of all else.
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

    /// Tells what is still to be told, within moments.
    pub(crate) fn shutdown(&self) {
        self.alarm.end();
        if let Some(webhook) = &self.webhook {
            webhook.shutdown();
        }
    }
}

/// What is watched for.
pub(crate) fn alert_rule(written: &Written) -> Option<Rule> {
    written.oversized_percent.map(|percent| Rule { percent, window: written.window })
}

/// The endpoints with most of what an alert is about, as JSON.
pub(crate) fn oversized_endpoints(standing: &AlertState) -> Value {
    let endpoints = standing.endpoints.iter();
    endpoints.map(|(endpoint, count)| json!({ "endpoint": **endpoint, "oversized": count })).collect()
}
