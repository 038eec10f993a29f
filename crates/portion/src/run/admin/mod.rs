//! The HTTP listener of the operator: health, metrics and the dashboard.

mod health;

use std::future::ready;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderMap};
use hyper::{Method, Response, StatusCode};
use portion_auth::Authenticator;
use portion_config::find;
use portion_mcp::front::http::{
    Backend, HttpLimits, HttpServer, InboundRequest, OriginGuard, ResponseFuture,
};
use portion_mcp::http::body::{self, Body};
use portion_mcp::once::OneShotFlag;
use portion_telemetry::alert::OVERSIZED;
use portion_telemetry::meter::Family;
use portion_telemetry::{names, prometheus};
use tokio::net::TcpListener;

use super::dashboard::{DashboardBackend, SignIn, response};
use crate::run::setup::Setup;

/// Default address.
pub(crate) const DEFAULT_ADDRESS: &str = "127.0.0.1:9465";
/// Largest request body, in bytes; no request needs one.
pub(crate) const MAX_REQUEST_BYTES: usize = 4 << 10;

/// Largest number of connections, apart from those of clients.
const MAX_CONNECTIONS: usize = 64;
/// File descriptors reserved for health checks, if clients have used up all others.
const RESERVED_FDS: usize = 8;

/// Serves until the program ends. If the address is taken, perhaps by another process of Portion, it logs that, and the
/// program continues without.
pub(crate) async fn serve(at: Option<SocketAddr>, setup: &Arc<Setup>, authenticator: Arc<Authenticator>) {
    let Some(at) = at else { return };
    let listener = match TcpListener::bind(at).await {
        Ok(listener) => listener,
        Err(error) => {
            tracing::warn!(%at, %error, "health, metrics and the dashboard are not served; set another address with --admin");
            return;
        }
    };
    let Ok(address) = listener.local_addr() else { return };
    crate::cli::terminal::print_stderr!("portion: dashboard at http://{address}/");
    let page = |path: &str, kind, write: Render, write_bare: Option<Render>| {
        let setup = Arc::clone(setup);
        let page: Arc<dyn Backend> =
            Arc::new(AdminPage { setup, content_type: kind, render: write, render_bare: write_bare });
        (path.to_owned(), page)
    };
    let recording = Arc::clone(setup);
    let lost = Box::new(move || recording.config_and_recorder_status().1.map(|records| records.dropped));
    let records = setup.config.telemetry(find::telemetry_file);
    let dashboard = DashboardBackend::new(records, setup.config.token_price(), lost);
    let dashboard = SignIn { pages: dashboard, authenticator: Arc::clone(&authenticator) };
    let pages = vec![
        ("/".to_owned(), Arc::new(dashboard) as Arc<dyn Backend>),
        page("/health", "application/json", health::health, Some(health::bare_health)),
        page("/metrics", prometheus::CONTENT_TYPE, metrics, None),
    ];
    let guard = OriginGuard::new(address, setup.config.allow_hosts(), setup.config.allow_origins());
    let mut limits = HttpLimits::default().with_max_body_bytes(MAX_REQUEST_BYTES);
    limits.connections.max_connections = MAX_CONNECTIONS;
    limits.connections.reserved_descriptors = RESERVED_FDS;
    let server = HttpServer::new(guard, setup.principals.clone(), limits, pages);
    let server = server.with_authenticator(authenticator);
    tokio::spawn(Arc::new(server).serve(listener, Arc::new(OneShotFlag::default())));
}

/// Writes a page.
type Render = fn(&Setup) -> (StatusCode, String);

/// A page for the operator.
struct AdminPage {
    setup: Arc<Setup>,
    content_type: &'static str,
    render: Render,
    /// Writes what is no secret, for callers without a credential.
    render_bare: Option<Render>,
}

impl AdminPage {
    fn respond(&self, request: &InboundRequest, render: Render) -> Response<Body> {
        if request.method != Method::GET && request.method != Method::HEAD {
            return response(StatusCode::METHOD_NOT_ALLOWED, &[(ALLOW, "GET, HEAD")], body::empty());
        }
        let (status, text) = render(&self.setup);
        let headers = [(CONTENT_TYPE, self.content_type), (CACHE_CONTROL, "no-store")];
        response(status, &headers, body::full(text))
    }
}

