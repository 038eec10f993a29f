//! Sends alerts to the log, to the observers and to the operator's webhook.

use std::sync::Arc;

use portion_config::AlertSettings as Written;
use portion_core::event::{Event, Observer};
use portion_net::worker::Deadline;
use portion_telemetry::alert::{Alarm, CountedCalls, Rule};

use crate::webhook::Webhook;

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
