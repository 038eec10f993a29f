//! Figures to be collected.

use std::fmt::Write as _;

use crate::setup::Setup;

/// In the text format of Prometheus: <https://prometheus.io/docs/instrumenting/exposition_formats/>.
pub(super) fn metrics(setup: &Setup) -> String {
    let (state, records) = setup.health();
    let (store, mut out) = (setup.store(), String::new());
    let mut say = |name: &str, kind: &str, help: &str, value: u64| {
        let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n");
    };
    say("portion_config_version", "gauge", "The version of the configuration in force.", state.version);
    let valid = u64::from(state.errors.is_empty());
    say("portion_config_valid", "gauge", "Whether what the configuration file says is in force.", valid);
    let since = state.since / 1_000_000;
    say("portion_config_last_reload_timestamp_seconds", "gauge", "Since when it is in force.", since);
    say("portion_config_reloads_total", "counter", "Configurations that came into force.", state.reloads);
    say("portion_config_refusals_total", "counter", "Configurations that were refused.", state.refusals);
    say("portion_snapshots", "gauge", "Snapshots that are kept.", store.snapshots as u64);
    say("portion_snapshot_bytes", "gauge", "Bytes of the snapshots that are kept.", store.bytes as u64);
    say("portion_snapshots_evicted_total", "counter", "Snapshots that made room for others.", store.evicted);
    say("portion_snapshots_expired_total", "counter", "Snapshots whose time was over.", store.expired);
    say("portion_snapshots_refused_total", "counter", "Snapshots that found no room.", store.refused);
    if let Some(records) = records {
        say("portion_records_written_total", "counter", "Records that were written.", records.written);
        say("portion_records_dropped_total", "counter", "Records that were lost.", records.dropped);
    }
    out
}
