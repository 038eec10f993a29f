//! What an operator can ask a running Portion over HTTP: whether it is well, and figures to be collected.

use std::fmt::Write as _;
use std::future::ready;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use hyper::{Method, Response, StatusCode};
use portion_gateway::front::http::{Answering, Asked, Backend, Door, Guard, Limits, WellKnown};
use portion_gateway::http::body::{self, Body};
use portion_gateway::latch::Latch;
use serde_json::json;
use tokio::net::TcpListener;

use crate::setup::Setup;

/// Where that is, unless somewhere else was written.
pub(crate) const USUAL: &str = "127.0.0.1:9465";
/// Bytes of a request: nothing is sent here.
const REQUEST_BYTES: usize = 4 << 10;

/// Serves the operator until the program ends. Where that cannot be, it is told, and everything else goes on: another
/// process may serve there already.
pub(crate) async fn serve(at: Option<SocketAddr>, setup: &Arc<Setup>) {
    let Some(at) = at else { return };
    let listener = match TcpListener::bind(at).await {
        Ok(listener) => listener,
        Err(error) => {
            tracing::warn!(%at, %error, "no health and no metrics; name another address with --admin");
            return;
        }
    };
    let Ok(address) = listener.local_addr() else { return };
    tracing::info!(%address, "health and metrics");
    let page = |path: &str, kind, write| {
        let page: Arc<dyn Backend> = Arc::new(Page { setup: Arc::clone(setup), kind, write });
        (path.to_owned(), page)
    };
    let pages = vec![
        page("/health", "application/json", health),
        page("/metrics", "text/plain; version=0.0.4; charset=utf-8", metrics),
    ];
    let guard = Guard::new(address, setup.config.allow_hosts(), setup.config.allow_origins());
    let door = Door::new(guard, Limits { body: REQUEST_BYTES, ..Limits::default() }, pages);
    tokio::spawn(Arc::new(door).serve(listener, Arc::new(Latch::default())));
}

/// Something to be looked at.
struct Page {
    setup: Arc<Setup>,
    kind: &'static str,
    write: fn(&Setup) -> String,
}

impl Backend for Page {
    fn answer(&self, asked: Asked) -> Answering<'_> {
        let mut response = Response::new(body::empty());
        if asked.method == Method::GET || asked.method == Method::HEAD {
            *response.body_mut() = body::full((self.write)(&self.setup));
            set(&mut response, CONTENT_TYPE, self.kind);
            set(&mut response, CACHE_CONTROL, "no-store");
        } else {
            *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
            set(&mut response, ALLOW, "GET, HEAD");
        }
        Box::pin(ready(response))
    }

    fn well_known(&self, _: Asked, _: WellKnown) -> Option<Answering<'_>> {
        None
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(ready(()))
    }
}

fn set(response: &mut Response<Body>, name: hyper::header::HeaderName, value: &'static str) {
    response.headers_mut().insert(name, hyper::header::HeaderValue::from_static(value));
}

/// `degraded` where the configuration file says what cannot be obeyed, or records are lost.
fn health(setup: &Setup) -> String {
    let (state, records) = setup.health();
    let store = setup.store();
    let is_well = state.errors.is_empty() && records.is_none_or(|records| records.dropped == 0);
    let health = json!({
        "status": if is_well { "ok" } else { "degraded" },
        "version": env!("CARGO_PKG_VERSION"),
        "config": {
            "version": state.version,
            "file": state.file,
            "since": state.since,
            "valid": state.errors.is_empty(),
            "errors": state.errors,
            "waitingForRestart": state.waiting,
            "reloads": state.reloads,
            "refusals": state.refusals,
        },
        "store": {
            "snapshots": store.snapshots,
            "principals": store.principals,
            "bytes": store.bytes,
            "evicted": store.evicted,
            "expired": store.expired,
            "refused": store.refused,
        },
        "telemetry": records.map(|records| json!({
            "written": records.written,
            "dropped": records.dropped,
            "failed": records.failed,
            "queue": records.queue,
        })),
    });
    format!("{health}\n")
}

/// In the text format of Prometheus: <https://prometheus.io/docs/instrumenting/exposition_formats/>.
fn metrics(setup: &Setup) -> String {
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
