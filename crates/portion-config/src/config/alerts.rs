//! Settings of alerts: their threshold and destination.

use std::time::Duration;

use portion_policy::upstream::UpstreamTarget;

use super::Config;
use super::values::TypedValues as _;
use crate::read::ConfigReader;
use crate::settings::Origin;
use crate::value::Value;

/// Value of `alertOn` by which every oversized call counts.
pub(crate) const EVERY: &str = "every";

/// Settings of alerts.
#[derive(Clone, PartialEq)]
pub struct AlertSettings {
    /// True if every oversized call counts, false if only repeated ones do.
    pub counts_every_call: bool,
    /// Percentage of calls that may be oversized; `None` for no alert.
    pub oversized_percent: Option<f64>,
    /// Length of the window.
    pub window: Duration,
    /// URL to which alerts are posted, with references followed.
    pub webhook_url: Option<String>,
}

/// Hides the URL, which may be secret.
impl std::fmt::Debug for AlertSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { counts_every_call: every, oversized_percent: oversized, window, webhook_url: webhook } =
            self;
        let mut alerts = f.debug_struct("Alerts");
        alerts.field("every", every);
        alerts.field("oversized", oversized).field("window", window).field("webhook", &webhook.is_some());
        alerts.finish()
    }
}

impl Config {
    /// Returns the settings of alerts.
    pub fn alerts(&self) -> AlertSettings {
        AlertSettings {
            counts_every_call: self.choice("alertOn") == Some(EVERY),
            oversized_percent: match self.value("alertOversized") {
                Some(Value::Choice(_)) => None,
                Some(Value::Number(percent)) => Some(*percent),
                _ => Some(5.0),
            },
            window: self.duration("alertWindow").unwrap_or(Duration::from_mins(5)),
            webhook_url: self.revealed("alertWebhook").map(str::to_owned),
        }
    }

    /// Checks the URL for alerts. A URL with references that were not followed cannot be checked.
    pub(super) fn check_alerts(&self, reader: &mut ConfigReader) {
        let Some(url) = self.alerts().webhook_url.filter(|url| !url.contains('$')) else { return };
        if UpstreamTarget::new(&url).is_err() {
            let origin = self.top.get("alertWebhook").map_or(Origin::Default, |set| set.origin.clone());
            let fix = "write the whole URL, such as https://hooks.example.com/portion, or none";
            reader.report(origin, "alertWebhook is not a URL", fix);
        }
    }
}