impl Backend for AdminPage {
    fn handle(&self, request: InboundRequest) -> ResponseFuture<'_> {
        Box::pin(ready(self.respond(&request, self.render)))
    }

    fn admits_stranger(&self, _: &Method, _: &str, _: &HeaderMap) -> bool {
        self.render_bare.is_some()
    }

    fn handle_stranger(&self, request: InboundRequest) -> Option<ResponseFuture<'_>> {
        let response = self.respond(&request, self.render_bare?);
        Some(Box::pin(ready(response)))
    }

    fn accepts_json_rpc(&self) -> bool {
        false
    }
}

/// Returns all metrics in the text format of Prometheus.
fn metrics(setup: &Setup) -> (StatusCode, String) {
    (StatusCode::OK, prometheus::text(&metric_families(setup)))
}

/// Exports the metrics by OTLP, if that is configured. The setup holds the exporter, so that the exporter must not hold
/// the setup.
pub(crate) fn export_metrics(setup: &Arc<Setup>) {
    let source = Arc::downgrade(setup);
    setup
        .observers
        .export_metrics(move || source.upgrade().map_or_else(Vec::new, |setup| metric_families(&setup)));
}

/// Returns all metrics.
fn metric_families(setup: &Setup) -> Vec<Family> {
    let (state, records) = setup.config_and_recorder_status();
    let (store, mut families) = (setup.gateway.store_stats(), setup.observers.meter.families());
    families.extend(alert_families(setup));
    if let Some(records) = records {
        families.extend([
            Family::of(&names::RECORDS_WRITTEN, records.written),
            Family::of(&names::RECORDS_DROPPED, records.dropped),
            Family::of(&names::RECORD_WRITES_FAILED, records.failed),
            Family::of(&names::RECORDS_QUEUED, records.queued as u64),
        ]);
    }
    let mut dropped = Family::new(&names::MESSAGES_DROPPED);
    let counts = setup.gateway.drop_counts();
    for (reason, count) in [
        ("unasked", counts.unsolicited),
        ("cancelled", counts.cancelled),
        ("invalid", counts.invalid),
        ("oversized", counts.oversized),
    ] {
        dropped.push(vec![(names::REASON, reason.to_owned())], count);
    }
    let mut build = Family::new(&names::BUILD);
    build.push(vec![(names::VERSION, env!("CARGO_PKG_VERSION").to_owned())], true);
    families.extend([
        Family::of(&names::IN_FALLBACK, setup.gateway.accuracy_stats().in_fallback_count as u64),
        Family::of(&names::CONFIG_VERSION, state.version),
        Family::of(&names::CONFIG_VALID, state.errors.is_empty()),
        Family::of(&names::CONFIG_SINCE, state.active_since as f64 / 1e6),
        Family::of(&names::CONFIG_RELOADS, state.reload_count),
        Family::of(&names::CONFIG_REFUSALS, state.rejected_count),
        Family::of(&names::SNAPSHOTS, store.snapshots as u64),
        Family::of(&names::SNAPSHOT_BYTES, store.bytes as u64),
        Family::of(&names::SNAPSHOTS_SPILLED, store.spilled as u64),
        Family::of(&names::SPILLED_BYTES, store.spilled_bytes),
        Family::of(&names::SNAPSHOTS_EVICTED, store.evicted),
        Family::of(&names::SNAPSHOTS_EXPIRED, store.expired),
        Family::of(&names::SNAPSHOTS_REFUSED, store.refused),
        dropped,
        build,
        Family::of(&names::START_TIME, seconds(setup.started_at)),
    ]);
    if let Some(backend) = setup.backend_status() {
        families.extend([
            Family::of(&names::STORE_AVAILABLE, backend.is_available),
            Family::of(&names::STORE_FAILURES, backend.failure_count),
        ]);
    }
    families
}

fn alert_families(setup: &Setup) -> Vec<Family> {
    let [mut active, mut share, mut threshold] =
        [&names::ALERT_ACTIVE, &names::WINDOW_SHARE, &names::ALERT_THRESHOLD].map(Family::new);
    let alert = || vec![(names::ALERT, OVERSIZED.to_owned())];
    if let Some((state, _)) = setup.observers.alerts.alarm.state() {
        active.push(alert(), state.raised);
        threshold.push(alert(), state.rule.percent / 100.0);
        if let Some(is) = state.share() {
            share.push(alert(), is);
        }
    }
    vec![active, share, threshold, Family::of(&names::WEBHOOKS_FAILED, setup.webhook_failure_count())]
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
